//! Rows and facts for tests, built by hand.

use super::facts::{ConversationFacts, RunFacts};
use crate::clock::Nanos;
use crate::record::{Phases, StopReason, TurnRecord, TurnState};

/// A sound completed turn whose steps emit `steps` tokens at `times`; every
/// token of a step carries the step's time. Starts at 0, ends 5 ns after the
/// last token, or takes 50 ns when there is no token.
pub fn steps(conversation: &str, turn: u32, steps: &[usize], times: &[Nanos]) -> TurnRecord {
    assert_eq!(steps.len(), times.len(), "one time per step");
    let token_ns: Vec<Nanos> = steps
        .iter()
        .zip(times)
        .flat_map(|(n, at)| std::iter::repeat_n(*at, *n))
        .collect();
    let latency = token_ns.last().map_or(50, |last| last + 5);
    TurnRecord {
        prompt_tokens: Some(100),
        reused_tokens: Some(0),
        evaluated_tokens: Some(100),
        ideal_tokens: Some(100),
        decode_calls: Some(steps.len()),
        output_ids: vec![7; token_ns.len()],
        output_tokens: Some(token_ns.len()),
        step_tokens: steps.to_vec(),
        stop_reason: Some(StopReason::EndOfGeneration),
        started_ns: Some(0),
        ttft_ns: token_ns.first().copied(),
        latency_ns: Some(latency),
        phases_ns: Some(Phases {
            prefill: 10,
            ..Phases::default()
        }),
        driver_ns: Some(2),
        token_ns,
        ..TurnRecord::new(conversation, turn, TurnState::Completed)
    }
}

/// A sound completed turn that emits one token at each of `times`.
pub fn tokens(conversation: &str, turn: u32, times: &[Nanos]) -> TurnRecord {
    steps(conversation, turn, &vec![1; times.len()], times)
}

/// A failed turn: no times, no output.
pub fn failed(conversation: &str, turn: u32, state: TurnState) -> TurnRecord {
    TurnRecord {
        reason: Some("scripted".to_owned()),
        ..TurnRecord::new(conversation, turn, state)
    }
}

/// Facts of a finished run over conversations of (id, turns), all selected.
pub fn facts(conversations: &[(&str, u32)]) -> RunFacts {
    let conversations = conversations
        .iter()
        .map(|(id, turns)| ConversationFacts {
            conversation_id: (*id).to_owned(),
            turns: *turns,
            selected: *turns,
        })
        .collect();
    RunFacts {
        conversations,
        finished: true,
        context_tokens: 32_768,
        ..RunFacts::default()
    }
}
