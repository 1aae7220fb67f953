//! Arithmetic that decides printed numbers: CPython's sum and rounding, and intervals.

/// The 97.5 % quantile of the standard normal distribution, for two-sided 95 % intervals.
const Z: f64 = 1.959_963_984_540_054;

/// `sum()` of floats as CPython 3.12 does it: with Neumaier's compensation.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = 0.0_f64;
    let mut lost = 0.0;
    for value in values {
        let next = total + value;
        lost += if total.abs() >= value.abs() {
            (total - next) + value
        } else {
            (value - next) + total
        };
        total = next;
    }
    if lost.is_finite() {
        total + lost
    } else {
        total
    }
}

/// `numpy.mean` of fewer than eight values: plain summation, one division. `None` of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let total: f64 = values.iter().sum();
    (!values.is_empty()).then(|| total / values.len() as f64)
}

/// A fraction in percent, rounded to two places from its exact binary value, ties to even, as
/// Python's `round(fraction * 100, 2)`.
pub fn percent(fraction: f64) -> f64 {
    round2(fraction * 100.0)
}

/// `round(value, 2)`.
pub fn round2(value: f64) -> f64 {
    // Formatting is exact and breaks ties to even, and the text reads back as the nearest double.
    format!("{value:.2}").parse().unwrap_or(value)
}

/// Wilson's 95 % score interval of a proportion, as fractions. `None` without trials.
pub fn wilson(correct: usize, total: usize) -> Option<(f64, f64)> {
    if total == 0 {
        return None;
    }
    let n = total as f64;
    let p = correct as f64 / n;
    let z2 = Z * Z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    Some(((centre - half).max(0.0), (centre + half).min(1.0)))
}

/// The 95 % interval of a weighted mean of independent proportions, from the Wilson interval of
/// each (the method of variance estimates recovery: the distances to the limits are added in
/// squares). Parts are `(weight, correct, total)`; the weights add up to 1.
pub fn combined_interval(parts: &[(f64, usize, usize)]) -> Option<(f64, f64)> {
    let mut estimate = 0.0;
    let (mut below, mut above) = (0.0, 0.0);
    for &(weight, correct, total) in parts {
        let (low, high) = wilson(correct, total)?;
        let p = correct as f64 / total as f64;
        estimate += weight * p;
        below += (weight * (p - low)).powi(2);
        above += (weight * (high - p)).powi(2);
    }
    let limits = (estimate - below.sqrt(), estimate + above.sqrt());
    (!parts.is_empty()).then_some((limits.0.max(0.0), limits.1.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_looks_at_the_exact_value_and_breaks_ties_to_even() {
        assert_eq!(round2(0.125), 0.12);
        assert_eq!(round2(0.375), 0.38);
        assert_eq!(round2(2.675), 2.67);
        assert_eq!(round2(85.325), 85.33);
        assert_eq!(percent(1.0 / 3.0), 33.33);
    }

    #[test]
    fn sums_are_compensated() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum([0.1; 10]), 1.0);
        assert_eq!(sum([]), 0.0);
    }

    #[test]
    fn wilson_matches_known_values() {
        // Newcombe (1998): 81 of 263 gives 0.2553 to 0.3662.
        let (low, high) = wilson(81, 263).expect("trials");
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        assert_eq!(wilson(0, 10).map(|(low, _)| low), Some(0.0));
        assert_eq!(wilson(0, 0), None);
        assert_eq!(combined_interval(&[(1.0, 81, 263)]), wilson(81, 263));
    }
}
