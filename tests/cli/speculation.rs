//! `--mtp`: the model's prediction block drafts, the model decides, and nothing but the time changes by it.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use edge_agentic::chat::Token;
use edge_agentic::clock::MonotonicClock;
use edge_agentic::engine::cuts::Boundaries;
use edge_agentic::engine::llama::{LlamaEngine, LoadedModel};
use edge_agentic::engine::speculation::Mtp;
use edge_agentic::engine::{Engine, TurnOutcome};
use edge_agentic::record::{StopReason, TurnRecord};
use edge_agentic::results::Verdict;

use super::engine::{
    HELD_BACK, loaded, next, prompt, repeats_leave_the_state, request, settings, turn,
};
use crate::harness::model::{tiny, tiny_mtp};
use crate::harness::results::{Results, json};
use crate::harness::{Ends, edge, run_sample, scratch};

/// What each turn adds, tokens: few, a micro-batch and a little more, several.
const ADDED: [usize; 6] = [61, 4, 64, 5, 130, 66];

fn model() -> &'static LoadedModel {
    static MODEL: OnceLock<LoadedModel> = OnceLock::new();
    MODEL.get_or_init(|| loaded(tiny_mtp(), true))
}

fn engine(context: u32, mtp: Mtp) -> LlamaEngine<'static> {
    let mut settings = settings(context, Boundaries::Lean);
    settings.mtp = mtp;
    let clock = Arc::new(MonotonicClock::start());
    LlamaEngine::new(model(), &settings, clock).expect("two contexts")
}

/// What must hold of any turn.
#[track_caller]
fn check(out: &TurnOutcome) {
    assert_eq!(out.step_tokens.iter().sum::<usize>(), out.output.len());
    assert_eq!(out.step_tokens.first(), Some(&1), "{:?}", out.step_tokens);
    assert!(out.accepted <= out.drafted, "{out:?}");
    assert_eq!(out.step_drafted.len(), out.step_tokens.len());
    assert_eq!(out.step_drafted.iter().sum::<usize>(), out.drafted);
    let mut steps = out.step_tokens.iter().zip(&out.step_drafted);
    assert!(
        steps.all(|(emitted, drafted)| *emitted <= drafted + 1),
        "{out:?}"
    );
    // Each step emits its accepted drafts and a token of the model's own; the last may end with a draft.
    let own = out.output.len() - out.accepted;
    let steps = out.step_tokens.len();
    assert!(own == steps || own + 1 == steps, "{out:?}");
}

/// Six turns of two conversations, the second with nothing in common with the first.
fn play(engine: &mut LlamaEngine<'_>) -> Vec<TurnOutcome> {
    let mut outcomes = Vec::new();
    for seed in [3, 8] {
        engine.forget();
        let mut ids = prompt(seed, 150);
        for (i, n) in ADDED.into_iter().enumerate() {
            outcomes.push(turn(engine, &ids).expect("a turn"));
            ids = next(&ids, seed + i, n);
        }
    }
    outcomes
}

#[test]
fn t3_01_every_depth_gives_the_tokens_of_none_and_repeats_itself() {
    let plain = play(&mut engine(1024, Mtp::Off));
    assert!(plain.iter().all(|o| o.drafted == 0));
    let depths = (1..=4).chain([8]).map(Mtp::Depth).chain([Mtp::Auto]);
    for mtp in depths {
        let mut engine = engine(1024, mtp);
        let once = play(&mut engine);
        let (mut drafted, mut accepted) = (0, 0);
        for (turn, (out, reference)) in once.iter().zip(&plain).enumerate() {
            check(out);
            assert_eq!(out.output, reference.output, "--mtp {mtp}, turn {turn}");
            assert_eq!((out.reused, &out.cuts), (reference.reused, &reference.cuts));
            assert_eq!(out.evaluated, reference.evaluated);
            assert_eq!(out.stop, reference.stop);
            drafted += out.drafted;
            accepted += out.accepted;
        }
        assert!(
            0 < accepted && accepted < drafted,
            "--mtp {mtp}: {accepted} of {drafted}"
        );
        let twice = play(&mut engine);
        let tokens = |outs: &[TurnOutcome]| -> Vec<Vec<Token>> {
            outs.iter().map(|o| o.output.clone()).collect()
        };
        assert_eq!(tokens(&twice), tokens(&once), "--mtp {mtp}");
    }
}

#[test]
fn t3_05_tokens_evaluated_again_are_not_accepted_ones() {
    // The first step after a prompt evaluates its last tokens again, together with the first generated one.
    for most in 1..=6 {
        let ids = prompt(3, 200);
        let mut engine = engine(1024, Mtp::Depth(4));
        let mut asked = request(&ids, None);
        asked.max_new_tokens = most;
        let go_on = &mut |_, _| ControlFlow::Continue(());
        let out = engine.turn(&asked, go_on).expect("a turn");
        check(&out);
        assert!(out.output.len() <= most);
        assert!(
            out.drafted <= (most - 1) * most / 2,
            "no more than there is room for: {out:?}"
        );
        let whole = turn(&mut self::engine(1024, Mtp::Off), &ids).expect("a turn");
        assert!(whole.output.starts_with(&out.output));
    }
}

#[test]
fn t3_05_drafts_kept_by_script_are_counted_as_by_hand_through_rollbacks_and_restores() {
    // Of each draft of three the first is kept, unless it is an end, which never is; two are always rolled back.
    let mut settings = settings(1024, Boundaries::Lean);
    settings.mtp = Mtp::Depth(3);
    settings.synthetic = Some("1,0,0".parse().expect("rates"));
    let clock = Arc::new(MonotonicClock::start());
    let mut engine = LlamaEngine::new(model(), &settings, clock).expect("two contexts");
    let mut ids = prompt(3, 200);
    for seed in 0..3 {
        let mut asked = request(&ids, None);
        asked.max_new_tokens = 21;
        asked.ignore_end = true;
        let go_on = &mut |_, _| ControlFlow::Continue(());
        let out = engine.turn(&asked, go_on).expect("a turn");
        check(&out);
        // A step drafts three, or as many as leave room for the token after them.
        let (mut drafted, mut accepted, mut tokens) = (vec![0], 0, 1);
        for &emitted in &out.step_tokens[1..] {
            drafted.push((21 - tokens - 1).min(3));
            accepted += emitted - 1;
            tokens += emitted;
            assert!(emitted <= 2, "{out:?}");
        }
        assert_eq!(out.step_drafted, drafted);
        assert_eq!((out.accepted, tokens), (accepted, 21));
        assert!(accepted >= 8, "ends are rare: {out:?}");
        assert_eq!(
            out.reused > 0,
            seed > 0,
            "later turns start from a restored state"
        );
        ids = next(&ids, seed, 50);
    }
}

#[test]
fn t3_09_the_depth_shrinks_at_the_contexts_end() {
    for depth in [3, 8] {
        for free in 1..=12 {
            let ids = prompt(6, 256 - free);
            let plain = turn(&mut engine(256, Mtp::Off), &ids).expect("it fits");
            let out =
                turn(&mut engine(256, Mtp::Depth(depth)), &ids).expect("it fits, and no abort");
            check(&out);
            let mut left = free;
            for (emitted, drafted) in out.step_tokens.iter().zip(&out.step_drafted) {
                assert!(
                    *drafted <= left.saturating_sub(1).min(depth as usize),
                    "depth {depth}, {free} free: {out:?}"
                );
                left -= emitted;
            }
            assert_eq!(out.output, plain.output, "depth {depth}, {free} free");
            assert_eq!(out.stop, plain.stop, "depth {depth}, {free} free");
        }
    }
}

#[test]
fn a_repeat_with_drafts_gives_the_turns_tokens_and_leaves_its_state() {
    repeats_leave_the_state(&mut engine(1024, Mtp::Depth(3)), &ADDED, check);
}

#[test]
fn a_turn_that_is_stopped_within_a_step_leaves_its_state() {
    let first = prompt(3, 200);
    let second = next(&first, 4, 90);
    let mut plain = engine(1024, Mtp::Off);
    let whole = turn(&mut plain, &first).expect("a turn");
    let after = turn(&mut plain, &second).expect("a turn");
    for at in 1..whole.output.len() {
        let mut engine = engine(1024, Mtp::Depth(4));
        let mut seen = 0;
        let sink = &mut |_, _| {
            seen += 1;
            if seen == at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let out = engine.turn(&request(&first, None), sink).expect("a turn");
        assert_eq!(out.stop, Some(StopReason::Interrupted));
        assert_eq!(out.output, whole.output[..at], "stopped at token {at}");
        assert_eq!(out.step_tokens.iter().sum::<usize>(), at);
        assert!(out.accepted < at);
        let next = turn(&mut engine, &second).expect("a turn");
        assert_eq!(next.reused, first.len() - HELD_BACK);
        assert_eq!(next.output, after.output, "after a stop at token {at}");
    }
}

#[test]
fn a_deadline_ends_a_turn_between_two_steps() {
    let ids = prompt(3, 100);
    let mut engine = engine(1024, Mtp::Depth(3));
    let mut late = request(&ids, None);
    late.deadline = Some(1);
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let out = engine.turn(&late, go_on).expect("an outcome");
    assert_eq!(out.stop, Some(StopReason::Deadline));
    let whole = turn(&mut self::engine(1024, Mtp::Off), &ids).expect("a turn");
    assert_eq!(
        turn(&mut engine, &ids).expect("a turn").output,
        whole.output
    );
}

#[test]
fn a_step_fits_the_smallest_micro_batch() {
    let mut small = settings(512, Boundaries::Lean);
    small.context.ubatch_size = 5;
    small.mtp = Mtp::Depth(3);
    let clock = Arc::new(MonotonicClock::start());
    let mut engine = LlamaEngine::new(model(), &small, clock).expect("two contexts");
    let mut ids = prompt(2, 21);
    for seed in 0..3 {
        check(&turn(&mut engine, &ids).expect("a turn, and no abort"));
        ids = next(&ids, seed, 9);
    }
}

/// Rows of a whole replay of the sample.
fn replayed(mtp: &str) -> Results {
    let dir = scratch();
    let out = dir.path().join("out");
    let mut command = run_sample(tiny_mtp(), &out);
    command.args(["--mtp", mtp, "--self-check", "4", "--max-new-tokens", "60"]);
    command.ends(0);
    Results::read(&out)
}

fn stamps_are_per_step(row: &TurnRecord) {
    let mut at = 0;
    for &tokens in &row.step_tokens {
        let step = &row.token_ns[at..at + tokens];
        assert!(step.windows(2).all(|w| w[0] == w[1]), "{step:?}");
        at += tokens;
        if let Some(next) = row.token_ns.get(at) {
            assert!(*next > step[0], "a step takes time");
        }
    }
}

#[test]
fn t4_05_a_replay_with_drafts_counts_tokens_and_stamps_steps() {
    let plain = replayed("off");
    let drafting = replayed("2");
    assert_eq!(plain.summary.speculation.drafted, 0);
    assert_eq!(plain.summary.speculation.tokens_per_step, None);
    for (a, b) in plain.turns.records.iter().zip(&drafting.turns.records) {
        assert_eq!(
            a.output_ids, b.output_ids,
            "{}:{}",
            a.conversation_id, a.turn
        );
        assert_eq!(a.evaluated_tokens, b.evaluated_tokens);
        stamps_are_per_step(b);
    }
    let summary = &drafting.summary;
    assert_eq!(summary.prompt_tokens.evaluated_to_ideal(), Some(1.0));
    assert_eq!(summary.self_check.checked, summary.self_check.equal);
    assert!(summary.self_check.checked > 0);
    let per_step = summary.speculation.tokens_per_step.expect("drafts");
    assert!(1.0 < per_step && per_step <= 3.0, "{per_step}");
    assert!(summary.valid, "{:?}", summary.problems);
    assert_eq!(drafting.plan.engine.mtp, Mtp::Depth(2));
    assert!(
        drafting.plan.deviations.iter().all(|d| d.name != "mtp"),
        "the rules allow it"
    );
}

#[test]
fn t3_07_a_file_with_the_block_runs_either_way_and_one_without_it_is_refused_drafts() {
    let dir = scratch();
    for (number, (path, mtp, code)) in [
        (tiny(), "off", 0),
        (tiny_mtp(), "off", 0),
        (tiny_mtp(), "auto", 0),
        (tiny(), "2", 2),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command = run_sample(path, &dir.path().join(number.to_string()));
        command.args(["--mtp", mtp, "--turns", "2", "--max-new-tokens", "8"]);
        let ended = command.ends(code);
        if code == 2 {
            ended.says(&["--mtp 2", "no prediction (MTP) block", "--mtp off"]);
        }
    }
}

#[test]
fn t3_01_a_result_is_that_of_both_phases_of_one_run() {
    let dir = scratch();
    let out = dir.path().join("out");
    let options = ["--mtp", "2", "--turns", "2", "--max-new-tokens", "8"];
    run_sample(tiny_mtp(), &out).args(options).ends(0);
    let verdict: Verdict = json(&out.join("verdict.json"));
    let phases = verdict.checks.iter().find(|c| c.name == "phases");
    let phases = phases.expect("it is always checked");
    assert!(!phases.passed && !verdict.passed);
    assert!(
        phases
            .detail
            .contains("no accuracy result of these settings (--mtp 2)"),
        "{}",
        phases.detail
    );
    // A run that lacks its last row goes on under its own --mtp only.
    let path = out.join("turns.jsonl");
    let text = std::fs::read_to_string(&path).expect("rows");
    let rows: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&path, rows[..rows.len() - 1].concat()).expect("writable");
    for mtp in ["off", "3", "auto"] {
        let mut command = edge("run");
        command.args(["--performance-only", "--threads", "1", "--sample"]);
        command.args(["--turns", "2", "--max-new-tokens", "8", "--mtp", mtp]);
        command.arg("--model").arg(tiny_mtp());
        command.arg("--resume").arg(&out);
        command
            .ends(2)
            .says(&["plan.json", "engine.mtp", "started"]);
    }
}

#[test]
fn drafts_that_cannot_be_are_refused_before_anything_is_loaded() {
    let dir = scratch();
    for depth in ["0", "9", "-1", "yes"] {
        let mut command = edge("run");
        command.args([
            &format!("--mtp={depth}"),
            "--model",
            "m",
            "--sample",
            "--out",
            "o",
        ]);
        command
            .ends(2)
            .says(&["expected off, auto or a number of tokens from 1 to 8"]);
    }
    let mut command = run_sample(tiny_mtp(), &dir.path().join("out"));
    command.args(["--mtp", "4", "--ubatch-size", "5"]);
    command
        .ends(2)
        .says(&["--mtp 4 needs --ubatch-size 6 or more, found 5"]);
}

/// A synthetic run: exit code 1, never valid.
fn synthetic(options: &[&str]) -> Results {
    let dir = scratch();
    let out = dir.path().join("out");
    let mut command = run_sample(tiny_mtp(), &out);
    command.args(options).args(["--conversations", "1"]);
    command.ends(1).says(&["NOT VALID: synthetic"]);
    Results::read(&out)
}

#[test]
fn drafts_kept_by_chance_are_kept_as_often_as_asked_and_the_run_is_not_valid() {
    for (rates, least, most) in [
        ("1,1,1", 4.0, 4.0),
        ("0,0,0", 1.0, 1.0),
        ("0.8,0.6,0.4", 2.2, 3.4),
    ] {
        let options = [
            "--mtp",
            "3",
            "--synthetic-acceptance",
            rates,
            "--recorded-lengths",
        ];
        let results = synthetic(&options);
        let summary = &results.summary;
        assert!(!summary.valid && !summary.compliant);
        let per_step = summary.speculation.tokens_per_step.expect("drafts");
        // An end is never kept by chance, and a turn's last step may have less room.
        assert!(
            per_step > least * 0.8 && per_step <= most,
            "{rates}: {per_step}"
        );
        for row in &results.turns.records {
            let (steps, accepted) = (row.step_tokens.len(), row.accepted_tokens);
            assert_eq!(row.output_ids.len(), steps + accepted);
            stamps_are_per_step(row);
        }
        assert!(results.plan.settings(&[]).contains_key("synthetic"));
    }
}

#[test]
fn a_turn_of_recorded_length_has_it_with_and_without_drafts() {
    let plain = synthetic(&["--recorded-lengths"]);
    let drafting = synthetic(&["--recorded-lengths", "--mtp", "2"]);
    for (a, b) in plain.turns.records.iter().zip(&drafting.turns.records) {
        assert_eq!(
            a.output_ids, b.output_ids,
            "{}:{}",
            a.conversation_id, a.turn
        );
        assert_eq!(a.stop_reason, Some(StopReason::MaxNewTokens));
        assert!(
            a.output_ids.len() > 5,
            "a recorded reply has more than that"
        );
    }
    let lengths: Vec<usize> = plain
        .turns
        .records
        .iter()
        .map(|r| r.output_ids.len())
        .collect();
    assert!(lengths.windows(2).any(|w| w[0] != w[1]), "{lengths:?}");
}

#[test]
fn synthetic_options_that_cannot_be_are_refused() {
    let dir = scratch();
    for (options, said) in [
        (&["--synthetic-acceptance", "0.5"][..], "expected --mtp 1"),
        (
            &["--synthetic-acceptance", "0.5,0.4", "--mtp", "auto"],
            "expected --mtp 2",
        ),
        (
            &["--synthetic-acceptance", "0.5,0.6", "--mtp", "2"],
            "rates from 0 to 1",
        ),
        (
            &["--recorded-lengths", "--self-check", "1"],
            "cannot be used with",
        ),
    ] {
        let mut command = run_sample(tiny_mtp(), &dir.path().join("out"));
        command.args(options).ends(2).says(&[said]);
    }
}
