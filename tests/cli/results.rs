//! `run` on the sample: what is measured, and what is written.

use edge_agentic::metrics::{Summary, TurnCounts, tpot_ns};
use edge_agentic::record::{StopReason, TurnRecord, TurnState, read_records};
use serde_json::Value;

use crate::harness::model::tiny;
use crate::harness::results::{Results, identity, sample_run};
use crate::harness::{Ends, edge, run_sample, scratch};

/// Client turns of the sample.
const TURNS: usize = 11;

/// A run of the sample with further options; returns its results.
fn run_with(options: &[&str]) -> Results {
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out).args(options).ends(0);
    Results::read(&out)
}

#[test]
fn a_run_writes_its_plan_machine_turns_and_summary_and_nothing_else() {
    let run = sample_run();
    let top: Vec<_> = run
        .files
        .keys()
        .filter(|name| !name.contains('/'))
        .collect();
    let expected = [
        "conditions.jsonl",
        "endpoints",
        "machine.json",
        "plan.json",
        "report.md",
        "summary.json",
        "turns.jsonl",
        "verdict.json",
    ];
    assert_eq!(top, expected);
    assert_eq!(run.results.plan.program.load_generator, "edge-agentic run");
    assert_eq!(run.results.plan.engine.context.threads, 1);
    assert_eq!(run.results.plan.model.files[0].sha256.len(), 64);
    assert_eq!(
        run.results.machine.software.llama_cpp,
        run.results.plan.program.llama_cpp
    );
}

#[test]
fn the_states_of_all_turns_add_up() {
    let Results { summary, turns, .. } = &sample_run().results;
    let expected = TurnCounts {
        total: TURNS,
        completed: TURNS,
        sum: TURNS,
        ..TurnCounts::default()
    };
    assert_eq!(summary.turns, expected);
    assert_eq!((turns.records.len(), turns.torn), (TURNS, None));
    assert!(summary.complete && summary.valid, "{:?}", summary.problems);
    assert!(!summary.compliant, "the sample is not the benchmark");
}

#[test]
fn exactly_the_ideal_number_of_prompt_tokens_is_evaluated() {
    let Results { summary, turns, .. } = &sample_run().results;
    assert_eq!(summary.prompt_tokens.evaluated, summary.prompt_tokens.ideal);
    assert_eq!(summary.prompt_tokens.evaluated_to_ideal(), Some(1.0));
    for row in &turns.records {
        assert_eq!(row.evaluated_tokens, row.ideal_tokens);
        let known = (row.reused_tokens.zip(row.evaluated_tokens)).map(|(r, e)| r + e);
        assert_eq!(known, row.prompt_tokens);
        assert_eq!(
            row.reused_tokens == Some(0),
            row.turn == 1,
            "turn {}",
            row.turn
        );
        assert_eq!(row.cuts.last().copied(), row.prompt_tokens);
    }
}

#[test]
fn the_rows_prompts_are_those_of_the_prompts_command() {
    let printed = edge("prompts")
        .arg("--sample")
        .arg("--model")
        .arg(tiny())
        .ends(0)
        .rows();
    let rows = &sample_run().results.turns.records;
    assert_eq!(printed.len(), rows.len());
    for (row, prompt) in rows.iter().zip(&printed) {
        assert_eq!(prompt["conversation_id"], row.conversation_id);
        assert_eq!(prompt["turn"], row.turn);
        assert_eq!(
            prompt["prompt_sha256"].as_str(),
            row.prompt_sha256.as_deref()
        );
        assert_eq!(
            prompt["tokens_sha256"].as_str(),
            row.prompt_ids_sha256.as_deref()
        );
        assert_eq!(
            prompt["ideal_new_tokens"].as_u64(),
            row.ideal_tokens.map(|n| n as u64)
        );
    }
}

#[test]
fn the_model_calls_a_tool_and_stops_by_itself() {
    for row in &sample_run().results.turns.records {
        assert_eq!(row.stop_reason, Some(StopReason::EndOfGeneration));
        assert!(!row.tool_calls.is_empty(), "{:?}", row.text);
        for call in &row.tool_calls {
            let arguments: Value =
                serde_json::from_str(&call.arguments).expect("arguments are JSON");
            assert!(arguments.is_object(), "{arguments}");
        }
        assert!(
            row.first_delta_index.is_some_and(|i| i > 0),
            "a call's first delta is never the first token"
        );
    }
}

#[test]
fn times_are_in_order_and_the_phases_within_the_turn() {
    let mut before = 0;
    for row in &sample_run().results.turns.records {
        let (ttft, latency) = (
            row.ttft_ns.expect("a first token"),
            row.latency_ns.expect("an end"),
        );
        assert_eq!(row.token_ns.len(), row.output_ids.len());
        assert_eq!(row.token_ns.first(), Some(&ttft));
        assert!(row.token_ns.is_sorted() && row.token_ns.last() <= Some(&latency));
        let p = row.phases_ns.expect("phases");
        let sum =
            p.render + p.tokenize + p.restore + p.prefill + p.first_sample + p.decode + p.parse;
        assert!(sum <= latency, "{sum} ns of phases in {latency} ns");
        let started = row.started_ns.expect("a start");
        assert!(started >= before, "one turn at a time");
        before = started + latency;
    }
}

#[test]
fn a_second_run_answers_the_same() {
    let again = run_with(&[]);
    let first = &sample_run().results;
    let identities = |rows: &'static [TurnRecord]| rows.iter().map(identity).collect::<Vec<_>>();
    let (first, again) = (identities(&first.turns.records), again.turns.records);
    assert_eq!(first, again.iter().map(identity).collect::<Vec<_>>());
}

#[test]
fn t4_07_every_json_file_is_strict() {
    let mut seen = 0;
    for (name, bytes) in &sample_run().files {
        let Some(bytes) = bytes else { continue };
        let documents: Vec<&[u8]> = match name.rsplit('.').next() {
            Some("json") => vec![bytes],
            Some("jsonl") => bytes.split_inclusive(|b| *b == b'\n').collect(),
            _ => continue,
        };
        for document in documents {
            serde_json::from_slice::<Value>(document).unwrap_or_else(|e| panic!("{name}: {e}"));
            seen += 1;
        }
    }
    assert!(seen > 4 + TURNS, "{seen} documents");
}

#[test]
fn self_check_of_every_turn_is_equal() {
    let Results { summary, turns, .. } = run_with(&["--self-check", "1"]);
    assert_eq!(
        (summary.self_check.checked, summary.self_check.equal),
        (TURNS, TURNS),
        "{:?}",
        summary.self_check
    );
    let plain = &sample_run().results.turns.records;
    let same = turns
        .records
        .iter()
        .zip(plain)
        .all(|(a, b)| identity(a) == identity(b));
    assert!(same, "the repeats leave no trace in later turns");
}

#[test]
fn server_boundaries_run_and_are_recorded() {
    let Results {
        plan,
        summary,
        turns,
        ..
    } = run_with(&["--boundaries", "server"]);
    assert_eq!(plan.engine.boundaries.to_string(), "server");
    assert_eq!((summary.turns.completed, summary.valid), (TURNS, true));
    let more_cuts = turns
        .records
        .iter()
        .zip(&sample_run().results.turns.records)
        .any(|(s, l)| s.cuts != l.cuts);
    assert!(more_cuts, "the server cuts prompts elsewhere");
}

#[test]
fn a_selection_leaves_the_other_turns_not_selected() {
    let Results { summary, turns, .. } =
        run_with(&["--conversations", "sample__intervals-2", "--turns", "2"]);
    assert_eq!(
        (
            summary.turns.completed,
            summary.turns.not_selected,
            summary.turns.sum
        ),
        (2, 9, TURNS)
    );
    let rows: Vec<_> = turns
        .records
        .iter()
        .map(|r| (r.conversation_id.as_str(), r.turn))
        .collect();
    assert_eq!(
        rows,
        [("sample__intervals-2", 1), ("sample__intervals-2", 3)]
    );
    assert!(
        summary.deviations.iter().any(|d| d.name == "turns"),
        "{:?}",
        summary.deviations
    );
}

#[test]
fn t4_07_one_token_outputs_have_no_tpot() {
    let Results { summary, turns, .. } = run_with(&["--max-new-tokens", "1"]);
    assert_eq!(
        (summary.turns.completed_length, summary.turns.sum),
        (TURNS, TURNS)
    );
    assert!(
        turns
            .records
            .iter()
            .all(|r| r.output_tokens == Some(1) && tpot_ns(r).is_none())
    );
    assert_eq!(
        (
            summary.tpot_ns.count,
            summary.tpot_ns.excluded,
            summary.tpot_ns.mean
        ),
        (0, TURNS, None)
    );
    assert_eq!(
        (summary.ttft_ns.count, summary.osl.mean),
        (TURNS, Some(1.0))
    );
}

#[test]
fn t4_07_a_run_whose_rows_all_failed_still_has_a_strict_summary() {
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out).args(["--ctx-size", "256"]).ends(1);
    let Results { summary, turns, .. } = Results::read(&out);
    assert_eq!(
        (
            summary.turns.failed_overflow,
            summary.turns.skipped,
            summary.turns.sum
        ),
        (2, 9, TURNS)
    );
    assert!(
        turns
            .records
            .iter()
            .all(|r| matches!(r.state, TurnState::FailedOverflow | TurnState::Skipped))
    );
    assert_eq!(
        (summary.latency_ns.count, summary.latency_ns.mean),
        (0, None)
    );
    let rates = summary.tokens_per_second;
    assert_eq!((rates.prefill, rates.decode), (None, None));
    assert!(summary.complete && !summary.valid);
}

#[test]
fn the_result_is_printed_in_four_formats() {
    let table = &sample_run().ended.stdout;
    for part in [
        "Settings",
        "Turns",
        "latency",
        "p99",
        "evaluated ÷ ideal 1.0000",
        "prefill",
        "driver",
    ] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
    let printed = |format| {
        let dir = scratch();
        let out = dir.path().join("out");
        let mut run = run_sample(tiny(), &out);
        run.args(["--conversations", "1", "--turns", "1", "--format", format])
            .ends(0)
            .stdout
    };
    let mut json: serde_json::Map<String, Value> =
        serde_json::from_str(&printed("json")).expect("JSON");
    assert_eq!(
        json.shift_remove("settings").expect("settings")["data set"],
        "embedded sample"
    );
    let summary: Summary =
        serde_json::from_value(json.into()).expect("beside the settings, a summary");
    assert_eq!(
        (summary.turns.completed, summary.turns.not_selected),
        (1, 10)
    );
    let csv = printed("csv");
    assert!(
        csv.starts_with("key,value\n") && csv.contains("\nturns.completed,1\n"),
        "{csv}"
    );
    let markdown = printed("md");
    assert!(
        markdown.starts_with("## ") && markdown.contains("| latency | 1 |"),
        "{markdown}"
    );
}

#[test]
fn results_go_to_stdout_and_progress_and_verdict_to_stderr() {
    let ended = &sample_run().ended;
    ended.says(&["11/11 turns", "VALID"]);
    assert!(
        !ended.stderr.contains('\u{1b}') && !ended.stderr.contains('\r'),
        "no terminal, no control characters"
    );
}

#[test]
fn t4_11_warm_up_turns_are_kept_apart_and_leave_nothing_behind() {
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out)
        .args(["--max-new-tokens", "64", "--warmup", "13"])
        .ends(0);
    let warm = read_records::<TurnRecord>(&out.join("warmup.jsonl")).expect("the warm-up's rows");
    assert_eq!(
        warm.records.len(),
        13,
        "more than one pass over the sample's turns"
    );
    let results = Results::read(&out);
    assert_eq!(results.summary.turns.sum, TURNS);
    let measured = &results.turns.records;
    assert_eq!(
        measured[0].reused_tokens,
        Some(0),
        "no state of the warm-up"
    );
    let plain = &sample_run().results.turns.records;
    let pairs = measured.iter().zip(plain);
    assert!(
        pairs.clone().count() == TURNS && pairs.clone().all(|(a, b)| identity(a) == identity(b))
    );
    assert!(
        results
            .summary
            .deviations
            .iter()
            .any(|d| d.name == "warmup")
    );
}
