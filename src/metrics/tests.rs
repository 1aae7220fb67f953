//! States, consistency and the summary of runs computed by hand.

use super::fixtures::{facts, failed, steps, tokens};
use super::*;
use crate::record::{SelfCheck, StopReason, TurnRecord, TurnState};

/// Two conversations of three and two turns; the first fails at its second.
fn mixed() -> Vec<TurnRecord> {
    vec![
        tokens("a", 1, &[100, 110, 120]),
        failed("a", 3, TurnState::FailedOverflow),
        TurnRecord::skipped("a", 5, "turn 3 failed"),
        TurnRecord {
            started_ns: Some(1000),
            state: TurnState::CompletedLength,
            stop_reason: Some(StopReason::MaxNewTokens),
            ..tokens("b", 1, &[200, 240])
        },
    ]
}

#[test]
fn every_turn_of_the_data_set_is_in_one_state() {
    let mut facts = facts(&[("a", 3), ("b", 2), ("c", 4)]);
    facts.conversations[2].selected = 1;
    facts.finished = false;
    let s = Summary::compute(&mixed(), &facts).expect("rows and facts agree");
    let t = s.turns;
    assert_eq!((t.total, t.sum), (9, 9));
    assert_eq!(
        (t.completed, t.completed_length, t.completed_context),
        (1, 1, 0)
    );
    assert_eq!((t.failed_overflow, t.skipped), (1, 1));
    // The second turn of b and the one selected of c; three of c left out.
    assert_eq!((t.not_issued, t.not_selected), (2, 3));
    assert_eq!((t.completed_all(), t.failed_all(), t.selected()), (2, 1, 6));
    assert!(!s.complete && !s.valid && !s.compliant);
    let kinds: Vec<ProblemKind> = s.problems.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [ProblemKind::Incomplete, ProblemKind::FailedTurns]);
    let failure = &s.problems[1].message;
    assert!(
        failure.contains("conversation \"a\" turn 3: failed_overflow"),
        "{failure}"
    );
}

#[test]
fn series_are_over_completed_turns_with_the_others_beside() {
    let s = Summary::compute(&mixed(), &facts(&[("a", 3), ("b", 2)])).expect("they agree");
    assert_eq!((s.latency_ns.count, s.latency_ns.excluded), (2, 2));
    // Latencies 125 and 245.
    assert_eq!(s.latency_ns.mean, Some(185.0));
    assert_eq!(s.latency_ns.sigma, Some((2.0 * 60.0_f64.powi(2)).sqrt()));
    assert_eq!(s.ttft_ns.mean, Some(150.0));
    // (120 − 100) ÷ 2 and (240 − 200) ÷ 1; the median is the lower one.
    assert_eq!((s.tpot_ns.mean, s.tpot_ns.p50), (Some(25.0), Some(10.0)));
    assert_eq!((s.isl.mean, s.osl.mean), (Some(100.0), Some(2.5)));
    assert_eq!((s.prompt_tokens.total, s.decode_calls), (200, 5));
    assert_eq!(s.phases_ns.prefill.mean, Some(10.0));
    assert_eq!(s.driver_ns.max, Some(2.0));
    // First start 0, last end 1000 + 245.
    assert_eq!(s.duration_ns, Some(1245));
    let rates = s.tokens_per_second;
    assert_eq!(rates.prefill, Some(200.0 * 1e9 / 20.0));
    assert_eq!(rates.decode, Some(3.0 * 1e9 / 60.0));
    assert_eq!(rates.overall, Some(5.0 * 1e9 / 1245.0));
    assert_eq!(
        (
            s.stop_reasons.end_of_generation,
            s.stop_reasons.max_new_tokens
        ),
        (1, 1)
    );
}

#[test]
fn a_whole_sound_run_is_valid_and_compliant_until_it_deviates() {
    let rows = [tokens("a", 1, &[10]), tokens("a", 3, &[10, 20])];
    let mut facts = facts(&[("a", 2)]);
    let s = Summary::compute(&rows, &facts).expect("they agree");
    assert!(s.complete && s.valid && s.compliant);
    facts.deviations.push(Deviation {
        name: "--ctx-size".to_owned(),
        expected: 32_768.into(),
        actual: 8192.into(),
    });
    let s = Summary::compute(&rows, &facts).expect("they agree");
    assert!(s.valid && !s.compliant);
    facts.finished = false;
    let s = Summary::compute(&rows, &facts).expect("they agree");
    assert!(!s.complete && !s.valid);
}

#[test]
fn every_option_that_makes_a_run_synthetic_is_named() {
    let mut facts = facts(&[("a", 1)]);
    for name in ["recorded-lengths", "max-new-tokens", "synthetic-acceptance"] {
        facts.deviations.push(Deviation {
            name: name.to_owned(),
            expected: 0.into(),
            actual: 1.into(),
        });
    }
    let s = Summary::compute(&[tokens("a", 1, &[10])], &facts).expect("they agree");
    let problems: Vec<_> = s.problems.iter().map(|p| p.kind).collect();
    assert_eq!(problems, [ProblemKind::Synthetic]);
    let said = &s.problems[0].message;
    let expected = "synthetic (--recorded-lengths, --synthetic-acceptance): ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_run_of_nothing_has_a_summary_and_is_not_valid() {
    let mut none = facts(&[("a", 2)]);
    none.conversations[0].selected = 0;
    let s = Summary::compute(&[], &none).expect("they agree");
    assert_eq!((s.turns.not_selected, s.turns.sum), (2, 2));
    assert!(s.complete && !s.valid);
    assert_eq!(s.problems[0].kind, ProblemKind::NothingSelected);
    assert_eq!((s.duration_ns, s.latency_ns.mean), (None, None));
}

#[test]
fn rows_that_do_not_belong_to_the_plan_are_refused() {
    let plan = facts(&[("a", 2)]);
    let compute = |rows: &[TurnRecord]| Summary::compute(rows, &plan).map(|_| ());
    let text = |rows: &[TurnRecord]| compute(rows).expect_err("refused").to_string();
    assert!(text(&[tokens("x", 1, &[1])]).contains("\"x\" is not in the data set"));
    for turn in [0, 2, 5] {
        let message = text(&[tokens("a", turn, &[1])]);
        assert!(message.contains(&format!("found turn {turn}")), "{message}");
        assert!(message.contains("up to 3"), "{message}");
    }
    let twice = [tokens("a", 1, &[1]), tokens("a", 1, &[1])];
    assert!(text(&twice).contains("row 2"));
    let derived = [TurnRecord::new("a", 1, TurnState::NotIssued)];
    assert!(text(&derived).contains("not_issued"));
    let doubled = facts(&[("a", 2), ("a", 2)]);
    assert!(Summary::compute(&[], &doubled).is_err());
    let mut greedy = facts(&[("a", 2)]);
    greedy.conversations[0].selected = 3;
    assert!(Summary::compute(&[], &greedy).is_err());
}

#[test]
fn a_failed_self_check_is_never_silent() {
    let check = |equal, first_difference| {
        Some(SelfCheck {
            equal,
            first_difference,
            unsplit_equal: Some(false),
        })
    };
    let mut rows = [tokens("a", 1, &[10]), tokens("a", 3, &[10, 20])];
    rows[0].self_check = check(true, None);
    let s = Summary::compute(&rows, &facts(&[("a", 2)])).expect("they agree");
    assert_eq!((s.self_check.checked, s.self_check.equal), (1, 1));
    assert_eq!(s.self_check.unsplit_equal, 0);
    assert!(s.valid, "the unsplit variant is information");
    rows[1].self_check = check(false, Some(1));
    let s = Summary::compute(&rows, &facts(&[("a", 2)])).expect("they agree");
    assert!(!s.valid);
    assert_eq!(s.problems[0].kind, ProblemKind::SelfCheck);
    let message = &s.problems[0].message;
    assert!(message.contains("turn 3, output token 1"), "{message}");
}

#[test]
fn conversations_tell_trajectory_and_context() {
    let row = |turn, prompt: usize, start| TurnRecord {
        prompt_tokens: Some(prompt),
        evaluated_tokens: Some(prompt),
        started_ns: Some(start),
        ..tokens("a", turn, &[100, 110])
    };
    let rows = [row(1, 8_000, 50), row(3, 8_192, 500), row(5, 20_000, 900)];
    let s = Summary::compute(&rows, &facts(&[("a", 3), ("b", 1)])).expect("they agree");
    let a = &s.conversations[0];
    assert_eq!((a.turns, a.selected, a.completed), (3, 3, 3));
    // 50 → 900 + 115.
    assert_eq!(a.trajectory_ns, Some(965));
    assert_eq!((a.peak_context, a.headroom), (Some(20_002), Some(12_766)));
    let over = a.first_overflow;
    assert_eq!(
        (over.at_8k, over.at_16k, over.at_24k),
        (Some(3), Some(5), None)
    );
    let b = &s.conversations[1];
    assert_eq!(
        (b.completed, b.trajectory_ns, b.peak_context),
        (0, None, None)
    );
}

#[test]
fn t8_09_the_parts_of_a_resumed_run_are_timed_by_their_own_clocks() {
    let at = |turn, start| TurnRecord {
        started_ns: Some(start),
        ..tokens("a", turn, &[100])
    };
    let mut rows = [at(1, 0), at(3, 1000), at(5, 300)];
    rows[2].attempt = 1;
    let s = Summary::compute(&rows, &facts(&[("a", 3)])).expect("they agree");
    // 0 → 1105, and 300 → 405 on the second clock.
    assert_eq!(s.duration_ns, Some(1105 + 105));
    assert_eq!((s.resumed, s.turns.sum), (1, 3));
}

#[test]
fn contradictions_are_found() {
    let sound = steps("a", 1, &[1, 2], &[10, 30]);
    assert_eq!(inconsistencies(&sound), []);
    let broken = |change: fn(&mut TurnRecord)| {
        let mut row = sound.clone();
        change(&mut row);
        let found: Vec<String> = inconsistencies(&row)
            .iter()
            .map(|i| i.to_string())
            .collect();
        found.join("; ")
    };
    let cases = [
        (broken(|r| r.latency_ns = None), "latency_ns is missing"),
        (broken(|r| r.ttft_ns = Some(9)), "first token came at 10"),
        (broken(|r| r.driver_ns = Some(99)), "driver time is 99 ns"),
        (
            broken(|r| r.output_ids.clear()),
            "length of output_ids is 0",
        ),
        (broken(|r| r.step_tokens[1] = 1), "sum of step_tokens is 2"),
        (
            broken(|r| r.evaluated_tokens = Some(1)),
            "do not make a prompt of 100",
        ),
        (
            broken(|r| r.accepted_tokens = 1),
            "1 draft tokens accepted of 0",
        ),
        (broken(|r| r.token_ns[2] = 20), "token_ns[2] is earlier"),
        (
            broken(|r| r.stop_reason = Some(StopReason::MaxNewTokens)),
            "expected end_of_generation",
        ),
        (
            broken(|r| {
                r.phases_ns = r
                    .phases_ns
                    .map(|p| crate::record::Phases { decode: 90, ..p })
            }),
            "the sum of phases is 100 ns",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "{expected} in {found:?}");
    }
}

#[test]
fn a_failed_turn_needs_no_figures() {
    assert_eq!(inconsistencies(&failed("a", 1, TurnState::FailedError)), []);
    assert_eq!(inconsistencies(&TurnRecord::skipped("a", 3, "x")), []);
}
