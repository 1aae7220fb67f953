//! An interval around a ratio: the paired bootstrap.
//!
//! Conversations (or turns) are drawn with replacement, each with what both runs measured on it, and the ratio is
//! computed anew; 10,000 times, always with the same seed, so that the same folders give the same interval. It says
//! how much the ratio depends on which conversations were replayed. It says nothing of what another run on the same
//! machine would give.

use crate::random::SplitMix;

/// Times that the ratio is computed anew.
const DRAWS: usize = 10_000;

/// Fewest units that an interval is made from.
pub(super) const FEWEST: usize = 8;

/// What both runs measured on one unit: a sum and what it is divided by.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Unit {
    pub first: Mean,
    pub second: Mean,
}

/// A sum over some things, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Mean {
    pub sum: f64,
    pub of: f64,
}

impl Mean {
    fn value(self) -> Option<f64> {
        (self.of > 0.0).then(|| self.sum / self.of)
    }

    fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.of += other.of;
    }
}

impl Unit {
    pub fn add(&mut self, other: &Self) {
        self.first.add(other.first);
        self.second.add(other.second);
    }

    /// All units as one.
    pub fn total(units: &[Self]) -> Self {
        let mut total = Self::default();
        units.iter().for_each(|unit| total.add(unit));
        total
    }

    /// The means of the first and of the second run.
    pub fn means(&self) -> Option<[f64; 2]> {
        Some([self.first.value()?, self.second.value()?])
    }

    /// Mean of the first ÷ mean of the second.
    pub fn ratio(&self) -> Option<f64> {
        let [first, second] = self.means()?;
        Some(first / second).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}

/// The middle 95 % of the ratios; `None` below [`FEWEST`] units.
pub(super) fn interval(units: &[Unit]) -> Option<[f64; 2]> {
    if units.len() < FEWEST {
        return None;
    }
    let mut random = SplitMix::new(42);
    let mut ratios: Vec<f64> = (0..DRAWS)
        .filter_map(|_| {
            let mut drawn = Unit::default();
            for _ in 0..units.len() {
                drawn.add(&units[below(&mut random, units.len())]);
            }
            drawn.ratio()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |permille: usize| ratios.get(permille * (ratios.len().checked_sub(1)?) / 1000);
    Some([*at(25)?, *at(975)?])
}

/// A number below `n`, each as likely as the others but for 1 in 2^64 ÷ n.
fn below(random: &mut SplitMix, n: usize) -> usize {
    ((u128::from(random.bits()) * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(first: f64, second: f64) -> Unit {
        let mean = |sum| Mean { sum, of: 1.0 };
        Unit {
            first: mean(first),
            second: mean(second),
        }
    }

    #[test]
    fn units_that_agree_have_a_narrow_interval_and_others_a_wide_one() {
        let alike: Vec<Unit> = (1..=20)
            .map(|i| unit(f64::from(i) * 2.0, f64::from(i)))
            .collect();
        let [low, high] = interval(&alike).expect("enough");
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9);
        let apart: Vec<Unit> = (0..20)
            .map(|i| unit(if i % 2 == 0 { 1.0 } else { 4.0 }, 2.0))
            .collect();
        let [low, high] = interval(&apart).expect("enough");
        let ratio = Unit::total(&apart).ratio().expect("a ratio");
        assert!((ratio - 1.25).abs() < 1e-9);
        assert!(low < 1.0 && high > 1.5, "{low} {high}");
        assert_eq!(interval(&apart), interval(&apart), "the seed is fixed");
        assert_eq!(interval(&apart[..FEWEST - 1]), None);
    }

    #[test]
    fn nothing_measured_has_no_ratio() {
        assert_eq!(Unit::total(&[]).ratio(), None);
        assert_eq!(unit(1.0, 0.0).ratio(), None);
    }
}
