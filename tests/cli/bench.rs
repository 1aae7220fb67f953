//! `bench` on the tiny model: its rows, its formats, and what it refuses to measure.

use std::path::Path;

use serde_json::Value;

use crate::harness::gguf_file::GgufFile;
use crate::harness::model::{changed, tiny};
use crate::harness::{Ends, edge, scratch};

const DEPTHS: [u64; 3] = [0, 2, 200];

fn bench(model: &Path, options: &[&str]) -> assert_cmd::Command {
    bench_of(model, [40, 6], options)
}

/// The same with another number of prompt and of generated tokens.
fn bench_of(model: &Path, tokens: [u32; 2], options: &[&str]) -> assert_cmd::Command {
    let mut command = edge("bench");
    command.arg("--model").arg(model).args(["--threads", "1"]);
    let [n_prompt, n_gen] = tokens.map(|n| n.to_string());
    command.args([
        "--ctx-size",
        "1024",
        "-p",
        &n_prompt,
        "-n",
        &n_gen,
        "-r",
        "2",
    ]);
    command.args(options);
    command
}

fn report(model: &Path) -> Value {
    let options = ["--depth", "200,0,2,0", "--format", "json"];
    let stdout = bench(model, &options).ends(0).stdout;
    serde_json::from_str(&stdout).expect("JSON")
}

#[test]
fn every_depth_has_its_three_tests() {
    let report = report(tiny());
    let tests = report["tests"].as_array().expect("tests");
    let names: Vec<&str> = tests.iter().filter_map(|t| t["test"].as_str()).collect();
    let expected: Vec<String> = DEPTHS
        .iter()
        .flat_map(|d| ["pp40", "tg6", "turn 40+6"].map(|test| format!("{test} @ d{d}")))
        .collect();
    assert_eq!(names, expected);
    for test in tests {
        let samples = test["samples_ns"].as_array().expect("samples");
        assert_eq!(samples.len(), 2, "{test}");
        assert!(samples.iter().all(|ns| ns.as_u64() > Some(0)), "{test}");
        let is_turn = test["test"].as_str().is_some_and(|t| t.starts_with("turn"));
        assert_eq!(test["phases"].is_object(), is_turn, "{test}");
    }
    assert_eq!(report["backends"], "CPU");
    assert_eq!(report["model_type"], "qwen35 F16");
    assert_eq!(report["plan"]["engine"]["boundaries"], "lean");
}

#[test]
fn the_table_has_llama_benchs_columns() {
    let stdout = bench(tiny(), &["--depth", "16"]).ends(0).stdout;
    let heading = stdout.lines().find(|l| l.contains("t/s")).expect("a table");
    let columns: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(
        columns,
        [
            "model", "size", "params", "backend", "threads", "test", "t/s", "ms"
        ]
    );
    for test in ["pp40 @ d16", "tg6 @ d16", "turn 40+6 @ d16"] {
        assert!(stdout.contains(test), "{stdout}");
    }
    let md = bench(tiny(), &["--depth", "0", "--format", "md"]).ends(0);
    assert!(md.stdout.contains("| model | size |"), "{}", md.stdout);
    let csv = bench(tiny(), &["--depth", "0", "--format", "csv"]).ends(0);
    assert!(csv.stdout.contains("tests.2.n_gen,6"), "{}", csv.stdout);
}

#[test]
fn tests_of_no_tokens_are_left_out_as_in_llama_bench() {
    let options = ["--depth", "16", "--format", "json"];
    let stdout = bench_of(tiny(), [0, 6], &options).ends(0).stdout;
    let report: Value = serde_json::from_str(&stdout).expect("JSON");
    let tests = report["tests"].as_array().expect("tests");
    let names: Vec<&str> = tests.iter().filter_map(|t| t["test"].as_str()).collect();
    assert_eq!(names, ["tg6 @ d16"]);
    let stdout = bench_of(tiny(), [40, 0], &options[..2]).ends(0).stdout;
    assert!(stdout.contains("pp40 @ d16"), "{stdout}");
    assert!(!stdout.contains("tg0"), "{stdout}");
    assert!(!stdout.contains("Turns"), "no turn, no table: {stdout}");
    bench_of(tiny(), [0, 0], &[])
        .ends(2)
        .says(&["--n-prompt 0", "--n-gen 0"]);
}

#[test]
fn a_model_without_a_template_is_measured_too() {
    let dir = scratch();
    let plain = changed(dir.path(), |file: &mut GgufFile| {
        file.retain(|key| key != "tokenizer.chat_template");
    });
    let report = report(&plain);
    assert_eq!(report["tests"].as_array().map(Vec::len), Some(9));
}

#[test]
fn boundaries_can_be_cut_but_not_a_servers() {
    let options = ["--boundaries", "cut", "--depth", "200", "--format", "json"];
    let stdout = bench(tiny(), &options).ends(0).stdout;
    let report: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(report["plan"]["engine"]["boundaries"], "cut");
    bench(tiny(), &["--boundaries", "server"]).ends(2).says(&[
        "'server'",
        "--boundaries",
        "lean, cut",
    ]);
}

#[test]
fn llama_cpps_log_is_shown_where_it_is_asked_for() {
    let quiet = bench(tiny(), &["--depth", "0"]).ends(0).stderr;
    assert!(!quiet.contains("llama.cpp: "), "{quiet}");
    let shown = bench(tiny(), &["--depth", "0", "-v"]).ends(0).stderr;
    assert!(shown.contains("llama.cpp: "), "{shown}");
    assert!(shown.contains("n_ctx"), "the context's own lines: {shown}");
}

#[test]
fn a_depth_beyond_the_context_is_bad_input() {
    bench(tiny(), &["--depth", "0,1000"]).ends(2).says(&[
        "--depth 1000",
        "1046",
        "1024",
        "--ctx-size",
    ]);
    bench(tiny(), &["--depth", "deep"]).ends(2).says(&["deep"]);
}
