//! Our rows → the reference's events.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use serde_json::value::RawValue;

use super::event::{Data, Event, EventKind};
use super::reply;
use crate::record::{StopReason, TurnRecord, TurnState};

/// A prompt that is not written out: the data set and each row's digest say what it was, and a
/// thousand growing prompts would be 50 MB. The reference writes the same for turns it never sent.
const NO_PROMPT: &str = r#"["PromptData",null,null,null,null,null,null,null]"#;

/// Id of a turn's sample, 32 hex digits: the same turn of the same data set has the same id.
#[must_use]
pub fn sample_id(dataset_sha256: &str, conversation_id: &str, turn: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(dataset_sha256.as_bytes());
    hash.update([0]);
    hash.update(conversation_id.as_bytes());
    hash.update([0]);
    hash.update(turn.to_le_bytes());
    let digest = hash.finalize();
    digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Where the stretches of a resumed run lie on one clock: each starts where the one before ended.
#[derive(Debug, Clone, Copy, Default)]
struct Continuation {
    /// Added to the stamps of the current stretch, ns.
    base: u64,
    /// The latest stamp so far, ns.
    end: u64,
}

impl Continuation {
    /// The run's clock starts again at zero.
    fn restart(&mut self) {
        self.base = self.end;
    }

    /// A stamp of the current stretch on the common clock.
    fn at(&self, stamp: u64) -> u64 {
        self.base.saturating_add(stamp)
    }
}

/// The events of a run's rows, in file order.
///
/// A turn is issued when it is handed to the engine, its first delta is the token at
/// `first_delta_index`, and it is complete when its reply is parsed. A failed turn is an error and
/// completes without output, at the end of its latency where that was recorded. A skipped turn is
/// issued, fails and completes at one moment: the end of the row before it. Both count in the
/// reference's latencies, and so they do here. An unfinished run has no closing events.
///
/// `continued_at` holds the index of the first row of each continuation.
#[must_use]
pub fn events(
    records: &[TurnRecord],
    dataset_sha256: &str,
    continued_at: &[usize],
    finished: bool,
) -> Vec<Event> {
    let mut clock = Continuation::default();
    let mut events = vec![Event::session(EventKind::Started, 0)];
    for (index, record) in records.iter().enumerate() {
        let continued = index > 0 && continued_at.contains(&index);
        if continued {
            events.push(Event::session(EventKind::StopTracking, clock.end));
            clock.restart();
        }
        let issued = record.started_ns.map_or(clock.end, |ns| clock.at(ns));
        if index == 0 || continued {
            events.push(Event::session(EventKind::StartTracking, issued));
        }
        let ended = issued.saturating_add(record.latency_ns.unwrap_or(0));
        let id = sample_id(dataset_sha256, &record.conversation_id, record.turn);
        turn(&mut events, record, &id, issued, ended);
        clock.end = clock.end.max(ended);
    }
    if finished {
        events.push(Event::session(EventKind::StopTracking, clock.end));
        events.push(Event::session(EventKind::Ended, clock.end));
    }
    events
}

/// The events of one turn.
fn turn(events: &mut Vec<Event>, record: &TurnRecord, id: &str, issued: u64, ended: u64) {
    let event = |event_type, timestamp_ns, data| Event {
        sample_uuid: id.to_owned(),
        conversation_id: record.conversation_id.clone(),
        turn: Some(record.turn),
        data,
        ..Event::session(event_type, timestamp_ns)
    };
    events.push(event(EventKind::Issued, issued, no_prompt()));
    let delta = record
        .first_delta_index
        .and_then(|index| record.token_ns.get(index));
    let first = delta.map(|after| issued.saturating_add(*after));
    // A failed turn whose end was not recorded has no place for a delta before it.
    if let Some(first) = first.filter(|first| *first <= ended) {
        events.push(event(EventKind::RecvFirst, first, Data::None));
    }
    if !record.state.is_completed() {
        events.push(event(EventKind::Error, ended, error(record)));
        events.push(event(EventKind::Complete, ended, Data::None));
        return;
    }
    events.push(Event {
        finish_reason: finish_reason(record).map(str::to_owned),
        ..event(
            EventKind::Complete,
            ended,
            Data::Output(reply::output(record)),
        )
    });
}

fn no_prompt() -> Data {
    RawValue::from_string(NO_PROMPT.to_owned()).map_or(Data::None, Data::Prompt)
}

fn error(record: &TurnRecord) -> Data {
    let reason = record.reason.clone().unwrap_or_default();
    let (kind, message) = match record.state {
        TurnState::Skipped => (
            "TurnAbortedByPriorFailure",
            format!("prior turn errored: {reason}"),
        ),
        state => (state.as_str(), reason),
    };
    Data::Error {
        kind: kind.to_owned(),
        message,
    }
}

/// Why a completed turn stopped, in the server's words.
fn finish_reason(record: &TurnRecord) -> Option<&'static str> {
    match record.stop_reason? {
        StopReason::EndOfGeneration if record.tool_calls.is_empty() => Some("stop"),
        StopReason::EndOfGeneration => Some("tool_calls"),
        StopReason::MaxNewTokens | StopReason::ContextFull => Some("length"),
        StopReason::Deadline | StopReason::Interrupted | StopReason::Error => None,
    }
}
