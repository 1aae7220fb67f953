//! A run's result as a report.

use serde_json::{Map, Value};

use super::accuracy;
use super::conditions;
use super::document::{Block, Document, Table};
use super::format::Format;
use super::number::{count, decimal, milliseconds, percent, seconds};
use super::{csv, json, markdown, text};
use crate::accuracy::{AccuracyFigures, Check};
use crate::metrics::{DEFINITIONS, Series, Speculation, Summary};
use crate::record::TurnState;

/// The settings of a run by name, in the order in which they are shown.
pub type Settings = Map<String, Value>;

/// Everything that a run came to.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The plan's settings.
    pub settings: Settings,
    /// The figures of its turns.
    pub summary: Summary,
    /// Those of its BFCL samples, where it asked any.
    pub accuracy: Option<AccuracyFigures>,
    /// Whether the mean output length lies within `--osl-window`, where one was given.
    pub osl_window: Option<Check>,
}

/// The summary has no JSON form.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the summary as JSON: {0}")]
pub struct RenderError(#[from] serde_json::Error);

/// Renders a run's result for stdout.
///
/// # Errors
/// See [`RenderError`].
pub fn render(format: Format, result: &RunResult) -> Result<String, RenderError> {
    Ok(match format {
        Format::Table => text::render(&short(result)),
        Format::Md => markdown::render(&full(result)),
        Format::Json => json::render(result)?,
        Format::Csv => csv::render(&json::object(result)?),
    })
}

/// The verdict in one line, deviations included; a further one where the output length is outside its window, and one
/// where accuracy was measured.
#[must_use]
pub fn verdict_line(result: &RunResult) -> String {
    let mut line = validity_line(&result.summary);
    if let Some(missed) = result.osl_window.as_ref().filter(|check| !check.passed) {
        line.push_str("\nOSL WINDOW MISSED: ");
        line.push_str(&missed.detail);
    }
    if let Some(accuracy) = &result.accuracy {
        line.push('\n');
        line.push_str(&accuracy.verdict_line());
    }
    line
}

fn validity_line(summary: &Summary) -> String {
    let word = match (summary.complete, summary.valid) {
        (_, true) => "VALID",
        (true, false) => "NOT VALID",
        (false, false) => "NOT VALID, INCOMPLETE",
    };
    let deviations: Vec<String> = summary
        .deviations
        .iter()
        .map(|d| {
            let (expected, actual) = (plain(&d.expected), plain(&d.actual));
            format!("{} {actual} (expected {expected})", d.name)
        })
        .collect();
    let mut line = word.to_owned();
    if !summary.problems.is_empty() {
        let problems: Vec<&str> = summary
            .problems
            .iter()
            .map(|p| p.message.as_str())
            .collect();
        line = format!("{line}: {}", problems.join("; "));
    }
    match deviations.as_slice() {
        [] if summary.compliant => format!("{line}, compliant"),
        [] => line,
        some => format!("{line}, not compliant: {}", some.join("; ")),
    }
}

/// What fits a terminal's screen.
fn short(result: &RunResult) -> Document {
    let mut document = Document::default();
    document.section("Settings", setting_pairs(&result.settings));
    document.section("Result", verdict(result));
    if result.summary.turns.total > 0 || result.accuracy.is_none() {
        performance(&mut document, &result.summary);
    }
    if let Some(figures) = &result.accuracy {
        accuracy::phase(&mut document, figures);
    }
    let conditions = conditions::pairs(&result.summary);
    if !conditions.is_empty() {
        document.section("Conditions (start → end)", vec![Block::Pairs(conditions)]);
    }
    document
}

fn performance(document: &mut Document, summary: &Summary) {
    document.section("Turns", vec![Block::Table(turns(summary))]);
    document.section(
        "Metrics over completed turns (times in ms)",
        vec![Block::Table(metrics(summary))],
    );
    document.section("Phases (ms)", vec![Block::Table(phases(summary))]);
    document.section("Tokens", vec![Block::Pairs(tokens(summary))]);
}

/// Everything, with definitions.
fn full(result: &RunResult) -> Document {
    let summary = &result.summary;
    let mut document = short(result);
    if !summary.conversations.is_empty() {
        document.section("Conversations", vec![Block::Table(conversations(summary))]);
    }
    let definitions = DEFINITIONS.iter().map(|d| {
        let unit = match d.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        format!("**{}**{unit}: {}", d.name, d.text)
    });
    document.section("Definitions", vec![Block::Lines(definitions.collect())]);
    document
}

fn setting_pairs(settings: &Settings) -> Vec<Block> {
    let pairs: Vec<(String, String)> = settings
        .iter()
        .map(|(name, value)| (name.clone(), plain(value)))
        .collect();
    match pairs.is_empty() {
        true => Vec::new(),
        false => vec![Block::Pairs(pairs)],
    }
}

fn verdict(result: &RunResult) -> Vec<Block> {
    let summary = &result.summary;
    let mut lines: Vec<String> = verdict_line(result).lines().map(str::to_owned).collect();
    let problems = summary.problems.iter().map(|p| &p.message);
    lines.extend(problems.map(|message| format!("[FAIL] {message}")));
    lines.extend(result.osl_window.iter().map(|check| {
        let word = if check.passed { "PASS" } else { "FAIL" };
        format!("[{word}] osl_window: {}", check.detail)
    }));
    let warnings = summary.warnings.iter().map(|w| &w.message);
    lines.extend(warnings.map(|message| format!("[WARN] {message}")));
    vec![Block::Lines(lines)]
}

fn turns(summary: &Summary) -> Table {
    let mut table = Table::numbers(&["state", "turns"]);
    for state in TurnState::ALL {
        let turns = summary.turns.of(state);
        // States that did not occur are noise, but for the one hoped for.
        if turns > 0 || state == TurnState::Completed {
            table.push(vec![state.to_string(), count(turns)]);
        }
    }
    let total = count(summary.turns.total);
    let label = format!("sum (data set: {total})");
    table.push(vec![label, count(summary.turns.sum)]);
    table
}

fn metrics(summary: &Summary) -> Table {
    let mut table = Table::numbers(&[
        "metric", "n", "excl.", "mean", "σ", "min", "p50", "p90", "p95", "p99", "p99.9", "max",
    ]);
    let times = [
        ("latency", &summary.latency_ns),
        ("ttft", &summary.ttft_ns),
        ("tpot", &summary.tpot_ns),
        ("driver", &summary.driver_ns),
    ];
    for (name, series) in times {
        table.push(series_row(name, series, milliseconds, milliseconds));
    }
    let whole = |value| decimal(value, 0);
    let tenths = |value| decimal(value, 1);
    for (name, series) in [
        ("isl (tokens)", &summary.isl),
        ("osl (tokens)", &summary.osl),
    ] {
        table.push(series_row(name, series, whole, tenths));
    }
    table
}

/// `show` for values that occurred, `average` for mean and σ.
fn series_row(
    name: &str,
    series: &Series,
    show: impl Fn(Option<f64>) -> String,
    average: impl Fn(Option<f64>) -> String,
) -> Vec<String> {
    let mut row = vec![name.to_owned(), count(series.count), count(series.excluded)];
    row.extend([series.mean, series.sigma].map(average));
    row.extend(
        [
            series.min,
            series.p50,
            series.p90,
            series.p95,
            series.p99,
            series.p99_9,
            series.max,
        ]
        .map(show),
    );
    row
}

fn phases(summary: &Summary) -> Table {
    let mut table = Table::numbers(&["phase", "mean", "share", "p50", "p90", "p99", "max"]);
    for (name, series) in summary.phases_ns.named() {
        let share = series
            .mean
            .zip(summary.latency_ns.mean)
            .filter(|(_, latency)| *latency > 0.0)
            .map(|(phase, latency)| phase / latency);
        let mut row = vec![name.to_owned(), milliseconds(series.mean), percent(share)];
        row.extend([series.p50, series.p90, series.p99, series.max].map(milliseconds));
        table.push(row);
    }
    table
}

fn tokens(summary: &Summary) -> Vec<(String, String)> {
    let prompt = &summary.prompt_tokens;
    let reused = (prompt.total > 0).then(|| prompt.reused as f64 / prompt.total as f64);
    let rates = &summary.tokens_per_second;
    let mut pairs = vec![
        ("prompt".to_owned(), count(prompt.total)),
        (
            "reused".to_owned(),
            format!("{} ({})", count(prompt.reused), percent(reused)),
        ),
        ("evaluated".to_owned(), count(prompt.evaluated)),
        (
            "ideal".to_owned(),
            format!(
                "{} (evaluated ÷ ideal {})",
                count(prompt.ideal),
                decimal(prompt.evaluated_to_ideal(), 4)
            ),
        ),
        ("decode calls".to_owned(), count(summary.decode_calls)),
        (
            "tokens/s".to_owned(),
            format!(
                "prefill {}, decode {}, overall {}",
                decimal(rates.prefill, 1),
                decimal(rates.decode, 1),
                decimal(rates.overall, 1)
            ),
        ),
        (
            "duration".to_owned(),
            format!("{} s", seconds(summary.duration_ns.map(|ns| ns as f64))),
        ),
    ];
    pairs.extend(optional_pairs(summary));
    pairs
}

/// What only some runs have.
fn optional_pairs(summary: &Summary) -> Vec<(String, String)> {
    let mut pairs = drafts(&summary.speculation);
    let check = &summary.self_check;
    if check.checked > 0 {
        let mut value = format!("{} of {} equal", count(check.equal), count(check.checked));
        if check.unsplit_checked > 0 {
            let (equal, checked) = (count(check.unsplit_equal), count(check.unsplit_checked));
            value += &format!("; without cuts {equal} of {checked} equal (information)");
        }
        pairs.push(("self-check".to_owned(), value));
    }
    if let Some(score) = summary.inline_score {
        pairs.push(("inline score".to_owned(), decimal(Some(score), 4)));
    }
    if summary.resumed > 0 {
        pairs.push(("resumed".to_owned(), format!("{} times", summary.resumed)));
    }
    pairs
}

/// What drafts did; nothing where there were none.
fn drafts(of: &Speculation) -> Vec<(String, String)> {
    if of.drafted == 0 {
        return Vec::new();
    }
    let (accepted, drafted) = (count(of.accepted), count(of.drafted));
    let rate = percent(of.acceptance);
    let mut value = format!("{accepted} of {drafted} accepted ({rate})");
    if let Some(tokens) = of.tokens_per_step {
        value += &format!("; {tokens:.2} tokens per step");
    }
    let mut pairs = vec![("drafts".to_owned(), value)];
    let shares: Vec<String> = of
        .positions
        .iter()
        .map(|p| percent(Some(p.accepted as f64 / p.drafted.max(1) as f64)))
        .collect();
    if !shares.is_empty() {
        pairs.push(("kept by position".to_owned(), shares.join(", ")));
    }
    if let Some(own) = of.against_plain.get() {
        let value = format!(
            "decoding about {:.2} times as fast as by the run's own {} steps without drafts",
            own.ratio,
            count(own.plain_steps)
        );
        pairs.push(("drafts' worth".to_owned(), value));
    }
    pairs
}

fn conversations(summary: &Summary) -> Table {
    let mut table = Table::numbers(&[
        "conversation",
        "completed",
        "selected",
        "turns",
        "trajectory s",
        "peak context",
        "headroom",
        "over 8K at",
        "over 16K at",
        "over 24K at",
        "over 32K at",
    ]);
    for c in &summary.conversations {
        let number = |value: Option<usize>| decimal(value.map(|n| n as f64), 0);
        let turn = |value: Option<u32>| decimal(value.map(f64::from), 0);
        table.push(vec![
            c.conversation_id.clone(),
            count(c.completed),
            count(c.selected),
            count(c.turns),
            seconds(c.trajectory_ns.map(|ns| ns as f64)),
            number(c.peak_context),
            number(c.headroom),
            turn(c.first_overflow.at_8k),
            turn(c.first_overflow.at_16k),
            turn(c.first_overflow.at_24k),
            turn(c.first_overflow.at_32k),
        ]);
    }
    table
}

/// A string without quotes, anything else as compact JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
