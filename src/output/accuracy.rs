//! BFCL scores for people.

use bfcl::aggregate::Tally;
use bfcl::gate::{Gate, REFERENCE_NORMALIZED, REFERENCE_OVERALL};
use bfcl::report::{Percentage, Report};

use super::document::{Block, Document, Table};
use super::number::{count, decimal};
use crate::accuracy::AccuracyFigures;

/// The report of scored outputs as a document.
#[must_use]
pub fn accuracy_page(report: &Report) -> Document {
    let mut page = Document::default();
    sections(&mut page, report, Vec::new());
    page
}

/// The sections of a run's accuracy phase.
pub(super) fn phase(page: &mut Document, figures: &AccuracyFigures) {
    let pair = |name: &str, value: usize| (name.to_owned(), count(value));
    let counts = vec![
        pair("answered", figures.answered),
        pair("without a reply", figures.failed),
        pair("cut off by a length limit", figures.length_stops),
        pair("reasoning not closed", figures.unclosed_think),
    ];
    sections(page, &figures.report, counts);
}

fn sections(page: &mut Document, report: &Report, mut more: Vec<(String, String)>) {
    page.section(
        "Accuracy (percent, with 95 % intervals)",
        vec![Block::Table(scores(report))],
    );
    page.section("Subsets", vec![Block::Table(subsets(report))]);
    more.extend(counts(report));
    page.section("Counts", vec![Block::Pairs(more)]);
    if !report.warnings.is_empty() {
        page.section("Warnings", vec![Block::Lines(report.warnings.clone())]);
    }
    page.section(
        "Gates",
        vec![Block::Lines(report.gates.iter().map(gate_line).collect())],
    );
}

fn scores(report: &Report) -> Table {
    let mut table = Table::numbers(&[
        "category",
        "right",
        "issued",
        "score",
        "low",
        "high",
        "reference",
    ]);
    let mut row = |name: &str, tally: Option<Tally>, score: &Percentage, reference: f64| {
        let cell = |value: Option<usize>| value.map_or_else(String::new, count);
        table.push(vec![
            name.to_owned(),
            cell(tally.map(|t| t.correct)),
            cell(tally.map(|t| t.total)),
            format!("{:.2}", score.rounded),
            decimal(score.interval.map(|i| i.0), 2),
            decimal(score.interval.map(|i| i.1), 2),
            format!("{reference:.2}"),
        ]);
    };
    for (category, score) in &report.categories {
        row(
            category.name(),
            Some(score.tally),
            &score.score,
            score.reference,
        );
    }
    row("overall", None, &report.overall, REFERENCE_OVERALL);
    row("normalized", None, &report.normalized, REFERENCE_NORMALIZED);
    table
}

fn subsets(report: &Report) -> Table {
    let mut table = Table::numbers(&["subset", "right", "issued", "score", "low", "high"]);
    for (subset, score) in &report.subsets {
        table.push(vec![
            subset.name().to_owned(),
            count(score.tally.correct),
            count(score.tally.total),
            format!("{:.2}", score.score.rounded),
            decimal(score.score.interval.map(|i| i.0), 2),
            decimal(score.score.interval.map(|i| i.1), 2),
        ]);
    }
    table
}

fn counts(report: &Report) -> Vec<(String, String)> {
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let errors: Vec<String> = report
        .error_types
        .iter()
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    let mut pairs = vec![
        pair("issued", count(report.issued)),
        pair("with an output", count(report.scored)),
        pair("outputs beyond the first", count(report.duplicates)),
        pair("outputs of other samples", count(report.unknown)),
        pair(
            "attempts that do not parse",
            count(report.unparsed_attempts),
        ),
        pair(
            "reference_raises (scored 0)",
            count(report.reference_raises),
        ),
        pair(
            "publicly disputed answers",
            format!(
                "{} issued, {} failed",
                report.disputed.issued,
                report.disputed.failed.len()
            ),
        ),
    ];
    if let Some(pooled) = &report.simple_pooled {
        pairs.push(pair(
            "simple_* pooled (the category takes their mean)",
            format!("{:.2}", pooled.rounded),
        ));
    }
    if !errors.is_empty() {
        pairs.push(pair("wrong answers by error type", errors.join(", ")));
    }
    pairs
}

/// `[PASS] overall: 86.43 (86.4322) ≥ 83.6431`, or why not.
fn gate_line(gate: &Gate) -> String {
    let verdict = if gate.passed { "PASS" } else { "FAIL" };
    let value = match (gate.rounded, gate.value) {
        (Some(rounded), Some(value)) if rounded != value => format!("{rounded:.2} ({value})"),
        (_, Some(value)) => value.to_string(),
        _ => "not measured".to_owned(),
    };
    let relation = if gate.passed { "≥" } else { "; needed" };
    let detail = gate
        .detail
        .as_ref()
        .map_or_else(String::new, |d| format!(": {d}"));
    format!(
        "[{verdict}] {}: {value} {relation} {}{detail}",
        gate.name, gate.threshold
    )
    .replace(" ; ", "; ")
}
