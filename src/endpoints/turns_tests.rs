//! Our rows as the reference would have seen them, by hand.

use super::*;
use crate::clock::Nanos;
use crate::metrics::{delta_tpot_ns, delta_ttft_ns, tpot_ns};
use crate::record::{self, StopReason, TurnRecord, TurnState};

pub(super) fn setup() -> Setup {
    Setup {
        origin: Origin {
            version: "0.1.0".to_owned(),
            git_sha: None,
            load_generator: Some("edge-agentic run".to_owned()),
        },
        model: "Qwen3.6-27B-Q4_K_M".to_owned(),
        tokenizer: None,
        dataset: Some("agentic_coding_2.5h.jsonl".to_owned()),
        bfcl: None,
        conversations: 20,
        repeats: 1,
        max_new_tokens: 1024,
        seed: 42,
        turn_timeout_s: 600.0,
        time_cap_s: None,
        salt: false,
        inject_delays: false,
        warmup: 0,
        finished: true,
        ended: true,
        continued_at: Vec::new(),
    }
}

/// A completed turn handed over at `started`, whose steps emit `steps` tokens at `times` after
/// that; the first delta is token `delta`; the reply is parsed 5 ns after the last token.
pub(super) fn row(
    turn: u32,
    started: Nanos,
    steps: &[usize],
    times: &[Nanos],
    delta: usize,
) -> TurnRecord {
    let token_ns: Vec<Nanos> = (steps.iter().zip(times))
        .flat_map(|(n, at)| std::iter::repeat_n(*at, *n))
        .collect();
    TurnRecord {
        started_ns: Some(started),
        ttft_ns: token_ns.first().copied(),
        latency_ns: token_ns.last().map(|last| last + 5),
        output_ids: vec![7; token_ns.len()],
        output_tokens: Some(token_ns.len()),
        step_tokens: steps.to_vec(),
        stop_reason: Some(StopReason::EndOfGeneration),
        first_delta_index: Some(delta),
        text: Some("Done.<|im_end|>".to_owned()),
        token_ns,
        ..TurnRecord::new("a", turn, TurnState::Completed)
    }
}

pub(super) fn failed(turn: u32, started: Option<Nanos>, latency: Option<Nanos>) -> TurnRecord {
    TurnRecord {
        reason: Some("too long".to_owned()),
        started_ns: started,
        latency_ns: latency,
        ..TurnRecord::new("a", turn, TurnState::FailedOverflow)
    }
}

fn samples(records: &[TurnRecord], continued_at: &[usize], finished: bool) -> Samples {
    let log = events(records, "d", continued_at, finished);
    let tokens = count_tokens(records, "d", None);
    track(&log, &tokens).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn t4_02_ttft_is_at_the_first_delta_reasoning_included() {
    // Two thinking tokens, cut off before any answer: the first delta is the first of them.
    let thinking = TurnRecord {
        stop_reason: Some(StopReason::MaxNewTokens),
        text: Some("<think>\nWell".to_owned()),
        content: Some(String::new()),
        reasoning_content: Some("Well".to_owned()),
        ..row(1, 100, &[1, 1], &[10, 20], 0)
    };
    let samples = samples(std::slice::from_ref(&thinking), &[], true);
    assert_eq!(samples.ttft_ns, [10]);
    let Some(Event {
        data: Data::Output(output),
        ..
    }) = events(&[thinking], "d", &[], true).into_iter().nth(4)
    else {
        panic!("the turn completes with output");
    };
    assert_eq!(
        output.reasoning,
        Some(Text::Chunks(vec!["Well".to_owned()]))
    );
    assert_eq!(output.output, Text::default(), "there is no answer");
}

#[test]
fn t4_03_a_turn_of_one_call_has_every_figure() {
    let call = TurnRecord {
        tool_calls: vec![record::ToolCall {
            id: None,
            name: "bash".to_owned(),
            arguments: r#"{"command": "ls"}"#.to_owned(),
        }],
        text: Some("<tool_call>…</tool_call><|im_end|>".to_owned()),
        ..row(1, 0, &[1, 1, 1, 1, 1], &[10, 20, 30, 40, 50], 2)
    };
    let samples = samples(&[call], &[], true);
    assert_eq!((samples.ttft_ns, samples.latency_ns), (vec![30], vec![55]));
    // From the third token on, two tokens follow, of which the last is the end token.
    assert_eq!(samples.tpot_ns, [25.0]);
    assert_eq!(samples.finish_reasons.tool_calls, 1);
}

/// An MTP turn whose first emission has three tokens: the reference's figure divides by what comes
/// after that emission, the plain one by what comes after the first token. Both follow from the
/// stored times.
#[test]
fn t4_08_the_first_emissions_tokens_are_not_in_the_divisor() {
    let record = TurnRecord {
        stop_reason: Some(StopReason::MaxNewTokens),
        ..row(1, 1000, &[3, 2, 1], &[100, 140, 160], 0)
    };
    let first: Nanos = record.token_ns[0];
    let last = *record.token_ns.last().expect("six tokens");
    assert_eq!(tpot_ns(&record), Some((last - first) as f64 / 5.0));
    assert_eq!(delta_tpot_ns(&record), Some((last - first) as f64 / 3.0));
    // As the client sees it: to the end of the reply, 5 ns after the last token.
    let samples = samples(&[record], &[], true);
    assert_eq!(samples.tpot_ns, [65.0 / 3.0]);
    assert_eq!(samples.ttft_ns, [100]);
}

#[test]
fn a_delta_inside_an_emission_excludes_all_of_it() {
    let record = row(1, 0, &[1, 3, 2], &[10, 20, 30], 2);
    assert_eq!(delta_ttft_ns(&record), Some(20));
    // Two tokens follow the emission; the end token is one of them.
    assert_eq!(samples(&[record], &[], true).tpot_ns, [15.0]);
}

#[test]
fn turns_without_what_a_figure_needs_have_none() {
    let silent = TurnRecord {
        first_delta_index: None,
        text: Some("<|im_end|>".to_owned()),
        ..row(1, 0, &[1], &[10], 0)
    };
    let one = row(3, 100, &[1], &[10], 0);
    let samples = samples(&[silent, one], &[], true);
    assert_eq!(samples.ttft_ns, [10], "of the second");
    assert!(samples.tpot_ns.is_empty());
    assert_eq!(samples.latency_ns, [15, 15]);
    assert!(samples.output_tokens.is_empty() && samples.input_tokens.is_empty());
    assert_eq!(samples.finish_reasons.stop, 2);
}

#[test]
fn failed_and_skipped_turns_shorten_the_latency_as_in_the_reference() {
    let records = [
        row(1, 100, &[1, 1], &[10, 20], 0),
        failed(3, Some(200), Some(7)),
        TurnRecord::skipped("a", 5, "turn 3 ended as failed_overflow"),
    ];
    let samples = samples(&records, &[], true);
    assert_eq!(samples.latency_ns, [25, 7, 0]);
    assert_eq!(
        (samples.issued, samples.completed, samples.failed),
        (3, 3, 2)
    );
    // From the first issue at 100 to the last end at 207.
    assert_eq!(samples.duration_ns, 107);
    let lines = String::from_utf8(write_events(&events(&records, "d", &[], true)).expect("JSON"));
    let lines = lines.expect("text");
    assert!(
        lines.contains(r#"["ErrorData","failed_overflow","too long"]"#),
        "{lines}"
    );
    let skipped = r#"["ErrorData","TurnAbortedByPriorFailure","prior turn errored: turn 3 ended"#;
    assert!(lines.contains(skipped), "{lines}");
}

#[test]
fn a_resumed_runs_stretches_are_put_one_after_the_other() {
    let records = [
        row(1, 100, &[1, 1], &[10, 20], 0),
        // The clock starts again.
        row(3, 40, &[1, 1], &[10, 20], 0),
        row(5, 90, &[1, 1], &[10, 20], 0),
    ];
    let samples = samples(&records, &[1], true);
    assert_eq!(samples.latency_ns, [25, 25, 25]);
    // 100 → 125, and 40 → 115: as in summary.json, the time between is not counted.
    assert_eq!(samples.duration_ns, 25 + 75);
    let stamps: Vec<u64> = events(&records, "d", &[1], true)
        .iter()
        .map(|e| e.timestamp_ns)
        .collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
}

#[test]
fn an_unfinished_run_says_so() {
    let records = [row(1, 0, &[1, 1], &[10, 20], 0)];
    let log = events(&records, "d", &[], false);
    assert!(log.iter().all(|e| e.event_type != EventKind::Ended));
    let samples = samples(&records, &[], false);
    let summary = ResultSummary::new(&samples, &setup().origin, false, run_config(&setup()));
    let json = serde_json::to_value(&summary).expect("an object");
    assert_eq!(
        (&json["state"], &json["complete"]),
        (&"interrupted".into(), &false.into())
    );
    assert!(report(&summary, &[]).contains("WARNING: run was interrupted"));
}

#[test]
fn a_run_without_rows_has_nulls_and_no_zeros() {
    let samples = samples(&[], &[], false);
    let summary = ResultSummary::new(&samples, &setup().origin, false, run_config(&setup()));
    let json = serde_json::to_value(&summary).expect("an object");
    for field in ["duration_ns", "qps", "tps"] {
        assert!(json[field].is_null(), "{field}");
    }
    assert!(json["latency"].get("avg").is_none());
    assert!(json["latency"]["early_stopping_percentiles"]["99.0"].is_null());
    assert!(report(&summary, &[]).contains("QPS: N/A"));
}

#[test]
fn sample_ids_are_stable_and_differ() {
    let id = sample_id("d", "a", 1);
    assert_eq!(id.len(), 32);
    assert_eq!(id, sample_id("d", "a", 1));
    let others = [
        sample_id("e", "a", 1),
        sample_id("d", "b", 1),
        sample_id("d", "a", 3),
    ];
    assert!(!others.contains(&id));
}

#[test]
fn samples_are_never_measured_even_after_a_replay_that_a_time_cap_ended() {
    let mut log = super::turns::Log::new();
    let turns = [row(1, 100, &[1, 1], &[10, 20], 0)];
    log.turns(&turns, "d", &[], false);
    let sample = TurnRecord {
        content: Some("x".to_owned()),
        ..row(1, 200, &[1], &[10], 0)
    };
    let unparsed = row(1, 300, &[1], &[10], 0);
    log.samples([sample, unparsed].iter(), "s");
    let events = log.finish(false);
    let tracked = track(&events, &TokenTable::new()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((tracked.issued, tracked.completed), (1, 1));
    let of_samples: Vec<&Event> = events
        .iter()
        .filter(|e| e.turn.is_none() && !e.sample_uuid.is_empty())
        .collect();
    assert!(of_samples.iter().all(|e| e.conversation_id.is_empty()));
    let errors = of_samples.iter().filter(|e| e.event_type.is_error());
    assert_eq!(errors.count(), 1, "a reply that nobody could parse");
}
