//! Known faults of other benchmarks, by their id in the list of field faults.

use super::fixtures::{facts, failed, steps, tokens};
use super::*;
use crate::record::{StopReason, TurnRecord, TurnState};

fn summary(rows: &[TurnRecord], turns: u32) -> Summary {
    Summary::compute(rows, &facts(&[("a", turns)])).expect("rows and facts agree")
}

#[test]
fn t2_05_no_reuse_with_a_long_common_prefix_warns_once() {
    // Five turns of a growing conversation, each re-read from its beginning.
    let rows: Vec<TurnRecord> = (0..5)
        .map(|i| TurnRecord {
            prompt_tokens: Some(1000 * (i + 1)),
            reused_tokens: Some(0),
            evaluated_tokens: Some(1000 * (i + 1)),
            ideal_tokens: Some(1000),
            ..tokens("a", 2 * u32::try_from(i).expect("small") + 1, &[10, 20])
        })
        .collect();
    let s = summary(&rows, 5);
    let no_reuse: Vec<_> = s
        .warnings
        .iter()
        .filter(|w| w.kind == WarningKind::NoReuse)
        .collect();
    assert_eq!(no_reuse.len(), 1);
    assert!(no_reuse[0].message.starts_with("4 turns"), "{no_reuse:?}");
    assert!(no_reuse[0].message.contains("4000 tokens"), "{no_reuse:?}");
    assert!(s.warnings.iter().any(|w| w.kind == WarningKind::PoorReuse));
    assert!(s.valid, "a warning, not a problem");
}

#[test]
fn t2_05_perfect_reuse_does_not_warn() {
    let rows = [
        tokens("a", 1, &[10, 20]),
        TurnRecord {
            prompt_tokens: Some(300),
            reused_tokens: Some(100),
            evaluated_tokens: Some(200),
            ideal_tokens: Some(200),
            ..tokens("a", 3, &[10, 20])
        },
    ];
    assert_eq!(summary(&rows, 2).warnings, []);
}

#[test]
fn t3_03_low_acceptance_warns() {
    let row = TurnRecord {
        drafted_tokens: 633,
        accepted_tokens: 1,
        ..tokens("a", 1, &[10, 20])
    };
    let s = summary(&[row], 1);
    assert_eq!(s.warnings.len(), 1);
    assert_eq!(s.warnings[0].kind, WarningKind::LowAcceptance);
    let said = &s.warnings[0].message;
    assert!(
        said.starts_with("0.2 % of 633 draft tokens") && said.contains("MTP head"),
        "{said}"
    );
    assert_eq!(
        s.tpot_ns.mean,
        Some(10.0),
        "the speed is still that of the tokens"
    );
    assert!(s.valid);
}

#[test]
fn t4_01_ttft_is_to_the_first_sampled_token() {
    // Accepted at 0; template and tokenizing end at 30, prefill at 90; the first
    // token is sampled at 100. An empty role-only event at 5 is no token.
    let row = tokens("a", 1, &[100, 110]);
    assert_eq!(ttft_ns(&row), Some(100));
    let text = DEFINITIONS
        .iter()
        .find(|d| d.name == "ttft")
        .expect("TTFT is defined")
        .text;
    for part in [
        "first generated token sampled",
        "rendering",
        "tokenizing",
        "prefill",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn t4_03_a_turn_that_is_only_a_tool_call_has_every_metric() {
    // Twelve tokens: tags, name, arguments and the end token; no content.
    let times: Vec<u64> = (0..12).map(|i| 100 + 10 * i).collect();
    let row = TurnRecord {
        first_delta_index: Some(10),
        ..tokens("a", 1, &times)
    };
    assert_eq!(ttft_ns(&row), Some(100));
    assert_eq!(tpot_ns(&row), Some(10.0));
    assert_eq!(osl(&row), Some(12));
    let s = summary(std::slice::from_ref(&row), 1);
    assert_eq!((s.ttft_ns.count, s.tpot_ns.count, s.osl.count), (1, 1, 1));
    // The reference sees its first delta at token 11, and one token after it.
    assert_eq!(delta_ttft_ns(&row), Some(200));
    assert_eq!(delta_tpot_ns(&row), Some(10.0));
}

#[test]
fn t4_04_ttft_is_not_among_the_token_gaps() {
    let row = tokens("a", 1, &[100, 110, 120]);
    assert_eq!(step_gaps_ns(&row), [10, 10]);
    assert_eq!(tpot_ns(&row), Some(10.0));
    assert_eq!(ttft_ns(&row), Some(100));
}

#[test]
fn t4_05_tokens_are_counted_not_steps() {
    let row = steps("a", 1, &[1, 4, 2, 1], &[100, 130, 150, 170]);
    assert_eq!(osl(&row), Some(8));
    // (170 − 100) ÷ 7; the first emission holds one token, so both rules agree.
    assert_eq!(tpot_ns(&row), Some(10.0));
    assert_eq!(step_gaps_ns(&row), [30, 20, 20]);
    let rate = decode_rate(&row).expect("four steps");
    assert!(
        (rate.mean - 1e8).abs() < 1e-3,
        "7 tokens in 70 ns: {rate:?}"
    );
    assert!(
        (rate.peak - 4e9 / 30.0).abs() < 1e-3,
        "4 in 30 ns: {rate:?}"
    );
    assert!(rate.peak >= rate.mean);
    assert_eq!(inconsistencies(&row), []);
}

#[test]
fn t4_07_outputs_of_zero_one_and_two_tokens() {
    let zero = tokens("a", 1, &[]);
    let one = tokens("a", 3, &[100]);
    let two = tokens("a", 5, &[100, 130]);
    assert_eq!(tpot_ns(&zero), None);
    assert_eq!(tpot_ns(&one), None);
    assert_eq!(tpot_ns(&two), Some(30.0));
    let s = summary(&[zero, one, two], 3);
    assert_eq!((s.ttft_ns.count, s.ttft_ns.excluded), (2, 1));
    assert_eq!(
        s.ttft_ns.min,
        Some(100.0),
        "the empty turn is not a TTFT of 0"
    );
    assert_eq!((s.tpot_ns.count, s.tpot_ns.excluded), (1, 2));
    assert_eq!((s.osl.count, s.osl.min), (3, Some(0.0)));
    assert_eq!((s.latency_ns.count, s.latency_ns.excluded), (3, 0));
    assert!(s.valid, "{:?}", s.problems);
}

#[test]
fn t4_07_a_zero_ttft_of_an_empty_turn_is_ignored() {
    let row = TurnRecord {
        ttft_ns: Some(0),
        ..tokens("a", 1, &[])
    };
    assert_eq!(ttft_ns(&row), None);
}

#[test]
fn t4_07_a_run_in_which_everything_failed_still_has_a_strict_summary() {
    let rows = [
        failed("a", 1, TurnState::FailedError),
        TurnRecord::skipped("a", 3, "turn 1 failed"),
    ];
    let s = summary(&rows, 2);
    assert!(s.complete && !s.valid && !s.compliant);
    assert_eq!((s.latency_ns.count, s.latency_ns.excluded), (0, 2));
    let text = serde_json::to_string(&s).expect("a summary is JSON");
    assert!(!text.contains("NaN") && !text.contains("Infinity"));
    let back: Summary = serde_json::from_str(&text).expect("its own JSON");
    assert_eq!(back, s);
    assert_eq!(back.latency_ns.mean, None);
}

#[test]
fn t4_08_tokens_of_the_first_emission() {
    let row = TurnRecord {
        first_delta_index: Some(0),
        ..steps("a", 1, &[3, 2, 1], &[100, 120, 130])
    };
    // 30 ns ÷ (6 − 1) against 30 ns ÷ (6 − 3), both from the stored times.
    assert_eq!(tpot_ns(&row), Some(6.0));
    assert_eq!(delta_tpot_ns(&row), Some(10.0));
    let json = serde_json::to_string(&row).expect("a row is JSON");
    let back: TurnRecord = serde_json::from_str(&json).expect("its own JSON");
    assert_eq!(
        (tpot_ns(&back), delta_tpot_ns(&back)),
        (Some(6.0), Some(10.0))
    );
}

#[test]
fn t4_08_one_emission_has_no_interval() {
    let row = TurnRecord {
        first_delta_index: Some(0),
        ..steps("a", 1, &[3], &[100])
    };
    assert_eq!((tpot_ns(&row), delta_tpot_ns(&row)), (None, None));
    assert_eq!(inconsistencies(&row), []);
}

#[test]
fn t4_09_isl_is_the_length_of_the_whole_prompt() {
    let row = TurnRecord {
        prompt_tokens: Some(1234),
        reused_tokens: Some(1000),
        evaluated_tokens: Some(234),
        ..tokens("a", 1, &[10, 20])
    };
    assert_eq!(isl(&row), Some(1234));
}

#[test]
fn t4_10_a_warm_first_turn_warns() {
    let row = TurnRecord {
        reused_tokens: Some(90),
        evaluated_tokens: Some(10),
        ..tokens("a", 1, &[10, 20])
    };
    let s = summary(&[row], 1);
    assert_eq!(s.warnings.len(), 1);
    assert_eq!(s.warnings[0].kind, WarningKind::WarmStart);
}

#[test]
fn t4_12_every_series_has_a_definition_of_one_line() {
    for name in ["latency", "ttft", "tpot", "isl", "osl", "driver", "phases"] {
        assert!(DEFINITIONS.iter().any(|d| d.name == name), "{name}");
    }
    assert!(DEFINITIONS.iter().all(|d| !d.text.contains('\n')));
    let row = TurnRecord {
        stop_reason: Some(StopReason::MaxNewTokens),
        state: TurnState::CompletedLength,
        ..tokens("a", 1, &[10, 20])
    };
    let s = summary(&[row], 1);
    assert_eq!(
        s.stop_reasons.max_new_tokens, 1,
        "short outputs have a cause"
    );
}

#[test]
fn t4_13_a_tpot_of_zero_fails_the_run() {
    let row = tokens("a", 1, &[100, 100]);
    assert_eq!(inconsistencies(&row), [Inconsistency::TpotNotPositive(0.0)]);
    let s = summary(&[row], 1);
    assert!(s.complete && !s.valid);
    assert_eq!(s.problems[0].kind, ProblemKind::Inconsistent);
}

#[test]
fn t4_13_a_negative_tpot_fails_the_run() {
    let row = tokens("a", 1, &[100, 90]);
    assert!(inconsistencies(&row).contains(&Inconsistency::TpotNotPositive(-10.0)));
    assert!(!summary(&[row], 1).valid);
}

#[test]
fn t4_13_a_ttft_beyond_the_latency_fails_the_run() {
    let row = TurnRecord {
        latency_ns: Some(99),
        ..tokens("a", 1, &[100])
    };
    assert!(
        inconsistencies(&row).contains(&Inconsistency::LongerThanTurn {
            part: "TTFT",
            ns: 100,
            latency: 99
        })
    );
    let s = summary(&[row], 1);
    assert!(!s.valid);
    assert!(s.problems[0].message.contains("turn 1"), "{:?}", s.problems);
}
