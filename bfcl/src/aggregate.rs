//! From scores of samples to the reference's breakdown: subsets, categories, overall, normalized.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats;
use crate::subset::{Category, Subset};

/// Right answers among issued samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Samples with score 1.
    pub correct: usize,
    /// Samples issued; those without an output count as wrong.
    pub total: usize,
}

impl Tally {
    /// Adds one sample.
    pub fn add(&mut self, score: u8) {
        self.correct += usize::from(score);
        self.total += 1;
    }

    /// The share of right answers, 0 to 1. `None` without samples.
    pub fn fraction(self) -> Option<f64> {
        (self.total > 0).then(|| self.correct as f64 / self.total as f64)
    }
}

/// The reference's breakdown, unrounded: all values are fractions from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Breakdown {
    /// Right answers among all issued samples, in whatever subset.
    pub overall: f64,
    /// The mean of the categories present.
    pub normalized: f64,
    /// The categories present.
    pub categories: BTreeMap<Category, f64>,
    /// The subsets present; `live_relevance`, which is in no category, among them.
    pub subsets: BTreeMap<Subset, f64>,
}

/// Aggregates as the reference does. `completed` is the number of samples with an output: when it
/// is 0, the reference prints zeros and no subsets.
pub fn breakdown(tallies: &BTreeMap<Subset, Tally>, completed: usize) -> Breakdown {
    let subsets: BTreeMap<Subset, f64> = tallies
        .iter()
        .filter_map(|(&subset, tally)| Some((subset, tally.fraction()?)))
        .collect();
    if completed == 0 || subsets.is_empty() {
        return Breakdown::default();
    }
    let categories: BTreeMap<Category, f64> = Category::ALL
        .into_iter()
        .filter_map(|category| Some((category, category_score(category, tallies, &subsets)?)))
        .collect();
    let in_order: Vec<f64> = categories.values().copied().collect();
    Breakdown {
        overall: total(tallies).fraction().unwrap_or(0.0),
        normalized: stats::mean(&in_order).unwrap_or(0.0),
        categories,
        subsets,
    }
}

/// All samples together.
pub fn total(tallies: &BTreeMap<Subset, Tally>) -> Tally {
    tallies.values().fold(Tally::default(), |sum, tally| Tally {
        correct: sum.correct + tally.correct,
        total: sum.total + tally.total,
    })
}

fn category_score(
    category: Category,
    tallies: &BTreeMap<Subset, Tally>,
    subsets: &BTreeMap<Subset, f64>,
) -> Option<f64> {
    let present: Vec<Subset> = category
        .subsets()
        .filter(|subset| subsets.contains_key(subset))
        .collect();
    match category {
        Category::Live => {
            let samples: usize = present.iter().map(|subset| tallies[subset].total).sum();
            let weighted = present
                .iter()
                .map(|subset| subsets[subset] * tallies[subset].total as f64);
            (samples > 0).then(|| stats::sum(weighted) / samples as f64)
        }
        Category::NonLive => {
            let (simple, others): (Vec<Subset>, Vec<Subset>) = present
                .into_iter()
                .partition(|subset| subset.is_simple_group());
            let simple: Vec<f64> = simple.iter().map(|subset| subsets[subset]).collect();
            let top: Vec<f64> = stats::mean(&simple)
                .into_iter()
                .chain(others.iter().map(|subset| subsets[subset]))
                .collect();
            stats::mean(&top)
        }
        Category::Hallucination => {
            let scores: Vec<f64> = present.iter().map(|subset| subsets[subset]).collect();
            stats::mean(&scores)
        }
    }
}

/// The weight of each subset in its category's score; the weights add up to 1.
pub fn weights(category: Category, tallies: &BTreeMap<Subset, Tally>) -> BTreeMap<Subset, f64> {
    let present: Vec<Subset> = category
        .subsets()
        .filter(|subset| tallies.get(subset).is_some_and(|tally| tally.total > 0))
        .collect();
    let samples: usize = present.iter().map(|subset| tallies[subset].total).sum();
    let simple = present
        .iter()
        .filter(|subset| subset.is_simple_group())
        .count();
    let groups = present.len() - simple + usize::from(simple > 0);
    present
        .iter()
        .map(|&subset| {
            let weight = match category {
                Category::Live => tallies[&subset].total as f64 / samples as f64,
                Category::NonLive if subset.is_simple_group() => 1.0 / (groups * simple) as f64,
                Category::NonLive => 1.0 / groups as f64,
                Category::Hallucination => 1.0 / present.len() as f64,
            };
            (subset, weight)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(correct: usize, total: usize) -> Tally {
        Tally { correct, total }
    }

    #[test]
    fn t5_07_simple_is_a_mean_of_three_not_pooled() {
        let tallies = BTreeMap::from([
            (Subset::SimplePython, tally(380, 400)),
            (Subset::SimpleJava, tally(50, 100)),
            (Subset::SimpleJavascript, tally(10, 50)),
        ]);
        let breakdown = breakdown(&tallies, 550);
        assert_eq!(
            stats::percent(breakdown.categories[&Category::NonLive]),
            55.0
        );
        assert_eq!(stats::percent(breakdown.overall), 80.0);
        let weights = weights(Category::NonLive, &tallies);
        assert!(
            weights
                .values()
                .all(|weight| (weight - 1.0 / 3.0).abs() < 1e-12)
        );
    }

    #[test]
    fn relevance_counts_overall_and_in_no_category() {
        let tallies = BTreeMap::from([
            (Subset::LiveRelevance, tally(1, 1)),
            (Subset::Irrelevance, tally(0, 1)),
        ]);
        let breakdown = breakdown(&tallies, 2);
        assert_eq!(breakdown.overall, 0.5);
        assert_eq!(breakdown.normalized, 0.0);
        assert_eq!(breakdown.subsets.len(), 2);
    }

    #[test]
    fn live_is_weighted_by_sample() {
        let tallies = BTreeMap::from([
            (Subset::LiveSimple, tally(1, 1)),
            (Subset::LiveMultiple, tally(0, 3)),
        ]);
        let breakdown = breakdown(&tallies, 4);
        assert_eq!(breakdown.categories[&Category::Live], 0.25);
    }

    #[test]
    fn nothing_completed_is_zero_without_subsets() {
        let tallies = BTreeMap::from([(Subset::Multiple, tally(0, 9))]);
        assert_eq!(breakdown(&tallies, 0), Breakdown::default());
    }
}
