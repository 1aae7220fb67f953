//! Options of `run` that nothing else here uses: each is seen to do what `--help` says of it.

use std::path::Path;

use edge_agentic::record::{TurnRecord, read_records};
use serde_json::{Value, json};

use crate::harness::model::{tiny, tiny_mtp};
use crate::harness::results::{Results, json as read};
use crate::harness::{Ended, Ends, edge, run_sample, run_two_turns, scratch};

/// Two turns of four tokens, and their exit code.
#[track_caller]
fn two_turns(out: &Path, options: &[&str], code: i32) -> Ended {
    run_two_turns(out, "4").args(options).ends(code)
}

#[test]
fn a_missed_output_length_window_is_said_wherever_the_verdict_is() {
    let dir = scratch();
    let missed = two_turns(&dir.path().join("missed"), &["--osl-window", "5,9"], 1);
    let detail = "mean output length 4.00 tokens, window 5 to 9";
    missed.says(&[&format!("OSL WINDOW MISSED: {detail}")]);
    let shown = format!("[FAIL] osl_window: {detail}");
    assert!(missed.stdout.contains(&shown), "{}", missed.stdout);

    let hit = two_turns(&dir.path().join("hit"), &["--osl-window", "4,4"], 0);
    assert!(!hit.stderr.contains("OSL WINDOW"), "{}", hit.stderr);
    let shown = "[PASS] osl_window: mean output length 4.00 tokens, window 4 to 4";
    assert!(hit.stdout.contains(shown), "{}", hit.stdout);
}

/// The recorded tools of this conversation took 0.04 s before turn 3.
#[test]
fn injected_delays_pass_between_turns_and_are_in_no_latency() {
    let dir = scratch();
    let out = dir.path().join("out");
    two_turns(&out, &["--inject-delays"], 0);
    let rows = Results::read(&out).turns.records;
    let started = |row: &TurnRecord| row.started_ns.expect("it was issued");
    let ended = started(&rows[0]) + rows[0].latency_ns.expect("it completed");
    assert!(started(&rows[1]) - ended >= 41_200_000, "{rows:?}");
    let plain = dir.path().join("plain");
    two_turns(&plain, &[], 0);
    let plain = Results::read(&plain).turns.records;
    assert!(
        rows.iter()
            .zip(&plain)
            .all(|(a, b)| a.output_ids == b.output_ids)
    );
}

#[test]
fn every_conversation_starts_from_what_they_share_only_where_that_is_asked_for() {
    let dir = scratch();
    let reused = |name: &str, more: &[&str]| {
        let out = dir.path().join(name);
        let options = ["--turns", "1", "--max-new-tokens", "2", "--repeat", "2"];
        run_sample(tiny(), &out).args(options).args(more).ends(0);
        let rows = read_records::<TurnRecord>(&out.join("turns.jsonl")).expect("rows");
        let rows = rows.records;
        assert_eq!(rows[3].conversation_id, "sample__intervals-2__repeat_2");
        rows.iter()
            .map(|r| r.reused_tokens.unwrap_or(0))
            .collect::<Vec<_>>()
    };
    assert_eq!(reused("alone", &[]), [0, 0, 0, 0]);
    let shared = reused("shared", &["--reuse-across-conversations"]);
    assert!(
        shared[0] == 0 && shared[1..].iter().all(|n| *n > 100),
        "{shared:?}"
    );
    let salted = reused("salted", &["--reuse-across-conversations", "--salt"]);
    assert_eq!(salted, [0, 0, 0, 0]);
}

#[test]
fn a_tokenizer_counts_output_lengths_and_no_input_lengths() {
    let dir = scratch();
    let tokenizer = dir.path().join("tokenizer.json");
    let words = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    });
    std::fs::write(&tokenizer, words.to_string()).expect("writable");
    let name = tokenizer.display().to_string();
    let counted = |out: &str, options: &[&str]| -> Value {
        let out = dir.path().join(out);
        two_turns(&out, options, 0);
        read(&out.join("endpoints/performance/result_summary.json"))
    };
    let without = counted("without", &[]);
    assert_eq!(without["output_sequence_lengths"], json!({}));
    let with = counted("with", &["--tokenizer", &name]);
    assert!(
        with["output_sequence_lengths"]["total"].as_u64() > Some(0),
        "{with}"
    );
    assert_eq!(
        with["token_counts"]["output_sequence_lengths"],
        "tokenizer.json"
    );
    assert_eq!(with["input_sequence_lengths"], json!({}));

    let report = |options: &[&str], code: i32| {
        let mut command = edge("report");
        command
            .arg(dir.path().join("with"))
            .args(options)
            .ends(code)
    };
    report(&["--tokenizer", &name], 0);
    report(&[], 2).says(&["--tokenizer: found none, expected tokenizer.json"]);
}

/// Every element type but the default, for K or for V: the context has it, and a model runs with it.
#[test]
fn every_other_cache_type_is_the_contexts() {
    let dir = scratch();
    for (number, kind) in [
        "f32", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl",
    ]
    .into_iter()
    .enumerate()
    {
        let out = dir.path().join(kind);
        // One type for K in every second case, for V in the others.
        let (option, shown) = match number % 2 {
            0 => ("--cache-type-k", format!("K ({kind})")),
            _ => ("--cache-type-v", format!("V ({kind})")),
        };
        let log = two_turns(&out, &[option, kind, "--verbose"], 0).stderr;
        assert!(log.contains(&shown), "{option} {kind}: {log}");
    }
}

#[test]
fn flash_attention_is_what_was_asked_for() {
    let dir = scratch();
    for (asked, shown) in [("on", "enabled"), ("off", "disabled"), ("auto", "auto")] {
        let log = two_turns(&dir.path().join(asked), &["--fa", asked, "-v"], 0).stderr;
        let line = log.lines().find(|line| line.contains("flash_attn "));
        assert!(line.is_some_and(|line| line.ends_with(shown)), "{line:?}");
    }
}

/// A batch larger than the micro-batch changes no call; the micro-batch does.
#[test]
fn calls_are_as_large_as_the_micro_batch() {
    let dir = scratch();
    let calls = |name: &str, options: &[&str]| {
        let out = dir.path().join(name);
        two_turns(&out, options, 0);
        let rows = Results::read(&out).turns.records;
        rows.iter().map(|row| row.cuts.clone()).collect::<Vec<_>>()
    };
    let plain = calls("plain", &["--ubatch-size", "128"]);
    assert_eq!(plain[0][..3], [128, 256, 384]);
    assert_eq!(
        calls("batch", &["--ubatch-size", "128", "--batch-size", "128"]),
        plain
    );
}

/// llama.cpp asserts that it got the memory for the graphs of a micro-batch. A GPU's driver needs more than the limit here.
#[cfg(all(
    target_os = "linux",
    not(any(feature = "cuda", feature = "vulkan", feature = "rocm"))
))]
#[test]
fn a_micro_batch_whose_graph_has_no_room_is_refused_and_no_abort() {
    use crate::harness;

    let dir = scratch();
    for (model, size, mtp, code) in [
        (tiny(), "16384", "off", 3),
        (tiny(), "2048", "off", 0),
        (tiny_mtp(), "4096", "1", 3),
    ] {
        let mut shell = assert_cmd::Command::new("sh");
        shell.envs(harness::environment()).timeout(harness::LIMIT);
        shell.args([
            "-c",
            "ulimit -v 6000000; exec \"$0\" \"$@\"",
            harness::PROGRAM,
        ]);
        shell.args(["run", "--performance-only", "--sample", "--turns", "1"]);
        shell.args(["--max-new-tokens", "2", "--threads", "1", "--mtp", mtp]);
        shell.args(["--ubatch-size", size, "--batch-size", size]);
        shell.arg("--model").arg(model);
        let ended = shell.arg("--out").arg(dir.path().join(size)).ends(code);
        if code == 3 {
            ended.says(&[
                "--ubatch-size",
                "GiB of address space",
                "use a smaller --ubatch-size",
            ]);
        }
    }
}
