//! What the figures amount to, in words: which run is faster, or why nobody should say so.

use serde::Serialize;

use super::RunFigures;
use super::pairs::Pair;
use super::speed::{Figures, Ratio};

/// Share of a run's tokens in replies that end in a loop above which its speed is not the model's.
const LOOPS: f64 = 0.10;

/// Difference of the mean output lengths, as a fraction, above which latencies are of unlike work.
const LENGTHS: f64 = 0.05;

/// How the second run's speed compares with the first's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The interval lies above 1.
    Faster,
    /// The interval lies below 1.
    Slower,
    /// The interval holds 1.
    NoDifference,
    /// There is a ratio, but too little to draw an interval from.
    TooFew,
    /// There is a ratio, and it must not be called a gain or a loss.
    Refused,
    /// There is no ratio.
    Nothing,
}

/// The finding with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Which.
    pub kind: Kind,
    /// One sentence.
    pub statement: String,
    /// Why a ratio is not called a gain or a loss.
    pub reasons: Vec<String>,
    /// What else a reader of the ratio must know.
    pub notes: Vec<String>,
}

/// Output lengths of the compared turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lengths {
    /// Mean output tokens per turn of the first run.
    pub first: Option<f64>,
    /// Of the second.
    pub second: Option<f64>,
    /// Whether they differ by more than 5 %.
    pub differ: bool,
}

impl Lengths {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let mean = |tokens: usize| (!pairs.is_empty()).then(|| tokens as f64 / pairs.len() as f64);
        let first = mean(pairs.iter().map(|p| p.0.output_ids.len()).sum());
        let second = mean(pairs.iter().map(|p| p.1.output_ids.len()).sum());
        let differ = first
            .zip(second)
            .is_some_and(|(a, b)| (a - b).abs() > LENGTHS * a.min(b));
        Self {
            first,
            second,
            differ,
        }
    }
}

impl Finding {
    /// From the runs, the figures over all compared turns, and `subjects`: what was set up otherwise.
    pub(super) fn of(
        runs: &[RunFigures; 2],
        figures: &Figures,
        lengths: &Lengths,
        subjects: &[String],
    ) -> Self {
        let reasons = reasons(runs, lengths);
        let (kind, statement) = match (reasons.is_empty(), lengths.differ) {
            (true, _) => judged("mean turn latency", &figures.latency),
            (false, true) => {
                let (_, per_token) = judged("TPOT", &figures.tpot);
                let text =
                    format!("no speed gain is stated; per token, the fair figure: {per_token}");
                (Kind::Refused, text)
            }
            (false, false) => (Kind::Refused, "no speed gain is stated".to_owned()),
        };
        let labelled = match runs.iter().any(|run| run.synthetic.is_some()) {
            true => format!("SYNTHETIC: {statement}"),
            false => statement,
        };
        Self {
            kind,
            statement: labelled,
            reasons,
            notes: notes(runs, subjects),
        }
    }
}

fn reasons(runs: &[RunFigures; 2], lengths: &Lengths) -> Vec<String> {
    let mut reasons: Vec<String> = named(runs)
        .filter_map(|(which, run)| {
            let share = run.loop_share.filter(|share| *share > LOOPS)?;
            Some(format!(
                "{:.1} % of the {which} run's compared tokens are in replies that end in a loop (more than {:.0} %): \
                 their speed says nothing of the model's",
                share * 100.0,
                LOOPS * 100.0
            ))
        })
        .collect();
    if let (true, Some(first), Some(second)) = (lengths.differ, lengths.first, lengths.second) {
        reasons.push(format!(
            "output lengths differ materially, {first:.1} against {second:.1} tokens per turn (more than {:.0} %): \
             latencies are of unlike work",
            LENGTHS * 100.0
        ));
    }
    reasons
}

fn notes(runs: &[RunFigures; 2], subjects: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    if subjects.len() > 1 {
        notes.push(format!(
            "{} things differ ({}): a ratio is the effect of all of them together",
            subjects.len(),
            subjects.join(", ")
        ));
    }
    for (which, run) in named(runs) {
        if let Some(how) = &run.synthetic {
            notes.push(format!(
                "the {which} run is synthetic ({how}): its times tell about the device, its replies are not the model's"
            ));
        }
        notes.extend(
            run.problems
                .iter()
                .map(|p| format!("the {which} run is not valid: {p}")),
        );
        if run.resumed > 0 {
            notes.push(format!(
                "the {which} run was continued (--resume, {} times): the machine that is compared is the one on which \
                 it started",
                run.resumed
            ));
        }
        if !run.complete {
            notes.push(format!(
                "the {which} run is incomplete ({} of {} selected turns have a row): compared is what both have",
                run.rows, run.selected
            ));
        }
        if run.degenerate > 0 {
            notes.push(format!(
                "{} of the {which} run's replies end in a loop",
                run.degenerate
            ));
        }
        if run.drafted > 0 && run.accuracy.is_none() {
            notes.push(format!(
                "the {which} run drafted (--mtp {}) and has no accuracy result of its own; one of other settings is \
                 not its own",
                run.mtp
            ));
        }
        notes.extend(run.warnings.iter().map(|w| format!("{which} run: {w}")));
    }
    notes
}

fn named(runs: &[RunFigures; 2]) -> impl Iterator<Item = (&'static str, &RunFigures)> {
    ["first", "second"].into_iter().zip(runs)
}

/// A ratio in words.
fn judged(figure: &str, of: &Ratio) -> (Kind, String) {
    let Some(ratio) = of.ratio else {
        let text = format!("no turn has a {figure} in both runs");
        return (Kind::Nothing, text);
    };
    let times = match ratio {
        ..1.0 => format!(
            "{ratio:.3} times as fast in {figure}, that is slower: it takes {:.3} times as long",
            1.0 / ratio
        ),
        _ => format!("{ratio:.3} times as fast in {figure}"),
    };
    match of.interval {
        None => (
            Kind::TooFew,
            format!(
                "the second run is {times} ({} turns, too few for an interval)",
                of.turns
            ),
        ),
        Some([low, high]) => {
            let interval = format!("95 % interval {low:.3} to {high:.3}");
            match (low > 1.0, high < 1.0) {
                (true, _) => (
                    Kind::Faster,
                    format!("FASTER: the second run is {times} ({interval})"),
                ),
                (_, true) => (
                    Kind::Slower,
                    format!("SLOWER: the second run is {times} ({interval})"),
                ),
                _ => (
                    Kind::NoDifference,
                    format!(
                        "no difference shown: the second run is {times} ({interval}, which holds 1)"
                    ),
                ),
            }
        }
    }
}
