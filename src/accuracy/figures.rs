//! `accuracy.json`: what the BFCL samples came to, and under which conditions.

use std::collections::BTreeMap;

use bfcl::dataset::Dataset;
use bfcl::judge;
use bfcl::outputs::{Issue, Outputs};
use bfcl::report::Report;
use bfcl::sampling::Selection;
use bfcl::score::score;
use bfcl::subset::{Category, Subset};
use serde::Serialize;

use super::certainty::{Certainty, Running};
use super::checks::Check;
use super::samples::output_text;
use crate::record::{SampleRecord, StopReason};

/// Layout version of [`AccuracyFigures`].
pub const ACCURACY_SCHEMA: u32 = 1;

/// Share of a category whose outputs look like calls but cannot be read, above which the format does not fit (T5-13).
const UNPARSED_ALARM: f64 = 0.5;
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
    /// Context, tokens.
    pub ctx_size: u32,
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
        report.warnings.extend(unreadable(records, data));
        let mut running = Running::new(data, selection);
        for record in records {
            running.add(record.subset, record.output.as_ref().map(|_| record.score));
        }
        let count = |of: &dyn Fn(&SampleRecord) -> bool| records.iter().filter(|r| of(r)).count();
        let reasoning = facts.conditions.reasoning;
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
            unclosed_think: count(&|r| unclosed_think(r, reasoning)),
            conditions: facts.conditions,
            report,
        }
    }

    /// The gates as checks of `verdict.json`. Where samples are open, no gate has a verdict, and none passes.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let open = self.report.issued - self.answered;
        let gates = self.report.gates.iter().map(|gate| {
            let value = gate
                .value
                .map_or_else(|| "not measured".to_owned(), |v| v.to_string());
            let mut detail = format!("{value}, at least {} needed", gate.threshold);
            if open > 0 {
                detail += &format!("; no verdict: {open} samples are open");
            } else if let Some(more) = &gate.detail {
                detail += &format!("; {more}");
            }
            Check {
                name: match gate.name.as_str() {
                    "gate_samples" => "accuracy_samples".to_owned(),
                    name => format!("accuracy_{name}"),
                },
                passed: gate.passed && open == 0,
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
            (true, Some(_)) => format!("ACCURACY FAIL: {scores}"),
        }
    }
}

/// Whether the model was still reasoning when it stopped.
fn unclosed_think(record: &SampleRecord, opened_by_prompt: bool) -> bool {
    let Some(text) = &record.turn.text else {
        return false;
    };
    match (text.rfind("<think>"), text.rfind("</think>")) {
        (Some(open), Some(close)) => open > close,
        (Some(_), None) => true,
        (None, closed) => opened_by_prompt && closed.is_none(),
    }
}

/// A warning for each category most of whose outputs cannot be read, with two of them as they are.
fn unreadable(records: &[SampleRecord], data: &Dataset) -> Vec<String> {
    let mut answered: BTreeMap<Category, usize> = BTreeMap::new();
    let mut raw: BTreeMap<Category, Vec<&str>> = BTreeMap::new();
    for record in records {
        let Some(category) = record.subset.category() else {
            continue;
        };
        *answered.entry(category).or_default() += 1;
        let Some((sample, output)) = data.sample(&record.id).zip(record.output.as_deref()) else {
            continue;
        };
        if judge::examine(sample.into(), output).unparsed_attempt {
            let text = record.turn.text.as_deref().unwrap_or(output);
            raw.entry(category).or_default().push(text);
        }
    }
    let alarming = raw.iter().filter(|(category, texts)| {
        texts.len() as f64 > UNPARSED_ALARM * answered[category] as f64
    });
    alarming
        .flat_map(|(category, texts)| {
            texts.iter().take(2).map(move |text| {
                let quoted: String = text.chars().take(QUOTED).collect();
                format!("{category}: an output that could not be read: {quoted:?}")
            })
        })
        .collect()
}

/// Subsets by name, for the shapes that want them so.
#[must_use]
pub fn by_name(report: &Report) -> BTreeMap<&'static str, f64> {
    let scores = report.subsets.iter();
    scores
        .map(|(subset, score): (&Subset, _)| (subset.name(), score.score.rounded))
        .collect()
}
