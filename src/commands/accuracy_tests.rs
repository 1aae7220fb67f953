//! The whole accuracy phase on a scripted engine: right answers, wrong ones, and samples that are missing.

use std::collections::BTreeMap;
use std::path::Path;

use bfcl::subset::Subset;
use clap::Parser;
use serde_json::Value as Json;

use super::answers::{Answers, is_right, right};
use super::*;
use crate::chat::Reply;
use crate::cli::{Cli, Command, RunArgs};
use crate::clock::{Clock, ManualClock};
use crate::engine::scripted::{ScriptedEngine, ScriptedTurn};
use crate::machine::{Known, Software, describe};
use crate::plan::{ModelPlan, Plan};
use crate::replay::{Interrupt, Replay, Settings};
use crate::results::{Derived, RunDir, Sources};

/// The BFCL files, where `scripts/fetch-data` put them or beside the checkout.
fn samples() -> Option<Samples> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bfcl-data");
    let dirs = [bfcl::dataset::default_dir(), Some(beside)];
    let found = dirs.into_iter().flatten().find(|dir| dir.exists());
    let Some(dir) = found else {
        eprintln!("skipped: no BFCL files; `scripts/fetch-data --bfcl` fetches them");
        return None;
    };
    Some(Samples::open(&dir).expect("the pinned files"))
}

fn args(more: &[&str]) -> RunArgs {
    let fixed = "edge-agentic run -m m.gguf --accuracy-only --out unused";
    let all = fixed.split(' ').chain(more.iter().copied());
    match Cli::parse_from(all).command {
        Command::Run(args) => *args,
        _ => unreachable!("the verb is run"),
    }
}

fn plan(samples: &Samples, more: &[&str]) -> Plan {
    let model = ModelPlan {
        files: Vec::new(),
        architecture: "qwen35".to_owned(),
        name: None,
        shape: "64 blocks of width 5120".to_owned(),
        template_sha256: None,
        template_tools: true,
        mtp_blocks: 0,
    };
    Plan::new(&args(more), None, Some(samples), model, None, 1).expect("a plan")
}

/// Runs the phase in `dir`: what `run` does, with answers instead of a model.
fn ask(
    dir: &Path,
    samples: &Samples,
    plan: &Plan,
    replies: BTreeMap<String, Reply>,
) -> (Ending, Derived) {
    let dir = RunDir::create(dir).expect("an empty directory");
    let machine = describe(
        &dir.file(""),
        Vec::new(),
        Software::this_program("b0", "none", Known::unknown("compiled in")),
    );
    let started = dir.begin(plan, &machine).expect("a new run");
    let accuracy = plan.accuracy.as_ref().expect("the phase is planned");
    let selection = accuracy.selection(samples);
    let asked = conversations(samples, &selection).expect("single-turn samples");
    let clock = ManualClock::new();
    let step = ScriptedTurn {
        prefill: 5,
        steps: vec![(1, vec![7])],
        ..ScriptedTurn::default()
    };
    let script = vec![step; selection.indexes().len()];
    let mut judge = Judge {
        samples,
        log: started.samples.expect("the phase is planned").log,
        progress: Progress::new(selection.indexes().len() as u64, "samples", &clock),
        running: Running::new(samples, &selection),
        gate: accuracy.is_gate(),
        stop_when_decided: accuracy.stop_when_decided,
        said: false,
    };
    let ending = Replay {
        settings: Settings {
            selection: &facts(samples, &selection),
            first: 0,
            attempt: 0,
            max_new_tokens: 16,
            lengths: None,
            turn_timeout: None,
            time_cap: None,
            self_check: None,
            user_starts: false,
            drop_oldest: None,
            inject_delays: false,
            keep_state: false,
            reuse_across: false,
            shared: Shared::Nothing,
        },
        chat: &mut Answers::new(replies),
        engine: &mut ScriptedEngine::new(clock.clone(), 1000, script),
        clock: &clock as &dyn Clock,
        interrupt: &Interrupt::default(),
        observer: &mut judge,
    }
    .run(&asked)
    .expect("rows can be kept");
    drop(judge);
    let sources = Sources {
        samples: Some(samples),
        ..Sources::default()
    };
    (ending, dir.derive(plan, &sources).expect("sound rows"))
}

/// Right answers to every sample that can be won with them, silence to the others; how many are right.
fn best(samples: &Samples, plan: &Plan) -> (BTreeMap<String, Reply>, Vec<String>) {
    let accuracy = plan.accuracy.as_ref().expect("the phase is planned");
    let selection = accuracy.selection(samples);
    let mut won = Vec::new();
    let replies = selection.samples(samples).map(|sample| {
        let reply = right(sample);
        if is_right(sample, &reply) {
            won.push(sample.id().to_owned());
        }
        (sample.id().to_owned(), reply)
    });
    let replies = replies.collect();
    (replies, won)
}

fn checks(derived: &Derived) -> BTreeMap<&str, bool> {
    let checks = derived.verdict.checks.iter();
    checks.map(|c| (c.name.as_str(), c.passed)).collect()
}

#[test]
fn right_answers_pass_and_one_sample_below_the_threshold_fails() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &[]);
    let (replies, won) = best(&samples, &plan);
    assert!(won.len() > 900, "{} samples won", won.len());
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (ending, all) = ask(&scratch.path().join("a"), &samples, &plan, replies.clone());
    assert_eq!(ending, Ending::Finished);
    let accuracy = all.result.accuracy.as_ref().expect("figures");
    assert_eq!((accuracy.answered, accuracy.failed), (995, 0));
    assert_eq!(accuracy.certainty, Some(Certainty::WillReach));
    assert!(all.gates_pass(), "{:?}", all.verdict.checks);
    assert!(accuracy.verdict_line().starts_with("ACCURACY PASS"));

    // 833 of 995 are needed. simple_python is the largest subset, and weighs least in the normalized score.
    let wrong = |count: usize| {
        let order = [
            "simple_python",
            "live_multiple",
            "live_simple",
            "multiple",
            "parallel",
        ];
        let lost = order
            .iter()
            .flat_map(|subset| {
                won.iter().filter(move |id| {
                    id.rsplit_once('_').is_some_and(|(s, _)| s == *subset)
                        || id.starts_with(&format!("{subset}_"))
                })
            })
            .take(count);
        let mut replies = replies.clone();
        for id in lost {
            replies.insert(id.clone(), Reply::default());
        }
        replies
    };
    let (_, reached) = ask(
        &scratch.path().join("b"),
        &samples,
        &plan,
        wrong(won.len() - 833),
    );
    let checked = checks(&reached);
    assert_eq!(
        (checked["accuracy_overall"], checked["accuracy_samples"]),
        (true, true)
    );
    let (_, missed) = ask(
        &scratch.path().join("c"),
        &samples,
        &plan,
        wrong(won.len() - 832),
    );
    let checked = checks(&missed);
    assert_eq!(
        (checked["accuracy_overall"], checked["accuracy_samples"]),
        (false, true)
    );
    assert!(!missed.gates_pass() && !missed.verdict.passed);
    let accuracy = missed.result.accuracy.as_ref().expect("figures");
    assert_eq!(accuracy.certainty, Some(Certainty::WillMiss));
    assert!(missed.result.summary.valid, "a miss is a valid run");
}

#[test]
fn t5_08_a_run_of_994_is_no_verdict() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &[]);
    let (mut replies, won) = best(&samples, &plan);
    replies.remove(&won[0]);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (_, derived) = ask(&scratch.path().join("a"), &samples, &plan, replies.clone());
    let accuracy = derived.result.accuracy.as_ref().expect("figures");
    assert_eq!((accuracy.report.scored, accuracy.failed), (994, 1));
    assert!(!checks(&derived)["accuracy_samples"] && !derived.gates_pass());
    assert!(
        !checks(&derived)["accuracy_overall"],
        "reached, but no verdict on part of the samples"
    );
    let asked = plan_of(&samples, 994);
    let (_, fewer) = ask(&scratch.path().join("b"), &samples, &asked, replies);
    assert!(!checks(&fewer)["accuracy_samples"] && !fewer.gates_pass());
    let accuracy = fewer.result.accuracy.as_ref().expect("figures");
    assert_eq!(accuracy.certainty, None);
    assert!(accuracy.verdict_line().contains("not the gate's"));
    assert_eq!(asked.deviations[1].name, "bfcl-samples");
}

fn plan_of(samples: &Samples, count: u32) -> Plan {
    plan(samples, &["--bfcl-samples", &count.to_string()])
}

#[test]
fn a_decided_run_ends_where_that_was_asked_and_never_passes() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &["--stop-when-decided"]);
    let silence: BTreeMap<String, Reply> = best(&samples, &plan)
        .0
        .into_keys()
        .map(|id| (id, Reply::default()))
        .collect();
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (ending, missed) = ask(&scratch.path().join("a"), &samples, &plan, silence);
    assert_eq!(ending, Ending::Enough);
    let accuracy = missed.result.accuracy.as_ref().expect("figures");
    assert!(accuracy.answered < 995, "{}", accuracy.answered);
    let line = accuracy.verdict_line();
    assert!(line.starts_with("ACCURACY FAIL, decided after"), "{line}");
    assert!(!missed.gates_pass() && !missed.result.summary.complete);
    let (replies, _) = best(&samples, &plan);
    let (ending, reached) = ask(&scratch.path().join("b"), &samples, &plan, replies);
    assert_eq!(ending, Ending::Enough);
    let accuracy = reached.result.accuracy.as_ref().expect("figures");
    assert_eq!(accuracy.certainty, Some(Certainty::WillReach));
    assert!(accuracy.verdict_line().starts_with("NO ACCURACY VERDICT"));
    assert!(!reached.gates_pass(), "fewer than 995 never pass");
}

#[test]
fn t5_01_an_unreadable_call_counts_as_an_attempt_beside_the_official_score() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &["--categories", "irrelevance"]);
    let (mut replies, _) = best(&samples, &plan);
    let broken = Reply {
        content: "<tool_call>\n<function=f>\n<parameter=x>".to_owned(),
        ..Reply::default()
    };
    replies.insert("irrelevance_0".to_owned(), broken);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (_, derived) = ask(&scratch.path().join("a"), &samples, &plan, replies);
    let report = &derived.result.accuracy.as_ref().expect("figures").report;
    assert_eq!(report.overall.rounded, 100.0, "as the reference scores it");
    assert_eq!(report.unparsed_attempts, 1);
}

#[test]
fn t5_13_a_format_that_nobody_reads_is_an_alarm_with_two_raw_outputs() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &["--bfcl-samples", "40"]);
    let (mut replies, _) = best(&samples, &plan);
    for reply in replies.values_mut() {
        *reply = Reply {
            content: "{\"name\": \"f\", \"arguments\": {".to_owned(),
            ..Reply::default()
        };
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (_, derived) = ask(&scratch.path().join("a"), &samples, &plan, replies);
    let warnings = &derived
        .result
        .accuracy
        .as_ref()
        .expect("figures")
        .report
        .warnings;
    let of = |what: &str| warnings.iter().filter(|w| w.contains(what)).count();
    assert_eq!(
        of("look like tool calls but none could be read"),
        3,
        "{warnings:#?}"
    );
    assert_eq!(of("an output that could not be read"), 6);
}

#[test]
fn t5_12_conditions_are_listed_and_stored_replies_rescore_to_the_same_number() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &["--bfcl-samples", "50", "--reasoning", "on"]);
    let (replies, _) = best(&samples, &plan);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let dir = scratch.path().join("a");
    let (_, derived) = ask(&dir, &samples, &plan, replies);
    let file: Json =
        serde_json::from_slice(&std::fs::read(dir.join("accuracy.json")).expect("written"))
            .expect("JSON");
    for field in [
        "bfcl_release",
        "temperature",
        "reasoning",
        "max_new_tokens",
        "engine",
        "template_sha256",
        "model_sha256",
        "llama_cpp",
        "tool_choice",
    ] {
        assert!(file["conditions"].get(field).is_some(), "{field}");
    }
    assert_eq!(file["conditions"]["reasoning"], true);
    let selection = plan.accuracy.as_ref().expect("planned").selection(&samples);
    let outputs = bfcl::outputs::Outputs::read(&dir.join("outputs.jsonl"), &samples, &selection)
        .expect("readable");
    let again = bfcl::score::score(&samples, &outputs).report;
    let report = &derived.result.accuracy.as_ref().expect("figures").report;
    assert_eq!(
        (again.overall, again.normalized),
        (report.overall, report.normalized)
    );
}

#[test]
fn a_row_that_was_edited_is_refused_with_its_field() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &["--bfcl-samples", "3"]);
    let (replies, _) = best(&samples, &plan);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let dir = scratch.path().join("a");
    ask(&dir, &samples, &plan, replies);
    let file = dir.join("samples.jsonl");
    let text = std::fs::read_to_string(&file).expect("rows");
    std::fs::write(&file, text.replacen("\"score\":1", "\"score\":0", 1)).expect("writable");
    let sources = Sources {
        samples: Some(&samples),
        ..Sources::default()
    };
    let dir = RunDir::existing(&dir).expect("the run");
    let error = dir.derive(&plan, &sources).expect_err("edited").to_string();
    assert!(
        error.contains("line 1: sample") && error.contains("score: found 0, expected 1"),
        "{error}"
    );
}

#[test]
fn t5_09_malformed_calls_are_wrong_and_the_other_samples_score_as_before() {
    let Some(samples) = samples() else { return };
    let plan = plan(&samples, &["--categories", "multiple"]);
    let (mut replies, won) = best(&samples, &plan);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let right = |derived: &Derived| {
        let accuracy = derived.result.accuracy.as_ref().expect("figures");
        let subset = accuracy.report.subsets[&Subset::Multiple];
        (accuracy.answered, subset.tally.correct)
    };
    let (_, before) = ask(&scratch.path().join("a"), &samples, &plan, replies.clone());
    assert_eq!(right(&before), (124, won.len()));
    for (id, arguments) in won.iter().zip(["null", "7", "[]", "[\"x\"]"]) {
        for call in &mut replies.get_mut(id).expect("asked").tool_calls {
            arguments.clone_into(&mut call.arguments);
        }
    }
    let (_, after) = ask(&scratch.path().join("b"), &samples, &plan, replies);
    assert_eq!(right(&after), (124, won.len() - 4));
}
