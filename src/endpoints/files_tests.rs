//! All files of a run: what they say, that they are read back, and that they do not change.

use super::turns_tests::{failed, row, setup};
use super::*;
use crate::accuracy;
use crate::conversation::{Dataset, SAMPLE, SAMPLE_NAME, parse};
use crate::record::{ToolCall, TurnRecord};
use serde_json::Value;
use std::path::Path;

/// Counts characters.
struct Characters;

impl Recount for Characters {
    fn text(&self, text: &str) -> Option<u64> {
        u64::try_from(text.chars().count()).ok()
    }
}

fn sample() -> Dataset {
    parse(SAMPLE, SAMPLE_NAME).unwrap_or_else(|e| panic!("{e}"))
}

/// The recorded calls of every turn of the sample, said again: 100 ns a turn.
fn rows(data: &Dataset) -> Vec<TurnRecord> {
    let turns = data.conversations.iter();
    let turns = turns.flat_map(|c| c.turns.iter().map(|t| (c.id.clone(), t)));
    (turns.zip(0u64..))
        .map(|((id, turn), number)| {
            let calls = turn.recorded.tool_calls.iter().map(|call| ToolCall {
                id: None,
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
            TurnRecord {
                conversation_id: id,
                tool_calls: calls.collect(),
                text: Some("Look.<tool_call>…</tool_call><|im_end|>".to_owned()),
                content: Some("Look.".to_owned()),
                ..row(turn.turn, number * 100, &[1, 1, 1], &[10, 20, 30], 0)
            }
        })
        .collect()
}

fn file<'a>(files: &'a [(&'static str, Vec<u8>)], name: &str) -> &'a str {
    let (_, bytes) = files.iter().find(|(path, _)| *path == name).expect(name);
    std::str::from_utf8(bytes).expect("text")
}

fn json(files: &[(&'static str, Vec<u8>)], name: &str) -> Value {
    serde_json::from_str(file(files, name)).expect("JSON")
}

fn files(
    rows: &[TurnRecord],
    data: &Dataset,
    setup: &Setup,
    recount: Option<&dyn Recount>,
) -> Result<Vec<(&'static str, Vec<u8>)>, EndpointsError> {
    let input = Input {
        performance: Some((rows, data)),
        accuracy: None,
        setup,
        recount,
    };
    super::files(&input).map(|made| made.files)
}

#[test]
fn the_recorded_calls_score_one_and_every_file_says_whose_it_is() {
    let data = sample();
    let rows = rows(&data);
    let files = files(&rows, &data, &setup(), None).unwrap_or_else(|e| panic!("{e}"));
    let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    let expected = "performance/result_summary.json scores.json report.txt \
        accuracy/accuracy_results.json events.jsonl sample_idx_map.json config.yaml";
    assert_eq!(paths, expected.split_whitespace().collect::<Vec<_>>());
    let scores = json(&files, "scores.json");
    assert_eq!(scores["score"], 1.0);
    assert_eq!(scores["turns"]["issued"], data.client_turns());
    assert_eq!(scores["load_generator"], "edge-agentic run");
    let summary = json(&files, "performance/result_summary.json");
    assert_eq!(summary["load_generator"], "edge-agentic run");
    assert_eq!(summary["latency"]["avg"], 35.0);
    assert!(file(&files, "config.yaml").contains("load_generator: edge-agentic run\n"));
    assert!(file(&files, "report.txt").contains("not the official MLPerf load generator"));
    assert!(file(&files, "report.txt").contains("  performance: 1 (unit="));
}

#[test]
fn t9_02_qps_is_count_by_seconds_and_every_percentile_resolves() {
    let data = sample();
    let rows = rows(&data);
    let files = files(&rows, &data, &setup(), None).unwrap_or_else(|e| panic!("{e}"));
    let summary = json(&files, "performance/result_summary.json");
    let seconds = summary["duration_ns"].as_f64().expect("ns") / 1e9;
    let qps = summary["n_samples_completed"].as_f64().expect("a count") / seconds;
    assert!((summary["qps"].as_f64().expect("a rate") - qps).abs() < 1e-9 * qps);
    for series in ["latency", "ttft", "tpot"] {
        for key in ["50.0", "90.0", "95.0", "99.0", "99.9"] {
            assert!(
                summary[series]["percentiles"][key].is_f64(),
                "{series} {key}"
            );
        }
    }
}

#[test]
fn tokens_are_recounted_or_absent_and_never_invented() {
    let data = sample();
    let rows = rows(&data);
    let without = files(&rows, &data, &setup(), None).unwrap_or_else(|e| panic!("{e}"));
    let summary = json(&without, "performance/result_summary.json");
    for (series, why) in [
        ("output_sequence_lengths", "absent: no --tokenizer"),
        ("input_sequence_lengths", "absent: prompts not recounted"),
    ] {
        assert_eq!(summary[series], serde_json::json!({}), "{series}");
        assert_eq!(summary["token_counts"][series], why);
    }
    assert!(summary["tps"].is_null());
    let with = files(&rows, &data, &setup(), Some(&Characters)).unwrap_or_else(|e| panic!("{e}"));
    let summary = json(&with, "performance/result_summary.json");
    // "Look.<tool_call>…</tool_call>" without the end token.
    assert_eq!(summary["output_sequence_lengths"]["avg"], 29.0);
    assert_eq!(summary["input_sequence_lengths"], serde_json::json!({}));
    assert!(summary["tps"].is_f64());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let data = sample();
    let rows = rows(&data);
    let make =
        || files(&rows, &data, &setup(), Some(&Characters)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(make(), make());
}

#[test]
fn our_log_is_read_back_as_the_references_is() {
    let data = sample();
    let mut rows = rows(&data);
    let last = rows.len() - 1;
    let (id, turn) = (rows[last].conversation_id.clone(), rows[last].turn);
    rows[last] = TurnRecord {
        conversation_id: id,
        ..failed(turn, Some(9_000), Some(5))
    };
    let made = files(&rows, &data, &setup(), None).unwrap_or_else(|e| panic!("{e}"));
    let text = file(&made, "events.jsonl");
    let log = read_events(Path::new("events.jsonl"), text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(write_events(&log).expect("JSON"), text.as_bytes());
    let scores = accuracy::score(&accuracy::expected(&data), &answers(&log));
    assert_eq!(scores.turns.missing, 1);
    let again = serde_json::to_value(&scores).expect("an object");
    assert_eq!(again["per_turn"], json(&made, "scores.json")["per_turn"]);
    let tokens = count_tokens(&rows, &data.sha256, None);
    let samples = track(&log, &tokens).unwrap_or_else(|e| panic!("{e}"));
    let summary = json(&made, "performance/result_summary.json");
    assert_eq!(samples.failed, 1);
    assert_eq!(summary["n_samples_failed"], 1);
    let index = json(&made, "sample_idx_map.json");
    let ids = index["performance"].as_object().expect("ids");
    assert_eq!(ids.len(), rows.len());
    assert!(
        log.iter()
            .all(|e| e.turn.is_none() || ids.contains_key(&e.sample_uuid))
    );
}

#[test]
fn rows_of_another_data_set_are_refused() {
    let data = sample();
    let error = files(&[row(1, 0, &[1], &[1], 0)], &data, &setup(), None).expect_err("unknown");
    let text = error.to_string();
    assert!(
        text.contains("row 1: conversation \"a\" has no client turn 1"),
        "{text}"
    );
}
