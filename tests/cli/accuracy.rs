//! The accuracy phase of `run` with a tiny model: records, results, resumption, refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use assert_cmd::Command as Asserted;
use edge_agentic::metrics::Summary;
use edge_agentic::record::{SampleRecord, read_records};
use serde_json::Value;

use crate::harness::model::tiny;
use crate::harness::results::json;
use crate::harness::{Ends, PROGRAM, edge, environment, scratch};

/// The BFCL files; without them a test says so and passes.
fn bfcl() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bfcl-data");
    let found = [bfcl::dataset::default_dir(), Some(beside)]
        .into_iter()
        .flatten()
        .find(|dir| dir.is_dir());
    if found.is_none() {
        println!("skipped: no BFCL files; `scripts/fetch-data --bfcl` fetches them");
    }
    found
}

const SAMPLES: usize = 14;

fn options(data: &Path) -> Vec<String> {
    let fixed = "--accuracy-only --profile none --threads 1 --max-new-tokens 4 --ctx-size 8192";
    let mut all: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
    all.extend(["--bfcl-samples".to_owned(), SAMPLES.to_string()]);
    all.extend(["--model".to_owned(), tiny().display().to_string()]);
    all.extend(["--data".to_owned(), data.display().to_string()]);
    all
}

fn ask(data: &Path, out: &Path) -> Asserted {
    let mut command = edge("run");
    command.args(options(data)).arg("--out").arg(out);
    command
}

fn rows(out: &Path) -> Vec<SampleRecord> {
    let back = read_records::<SampleRecord>(&out.join("samples.jsonl"));
    back.expect("every row is readable").records
}

/// What two runs of the same plan agree on.
fn content(rows: &[SampleRecord]) -> Vec<Value> {
    rows.iter()
        .map(|row| {
            let mut value = serde_json::to_value(row).expect("a row is JSON");
            for field in [
                "started_at",
                "started_ns",
                "ttft_ns",
                "latency_ns",
                "phases_ns",
                "driver_ns",
                "token_ns",
                "attempt",
            ] {
                value["turn"][field] = Value::Null;
            }
            value
        })
        .collect()
}

/// The names of a verdict's checks, in order.
fn check_names(verdict: &Value) -> Vec<&str> {
    let checks = verdict["checks"].as_array().expect("checks");
    checks.iter().filter_map(|c| c["name"].as_str()).collect()
}

fn read(path: PathBuf) -> Value {
    json(&path)
}

#[test]
fn the_phase_leaves_records_scores_and_the_references_shapes() {
    let Some(data) = bfcl() else { return };
    let dir = scratch();
    let out = dir.path().join("out");
    let ended = ask(&data, &out).ends(1);
    assert!(
        ended.stderr.contains("that are not the gate's: no verdict"),
        "{}",
        ended.stderr
    );
    let rows = rows(&out);
    assert_eq!(rows.len(), SAMPLES);
    for row in &rows {
        let turn = &row.turn;
        assert_eq!((turn.turn, &turn.conversation_id), (1, &row.id));
        assert_eq!(
            turn.reused_tokens,
            Some(0),
            "nothing is shared between samples"
        );
        assert_eq!(turn.evaluated_tokens, turn.prompt_tokens);
        assert!(turn.prompt_sha256.is_some() && turn.latency_ns.is_some() && row.output.is_some());
    }
    let accuracy = read(out.join("accuracy.json"));
    assert_eq!(
        (&accuracy["issued"], &accuracy["answered"]),
        (&SAMPLES.into(), &SAMPLES.into())
    );
    assert_eq!(accuracy["certainty"], Value::Null);
    let results = read(out.join("endpoints/accuracy/accuracy_results.json"));
    let entry = &results["accuracy_scores"][0];
    assert_eq!(entry["dataset_name"], "bfcl_v4::function_calling");
    assert_eq!(
        entry["breakdown"]["overall_accuracy"],
        accuracy["overall"]["rounded"]
    );
    assert_eq!(entry["response_counts"]["issued"], SAMPLES);
    let verdict = read(out.join("verdict.json"));
    let names = check_names(&verdict);
    assert_eq!(
        names,
        [
            "valid",
            "phases",
            "accuracy_samples",
            "accuracy_overall",
            "accuracy_normalized"
        ]
    );
    let summary: Summary = json(&out.join("summary.json"));
    assert!(summary.complete && summary.valid && !summary.compliant);
    assert_eq!(
        summary.samples.map(|s| (s.planned, s.answered, s.failed)),
        Some((SAMPLES, SAMPLES, 0))
    );
    a_comparison_knows_what_has_no_reply(&out);
}

/// A comparison reads rows without judging them anew.
fn a_comparison_knows_what_has_no_reply(out: &Path) {
    let valid = || {
        let mut command = edge("compare");
        command.arg(out).arg(out).args(["--format", "json"]);
        let of: Value = serde_json::from_str(&command.ends(0).stdout).expect("strict JSON");
        of["runs"][0].clone()
    };
    assert_eq!(valid()["valid"], true);
    let path = out.join("samples.jsonl");
    let text = fs::read_to_string(&path).expect("rows");
    let mut first: Value = serde_json::from_str(text.lines().next().expect("a row")).expect("JSON");
    first["output"] = Value::Null;
    let rest: String = text.split_inclusive('\n').skip(1).collect();
    fs::write(&path, format!("{first}\n{rest}")).expect("writable");
    let of = valid();
    assert_eq!(of["valid"], false);
    let said = of["problems"][0].as_str().expect("a reason");
    assert!(
        said.contains("1 of 14 BFCL samples have no reply"),
        "{said}"
    );
}

#[test]
fn t5_12_recorded_outputs_rescore_to_the_same_numbers_from_every_file() {
    let Some(data) = bfcl() else { return };
    let dir = scratch();
    let out = dir.path().join("out");
    let mut command = edge("run");
    command.args(["--accuracy-only", "--profile", "none", "--threads", "1"]);
    command.args(["--categories", "live_parallel", "--max-new-tokens", "24"]);
    command.args(["--ctx-size", "8192", "--model"]).arg(tiny());
    command.arg("--data").arg(&data).arg("--out").arg(&out);
    command.ends(1);
    let ours = read(out.join("accuracy.json"));
    for outputs in ["outputs.jsonl", "endpoints"] {
        let scored = edge("score")
            .args(["--format", "json", "--data"])
            .arg(&data)
            .arg("--outputs")
            .arg(out.join(outputs))
            .ends(1);
        let scored: Value = serde_json::from_str(&scored.stdout).expect("JSON");
        let (theirs, mine) = (
            &scored["subsets"]["live_parallel"],
            &ours["subsets"]["live_parallel"],
        );
        assert!(mine["tally"]["total"] == 16, "{mine}");
        assert_eq!(theirs, mine, "{outputs}");
        let mut errors = scored["error_types"].clone();
        errors.as_object_mut().expect("counts").remove("missing");
        assert_eq!(errors, ours["error_types"], "{outputs}");
        assert_eq!(scored["scored"], ours["scored"], "{outputs}");
    }
}

#[test]
fn report_makes_the_same_bytes_and_needs_the_data() {
    let Some(data) = bfcl() else { return };
    let dir = scratch();
    let out = dir.path().join("out");
    ask(&data, &out).ends(1);
    let files = [
        "accuracy.json",
        "verdict.json",
        "summary.json",
        "report.md",
        "outputs.jsonl",
        "endpoints/events.jsonl",
        "endpoints/accuracy/accuracy_results.json",
    ];
    let read_all = || files.map(|f| fs::read(out.join(f)).expect(f));
    let before = read_all();
    edge("report").arg(&out).arg("--data").arg(&data).ends(1);
    assert!(before == read_all(), "the same bytes");
    let ended = edge("report")
        .arg(&out)
        .arg("--data")
        .arg(dir.path().join("none"))
        .ends(2);
    assert!(
        ended.stderr.contains("scripts/fetch-data --bfcl"),
        "{}",
        ended.stderr
    );
}

fn start(data: &Path, out: &Path, resume: bool) -> Child {
    let mut command = Command::new(PROGRAM);
    command.envs(environment()).arg("run").args(options(data));
    command
        .arg(if resume { "--resume" } else { "--out" })
        .arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program under test starts")
}

fn lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

#[test]
fn t8_09_killed_and_resumed_it_ends_with_the_same_records() {
    let Some(data) = bfcl() else { return };
    let dir = scratch();
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    ask(&data, &whole).ends(1);
    let mut kills = 0;
    for stop_at in [1, 2, 5, 5, 9, 12] {
        let mut child = start(&data, &broken, broken.join("plan.json").exists());
        while lines(&broken.join("samples.jsonl")) < stop_at
            && child.try_wait().expect("its state").is_none()
        {
            sleep(Duration::from_millis(1));
        }
        kills += usize::from(child.try_wait().expect("its state").is_none());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    assert!(kills >= 3, "{kills} kills hit a live run");
    let mut rest = edge("run");
    rest.args(options(&data))
        .arg("--resume")
        .arg(&broken)
        .ends(1);
    assert_eq!(content(&rows(&broken)), content(&rows(&whole)));
    let summary: Summary = json(&broken.join("summary.json"));
    assert!(summary.complete && summary.deviations.iter().any(|d| d.name == "resumed"));
    let again = rest.ends(2);
    assert!(
        again.stderr.contains("nothing to resume"),
        "{}",
        again.stderr
    );
}

#[test]
fn performance_and_accuracy_share_one_plan_and_one_verdict() {
    let Some(data) = bfcl() else { return };
    let dir = scratch();
    let out = dir.path().join("out");
    let both = || {
        let mut command = edge("run");
        command.args(options(&data).iter().filter(|o| *o != "--accuracy-only"));
        command.args(["--sample", "--conversations", "1", "--turns", "2"]);
        command
    };
    both().arg("--out").arg(&out).ends(1);
    let verdict = read(out.join("verdict.json"));
    let names = check_names(&verdict);
    assert!(
        names.contains(&"turns_issued") && names.contains(&"accuracy_overall"),
        "{names:?}"
    );
    let index = read(out.join("endpoints/sample_idx_map.json"));
    assert_eq!(index["performance"].as_object().map(|m| m.len()), Some(2));
    assert_eq!(
        index["bfcl_v4::function_calling"]
            .as_object()
            .map(|m| m.len()),
        Some(SAMPLES)
    );
    let report = fs::read_to_string(out.join("report.md")).expect("a report");
    assert!(
        report.contains("Phases (ms)") && report.contains("## Gates"),
        "{report}"
    );
    // Killed between the phases: the samples go on, the turns stay as they are.
    let turns = fs::read(out.join("turns.jsonl")).expect("rows");
    fs::write(out.join("samples.jsonl"), "").expect("writable");
    let resumed = both().arg("--resume").arg(&out).ends(1);
    assert!(
        resumed
            .stderr
            .contains("0 samples kept, going on with sample 1"),
        "{}",
        resumed.stderr
    );
    assert_eq!(fs::read(out.join("turns.jsonl")).expect("rows"), turns);
    // Other settings never join: one plan, one verdict.
    fs::write(out.join("samples.jsonl"), "").expect("writable");
    let other = both()
        .args(["--flash-attn", "off", "--resume"])
        .arg(&out)
        .ends(2);
    assert!(
        other.stderr.contains("engine.context.flash_attn"),
        "{}",
        other.stderr
    );
}

#[test]
fn what_cannot_be_asked_is_refused_before_the_model_is_loaded() {
    let dir = scratch();
    let out = dir.path().join("out");
    let run = |more: &[&str]| {
        let mut command = edge("run");
        command
            .arg("--model")
            .arg(tiny())
            .arg("--out")
            .arg(&out)
            .args(more);
        command.ends(2).stderr
    };
    let message = run(&["--accuracy-only", "--data", "nowhere"]);
    assert!(message.contains("scripts/fetch-data --bfcl"), "{message}");
    assert!(!out.exists());
    let message = run(&[]);
    assert!(
        message.contains("give --dataset FILE, or --sample"),
        "{message}"
    );
    run(&["--accuracy-only", "--performance-only"]);
    run(&["--accuracy-only", "--sample"]);
    run(&["--accuracy-only", "--warmup", "2"]);
    run(&["--accuracy-only", "--osl-window", "1,2"]);
    run(&["--performance-only", "--sample", "--bfcl-samples", "3"]);
    let Some(data) = bfcl() else { return };
    let data = data.display().to_string();
    let message = run(&[
        "--accuracy-only",
        "--data",
        &data,
        "--bfcl-samples",
        "3",
        "--stop-when-decided",
    ]);
    assert!(
        message.contains("only the gate's 995 samples decide its gates"),
        "{message}"
    );
    let message = run(&[
        "--accuracy-only",
        "--data",
        &data,
        "--categories",
        "live,multi_turn",
    ]);
    assert!(
        message.contains("\"multi_turn\"") && message.contains("simple_javascript"),
        "{message}"
    );
}

#[test]
fn reasoning_is_a_named_deviation_that_reaches_the_prompt() {
    let Some(data) = bfcl() else { return };
    let dir = scratch();
    let ask_with = |name: &str, more: &[&str]| {
        let out = dir.path().join(name);
        let mut command = ask(&data, &out);
        command.args(more).ends(1);
        (read(out.join("plan.json")), rows(&out))
    };
    let (_, plain) = ask_with("off", &[]);
    let (plan, thinking) = ask_with("on", &["--reasoning", "on"]);
    let deviations = plan["deviations"].as_array().expect("deviations");
    assert!(
        deviations
            .iter()
            .any(|d| d["name"] == "reasoning" && d["actual"] == "on"),
        "{deviations:?}"
    );
    assert!(
        plain[0].turn.prompt_tokens > thinking[0].turn.prompt_tokens,
        "an open reasoning block is shorter than a closed one"
    );
    assert!(
        plain
            .iter()
            .zip(&thinking)
            .all(|(a, b)| a.turn.prompt_sha256 != b.turn.prompt_sha256)
    );
}
