//! The comparison for people.

use serde_json::Value;

use crate::comparison::{Comparison, Drawn, Ratio, RunFigures};
use crate::output::{Align, Block, Document, Table, count, decimal, milliseconds, percent};

/// Most characters of a value that is shown; the JSON form has all of it.
const SHOWN: usize = 48;

/// The comparison as a document.
pub fn document(comparison: &Comparison) -> Document {
    let mut document = Document::default();
    document.section("Runs", vec![Block::Table(runs(&comparison.runs))]);
    let mut settings = vec![Block::Lines(vec![comparison.comparable_sentence()])];
    if !comparison.differences.is_empty() {
        settings.push(Block::Table(differences(comparison)));
    }
    document.section("Settings", settings);
    document.section("Outputs", vec![Block::Lines(outputs(comparison))]);
    if comparison.coverage.compared > 0 {
        document.section(
            "Speed (second run; a ratio above 1 is faster)",
            vec![Block::Table(speed(comparison))],
        );
        document.section(
            "Conversations (times as fast, 95 % interval)",
            vec![Block::Table(conversations(comparison))],
        );
    }
    let finding = &comparison.finding;
    let mut lines = vec![finding.statement.clone()];
    lines.extend(finding.reasons.iter().map(|r| format!("because {r}")));
    lines.extend(finding.notes.iter().map(|n| format!("note: {n}")));
    document.section("Finding", vec![Block::Lines(lines)]);
    document
}

fn runs(runs: &[RunFigures; 2]) -> Table {
    let mut table = Table::numbers(&[
        "run",
        "directory",
        "MTP",
        "synthetic",
        "turns",
        "complete",
        "valid",
        "acceptance",
        "tokens/step",
        "loops",
        "BFCL samples",
    ]);
    for index in 1..4 {
        table.columns[index].align = Align::Left;
    }
    for (name, run) in ["first", "second"].into_iter().zip(runs) {
        table.push(vec![
            name.to_owned(),
            run.directory.clone(),
            run.mtp.clone(),
            run.synthetic.clone().unwrap_or_else(|| "no".to_owned()),
            format!("{} of {}", count(run.rows), count(run.selected)),
            yes(run.complete),
            yes(run.valid),
            percent(run.acceptance),
            decimal(run.tokens_per_step, 2),
            count(run.degenerate),
            run.accuracy.map_or_else(|| "none".to_owned(), count),
        ]);
    }
    table
}

fn yes(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn differences(comparison: &Comparison) -> Table {
    let mut table = Table::numbers(&["setting", "first", "second", "can change a turn"]);
    for column in &mut table.columns {
        column.align = Align::Left;
    }
    for difference in &comparison.differences {
        table.push(vec![
            difference.setting.clone(),
            shown(&difference.first),
            shown(&difference.second),
            yes(difference.counts),
        ]);
    }
    table
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn outputs(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![comparison.outputs.sentence()];
    let coverage = &comparison.coverage;
    let apart = [
        ("completed in the first run only", coverage.only_first),
        ("completed in the second run only", coverage.only_second),
        ("completed from prompts that differ", coverage.other_prompt),
    ];
    let apart: Vec<String> = apart
        .into_iter()
        .filter(|(_, turns)| *turns > 0)
        .map(|(what, turns)| format!("{} {what}", count(turns)))
        .collect();
    if !apart.is_empty() {
        lines.push(format!("turns left out: {}", apart.join(", ")));
    }
    let lengths = &comparison.lengths;
    if let (Some(first), Some(second)) = (lengths.first, lengths.second) {
        lines.push(format!(
            "output tokens per turn: {first:.1} in the first run, {second:.1} in the second"
        ));
    }
    lines
}

fn speed(comparison: &Comparison) -> Table {
    let mut table = Table::numbers(&[
        "figure",
        "turns",
        "first",
        "second",
        "ratio",
        "95 % from",
        "to",
        "drawn from",
    ]);
    for (name, ratio) in comparison.overall.named() {
        let (label, show): (_, fn(Option<f64>) -> String) = match name {
            "decode" => ("decode tokens/s", |rate| decimal(rate, 1)),
            "latency" => ("latency (mean, ms)", milliseconds),
            "ttft" => ("ttft (mean, ms)", milliseconds),
            _ => ("tpot (mean, ms)", milliseconds),
        };
        let [low, high] = ratio.interval.map_or([None; 2], |ends| ends.map(Some));
        table.push(vec![
            label.to_owned(),
            count(ratio.turns),
            show(ratio.first),
            show(ratio.second),
            decimal(ratio.ratio, 3),
            decimal(low, 3),
            decimal(high, 3),
            drawn(ratio.drawn).to_owned(),
        ]);
    }
    table
}

const fn drawn(from: Option<Drawn>) -> &'static str {
    match from {
        Some(Drawn::Conversations) => "conversations",
        Some(Drawn::Turns) => "turns",
        None => "too few",
    }
}

fn conversations(comparison: &Comparison) -> Table {
    let mut table = Table::numbers(&["conversation", "turns", "latency", "ttft", "tpot", "decode"]);
    for part in &comparison.conversations {
        let mut row = vec![part.conversation_id.clone(), count(part.turns)];
        row.extend(part.figures.named().map(|(_, ratio)| interval(ratio)));
        table.push(row);
    }
    table
}

fn interval(ratio: &Ratio) -> String {
    let value = decimal(ratio.ratio, 3);
    match ratio.interval {
        Some([low, high]) => format!("{value} ({low:.3}–{high:.3})"),
        None => value,
    }
}
