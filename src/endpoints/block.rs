//! A series as the reference summarizes it: exact sums, observed percentiles, a log-spaced histogram.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::early_stopping::early_stopping;

/// The percentiles that are reported: key, percent, tenths of a percent. The key is Python's text
/// of the float, `99.0` and not `99`: readers look it up by that spelling (T9-02).
const PERCENTILES: [(&str, f64, usize); 12] = [
    ("99.9", 99.9, 999),
    ("99.0", 99.0, 990),
    ("97.0", 97.0, 970),
    ("95.0", 95.0, 950),
    ("90.0", 90.0, 900),
    ("80.0", 80.0, 800),
    ("75.0", 75.0, 750),
    ("50.0", 50.0, 500),
    ("25.0", 25.0, 250),
    ("10.0", 10.0, 100),
    ("5.0", 5.0, 50),
    ("1.0", 1.0, 10),
];

/// Least percentile for which there is an early-stopping estimate.
const EARLY_STOPPING_FROM: f64 = 50.0;

/// Buckets of the histogram.
const BUCKETS: usize = 30;

/// One series of `result_summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Block {
    /// A series with data.
    Full(Box<Stats>),
    /// A series without: no zeros, only estimates that are null.
    Empty {
        /// Present for the series that have estimates.
        #[serde(skip_serializing_if = "Option::is_none")]
        early_stopping_percentiles: Option<Grid>,
    },
}

/// The statistics of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// Sum.
    pub total: Number,
    /// Smallest value.
    pub min: Number,
    /// Largest value.
    pub max: Number,
    /// The 50th percentile, by the rule of the others.
    pub median: f64,
    /// Arithmetic mean.
    pub avg: f64,
    /// Sample standard deviation (n − 1); 0 for one value, as the reference has it.
    pub std_dev: f64,
    /// Observed values: that at index ⌊p·(n − 1)⌋ of the sorted list.
    pub percentiles: Grid,
    /// LoadGen's conservative estimates; only for latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_stopping_percentiles: Option<Grid>,
    /// Counts over the observed range.
    pub histogram: Histogram,
}

/// A value that is written as it was measured: nanoseconds and tokens without a decimal point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A measured integer.
    Int(u64),
    /// A quotient.
    Float(f64),
}

impl Number {
    /// The value as a double.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// Values by percentile, in the reference's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid(pub Vec<(&'static str, Option<f64>)>);

impl Serialize for Grid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Log-spaced buckets from the smallest value (at least 1) to the largest (at least ten times that).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Histogram {
    /// Lower and upper edge; the upper one belongs to the last bucket only.
    pub buckets: Vec<(f64, f64)>,
    /// Values in each bucket.
    pub counts: Vec<usize>,
}

impl Block {
    /// A series of integers; `estimates` for a latency.
    #[must_use]
    pub fn of_integers(values: &[u64], estimates: bool) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let total = sorted.iter().fold(0u64, |sum, v| sum.saturating_add(*v));
        let bounds = (sorted.first(), sorted.last());
        let as_floats: Vec<f64> = sorted.iter().map(|v| *v as f64).collect();
        let (Some(min), Some(max)) = bounds else {
            return Self::empty(estimates);
        };
        let (min, max) = (Number::Int(*min), Number::Int(*max));
        let std_dev = integer_std_dev(&sorted);
        Self::full(&as_floats, Number::Int(total), min, max, std_dev, estimates)
    }

    /// A series of quotients, added up in the order given, because the reference does so too.
    #[must_use]
    pub fn of_floats(values: &[f64], estimates: bool) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Self::empty(estimates);
        };
        let (min, max) = (Number::Float(*min), Number::Float(*max));
        let total: f64 = values.iter().sum();
        let std_dev = float_std_dev(values, total);
        Self::full(&sorted, Number::Float(total), min, max, std_dev, estimates)
    }

    /// The statistics, where there is data.
    #[must_use]
    pub fn stats(&self) -> Option<&Stats> {
        match self {
            Self::Full(stats) => Some(stats),
            Self::Empty { .. } => None,
        }
    }

    /// The early-stopping estimates, where the series has them.
    #[must_use]
    pub fn estimates(&self) -> Option<&Grid> {
        match self {
            Self::Full(stats) => stats.early_stopping_percentiles.as_ref(),
            Self::Empty {
                early_stopping_percentiles,
            } => early_stopping_percentiles.as_ref(),
        }
    }

    fn empty(estimates: bool) -> Self {
        Self::Empty {
            early_stopping_percentiles: estimates.then(|| estimate(&[])),
        }
    }

    fn full(
        sorted: &[f64],
        total: Number,
        min: Number,
        max: Number,
        std_dev: f64,
        estimates: bool,
    ) -> Self {
        let last = sorted.len() - 1;
        let at = |permille: usize| sorted[permille * last / 1000];
        let percentiles = PERCENTILES
            .iter()
            .map(|(key, _, permille)| (*key, Some(at(*permille))));
        Self::Full(Box::new(Stats {
            total,
            min,
            max,
            median: at(500),
            avg: total.as_f64() / sorted.len() as f64,
            std_dev,
            percentiles: Grid(percentiles.collect()),
            early_stopping_percentiles: estimates.then(|| estimate(sorted)),
            histogram: histogram(sorted, min.as_f64(), max.as_f64()),
        }))
    }
}

fn estimate(sorted: &[f64]) -> Grid {
    let targets = PERCENTILES
        .iter()
        .filter(|(_, p, _)| *p >= EARLY_STOPPING_FROM);
    Grid(
        targets
            .map(|(key, p, _)| (*key, early_stopping(sorted, *p)))
            .collect(),
    )
}

/// Sample standard deviation of integers: Σx² is exact and rounded once, and so is (Σx)² ÷ n, as
/// Python divides integers; the reference subtracts the two as doubles.
fn integer_std_dev(values: &[u64]) -> f64 {
    let mut sum = 0u128;
    let mut squares = 0u128;
    for value in values.iter().map(|v| u128::from(*v)) {
        sum = sum.saturating_add(value);
        squares = squares.saturating_add(value.saturating_mul(value));
    }
    let shared = quotient(sum.saturating_mul(sum), values.len() as u128);
    deviation(squares as f64 - shared, values.len())
}

/// `dividend` ÷ `divisor`, rounded once.
fn quotient(dividend: u128, divisor: u128) -> f64 {
    // With all the bits there is room for, the quotient has more than a double keeps; the last bit
    // stands for the remainder, so that a tie is none.
    let shift = dividend.leading_zeros().min(127);
    let (shifted, divisor) = (dividend << shift, divisor.max(1));
    let sticky = u128::from(shifted % divisor != 0);
    ((shifted / divisor) | sticky) as f64 / 2f64.powi(shift.cast_signed())
}

fn float_std_dev(values: &[f64], total: f64) -> f64 {
    let squares: f64 = values.iter().map(|v| v * v).sum();
    deviation(squares - total * total / values.len() as f64, values.len())
}

/// √(Σ(x − x̄)² ÷ (n − 1)); 0 for one value.
fn deviation(squares: f64, n: usize) -> f64 {
    match n {
        0 | 1 => 0.0,
        _ => (squares / (n - 1) as f64).max(0.0).sqrt(),
    }
}

fn histogram(sorted: &[f64], min: f64, max: f64) -> Histogram {
    let edges = edges(min, max);
    let (first, last) = (edges[0], edges[BUCKETS]);
    let inside: Vec<f64> = sorted.iter().map(|v| v.clamp(first, last)).collect();
    let below = |edge: f64| inside.partition_point(|v| *v < edge);
    let counts = (0..BUCKETS).map(|i| match i + 1 {
        BUCKETS => inside.len() - below(edges[i]),
        next => below(edges[next]) - below(edges[i]),
    });
    Histogram {
        counts: counts.collect(),
        buckets: edges.windows(2).map(|pair| (pair[0], pair[1])).collect(),
    }
}

fn edges(min: f64, max: f64) -> Vec<f64> {
    let low = min.max(1.0);
    let high = max.max(low * 10.0);
    let (from, to) = (low.ln(), high.ln());
    let step = (to - from) / BUCKETS as f64;
    (0..=BUCKETS)
        .map(|i| (from + i as f64 * step).exp())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(block: &Block, key: &str) -> Option<f64> {
        let grid = &block.stats().expect("it has data").percentiles;
        grid.0.iter().find(|(k, _)| *k == key).and_then(|(_, v)| *v)
    }

    #[test]
    fn hand_computed_integers() {
        let block = Block::of_integers(&[40, 10, 30, 20], true);
        let stats = block.stats().expect("four values");
        assert_eq!((stats.total, stats.avg), (Number::Int(100), 25.0));
        // Σx² − (Σx)²/n = 3000 − 2500 = 500; ÷ 3
        assert_eq!(stats.std_dev, (500.0 / 3.0f64).sqrt());
        assert_eq!(stats.median, 20.0, "index ⌊0.5·3⌋ = 1");
        assert_eq!(key(&block, "99.9"), Some(30.0), "index ⌊0.999·3⌋ = 2");
        assert_eq!(key(&block, "1.0"), Some(10.0));
        assert_eq!(stats.histogram.counts.iter().sum::<usize>(), 4);
        assert_eq!(stats.histogram.buckets.len(), 30);
        // 10 to max(40, 10·10): 20 lies in bucket ⌊30·ln 2 ÷ ln 10⌋ = 9.
        assert_eq!(stats.histogram.counts[9], 1);
    }

    #[test]
    fn one_value_and_zeros() {
        let stats = match Block::of_integers(&[0], false) {
            Block::Full(stats) => stats,
            Block::Empty { .. } => panic!("it has data"),
        };
        assert_eq!((stats.std_dev, stats.median), (0.0, 0.0));
        // Clipped into the first bucket instead of lost.
        assert_eq!(stats.histogram.counts[0], 1);
        assert_eq!(stats.histogram.buckets[0].0, 1.0);
    }

    #[test]
    fn t9_02_keys_are_pythons_floats_and_no_data_is_null() {
        let json = serde_json::to_value(Block::of_integers(&[5], true)).expect("an object");
        for field in ["99.9", "99.0", "95.0", "90.0", "50.0"] {
            assert_eq!(json["percentiles"][field], 5.0, "{field}");
            assert!(
                json["early_stopping_percentiles"][field].is_null(),
                "{field}"
            );
        }
        assert!(json["percentiles"].get("99").is_none());
        assert!(json["early_stopping_percentiles"].get("25.0").is_none());
        let empty = serde_json::to_value(Block::of_floats(&[], true)).expect("an object");
        assert_eq!(empty.as_object().map(serde_json::Map::len), Some(1));
        let none = serde_json::to_value(Block::of_integers(&[], false)).expect("an object");
        assert_eq!(none, serde_json::json!({}));
    }

    #[test]
    fn quotients_are_rounded_once() {
        assert_eq!(quotient(0, 3), 0.0);
        assert_eq!(quotient(1, 3), 1.0 / 3.0);
        assert_eq!(quotient(10, 4), 2.5);
        // 2^54 + 3 over 1 and over 2: the first rounds up to a multiple of 4, the second is
        // 2^53 + 1.5, which is above the tie of 2^53 + 1.
        assert_eq!(quotient((1 << 54) + 3, 1), 18_014_398_509_481_988.0);
        assert_eq!(quotient((1 << 54) + 3, 2), 9_007_199_254_740_994.0);
        assert_eq!(quotient(u128::MAX, u128::from(u64::MAX)), 2f64.powi(64));
    }

    #[test]
    fn huge_values_do_not_overflow() {
        let block = Block::of_integers(&[u64::MAX, u64::MAX, 0], true);
        let json = serde_json::to_string(&block).expect("an object");
        assert!(!json.contains("NaN"), "{json}");
    }
}
