//! `report.txt`: the summary for people, laid out as the reference's.

use std::fmt::Write;

use serde_json::Value;

use super::block::{Block, Histogram};
use super::summary::ResultSummary;
use super::text::general;

/// Length of the longest bar of a histogram.
const BAR: usize = 30;

/// The report. `accuracy` holds the entries of `accuracy_results.json`.
#[must_use]
pub fn report(summary: &ResultSummary, accuracy: &[Value]) -> String {
    let mut out = String::new();
    head(&mut out, summary);
    rates(&mut out, summary);
    if !accuracy.is_empty() {
        scores(&mut out, accuracy);
    }
    line(
        &mut out,
        "\n------------------- Latency Breakdowns -------------------",
    );
    series(&mut out, "TTFT", &summary.ttft, "ms", 1e-6);
    series(&mut out, "TPOT", &summary.tpot, "ms", 1e-6);
    series(&mut out, "Latency", &summary.latency, "ms", 1e-6);
    let (isl, osl) = (
        &summary.input_sequence_lengths,
        &summary.output_sequence_lengths,
    );
    series(&mut out, "Input sequence lengths", isl, "tokens", 1.0);
    series(&mut out, "Output sequence lengths", osl, "tokens", 1.0);
    line(
        &mut out,
        "----------------- End of Report -----------------",
    );
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn head(out: &mut String, summary: &ResultSummary) {
    line(out, "----------------- Summary -----------------");
    if !summary.complete {
        line(
            out,
            "WARNING: run was interrupted (SIGTERM/SIGINT) — metrics below are best-effort partial data.",
        );
    }
    line(out, &format!("Version: {}", summary.version));
    if let Some(sha) = &summary.git_sha {
        line(out, &format!("Git SHA: {sha}"));
    }
    if let Some(name) = &summary.load_generator {
        line(
            out,
            &format!("Load generator: {name} (not the official MLPerf load generator)"),
        );
    }
    line(out, "Run config:");
    // A struct of plain fields, so its value is an object.
    let config = serde_json::to_value(&summary.run_config).unwrap_or_default();
    for (section, value) in config.as_object().into_iter().flatten() {
        line(out, &format!("  {section}: {}", settings(value)));
    }
}

/// A section's members as `key=value`, or a plain value.
fn settings(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let pairs = members.iter().map(|(k, v)| format!("{k}={}", python(v)));
            pairs.collect::<Vec<_>>().join(", ")
        }
        plain => python(plain),
    }
}

/// A value as Python prints it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn rates(out: &mut String, summary: &ResultSummary) {
    line(
        out,
        &format!("Total samples issued: {}", summary.n_samples_issued),
    );
    line(
        out,
        &format!("Total samples completed: {}", summary.n_samples_completed),
    );
    line(
        out,
        &format!("Total samples failed: {}", summary.n_samples_failed),
    );
    let seconds = summary.duration_ns.map(|ns| ns as f64 / 1e9);
    let or_absent = |value: Option<f64>, unit: &str| {
        value.map_or("N/A".to_owned(), |v| format!("{v:.2}{unit}"))
    };
    line(
        out,
        &format!("Duration: {}", or_absent(seconds, " seconds")),
    );
    line(out, &format!("QPS: {}", or_absent(summary.qps, "")));
    line(out, &format!("TPS: {}", or_absent(summary.tps, "")));
}

fn scores(out: &mut String, entries: &[Value]) {
    line(out, "Accuracy:");
    for entry in entries {
        score(out, entry);
    }
    if let Some(average) = average(entries) {
        line(out, &format!("  Average: {}", general(average, 4)));
    }
    let spent: Vec<f64> = entries
        .iter()
        .filter_map(|e| e["osl_tokenize_s"].as_f64())
        .collect();
    if !spent.is_empty() {
        let total: f64 = spent.iter().sum();
        line(out, &format!("  OSL tokenization: {}s", general(total, 3)));
    }
}

fn score(out: &mut String, entry: &Value) {
    let name = entry["dataset_name"].as_str().unwrap_or("?");
    let value = entry["score"]
        .as_f64()
        .map_or("N/A".to_owned(), |s| general(s, 4));
    let duration = entry["duration_s"].as_f64();
    let duration = duration.map_or(String::new(), |s| format!(", duration={s:.2}s"));
    let of = |key: &str| python(&entry[key]);
    let (unit, repeats, total) = (of("unit_samples"), of("num_repeats"), of("total_samples"));
    line(
        out,
        &format!("  {name}: {value} (unit={unit}, repeats={repeats}, total={total}{duration})"),
    );
    if let Some(counts) = entry["response_counts"].as_object() {
        let of = |key: &str| counts.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (scored, issued, empty, missing) =
            (of("scored"), of("issued"), of("empty"), of("missing"));
        line(
            out,
            &format!("    responses: {scored}/{issued} scored ({empty} empty, {missing} missing)"),
        );
    }
    if let Some(osl) = entry["output_sequence_lengths"].as_object() {
        let of = |key: &str| osl.get(key).unwrap_or(&Value::Null);
        let average = of("avg").as_f64().unwrap_or(0.0);
        let (min, max) = (python(of("min")), python(of("max")));
        line(
            out,
            &format!("    output tokens (avg/min/max): {average:.1}/{min}/{max}"),
        );
    }
    let subsets = entry["breakdown"]["subset_scores"].as_object();
    for (subset, percent) in subsets.into_iter().flatten() {
        line(
            out,
            &format!("    {subset}: {:.2}%", percent.as_f64().unwrap_or(0.0)),
        );
    }
    if entry["complete"] == Value::Bool(false) {
        line(out, "    (incomplete)");
    }
}

/// The mean score of the accuracy data sets; the replay's own score is not one of them.
pub(super) fn average(entries: &[Value]) -> Option<f64> {
    let of_accuracy = entries
        .iter()
        .filter(|e| e["dataset_type"] != "performance");
    let scores: Vec<f64> = of_accuracy.filter_map(|e| e["score"].as_f64()).collect();
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

fn series(out: &mut String, name: &str, block: &Block, unit: &str, scale: f64) {
    let (stats, estimates) = (block.stats(), block.estimates());
    if stats.is_none() && estimates.is_none() {
        return;
    }
    let scaled =
        |value: Option<f64>| value.map_or("N/A".to_owned(), |v| format!("{:.2}", v * scale));
    line(out, &format!("{name}:"));
    let rows = [
        ("Min", stats.map(|s| s.min.as_f64())),
        ("Max", stats.map(|s| s.max.as_f64())),
        ("Median", stats.map(|s| s.median)),
        ("Avg.", stats.map(|s| s.avg)),
        ("Std Dev.", stats.map(|s| s.std_dev)),
    ];
    for (label, value) in rows {
        line(out, &format!("  {label}: {} {unit}", scaled(value)));
    }
    line(out, "\n  Histogram:");
    if let Some(stats) = stats {
        histogram(out, &stats.histogram, scale);
    }
    line(out, "\n  Percentiles:");
    for (key, value) in stats.into_iter().flat_map(|s| &s.percentiles.0) {
        line(out, &format!("  {key:>6}: {} {unit}", scaled(*value)));
    }
    if let Some(estimates) = estimates {
        line(
            out,
            "\n  Early-stopping percentile estimates (N/A = insufficient samples):",
        );
        for (key, value) in &estimates.0 {
            line(out, &format!("  {key:>6}: {} {unit}", scaled(*value)));
        }
    }
    out.push('\n');
}

fn histogram(out: &mut String, histogram: &Histogram, scale: f64) {
    let last = histogram.buckets.len().saturating_sub(1);
    let labels: Vec<String> = (histogram.buckets.iter().enumerate())
        .map(|(i, (low, high))| {
            let close = if i == last { ']' } else { ')' };
            format!("  [{:.2}, {:.2}{close}", low * scale, high * scale)
        })
        .collect();
    let width = labels.iter().map(String::len).max().unwrap_or(0);
    let most = histogram.counts.iter().max().copied().unwrap_or(0).max(1);
    let per_sample = BAR as f64 / most as f64;
    for (label, count) in labels.iter().zip(&histogram.counts) {
        let bar = "#".repeat((*count as f64 * per_sample) as usize);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {label:>width$} |{bar} {count}");
    }
}
