//! Verdicts, prompts, aggregates and report directories equal to what the reference produced.
//!
//! Everything here needs the shared corpora, most of it the BFCL data too; without them a test says
//! so and passes. The tests in `rules.rs` need neither.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use bfcl::convert;
use bfcl::dataset::Dataset;
use bfcl::judge::{self, Judgement, Question};
use bfcl::outputs::{Issue, Outputs};
use bfcl::pyjson;
use bfcl::pytext;
use bfcl::report::Report;
use bfcl::sampling::{Selection, check_gate_ids};
use bfcl::score::score;
use bfcl::stats;
use bfcl::subset::Subset;
use bfcl::value::Value;
use common::Row;

/// Lines of `visible` (from 1) whose verdict differs, with the reason. At most 0.1 %.
const VISIBLE_DIFFERENCES: [(usize, &str); 0] = [];
/// The same for `synthetic_visible`.
const SYNTHETIC_DIFFERENCES: [(usize, &str); 0] = [];

/// Score, and error type or exception, as one text.
fn expected_verdict(row: &Row) -> String {
    let score = match row.get("score") {
        Some(Value::Int(score)) => score.to_string(),
        _ => "raises".to_owned(),
    };
    let kind = row.text("error_type").or(row.text("exception"));
    format!("{score} {}", kind.unwrap_or("-"))
}

fn found_verdict(question: Question<'_>, output: &str) -> String {
    match judge::examine(question, output).judgement {
        Judgement::Right => "1 -".to_owned(),
        Judgement::Wrong(wrong) => {
            format!("0 {}", wrong.error_type.map_or("-", |it| it.name()))
        }
        Judgement::Raises(raised) => format!("raises {}", raised.exception),
    }
}

fn subset_of(row: &Row) -> Subset {
    let name = row.text("subset").expect("a subset");
    Subset::from_name(name).expect("a known subset")
}

/// Compares every line and panics with the first differences that are not listed.
fn compare(text: &str, listed: &[(usize, &str)], verdict: impl Fn(&Row) -> String) {
    let mut lines = 0;
    let mut unlisted = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        lines += 1;
        let row = Row::parse(line);
        let (expected, found) = (expected_verdict(&row), verdict(&row));
        if expected != found && !listed.iter().any(|&(line, _)| line == number) {
            let start: String = line.chars().take(1200).collect();
            unlisted.push(format!(
                "line {number}: expected {expected}, found {found}\n  {start}"
            ));
        }
    }
    let shown = unlisted[..unlisted.len().min(10)].join("\n");
    assert!(
        unlisted.is_empty(),
        "{} of {lines} differ\n{shown}",
        unlisted.len()
    );
    assert!(listed.len() * 1000 < lines, "too many listed differences");
}

#[test]
fn visible_verdicts_and_error_types_are_equal() {
    let (Some(text), Some(data)) = (common::corpus("visible.jsonl.gz"), common::data()) else {
        return;
    };
    compare(&text, &VISIBLE_DIFFERENCES, |row| {
        let sample = data
            .sample(row.text("id").expect("an id"))
            .expect("a sample");
        assert_eq!(sample.subset(), subset_of(row));
        found_verdict(sample.into(), row.text("output").expect("an output"))
    });
}

#[test]
fn synthetic_verdicts_and_error_types_are_equal() {
    let Some(text) = common::corpus("synthetic_visible.jsonl.gz") else {
        return;
    };
    compare(&text, &SYNTHETIC_DIFFERENCES, |row| {
        let question = Question {
            subset: subset_of(row),
            functions: row.get("func_description").expect("schemas"),
            answer: row.get("possible_answer"),
        };
        found_verdict(question, row.text("output").expect("an output"))
    });
}

#[test]
fn components_are_equal() {
    let Some(text) = common::corpus("components_visible.jsonl.gz") else {
        return;
    };
    let mut compared = 0;
    for line in text.lines() {
        let row = Row::parse(line);
        let Some(found) = component(&row) else {
            continue;
        };
        compared += 1;
        let expected = row.text("out").or(row.text("exc"));
        assert_eq!(Some(found.as_str()), expected, "{line}");
    }
    assert!(compared > 13_000);
}

/// What this side of the crate gives for a component; `None` for components of the extraction.
fn component(row: &Row) -> Option<String> {
    let converted = |value: Result<Value, bfcl::raised::Raised>| match value {
        Ok(value) => pyjson::dumps(&value).expect("plain JSON"),
        Err(raised) => raised.exception.to_string(),
    };
    let source = match row.get("in") {
        Some(Value::Str(text)) => Some(text),
        _ => None,
    };
    Some(match row.text("fn")? {
        "java" => converted(convert::java(
            source?,
            row.text("type")?,
            row.text("nested"),
        )),
        "js" => converted(convert::javascript(
            source?,
            row.text("type")?,
            row.text("nested"),
        )),
        "standardize_string" => pytext::normalize(row.text("in")?),
        "round2" => {
            let fraction = row.text("in")?.parse().expect("a float");
            pyjson::dumps(&Value::Float(stats::percent(fraction))).expect("plain JSON")
        }
        _ => return None,
    })
}

#[test]
fn t5_08_the_gate_is_the_pinned_list() {
    let (Some(text), Some(data)) = (common::corpus("gate_ids.json.gz"), common::data()) else {
        return;
    };
    let expected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let expected: Vec<&str> = expected["ids"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["id"].as_str().expect("an id"))
        .collect();
    let gate = Selection::gate(data);
    let found: Vec<&str> = gate.samples(data).map(|sample| sample.id()).collect();
    assert_eq!(found, expected);
    assert_eq!(check_gate_ids(data, found.iter().copied()), Ok(()));
    let fewer = check_gate_ids(data, found[1..].iter().copied()).expect_err("994 ids");
    assert!(fewer.contains("1 missing"), "{fewer}");
    let twice = found.iter().chain(&found[..1]).copied();
    assert!(check_gate_ids(data, twice).is_err());
}

#[test]
fn gate_prompts_are_equal_by_digest_and_as_ordered_json() {
    let (Some(text), Some(data)) = (common::corpus("gate_prompts.jsonl.gz"), common::data()) else {
        return;
    };
    let mut compared = 0;
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let sample = data
            .sample(row["id"].as_str().expect("an id"))
            .expect("a sample");
        let messages = serde_json::to_value(sample.messages()).expect("plain data");
        let tools = serde_json::Value::from(sample.tools());
        // As text, so that the order of keys counts.
        assert_eq!(messages.to_string(), row["messages"].to_string());
        assert_eq!(tools.to_string(), row["tools"].to_string());
        let prompt = serde_json::json!({"messages": messages, "tools": tools});
        assert_eq!(
            sha256_of_sorted(&prompt),
            row["sha256"].as_str().expect("a digest")
        );
        compared += 1;
    }
    assert_eq!(compared, 995);
}

/// The sha256 of compact JSON with sorted keys and no ASCII escapes.
fn sha256_of_sorted(value: &serde_json::Value) -> String {
    use sha2::Digest;
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    let digest = sha2::Sha256::digest(python_floats(&sorted).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON text with floats as Python prints them (`1e-05`, not `1e-5`).
fn python_floats(value: &serde_json::Value) -> String {
    let text = value.to_string();
    pyjson::encode_compact(&pyjson::loads(&text).expect("JSON")).expect("plain JSON")
}

/// The output texts of the aggregates by sample.
fn pool() -> Option<HashMap<String, Vec<String>>> {
    let text = common::corpus("aggregates_pool.jsonl.gz")?;
    let rows = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let outputs = serde_json::from_value(row["outputs"].clone()).expect("texts");
        (row["id"].as_str().expect("an id").to_owned(), outputs)
    });
    Some(rows.collect())
}

/// The run of an aggregate row: `samples` are `[id, place in the pool]`, null where nothing came back.
fn aggregate_run(
    run: &serde_json::Value,
    data: &Dataset,
    pool: &HashMap<String, Vec<String>>,
) -> Outputs {
    let issues = run["samples"]
        .as_array()
        .expect("samples")
        .iter()
        .map(|entry| {
            let id = entry[0].as_str().expect("an id");
            let output = entry[1]
                .as_u64()
                .map(|place| pool[id][place as usize].clone());
            Issue {
                sample: data.index_of(id).expect("a sample"),
                output,
            }
        });
    Outputs::new(issues.collect())
}

fn printed(report: &Report) -> serde_json::Value {
    let none = report.scored == 0;
    let categories: BTreeMap<&str, f64> = report
        .categories
        .iter()
        .map(|(category, score)| (category.name(), score.score.rounded))
        .collect();
    let subsets: BTreeMap<&str, f64> = report
        .subsets
        .iter()
        .map(|(subset, score)| (subset.name(), score.score.rounded))
        .collect();
    let unscored: BTreeMap<&str, f64> = report
        .subsets
        .iter()
        .filter(|(subset, _)| subset.category().is_none())
        .map(|(subset, score)| (subset.name(), score.score.rounded))
        .collect();
    assert!(!none || subsets.is_empty());
    serde_json::json!({
        "overall_accuracy": report.overall.rounded,
        "normalized_single_turn_score": report.normalized.rounded,
        "category_scores": categories,
        "subset_scores": subsets,
        "unscored_subsets": unscored,
        "total_samples": report.scored,
        "issued_samples": report.issued,
    })
}

#[test]
fn all_aggregates_are_equal() {
    let (Some(text), Some(data), Some(pool)) = (
        common::corpus("aggregates.jsonl.gz"),
        common::data(),
        pool(),
    ) else {
        return;
    };
    let mut runs = 0;
    for line in text.lines() {
        let run: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let report = score(data, &aggregate_run(&run, data, &pool)).report;
        runs += 1;
        if run.get("exception").is_some() {
            assert!(report.reference_raises > 0, "run {}", run["run"]);
            continue;
        }
        assert_eq!(printed(&report), run["expected"], "run {}", run["run"]);
        assert_eq!(
            report.overall.value,
            run["score"].as_f64().expect("a score") * 100.0
        );
    }
    assert_eq!(runs, 200);
}

#[test]
fn report_directories_rescore_to_the_numbers_they_contain() {
    let (Some(dirs), Some(data)) = (common::shared("endpoints"), common::data()) else {
        return;
    };
    for name in ["run_clean", "run_tools"] {
        let dir = dirs.join(name);
        let outputs =
            Outputs::read(&dir, data, &Selection::gate(data)).expect("a report directory");
        let results = std::fs::read_to_string(dir.join("accuracy/accuracy_results.json"));
        let results: serde_json::Value =
            serde_json::from_str(&results.expect("results")).expect("JSON");
        let expected = &results["accuracy_scores"][0]["breakdown"];
        let report = score(data, &outputs).report;
        assert_eq!(&printed(&report), expected, "{name}");
        // 19 samples are no gate run, whatever their scores.
        assert!(!report.passed());
    }
    let error = Outputs::read(&dirs.join("run_overflow"), data, &Selection::gate(data));
    let error = error
        .expect_err("that run had no accuracy phase")
        .to_string();
    assert!(error.contains("expected a data set bfcl_v4"), "{error}");
}

#[test]
fn outputs_as_json_lines_score_like_the_same_outputs_in_memory() {
    let (Some(data), Some(pool)) = (common::data(), pool()) else {
        return;
    };
    let gate = Selection::gate(data);
    let mut lines = String::new();
    let mut issues = Vec::new();
    for (sample, &index) in gate.samples(data).zip(gate.indexes()) {
        let output = pool[sample.id()][0].clone();
        let row = serde_json::json!({"id": sample.id(), "output": output});
        lines.push_str(&format!("{row}\n"));
        issues.push(Issue {
            sample: index,
            output: Some(output),
        });
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("outputs.jsonl");
    write(&path, &lines);
    let read = Outputs::read(&path, data, &gate).expect("readable");
    assert_eq!(read.issues(), issues);
    // A second output of a sample does not count; one of another sample is no gate run.
    let more = format!("{lines}{{\"id\":\"irrelevance_0\",\"output\":\"x\"}}\n");
    write(&path, &more);
    let read = Outputs::read(&path, data, &gate).expect("readable");
    assert_eq!((read.duplicates(), read.unknown()), (1, 0));
    write(
        &path,
        &format!("{lines}{{\"id\":\"irrelevance_239\",\"output\":\"x\"}}\n"),
    );
    let read = Outputs::read(&path, data, &gate).expect("readable");
    assert_eq!(read.unknown(), 1);
    let gates = score(data, &read).report.gates;
    assert!(!gates[0].passed, "{gates:?}");
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a writable directory");
}

#[test]
fn t5_05_disputed_ids_are_samples_of_the_data() {
    let Some(data) = common::data() else {
        return;
    };
    for (id, _) in bfcl::disputed::disputed_ids() {
        assert!(data.sample(id).is_some(), "{id}");
    }
    assert_eq!(data.files().len(), 23);
}
