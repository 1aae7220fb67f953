//! Scoring a run: outputs of a model against the data set.

use std::collections::BTreeMap;

use crate::aggregate::{self, Breakdown, Tally};
use crate::dataset::{Dataset, Sample};
use crate::disputed::Disputed;
use crate::gate::{self, Measured};
use crate::judge::{self, Examined, Judgement};
use crate::outputs::Outputs;
use crate::report::{CategoryScore, Percentage, Report, SubsetScore, Verdict};
use crate::sampling::check_gate_ids;
use crate::stats;
use crate::subset::{Category, Subset};

/// The error type of samples without an output.
pub const MISSING: &str = "missing";
/// The error type of samples on which the reference's code would raise.
pub const REFERENCE_RAISES: &str = "reference_raises";

/// Share of a category beyond which calls of unknown names are an alarm (FIELD_FAULTS T5-03).
const UNKNOWN_NAMES_ALARM: f64 = 0.2;
/// Share of a category's outputs beyond which those that could not be read are an alarm (T5-13).
pub const UNPARSED_ALARM: f64 = 0.5;

/// A scored run.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The numbers.
    pub report: Report,
    /// One verdict per issued sample, in the order of issue.
    pub verdicts: Vec<Verdict>,
}

/// The verdict on one sample, as [`score`] gives it; `None` where no output came back.
pub fn verdict(sample: &Sample, output: Option<&str>) -> Verdict {
    match output {
        Some(output) => judged(sample, &judge::examine(sample.into(), output)),
        None => missing(sample),
    }
}

/// Scores a run. A sample without an output counts as wrong.
pub fn score(dataset: &Dataset, outputs: &Outputs) -> Scored {
    let mut counts = Counts::default();
    let mut verdicts = Vec::with_capacity(outputs.issues().len());
    for issue in outputs.issues() {
        // Outputs only ever refer to samples of the data set they were read for.
        let Some(sample) = dataset.samples().get(issue.sample) else {
            continue;
        };
        let verdict = match &issue.output {
            Some(output) => {
                let examined = judge::examine(sample.into(), output);
                counts.examined(sample.subset(), &examined);
                judged(sample, &examined)
            }
            None => missing(sample),
        };
        counts.note(&verdict);
        verdicts.push(verdict);
    }
    Scored {
        report: report(dataset, outputs, counts),
        verdicts,
    }
}

#[derive(Default)]
struct Counts {
    tallies: BTreeMap<Subset, Tally>,
    completed: usize,
    outputs: BTreeMap<Subset, usize>,
    reference_raises: usize,
    unknown_names: BTreeMap<Subset, usize>,
    unparsed_attempts: BTreeMap<Subset, usize>,
    error_types: BTreeMap<String, usize>,
    disputed: Disputed,
}

impl Counts {
    fn examined(&mut self, subset: Subset, examined: &Examined) {
        self.completed += 1;
        *self.outputs.entry(subset).or_default() += 1;
        if examined.unknown_name {
            *self.unknown_names.entry(subset).or_default() += 1;
        }
        if examined.unparsed_attempt {
            *self.unparsed_attempts.entry(subset).or_default() += 1;
        }
        if matches!(examined.judgement, Judgement::Raises(_)) {
            self.reference_raises += 1;
        }
    }

    fn note(&mut self, verdict: &Verdict) {
        let tally = self.tallies.entry(verdict.subset).or_default();
        tally.add(verdict.score);
        self.disputed.note(&verdict.id, verdict.score);
        if let Some(error_type) = &verdict.error_type {
            *self.error_types.entry(error_type.clone()).or_default() += 1;
        }
    }
}

fn judged(sample: &Sample, examined: &Examined) -> Verdict {
    let (error_type, reason) = match &examined.judgement {
        Judgement::Right => (None, None),
        Judgement::Wrong(wrong) => (
            wrong.error_type.map(|it| it.name().to_owned()),
            Some(wrong.reason.clone()),
        ),
        Judgement::Raises(raised) => (Some(REFERENCE_RAISES.to_owned()), Some(raised.to_string())),
    };
    Verdict {
        id: sample.id().to_owned(),
        subset: sample.subset(),
        score: examined.judgement.score(),
        error_type,
        reason,
    }
}

fn missing(sample: &Sample) -> Verdict {
    Verdict {
        id: sample.id().to_owned(),
        subset: sample.subset(),
        score: 0,
        error_type: Some(MISSING.to_owned()),
        reason: Some("issued, but no output came back".to_owned()),
    }
}

fn report(dataset: &Dataset, outputs: &Outputs, counts: Counts) -> Report {
    let breakdown = aggregate::breakdown(&counts.tallies, counts.completed);
    let overall = pooled(breakdown.overall, aggregate::total(&counts.tallies));
    let normalized = normalized(&breakdown, &counts.tallies);
    let categories = categories(&breakdown, &counts);
    let issued_ids = outputs
        .issues()
        .iter()
        .filter_map(|issue| dataset.samples().get(issue.sample))
        .map(Sample::id);
    let ids = match outputs.unknown() {
        0 => check_gate_ids(dataset, issued_ids),
        unknown => Err(format!("{unknown} outputs of samples that were not issued")),
    };
    let simple: Vec<Tally> = counts
        .tallies
        .iter()
        .filter(|(subset, _)| subset.is_simple_group())
        .map(|(_, tally)| *tally)
        .collect();
    Report {
        files: dataset.files().to_vec(),
        issued: outputs.issues().len(),
        scored: counts.completed,
        duplicates: outputs.duplicates(),
        unknown: outputs.unknown(),
        gates: gate::gates(&Measured {
            overall: Some(overall.value),
            normalized: Some(normalized.value),
            completed: counts.completed,
            ids,
        }),
        overall,
        normalized,
        warnings: warnings(outputs, &categories, counts.reference_raises),
        categories,
        subsets: subsets(&breakdown, &counts.tallies),
        simple_pooled: simple_pooled(&simple),
        error_types: counts.error_types,
        reference_raises: counts.reference_raises,
        unparsed_attempts: counts.unparsed_attempts.values().sum(),
        disputed: counts.disputed,
    }
}

fn percentage(fraction: f64, interval: Option<(f64, f64)>) -> Percentage {
    Percentage {
        value: fraction * 100.0,
        rounded: stats::percent(fraction),
        interval: interval.map(|(low, high)| (low * 100.0, high * 100.0)),
    }
}

fn pooled(fraction: f64, tally: Tally) -> Percentage {
    percentage(fraction, stats::wilson(tally.correct, tally.total))
}

fn simple_pooled(simple: &[Tally]) -> Option<Percentage> {
    let tally = simple.iter().fold(Tally::default(), |sum, tally| Tally {
        correct: sum.correct + tally.correct,
        total: sum.total + tally.total,
    });
    tally.fraction().map(|fraction| pooled(fraction, tally))
}

fn subsets(
    breakdown: &Breakdown,
    tallies: &BTreeMap<Subset, Tally>,
) -> BTreeMap<Subset, SubsetScore> {
    let scored = breakdown.subsets.iter().map(|(&subset, &fraction)| {
        let tally = tallies[&subset];
        let score = pooled(fraction, tally);
        (subset, SubsetScore { tally, score })
    });
    scored.collect()
}

/// `(weight, correct, total)` of the subsets of a category, weights times `share`.
fn parts(
    category: Category,
    share: f64,
    tallies: &BTreeMap<Subset, Tally>,
) -> Vec<(f64, usize, usize)> {
    aggregate::weights(category, tallies)
        .into_iter()
        .map(|(subset, weight)| {
            let tally = tallies[&subset];
            (weight * share, tally.correct, tally.total)
        })
        .collect()
}

fn normalized(breakdown: &Breakdown, tallies: &BTreeMap<Subset, Tally>) -> Percentage {
    let share = 1.0 / breakdown.categories.len().max(1) as f64;
    let parts: Vec<_> = breakdown
        .categories
        .keys()
        .flat_map(|&category| parts(category, share, tallies))
        .collect();
    percentage(breakdown.normalized, stats::combined_interval(&parts))
}

fn categories(breakdown: &Breakdown, counts: &Counts) -> BTreeMap<Category, CategoryScore> {
    let of_category = |category: Category, map: &BTreeMap<Subset, usize>| {
        category
            .subsets()
            .filter_map(|subset| map.get(&subset))
            .sum()
    };
    let scored = breakdown.categories.iter().map(|(&category, &fraction)| {
        let members = category
            .subsets()
            .filter_map(|subset| Some((subset, *counts.tallies.get(&subset)?)));
        let tally = aggregate::total(&members.collect());
        let interval = match category {
            Category::Live => stats::wilson(tally.correct, tally.total),
            Category::NonLive | Category::Hallucination => {
                stats::combined_interval(&parts(category, 1.0, &counts.tallies))
            }
        };
        let score = CategoryScore {
            tally,
            score: percentage(fraction, interval),
            reference: gate::reference_score(category),
            scored: of_category(category, &counts.outputs),
            unknown_names: of_category(category, &counts.unknown_names),
            unparsed_attempts: of_category(category, &counts.unparsed_attempts),
        };
        (category, score)
    });
    scored.collect()
}

fn warnings(
    outputs: &Outputs,
    categories: &BTreeMap<Category, CategoryScore>,
    reference_raises: usize,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (category, score) in categories {
        let total = score.scored;
        let above = |count: usize, limit| count as f64 > limit * total as f64;
        if above(score.unknown_names, UNKNOWN_NAMES_ALARM) {
            warnings.push(format!(
                "{category}: {} of {total} samples call a name that was not on offer; are the \
                 tools offered with `_` for `.`?",
                score.unknown_names
            ));
        }
        if above(score.unparsed_attempts, UNPARSED_ALARM) {
            warnings.push(format!(
                "{category}: {} of {total} outputs look like tool calls but none could be read; \
                 does the server parse this model's format?",
                score.unparsed_attempts
            ));
        }
    }
    if reference_raises > 0 {
        warnings.push(format!(
            "{reference_raises} outputs would abort the reference's scoring pass; scored 0 here"
        ));
    }
    if outputs.duplicates() > 0 {
        warnings.push(format!(
            "{} outputs beyond the first of their sample are not scored",
            outputs.duplicates()
        ));
    }
    if outputs.unknown() > 0 {
        warnings.push(format!(
            "{} outputs of samples that were not issued are not scored",
            outputs.unknown()
        ));
    }
    warnings
}
