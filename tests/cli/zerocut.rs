//! `--boundaries lean` on llama.cpp: no pass over the weights is spent on keeping state, and nothing changes by it.

use std::ops::ControlFlow;

use edge_agentic::engine::cuts::Boundaries;
use edge_agentic::engine::{Engine, TurnOutcome};
use edge_agentic::record::StopReason;

use super::engine::{
    HELD_BACK, built, engine, next, prompt, repeats_leave_the_state, request, settings, turn,
};

/// Micro-batch of these tests' contexts, tokens.
const MICRO_BATCH: usize = 64;

/// What each turn adds. The lengths leave 0 to 3 tokens over a micro-batch, and fewer than one holds.
const ADDED: [usize; 8] = [61, 62, 63, 64, 4, 5, 130, 187];

fn fewest(out: &TurnOutcome) -> usize {
    out.evaluated.div_ceil(MICRO_BATCH) + out.output.len() - 1
}

#[test]
fn a_lean_turn_makes_the_fewest_decode_calls_and_answers_as_a_cut_one() {
    let mut lean = engine(1024, Boundaries::Lean);
    let mut cut = engine(1024, Boundaries::Cut);
    let mut ids = prompt(3, 200);
    for (seed, n) in ADDED.into_iter().enumerate() {
        let reusable = ids.len() - HELD_BACK;
        let out = turn(&mut lean, &ids).expect("a turn");
        assert_eq!(out.decode_calls, fewest(&out), "{} tokens", out.evaluated);
        assert!(!out.cuts.contains(&reusable), "{:?}", out.cuts);
        let reference = turn(&mut cut, &ids).expect("a turn");
        assert!(reference.cuts.contains(&reusable), "{:?}", reference.cuts);
        assert_eq!(out.output, reference.output, "turn {seed}");
        assert_eq!(out.reused, reference.reused);
        assert_eq!(out.evaluated, reference.evaluated);
        ids = next(&ids, seed, n);
    }
}

#[test]
fn a_repeat_rolls_back_where_the_turns_before_it_did() {
    repeats_leave_the_state(&mut engine(1024, Boundaries::Lean), &ADDED, |_| {});
}

#[test]
fn a_turn_that_ends_with_its_first_token_leaves_its_state() {
    let first = prompt(3, 200);
    let second = next(&first, 4, 90);
    let mut engine = engine(1024, Boundaries::Lean);
    let mut one = request(&first, None);
    one.max_new_tokens = 1;
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let out = engine.turn(&one, go_on).expect("a turn");
    assert_eq!(out.stop, Some(StopReason::MaxNewTokens));
    assert_eq!((out.output.len(), out.decode_calls), (1, fewest(&out)));
    let after = turn(&mut engine, &second).expect("a turn");
    assert_eq!(after.reused, first.len() - HELD_BACK);
    let repeated = engine.repeat(&request(&second, None), true);
    assert_eq!(repeated.expect("a repeat").output, after.output);
    // And so does one that its client stops there.
    let mut stopped = self::engine(1024, Boundaries::Lean);
    let out = stopped
        .turn(&request(&first, None), &mut |_, _| ControlFlow::Break(()))
        .expect("a turn");
    assert_eq!(out.stop, Some(StopReason::Interrupted));
    let other = turn(&mut stopped, &second).expect("a turn");
    assert_eq!(other.reused, first.len() - HELD_BACK);
    assert_eq!(other.output, after.output);
}

#[test]
fn the_state_of_a_first_prompt_can_be_both_of_the_kept_ones() {
    let first = prompt(7, 120);
    let reusable = first.len() - HELD_BACK;
    let mut engine = engine(1024, Boundaries::Lean);
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let both = Some(reusable);
    let out = engine.turn(&request(&first, both), go_on).expect("a turn");
    assert_eq!(out.decode_calls, fewest(&out));
    let second = next(&first, 8, 70);
    let out = engine.turn(&request(&second, both), go_on).expect("a turn");
    assert_eq!(out.reused, reusable);
    // The second prompt's end is not shared by this one: the first's is all that is left.
    let other = next(&first, 9, 50);
    let out = engine.turn(&request(&other, both), go_on).expect("a turn");
    assert_eq!(out.reused, reusable);
    let again = engine.repeat(&request(&other, both), true);
    assert_eq!(again.expect("a repeat").output, out.output);
}

#[test]
fn a_micro_batch_too_small_to_roll_back_in_is_cut() {
    let mut small = settings(512, Boundaries::Lean);
    small.context.ubatch_size = 4;
    let mut engine = built(&small);
    let ids = prompt(2, 21);
    let out = turn(&mut engine, &ids).expect("a turn, and no abort");
    assert!(
        out.cuts.contains(&(ids.len() - HELD_BACK)),
        "{:?}",
        out.cuts
    );
    let out = turn(&mut engine, &next(&ids, 3, 9)).expect("a turn");
    assert_eq!(out.reused, ids.len() - HELD_BACK);
}

#[test]
fn state_kept_on_the_device_is_the_state_kept_on_the_host() {
    for boundaries in [Boundaries::Lean, Boundaries::Cut] {
        let mut host = engine(1024, boundaries);
        let mut device = built(&{
            let mut settings = settings(1024, boundaries);
            settings.device_snapshots = true;
            settings
        });
        let mut ids = prompt(3, 200);
        let shared = Some(100);
        let go_on = &mut |_, _| ControlFlow::Continue(());
        for (seed, n) in [90, 40, 0, 70].into_iter().enumerate() {
            if n == 0 {
                ids.truncate(150); // another conversation with the same beginning
                ids.extend(prompt(9, 60));
            } else {
                ids = next(&ids, seed, n);
            }
            let a = host.turn(&request(&ids, shared), go_on).expect("a turn");
            let b = device.turn(&request(&ids, shared), go_on).expect("a turn");
            assert_eq!(a.output, b.output, "{boundaries}, turn {seed}");
            assert_eq!((a.reused, &a.cuts), (b.reused, &b.cuts));
        }
    }
}
