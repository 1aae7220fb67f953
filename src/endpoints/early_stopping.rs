//! Early-stopping estimates of MLPerf LoadGen: a percentile that holds with 99 % confidence.
//!
//! With `n` samples, the `t`-th highest one is an upper bound of the true percentile `p` with
//! confidence `c` when so few as `t` samples above a value at that percentile would be seen with
//! probability less than `1 − c`: P(Binomial(n, 1 − p) ≤ t) < 1 − c. The estimate is that of the
//! largest such `t`; where even `t = 1` does not pass, there are too few samples to say anything.
//! LoadGen states the same through the incomplete beta function (`loadgen/early_stopping.cc`,
//! confidence 0.99, tolerance 0).

/// Confidence of the estimates.
const CONFIDENCE: f64 = 0.99;

/// The estimate of the `percentile`-th percentile (50 ≤ percentile < 100) of `sorted` values;
/// `None` when there are too few of them.
#[must_use]
pub fn early_stopping<T: Copy>(sorted: &[T], percentile: f64) -> Option<T> {
    let n = sorted.len();
    let above = above(n, percentile / 100.0)?;
    sorted.get(n - above).copied()
}

/// The largest `t ≥ 1` with P(Binomial(n, 1 − p) ≤ t) < 1 − c, or none.
///
/// Terms are added in logarithms, because p^n is too small for a double at a few thousand samples.
fn above(n: usize, p: f64) -> Option<usize> {
    let limit = (1.0 - CONFIDENCE).ln();
    let odds = ((1.0 - p) / p).ln();
    let mut term = n as f64 * p.ln();
    let mut sum = term;
    let mut passing = None;
    for t in 1..=n {
        // C(n, t) = C(n, t − 1) · (n − t + 1) / t
        term += ((n - t + 1) as f64 / t as f64).ln() + odds;
        sum = add_logs(sum, term);
        if sum >= limit {
            break;
        }
        passing = Some(t);
    }
    passing
}

/// ln(e^a + e^b).
fn add_logs(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_from_top(n: u32, percentile: f64) -> Option<u32> {
        let values: Vec<u32> = (0..n).collect();
        early_stopping(&values, percentile).map(|value| n - value)
    }

    #[test]
    fn ranks_at_the_benchmarks_count() {
        assert_eq!(rank_from_top(1007, 99.9), None);
        assert_eq!(rank_from_top(1007, 99.0), Some(3));
        assert_eq!(rank_from_top(1007, 90.0), Some(78));
        assert_eq!(rank_from_top(1007, 50.0), Some(466));
    }

    /// LoadGen's published minimum numbers of queries for t = 1: 44 + 1, 64 + 1, 662 … at 90, 95
    /// and 99 %, computed here from the definition.
    #[test]
    fn the_smallest_count_that_says_anything() {
        for (percentile, p) in [(50.0, 0.5_f64), (90.0, 0.9), (95.0, 0.95), (99.0, 0.99)] {
            let least = (1..10_000)
                .find(|n| p.powi(*n) + f64::from(*n) * (1.0 - p) * p.powi(n - 1) < 0.01)
                .expect("it falls with n");
            let n = u32::try_from(least).expect("positive");
            assert_eq!(rank_from_top(n, percentile), Some(1), "{percentile}");
            assert_eq!(rank_from_top(n - 1, percentile), None, "{percentile}");
        }
        assert_eq!(rank_from_top(661 + 1, 99.0), Some(1));
    }

    #[test]
    fn no_samples_and_very_many() {
        assert_eq!(rank_from_top(0, 50.0), None);
        assert_eq!(rank_from_top(1, 50.0), None);
        // p^n underflows a double long before this.
        let rank = rank_from_top(100_000, 50.0).expect("enough");
        assert!((49_500..50_000).contains(&rank), "{rank}");
    }
}
