//! A metric over many turns.

use serde::{Deserialize, Serialize};

/// Summary statistics of one metric over the turns that have it.
///
/// No data is `None` (JSON null), never 0 and never NaN. `count + excluded` is
/// the number of rows the run wrote.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Turns in the series.
    pub count: usize,
    /// Rows left out: failed or skipped turns, and turns without the metric.
    pub excluded: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Sample standard deviation (n − 1); `None` below two turns.
    pub sigma: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Median, by the same rule as the other percentiles.
    pub p50: Option<f64>,
    /// 90th percentile: the value at index ⌊0.9·(n−1)⌋ of the sorted list.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

impl Series {
    /// The series of the values that are there, `rows` being the number of rows
    /// they were taken from.
    #[must_use]
    pub fn of(rows: usize, values: impl IntoIterator<Item = f64>) -> Self {
        // A value that is not finite cannot stand in JSON; it counts as absent.
        let mut sorted: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |permille| percentile(&sorted, permille);
        let mean = mean(&sorted);
        Self {
            count: sorted.len(),
            excluded: rows.saturating_sub(sorted.len()),
            mean,
            sigma: mean.and_then(|mean| sigma(&sorted, mean)),
            min: sorted.first().copied(),
            p50: at(500),
            p90: at(900),
            p95: at(950),
            p99: at(990),
            p99_9: at(999),
            max: sorted.last().copied(),
        }
    }
}

/// The reference's percentile (`method="lower"`): the value at index
/// ⌊p·(n−1)⌋ of the sorted list, `p` in thousandths. Integers, so that no
/// rounding of p can move the index.
fn percentile(sorted: &[f64], permille: usize) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get(permille * last / 1000).copied()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn sigma(values: &[f64], mean: f64) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|n| *n > 0)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / degrees as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hand_computed_four_values() {
        let s = Series::of(6, [40.0, 10.0, 30.0, 20.0]);
        assert_eq!((s.count, s.excluded), (4, 2));
        assert_eq!(s.mean, Some(25.0));
        // Squared distances 225 + 25 + 25 + 225 = 500, ÷ 3.
        assert_eq!(s.sigma, Some((500.0_f64 / 3.0).sqrt()));
        assert_eq!((s.min, s.max), (Some(10.0), Some(40.0)));
        // Indices ⌊0.5·3⌋ = 1, ⌊0.9·3⌋ = ⌊0.99·3⌋ = ⌊0.999·3⌋ = 2.
        assert_eq!(
            (s.p50, s.p90, s.p99_9),
            (Some(20.0), Some(30.0), Some(30.0))
        );
    }

    #[test]
    fn percentile_indices_at_the_real_count() {
        let s = Series::of(1007, (0..1007).map(f64::from));
        // ⌊p·1006⌋
        assert_eq!(s.p50, Some(503.0));
        assert_eq!(s.p90, Some(905.0));
        assert_eq!(s.p95, Some(955.0));
        assert_eq!(s.p99, Some(995.0));
        assert_eq!(s.p99_9, Some(1004.0));
    }

    #[test]
    fn no_data_is_null() {
        let s = Series::of(3, []);
        assert_eq!((s.count, s.excluded), (0, 3));
        let json = serde_json::to_value(s).expect("a series is an object");
        for key in [
            "mean", "sigma", "min", "p50", "p90", "p95", "p99", "p99_9", "max",
        ] {
            assert!(json[key].is_null(), "{key}");
        }
    }

    #[test]
    fn one_value_has_no_sigma() {
        let s = Series::of(1, [7.0]);
        assert_eq!((s.mean, s.sigma), (Some(7.0), None));
        assert_eq!((s.p50, s.p99_9), (Some(7.0), Some(7.0)));
    }

    proptest! {
        #[test]
        fn every_statistic_is_finite_and_ordered(
            values in prop::collection::vec(0u64..1 << 52, 1..200),
        ) {
            let s = Series::of(values.len(), values.iter().map(|v| *v as f64));
            let order = [s.min, s.p50, s.p90, s.p95, s.p99, s.p99_9, s.max];
            prop_assert!(order.iter().all(|v| v.is_some_and(f64::is_finite)));
            prop_assert!(order.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(s.mean.is_some_and(f64::is_finite));
            prop_assert_eq!(s.sigma.is_some(), values.len() > 1);
        }
    }
}
