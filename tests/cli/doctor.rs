//! `doctor`, and `inspect --tokenizer`, as scripts use them: exit codes and JSON. Their texts are tested with `docs/`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::model::{damaged, tiny};
use crate::harness::{Ends, edge, scratch};

/// `doctor` where no data are, as JSON.
fn doctor(dir: &Path, code: i32, options: &[&str]) -> Value {
    let ended = edge("doctor")
        .env("EDGE_AGENTIC_DATA", dir.join("absent"))
        .args(["--format", "json"])
        .args(options)
        .ends(code);
    serde_json::from_str(&ended.stdout).expect("strict JSON")
}

#[test]
fn exit_3_what_run_needs_is_named_with_its_command() {
    let dir = scratch();
    let diagnosis = doctor(dir.path(), 3, &[]);
    assert_eq!(diagnosis["ready"], false);
    assert_eq!(diagnosis["run"]["ctx_size"], 32_768);
    let findings = diagnosis["findings"].as_array().expect("a list");
    let missing: Vec<_> = findings
        .iter()
        .filter(|f| f["standing"] == "missing")
        .collect();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0]["command"], "scripts/fetch-data --replay");
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
}

#[test]
fn a_model_brings_its_memory_plan() {
    let dir = scratch();
    let model = tiny().to_str().expect("a plain path");
    let diagnosis = doctor(dir.path(), 3, &["--model", model]);
    assert_eq!(
        diagnosis["model"]["memory"]["value"]["settings"]["ctx_size"],
        32_768
    );
}

#[test]
fn exit_2_a_file_that_is_no_model() {
    let dir = scratch();
    let model = damaged(dir.path(), |bytes| bytes.truncate(100));
    edge("doctor")
        .arg("--model")
        .arg(model)
        .ends(2)
        .says(&["damaged.gguf"]);
}

/// Words apart from each other, every one unknown.
fn another_tokenizer() -> Value {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    })
}

#[test]
fn t6_08_exit_1_a_vocabulary_that_does_not_tokenize_like_its_tokenizer_json() {
    let dir = scratch();
    let tokenizer = dir.path().join("tokenizer.json");
    fs::write(&tokenizer, another_tokenizer().to_string()).expect("writable");
    let inspect = || {
        let mut command = edge("inspect");
        command.arg(tiny()).arg("--tokenizer").arg(&tokenizer);
        command
    };
    let page = inspect().ends(1).stdout;
    assert!(
        page.contains("[FAIL] does not tokenize like tokenizer.json"),
        "{page}"
    );
    assert!(page.contains("digits: token 0 after"), "{page}");
    let json = inspect().args(["--format", "json"]).ends(1).stdout;
    let report: Value = serde_json::from_str(&json).expect("strict JSON");
    assert_eq!(report["tokenizer"]["equal"], false);

    fs::write(&tokenizer, "{}").expect("writable");
    inspect().ends(2).says(&["tokenizer.json: not a usable"]);
}
