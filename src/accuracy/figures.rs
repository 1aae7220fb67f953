//! `accuracy.json`: what the BFCL samples came to, and under which conditions.

use std::collections::BTreeMap;

use bfcl::dataset::Dataset;
use bfcl::judge;
use bfcl::outputs::{Issue, Outputs};
use bfcl::report::Report;
use bfcl::sampling::Selection;
use bfcl::score::{UNPARSED_ALARM, score};
use bfcl::subset::Subset;
use serde::Serialize;

use super::certainty::{Certainty, Running};
use super::checks::Check;
use super::samples::output_text;
use crate::plan::EnginePlan;
use crate::record::{SampleRecord, StopReason};

/// Layout version of [`AccuracyFigures`].
pub const ACCURACY_SCHEMA: u32 = 1;

/// Characters of an output that are quoted.
const QUOTED: usize = 200;

/// Under which conditions the samples were answered: what another run must share for its numbers to be comparable
/// (T5-12).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conditions {
    /// Release of `bfcl-eval` whose files were asked.
    pub bfcl_release: String,
    /// Sampling temperature.
    pub temperature: f64,
    /// How the request lets the model choose tools.
    pub tool_choice: &'static str,
    /// Whether the model may reason.
    pub reasoning: bool,
    /// Most tokens per sample.
    pub max_new_tokens: u32,
    /// How llama.cpp ran: context, batch, threads, cache types, boundaries, offload.
    pub engine: EnginePlan,
    /// SHA-256 of the chat template.
    pub template_sha256: Option<String>,
    /// SHA-256 of each part of the model.
    pub model_sha256: Vec<String>,
    /// llama.cpp build.
    pub llama_cpp: String,
}

/// The result of the accuracy phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AccuracyFigures {
    /// Layout version, [`ACCURACY_SCHEMA`].
    pub schema: u32,
    /// Whose figures these are.
    pub load_generator: String,
    /// Every planned sample has its row.
    pub complete: bool,
    /// Samples that have their row.
    pub answered: usize,
    /// What the answered samples decide about the gates; null where the samples are not the gate's.
    pub certainty: Option<Certainty>,
    /// Samples without a reply: overflow, timeout, error, a reply that nobody can parse. They score 0, and no gate
    /// passes with one.
    pub failed: usize,
    /// Samples cut off by `--max-new-tokens` or the context's end.
    pub length_stops: usize,
    /// Samples whose reasoning was never closed.
    pub unclosed_think: usize,
    /// Conditions.
    pub conditions: Conditions,
    /// The scores.
    #[serde(flatten)]
    pub report: Report,
}

/// What [`AccuracyFigures::of`] looks at besides rows and data.
#[derive(Debug, Clone)]
pub struct AccuracyFacts {
    /// Whose figures these are.
    pub load_generator: String,
    /// Whether the samples are the gate's.
    pub gate: bool,
    /// Conditions.
    pub conditions: Conditions,
}

impl AccuracyFigures {
    /// Scores the rows. Samples of `selection` without a row, or without an output, count as wrong.
    #[must_use]
    pub fn of(
        records: &[SampleRecord],
        data: &Dataset,
        selection: &Selection,
        facts: AccuracyFacts,
    ) -> Self {
        let issue = |(place, &sample): (usize, &usize)| Issue {
            sample,
            output: records.get(place).and_then(|r| output_text(&r.turn)),
        };
        let issues = selection.indexes().iter().enumerate().map(issue).collect();
        let mut report = score(data, &Outputs::new(issues)).report;
        let unread = unreadable(records, data, &report);
        report.warnings.extend(unread);
        no_verdict_on_part(&mut report);
        let mut running = Running::new(data, selection);
        for record in records {
            running.add(record.subset, record.output.as_ref().map(|_| record.score));
        }
        let count = |of: &dyn Fn(&SampleRecord) -> bool| records.iter().filter(|r| of(r)).count();
        Self {
            schema: ACCURACY_SCHEMA,
            load_generator: facts.load_generator,
            complete: records.len() == selection.indexes().len(),
            answered: records.len(),
            certainty: facts.gate.then(|| running.certainty()),
            failed: count(&|r| r.output.is_none()),
            length_stops: count(&|r| {
                matches!(
                    r.turn.stop_reason,
                    Some(StopReason::MaxNewTokens | StopReason::ContextFull)
                )
            }),
            unclosed_think: count(&unclosed_think),
            conditions: facts.conditions,
            report,
        }
    }

    /// The gates as checks of `verdict.json`.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let gates = self.report.gates.iter().map(|gate| {
            let value = gate
                .value
                .map_or_else(|| "not measured".to_owned(), |v| v.to_string());
            let mut detail = format!("{value}, at least {} needed", gate.threshold);
            if let Some(more) = &gate.detail {
                detail += &format!("; {more}");
            }
            Check {
                name: match gate.name.as_str() {
                    "gate_samples" => "accuracy_samples".to_owned(),
                    name => format!("accuracy_{name}"),
                },
                passed: gate.passed,
                detail,
            }
        });
        gates.collect()
    }

    /// The outcome in one line.
    #[must_use]
    pub fn verdict_line(&self) -> String {
        let report = &self.report;
        let scores = format!(
            "overall {:.2}, normalized {:.2}",
            report.overall.rounded, report.normalized.rounded
        );
        let issued = report.issued;
        match (self.complete, self.certainty) {
            (false, Some(Certainty::WillMiss)) => format!(
                "ACCURACY FAIL, decided after {} of {issued} samples: a gate is missed whatever the others give",
                self.answered
            ),
            (false, Some(Certainty::WillReach)) => format!(
                "NO ACCURACY VERDICT: {} of {issued} samples answered; the gates are reached whatever the others give, \
                 but only all of them pass",
                self.answered
            ),
            (false, _) => format!(
                "NO ACCURACY VERDICT: {} of {issued} samples answered",
                self.answered
            ),
            (true, None) => {
                format!("ACCURACY {scores} on {issued} samples that are not the gate's: no verdict")
            }
            (true, Some(_)) if report.passed() => format!("ACCURACY PASS: {scores}"),
            (true, Some(_)) => format!("ACCURACY FAIL: {scores}; {}", self.misses()),
        }
    }

    /// The gates that did not pass, with what they needed.
    fn misses(&self) -> String {
        let missed = self.report.gates.iter().filter(|gate| !gate.passed);
        let words = missed.map(|gate| {
            let why = gate.detail.as_deref().unwrap_or("below the threshold");
            format!("{} needs {}: {why}", gate.name, gate.threshold)
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

/// The scores have no verdict unless all of the gate's samples have an output.
fn no_verdict_on_part(report: &mut Report) {
    let whole = report
        .gates
        .iter()
        .any(|gate| gate.name == "gate_samples" && gate.passed);
    if whole {
        return;
    }
    for gate in report.gates.iter_mut().filter(|g| g.name != "gate_samples") {
        gate.passed = false;
        gate.detail = Some(match gate.detail.take() {
            Some(more) => format!("{more}; no verdict on part of the gate's samples"),
            None => "no verdict on part of the gate's samples".to_owned(),
        });
    }
}

/// Whether the model was still reasoning when it stopped: its text opens a block that it does not close, or the prompt
/// opened one, so that the parser took all of the text for reasoning.
fn unclosed_think(record: &SampleRecord) -> bool {
    let Some(text) = &record.turn.text else {
        return false;
    };
    match (text.rfind("<think>"), text.rfind("</think>")) {
        (Some(open), Some(close)) => open > close,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => record
            .turn
            .reasoning_content
            .as_ref()
            .is_some_and(|reasoning| !reasoning.is_empty()),
    }
}

/// Two outputs as they are, of each category most of whose outputs cannot be read (T5-13).
fn unreadable(records: &[SampleRecord], data: &Dataset, report: &Report) -> Vec<String> {
    let unparsed = |record: &SampleRecord| {
        let judged = data.sample(&record.id).zip(record.output.as_deref());
        judged
            .is_some_and(|(sample, output)| judge::examine(sample.into(), output).unparsed_attempt)
    };
    let mut quotes = Vec::new();
    for (&category, score) in &report.categories {
        if score.unparsed_attempts as f64 <= UNPARSED_ALARM * score.scored as f64 {
            continue;
        }
        let of_category = |r: &&SampleRecord| r.subset.category() == Some(category) && unparsed(r);
        for record in records.iter().filter(of_category).take(2) {
            let text = record.turn.text.as_deref().unwrap_or_default();
            let quoted: String = text.chars().take(QUOTED).collect();
            quotes.push(format!(
                "{category}: an output that could not be read: {quoted:?}"
            ));
        }
    }
    quotes
}

/// Subsets by name, for the shapes that want them so.
#[must_use]
pub fn by_name(report: &Report) -> BTreeMap<&'static str, f64> {
    let scores = report.subsets.iter();
    scores
        .map(|(subset, score): (&Subset, _)| (subset.name(), score.score.rounded))
        .collect()
}
