//! `compare`: two runs' directories against each other.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::model::{tiny, tiny_mtp};
use crate::harness::tree::tree;
use crate::harness::{Ended, Ends, edge, run_sample, scratch};

/// A replay of the sample's first conversations, in a directory of that name.
fn replayed(dir: &TempDir, name: &str, model: &Path, options: &[&str], code: i32) -> PathBuf {
    let out = dir.path().join(name);
    let mut command = run_sample(model, &out);
    command.args(["--max-new-tokens", "40"]);
    command.args(options).ends(code);
    out
}

fn compare(first: &Path, second: &Path, format: &str) -> Ended {
    let mut command = edge("compare");
    command.arg(first).arg(second).args(["--format", format]);
    command.ends(0)
}

fn json(first: &Path, second: &Path) -> Value {
    serde_json::from_str(&compare(first, second, "json").stdout).expect("strict JSON")
}

#[test]
fn t3_02_t3_04_a_run_with_drafts_is_compared_with_one_without() {
    let dir = scratch();
    let plain = replayed(&dir, "plain", tiny_mtp(), &[], 0);
    let drafts = replayed(&dir, "drafts", tiny_mtp(), &["--mtp", "2"], 0);
    let before = (tree(&plain), tree(&drafts));
    let of = json(&plain, &drafts);
    assert_eq!((tree(&plain), tree(&drafts)), before, "nothing is written");
    assert_eq!(of["comparable"], true);
    assert_eq!(of["compared"], serde_json::json!(["drafts (--mtp)"]));
    assert_eq!(of["differences"][0]["setting"], "engine.mtp");
    assert_eq!(of["coverage"]["compared"], 11);
    assert_eq!(of["outputs"]["turns"], 11);
    assert_eq!(
        of["outputs"]["differ"], 0,
        "this model's drafts change nothing"
    );
    assert_eq!(of["conversations"].as_array().map(Vec::len), Some(2));
    let latency = &of["overall"]["latency"];
    let ratio = latency["ratio"].as_f64().expect("a ratio");
    let low = latency["interval"][0].as_f64().expect("eleven turns");
    assert!(0.0 < low && low <= ratio, "{latency}");
    assert!(of["runs"][1]["tokens_per_step"].as_f64() > Some(1.0));
    assert_eq!(of["runs"][1]["accuracy"], Value::Null);
    let notes = of["finding"]["notes"].to_string();
    assert!(notes.contains("no accuracy result of its own"), "{notes}");
    let table = compare(&plain, &drafts, "table");
    for part in [
        "comparable: of what can change a turn only this differs: drafts (--mtp)",
        "outputs are the same in all 11 turns",
        "latency (mean, ms)",
        "decode tokens/s",
        "sample__slugs-1",
    ] {
        assert!(
            table.stdout.contains(part),
            "{part:?} not in\n{}",
            table.stdout
        );
    }
    table.says(&["the second run is"]);
    assert!(
        compare(&plain, &drafts, "md")
            .stdout
            .starts_with("## Runs\n")
    );
    assert!(
        compare(&plain, &drafts, "csv")
            .stdout
            .contains("\ncomparable,true\n")
    );
}

#[test]
fn an_incomplete_run_is_compared_on_what_both_have() {
    let dir = scratch();
    let whole = replayed(&dir, "whole", tiny(), &[], 0);
    let part = replayed(&dir, "part", tiny(), &[], 0);
    let path = part.join("turns.jsonl");
    let text = fs::read_to_string(&path).expect("rows");
    let end = text.match_indices('\n').nth(6).expect("seven rows").0;
    fs::write(&path, &text[..end + 30]).expect("writable");
    fs::remove_file(part.join("summary.json")).expect("removable");
    compare(&whole, &part, "table").says(&["torn line, left out"]);
    let of = json(&whole, &part);
    assert_eq!(of["coverage"]["compared"], 7);
    assert_eq!(of["coverage"]["only_first"], 4);
    assert_eq!(of["compared"], serde_json::json!([]));
    let notes = of["finding"]["notes"].to_string();
    assert!(
        notes.contains("the second run is incomplete (7 of 11"),
        "{notes}"
    );
}

#[test]
fn a_synthetic_run_and_other_settings_are_labelled() {
    let dir = scratch();
    let one = ["--conversations", "1"];
    let plain = replayed(&dir, "plain", tiny_mtp(), &one, 0);
    let options = [
        "--conversations",
        "1",
        "--mtp",
        "2",
        "--synthetic-acceptance",
        "0.9,0.8",
        "--recorded-lengths",
    ];
    let synthetic = replayed(&dir, "synthetic", tiny_mtp(), &options, 1);
    let of = json(&plain, &synthetic);
    let said = of["finding"]["statement"].as_str().expect("a sentence");
    assert!(said.starts_with("SYNTHETIC: "), "{said}");
    assert_eq!(of["comparable"], false, "drafts and lengths both differ");
    assert_eq!(
        of["compared"],
        serde_json::json!(["recorded-lengths", "drafts (--mtp)"])
    );
    let page = compare(&plain, &synthetic, "table").stdout;
    assert!(
        page.contains("drafts kept by chance, rates 0.9,0.8"),
        "{page}"
    );
    assert!(page.contains("NOT comparable"), "{page}");
}

#[test]
fn t3_01_rows_of_other_settings_are_refused() {
    let dir = scratch();
    let options = ["--mtp", "2", "--turns", "3"];
    let drafts = replayed(&dir, "drafts", tiny_mtp(), &options, 0);
    let plain = replayed(&dir, "plain", tiny_mtp(), &["--turns", "3"], 0);
    let rows = |dir: &Path| dir.join("turns.jsonl");
    let own = fs::read(rows(&plain)).expect("rows");
    for (from, to, said) in [
        (rows(&drafts), &plain, "with --mtp off"),
        (rows(&plain), &drafts, "expected some with --mtp 2"),
    ] {
        let foreign = if to == &plain {
            fs::read(from).expect("rows")
        } else {
            own.clone()
        };
        fs::write(rows(to), foreign).expect("writable");
        for verb in ["report", "compare"] {
            let mut command = edge(verb);
            command.arg(to);
            if verb == "compare" {
                command.arg(to);
            }
            command
                .ends(2)
                .says(&["turns.jsonl", said, "a run with other settings"]);
        }
    }
}

#[test]
fn a_draft_longer_than_the_setting_is_refused_before_it_is_counted() {
    let dir = scratch();
    let options = ["--mtp", "2", "--conversations", "1", "--turns", "2"];
    let run = replayed(&dir, "run", tiny_mtp(), &options, 0);
    let path = run.join("turns.jsonl");
    let text = fs::read_to_string(&path).expect("rows");
    // More than there is memory for, and more than there can be.
    for number in ["3", "4000000000", "18446744073709551615"] {
        let from = "\"step_drafted\":[0";
        let to = format!("\"step_drafted\":[{number}");
        fs::write(&path, text.replacen(from, &to, 1)).expect("writable");
        for verb in ["report", "compare"] {
            let mut command = edge(verb);
            command.arg(&run);
            if verb == "compare" {
                command.arg(&run);
            }
            let said = format!("line 1: step 0 has {number} drafted tokens, expected at most 2");
            command.ends(2).says(&["turns.jsonl", &said]);
        }
    }
}

#[test]
fn a_machine_of_another_layout_is_refused() {
    let dir = scratch();
    let options = ["--conversations", "1", "--turns", "1"];
    let run = replayed(&dir, "run", tiny(), &options, 0);
    let path = run.join("machine.json");
    let mut machine: Value = serde_json::from_slice(&fs::read(&path).expect("it")).expect("JSON");
    machine["schema"] = 99.into();
    fs::write(&path, machine.to_string()).expect("writable");
    let mut command = edge("compare");
    command.arg(&run).arg(&run);
    command
        .ends(2)
        .says(&["machine.json", "found schema 99, expected 1"]);
}

#[test]
fn a_directory_that_is_no_run_is_refused() {
    let dir = scratch();
    let nothing = dir.path().join("nothing");
    let mut command = edge("compare");
    command.arg(&nothing).arg(&nothing);
    command.ends(2).says(&["nothing", "no such directory"]);
    let mut command = edge("compare");
    command.arg(dir.path()).arg(dir.path());
    command.ends(2).says(&["plan.json"]);
    edge("compare").arg(dir.path()).ends(2);
}

#[test]
fn every_field_of_a_comparison_has_a_line() {
    let dir = scratch();
    let options = ["--conversations", "1", "--turns", "2"];
    let plain = replayed(&dir, "plain", tiny(), &options, 0);
    let longer = ["--conversations", "1", "--turns", "2", "--threads", "2"];
    let other = dir.path().join("other");
    let mut command = edge("run");
    command.args(["--performance-only", "--sample", "--max-new-tokens", "40"]);
    command.args(longer).arg("--model").arg(tiny());
    command.arg("--out").arg(&other).ends(0);
    let of = json(&plain, &other);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results.md");
    let page = fs::read_to_string(path).expect("the page");
    let mut open = vec![&of];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    assert!(
                        page.contains(&format!("`{key}`")),
                        "docs/results.md does not name the field {key} of compare"
                    );
                    open.push(member);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert_eq!(of["compared"], serde_json::json!(["threads"]));
    let itself = dir.path().join("plain/../plain");
    compare(&plain, &itself, "json").says(&["compared with itself"]);
}
