//! The replay on a scripted engine and a manual clock: every figure below is computed by hand.

use super::testing::{MS, case, five, states, turn};
use super::*;
use crate::conversation::{SAMPLE, SAMPLE_NAME, parse};
use crate::engine::scripted::ScriptedEnd;
use crate::record::TurnState;

#[test]
fn latencies_are_the_hand_computed_ones() {
    // 1 render + 2 tokenize + 40 prefill + 5 first token = 48 ms; + 10 + 12 = 70 ms last token; + 3 parse = 73 ms.
    let ran = case(five(turn(40, &[5, 10, 12]))).run();
    let row = &ran.rows[0];
    assert_eq!(row.ttft_ns, Some(48 * MS));
    assert_eq!(row.token_ns, [48 * MS, 58 * MS, 70 * MS]);
    assert_eq!(row.latency_ns, Some(73 * MS));
    assert_eq!(crate::metrics::tpot_ns(row), Some(11.0 * MS as f64));
    assert_eq!(
        row.driver_ns,
        Some(MS),
        "half of tokenizing is ours, all else is llama.cpp's"
    );
    let phases = row.phases_ns.expect("phases of an issued turn");
    assert_eq!(
        (phases.render, phases.tokenize, phases.prefill, phases.parse),
        (MS, 2 * MS, 40 * MS, 3 * MS)
    );
    assert_eq!(
        (row.prompt_tokens, row.evaluated_tokens, row.ideal_tokens),
        (Some(100), Some(100), Some(100))
    );
    let next = &ran.rows[1];
    assert_eq!(
        (next.reused_tokens, next.evaluated_tokens, next.ideal_tokens),
        (Some(97), Some(53), Some(53))
    );
    assert_eq!(row.started_ns, Some(7 * MS));
    assert_eq!(next.started_ns, Some((7 + 73 + 7) * MS));
}

#[test]
fn percentiles_are_the_hand_computed_ones() {
    // Latencies 1+2+p+1+3 = p+7 ms for prefills 13, 23, 33, 43, 53.
    let ran = case([13, 23, 33, 43, 53].map(|p| turn(p, &[1])).to_vec()).run();
    assert_eq!(ran.ending.expect("no error"), Ending::Finished);
    let series = ran.summary.latency_ns;
    let ms = |x: f64| x * MS as f64;
    assert_eq!(series.mean, Some(ms(40.0)));
    assert_eq!(
        (series.min, series.p50, series.max),
        (Some(ms(20.0)), Some(ms(40.0)), Some(ms(60.0)))
    );
    // lower rule: index floor(0.9 * 4) = 3.
    assert_eq!(series.p90, Some(ms(50.0)));
    assert!(ran.summary.valid && ran.summary.complete);
}

#[test]
fn t4_07_outputs_of_zero_one_and_two_tokens() {
    let mut script = five(turn(5, &[]));
    script[1] = turn(5, &[1]);
    script[2] = turn(5, &[1, 4]);
    let ran = case(script).run();
    let tpot: Vec<_> = ran.rows.iter().map(crate::metrics::tpot_ns).collect();
    assert_eq!(tpot[..3], [None, None, Some(4.0 * MS as f64)]);
    assert_eq!(
        (ran.rows[0].ttft_ns, ran.rows[0].output_tokens),
        (None, Some(0))
    );
    assert_eq!(ran.rows[0].state, TurnState::Completed);
    assert_eq!(ran.summary.ttft_ns.count, 4);
    let text = serde_json::to_string(&ran.summary).expect("the summary is JSON");
    assert!(!text.contains("NaN"));
}

#[test]
fn t2_08_a_prompt_beyond_the_context_is_decided_before_decoding() {
    let mut c = case(five(turn(10, &[1])));
    c.lengths[2] = 310;
    let ran = c.run();
    use TurnState::{Completed, FailedOverflow, Skipped};
    assert_eq!(
        states(&ran.rows),
        [Completed, Completed, FailedOverflow, Skipped, Skipped]
    );
    let failed = &ran.rows[2];
    let reason = failed.reason.as_deref().expect("a reason");
    assert!(
        reason.contains("310 tokens") && reason.contains("context 310"),
        "{reason}"
    );
    assert_eq!(failed.prompt_tokens, Some(310));
    assert_eq!(
        (failed.decode_calls, failed.latency_ns),
        (None, Some(3 * MS)),
        "rendered and tokenized, not decoded"
    );
    assert!(!ran.summary.valid && ran.summary.complete);
    assert_eq!(
        ran.rows[3].reason.as_deref(),
        Some("turn 5 ended as failed_overflow")
    );
}

#[test]
fn generation_ends_at_the_context_and_at_the_limit() {
    let mut c = case(five(turn(10, &[1; 40])));
    c.lengths = vec![306, 306, 306, 306, 306];
    c.script = vec![turn(10, &[1; 40]); 5];
    let ran = c.run();
    assert_eq!(ran.rows[0].state, TurnState::CompletedContext);
    assert_eq!(
        ran.rows[0].output_tokens,
        Some(4),
        "context 310 - prompt 306"
    );
    let ran = case(vec![turn(10, &[1; 40]); 5]).run();
    assert_eq!(ran.rows[0].state, TurnState::CompletedLength);
    assert_eq!(ran.rows[0].output_tokens, Some(16));
    assert!(
        ran.summary.valid,
        "a length stop is complete, as in the reference"
    );
}

#[test]
fn a_deadline_fails_the_turn_and_skips_the_rest() {
    let mut c = case(five(turn(10, &[10, 10, 10, 10])));
    c.timeout = Some(35 * MS);
    let ran = c.run();
    assert_eq!(ran.rows[0].state, TurnState::FailedTimeout);
    assert_eq!(
        ran.rows[0].output_tokens,
        Some(2),
        "tokens at 23 and 33 ms; 43 ms is past the deadline"
    );
    assert_eq!(states(&ran.rows)[1..], [TurnState::Skipped; 4]);
    assert!(!ran.summary.valid);
}

#[test]
fn an_engine_error_in_the_middle_is_a_row() {
    let mut script = five(turn(10, &[1]));
    script[1].end = ScriptedEnd::Error("device lost".to_owned());
    let ran = case(script).run();
    assert_eq!(ran.rows[1].state, TurnState::FailedError);
    assert_eq!(ran.rows[1].reason.as_deref(), Some("device lost"));
    assert_eq!(ran.rows[1].stop_reason, Some(StopReason::Error));
    assert_eq!(states(&ran.rows)[2..], [TurnState::Skipped; 3]);
}

#[test]
fn one_interrupt_finishes_the_turn_and_two_drop_it() {
    let mut c = case(five(turn(10, &[1])));
    c.interrupt_at = Some((2, 1));
    let ran = c.run();
    assert_eq!(ran.ending.expect("no error"), Ending::Interrupted);
    assert_eq!(ran.rows.len(), 3);
    assert_eq!(
        (
            ran.summary.turns.not_issued,
            ran.summary.complete,
            ran.summary.valid
        ),
        (2, false, false)
    );
    let mut c = case(five(turn(10, &[1, 1, 1])));
    c.interrupt_at = Some((0, 2));
    let ran = c.run();
    assert_eq!(ran.rows.len(), 0);
    assert_eq!(ran.summary.turns.not_issued, 5);
}

#[test]
fn an_observer_that_has_seen_enough_ends_the_replay_after_its_row() {
    let mut c = case(five(turn(10, &[1])));
    c.enough_at = Some(2);
    let ran = c.run();
    assert_eq!(ran.ending.expect("no error"), Ending::Enough);
    assert_eq!((ran.rows.len(), ran.summary.turns.not_issued), (2, 3));
}

#[test]
fn a_time_cap_stops_issuing() {
    let mut c = case(vec![turn(10, &[1]); 5]);
    // Each turn takes 1 + 2 + 10 + 1 + 3 = 17 ms; at 34 ms two have ended.
    c.time_cap = Some(34 * MS);
    let ran = c.run();
    assert_eq!(ran.ending.expect("no error"), Ending::TimeCap);
    assert_eq!((ran.rows.len(), ran.summary.turns.not_issued), (2, 3));
    assert!(!ran.summary.complete);
}

#[test]
fn a_row_that_cannot_be_kept_stops_the_run() {
    let mut c = case(five(turn(10, &[1])));
    c.fail_at = Some(1);
    let ran = c.run();
    let error = ran.ending.expect_err("the disk is full").to_string();
    assert!(
        error.contains("turn 3") && error.contains("no space left"),
        "{error}"
    );
    assert_eq!(ran.rows.len(), 1);
}

#[test]
fn t2_01_a_repeat_that_differs_is_recorded_with_its_place() {
    let mut c = case(vec![turn(10, &[1, 1, 1]); 5]);
    c.self_check = Some(2);
    let ran = c.run();
    let checked: Vec<bool> = ran.rows.iter().map(|r| r.self_check.is_some()).collect();
    assert_eq!(checked, [false, true, false, true, false]);
    assert!(ran.summary.valid);
    let mut c = case(vec![turn(10, &[1, 1, 1]); 5]);
    c.self_check = Some(5);
    c.repeat_output = Some(vec![0, 9, 2]);
    let ran = c.run();
    let check = ran.rows[4].self_check.expect("the fifth turn was repeated");
    assert_eq!((check.equal, check.first_difference), (false, Some(1)));
    assert!(
        !ran.summary.valid,
        "a run whose repeats differ proves nothing"
    );
}

#[test]
fn drop_oldest_keeps_the_conversation_going() {
    let mut c = case(vec![turn(10, &[1]); 5]);
    c.lengths = vec![100, 150, 310, 330, 400];
    c.drop_oldest = Some(310);
    let ran = c.run();
    assert_eq!(states(&ran.rows), [TurnState::Completed; 5]);
    let dropped: Vec<_> = ran
        .rows
        .iter()
        .map(|r| (r.dropped_tokens, r.dropped_messages))
        .collect();
    assert_eq!(
        dropped,
        [(0, 0), (0, 0), (50, 2), (50, 2), (100, 4)],
        "what was dropped stays dropped, and is said"
    );
    assert!(ran.rows.iter().all(|r| r.prompt_tokens < Some(310)));
    assert_eq!(ran.rows[2].ideal_tokens, Some(7));
}

#[test]
fn recorded_delays_are_waited_and_not_measured() {
    let mut c = case(vec![turn(10, &[1]); 5]);
    c.inject_delays = true;
    let ran = c.run();
    let data = parse(SAMPLE, SAMPLE_NAME).expect("the sample is valid");
    let mut expected = 0;
    for (row, recorded) in ran.rows.iter().zip(&data.conversations[0].turns) {
        expected += (recorded.delay_seconds.unwrap_or(0.0) * 1e9) as Nanos;
        expected += 7 * MS; // the messages' text
        assert_eq!(row.started_ns, Some(expected));
        assert_eq!(row.latency_ns, Some(17 * MS));
        expected += 17 * MS;
    }
    assert!(expected > 5 * 17 * MS, "the sample records delays");
}
