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

/// The events of a run's turns, in file order.
#[must_use]
pub fn events(
    records: &[TurnRecord],
    dataset_sha256: &str,
    continued_at: &[usize],
    finished: bool,
) -> Vec<Event> {
    let mut log = Log::new();
    log.turns(records, dataset_sha256, continued_at, finished);
    log.finish(finished)
}

/// A run's events in the making.
pub(super) struct Log {
    events: Vec<Event>,
    clock: Continuation,
    /// Start of the run that the latest row belongs to.
    attempt: Option<u32>,
    /// Whether samples issued now are measured.
    tracking: bool,
}

impl Log {
    /// A session that begins.
    pub(super) fn new() -> Self {
        Self {
            events: vec![Event::session(EventKind::Started, 0)],
            clock: Continuation::default(),
            attempt: None,
            tracking: false,
        }
    }

    /// The performance phase; `finished` where all of it is there.
    ///
    /// A turn is issued when it is handed to the engine, its first delta is the token at
    /// `first_delta_index`, and it is complete when its reply is parsed. A failed turn is an error and
    /// completes without output, at the end of its latency where that was recorded. A skipped turn is
    /// issued, fails and completes at one moment: the end of the row before it. Both count in the
    /// reference's latencies, and so they do here. An unfinished phase is still being tracked.
    ///
    /// `continued_at` holds the index of the first row of each continuation.
    pub(super) fn turns(
        &mut self,
        records: &[TurnRecord],
        dataset_sha256: &str,
        continued_at: &[usize],
        finished: bool,
    ) {
        for (index, record) in records.iter().enumerate() {
            let continued = index > 0 && continued_at.contains(&index);
            if continued {
                self.stop_tracking();
                self.clock.restart();
            }
            if index == 0 || continued {
                let issued = self.issued(record);
                self.events
                    .push(Event::session(EventKind::StartTracking, issued));
                self.tracking = true;
            }
            let id = sample_id(dataset_sha256, &record.conversation_id, record.turn);
            self.row(record, &id);
        }
        if finished {
            self.stop_tracking();
        }
    }

    fn stop_tracking(&mut self) {
        self.session(EventKind::StopTracking);
        self.tracking = false;
    }

    /// The accuracy phase: its samples belong to no conversation, and are never measured, however the performance
    /// phase ended. A reply that nobody could parse is an error to the reference's client.
    pub(super) fn samples<'r>(
        &mut self,
        records: impl Iterator<Item = &'r TurnRecord>,
        ids_sha256: &str,
    ) {
        let mut records = records.peekable();
        if records.peek().is_some() && self.tracking {
            self.stop_tracking();
        }
        for record in records {
            if self
                .attempt
                .is_some_and(|attempt| attempt != record.attempt)
            {
                self.clock.restart();
            }
            let first = self.events.len();
            let id = sample_id(ids_sha256, &record.conversation_id, record.turn);
            let unparsed = record.state.is_completed() && record.content.is_none();
            if unparsed {
                let state = TurnState::FailedError;
                let failed = TurnRecord {
                    state,
                    ..record.clone()
                };
                self.row(&failed, &id);
            } else {
                self.row(record, &id);
            }
            for event in &mut self.events[first..] {
                event.conversation_id.clear();
                event.turn = None;
            }
        }
    }

    /// All events; an unfinished run has no closing one.
    pub(super) fn finish(mut self, finished: bool) -> Vec<Event> {
        if finished {
            self.session(EventKind::Ended);
        }
        self.events
    }

    fn session(&mut self, kind: EventKind) {
        self.events.push(Event::session(kind, self.clock.end));
    }

    fn issued(&self, record: &TurnRecord) -> u64 {
        record
            .started_ns
            .map_or(self.clock.end, |ns| self.clock.at(ns))
    }

    fn row(&mut self, record: &TurnRecord, id: &str) {
        let issued = self.issued(record);
        let ended = issued.saturating_add(record.latency_ns.unwrap_or(0));
        turn(&mut self.events, record, id, issued, ended);
        self.clock.end = self.clock.end.max(ended);
        self.attempt = Some(record.attempt);
    }
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
