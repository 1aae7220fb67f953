//! What was measured about one turn (a row of `turns.jsonl`) or one BFCL sample
//! (a row of `samples.jsonl`).
//!
//! Both files are append-only and are, with the plan, the machine and the data,
//! the truth from which every other result is rebuilt. [`RecordLog`] writes
//! them, [`read_records`] reads them back.

mod log;
mod read;
mod sample;
mod state;

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use self::log::{LogError, RecordLog, RowSink};
pub use self::read::{ReadBack, ReadError, TornLine, parse_records, read_records};
pub use self::sample::SampleRecord;
pub use self::state::{StopReason, TurnState};
use crate::clock::{Nanos, Timestamp};

/// The version of the row's layout; a reader refuses any other.
pub const SCHEMA: u32 = 1;

/// A line of an append-only file.
pub trait Row: Serialize + DeserializeOwned {
    /// What a row is, in messages.
    const NOUN: &'static str;

    /// What this row is about; no other row of the file may be about it.
    fn about(&self) -> String;

    /// Why it may not stand in the file, if so.
    fn fault(&self) -> Option<String>;
}

/// One turn, as written to `turns.jsonl`.
///
/// A value that is unknown (a skipped turn has no latency) is `None`, never 0.
/// Start from [`TurnRecord::new`] and fill in what is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnRecord {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// The data set's id of the conversation.
    pub conversation_id: String,
    /// The client row's number in the data set: 1, 3, 5, …
    pub turn: u32,
    /// How the turn ended.
    pub state: TurnState,
    /// Why, in words, when `state` alone does not say it (failures, skips).
    pub reason: Option<String>,
    /// Lower-case hex sha256 of the rendered prompt's bytes.
    pub prompt_sha256: Option<String>,
    /// Lower-case hex sha256 of the prompt's token ids, little-endian u32 each.
    pub prompt_ids_sha256: Option<String>,
    /// Tokens of the whole prompt (ISL): template, tools and history included.
    pub prompt_tokens: Option<usize>,
    /// Prompt tokens whose state came from the previous turn's snapshot.
    pub reused_tokens: Option<usize>,
    /// Prompt tokens that went through a decode call in this turn.
    pub evaluated_tokens: Option<usize>,
    /// Prompt tokens that the conversation's previous prompt does not have as a
    /// prefix: the fewest that any cache could evaluate.
    pub ideal_tokens: Option<usize>,
    /// Where the chat template has rewritten the history since the conversation's
    /// previous prompt, so that less of it can be reused; `None` where it has not.
    pub rewritten: Option<Departure>,
    /// Prompt positions at which decode calls of the prefill ended, ascending.
    pub cuts: Vec<usize>,
    /// Decode calls made for the turn, prefill and generation together.
    pub decode_calls: Option<usize>,
    /// Generated token ids, the end token included.
    pub output_ids: Vec<i32>,
    /// Number of generated tokens (OSL), the end token included.
    pub output_tokens: Option<usize>,
    /// Tokens emitted by each sampling step; all 1 without speculation. Their
    /// sum is `output_tokens`.
    pub step_tokens: Vec<usize>,
    /// Tokens drafted for each sampling step and verified by it, as long as
    /// `step_tokens`; empty where nothing was drafted in the whole turn.
    #[serde(default)]
    pub step_drafted: Vec<usize>,
    /// Tokens proposed by the draft model: the sum of `step_drafted`.
    pub drafted_tokens: usize,
    /// Proposed tokens that were kept.
    pub accepted_tokens: usize,
    /// Why generation stopped; `None` when it never started.
    pub stop_reason: Option<StopReason>,
    /// Index in `output_ids` of the token with which the reference client sees
    /// its first content-bearing delta; `None` when there is none.
    pub first_delta_index: Option<usize>,
    /// Wall-clock time at which the turn was handed to the engine.
    pub started_at: Option<Timestamp>,
    /// The same moment on the run's monotonic clock, ns since the run's start.
    /// Durations across turns come from here, never from `started_at`.
    pub started_ns: Option<Nanos>,
    /// Turn handed to the engine → first token sampled, ns.
    pub ttft_ns: Option<Nanos>,
    /// Turn handed to the engine → last token sampled and reply parsed, ns.
    pub latency_ns: Option<Nanos>,
    /// Where the turn's time went.
    pub phases_ns: Option<Phases>,
    /// Driver time, ns: the turn's latency minus the time inside llama.cpp
    /// (decode, synchronize, state copies, grammar, and its rendering,
    /// tokenizing and parsing). Measured as the sum of what lies between those calls; it
    /// cuts across `phases_ns`, which is why it is a field of its own.
    pub driver_ns: Option<Nanos>,
    /// Per generated token: turn handed to the engine → that token sampled, ns.
    pub token_ns: Vec<Nanos>,
    /// The generated text, special tokens included.
    pub text: Option<String>,
    /// The visible text of the parsed reply; `None` where nothing was parsed.
    pub content: Option<String>,
    /// The reasoning of the parsed reply; `None` where nothing was parsed.
    pub reasoning_content: Option<String>,
    /// The tool calls parsed from the text, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Prompt tokens removed by `--overflow drop-oldest`.
    pub dropped_tokens: usize,
    /// Messages removed by `--overflow drop-oldest`.
    pub dropped_messages: usize,
    /// The outcome of `--self-check`, for the turns it repeated. Not part of the row,
    /// which is written before the turn is repeated: it comes from `self-checks.jsonl`.
    #[serde(skip)]
    pub self_check: Option<SelfCheck>,
    /// Which start of the run this row belongs to: 0, and one more for each
    /// `--resume`. The run's clock starts again with each.
    pub attempt: u32,
}

impl TurnRecord {
    /// A row that knows only which turn it is about and how that turn ended.
    ///
    /// ```text
    /// let row = TurnRecord { ttft_ns: Some(ttft), ..TurnRecord::new(id, turn, state) };
    /// ```
    #[must_use]
    pub fn new(conversation_id: impl Into<String>, turn: u32, state: TurnState) -> Self {
        Self {
            schema: SCHEMA,
            conversation_id: conversation_id.into(),
            turn,
            state,
            reason: None,
            prompt_sha256: None,
            prompt_ids_sha256: None,
            prompt_tokens: None,
            reused_tokens: None,
            evaluated_tokens: None,
            ideal_tokens: None,
            rewritten: None,
            cuts: Vec::new(),
            decode_calls: None,
            output_ids: Vec::new(),
            output_tokens: None,
            step_tokens: Vec::new(),
            step_drafted: Vec::new(),
            drafted_tokens: 0,
            accepted_tokens: 0,
            stop_reason: None,
            first_delta_index: None,
            started_at: None,
            started_ns: None,
            ttft_ns: None,
            latency_ns: None,
            phases_ns: None,
            driver_ns: None,
            token_ns: Vec::new(),
            text: None,
            content: None,
            reasoning_content: None,
            tool_calls: Vec::new(),
            dropped_tokens: 0,
            dropped_messages: 0,
            self_check: None,
            attempt: 0,
        }
    }

    /// The row of a turn that was dropped because an earlier one failed.
    #[must_use]
    pub fn skipped(
        conversation_id: impl Into<String>,
        turn: u32,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::new(conversation_id, turn, TurnState::Skipped)
        }
    }
}

impl Row for TurnRecord {
    const NOUN: &'static str = "turn";

    fn about(&self) -> String {
        format!("conversation {:?} turn {}", self.conversation_id, self.turn)
    }

    fn fault(&self) -> Option<String> {
        if self.schema != SCHEMA {
            return Some(other_schema(self.schema));
        }
        (!self.state.is_row()).then(|| {
            format!(
                "state: found {}, expected one that is written; {} and {} are derived",
                self.state,
                TurnState::NotIssued,
                TurnState::NotSelected
            )
        })
    }
}

fn other_schema(found: u32) -> String {
    format!("schema: found {found}, expected {SCHEMA}; use the edge-agentic version that wrote it")
}

/// A place at which a prompt leaves the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Departure {
    /// Index of the first token that differs.
    pub token: usize,
    /// Number, from 1, of the message that it is in, as the template delimits
    /// them; 0: before the first.
    pub message: usize,
}

/// Where a turn's time went, ns. The phases are disjoint intervals of the turn,
/// so their sum is at most the turn's latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Messages → prompt text.
    pub render: Nanos,
    /// Prompt text → token ids.
    pub tokenize: Nanos,
    /// Restoring a snapshot and trimming the attention cells.
    pub restore: Nanos,
    /// Decode calls over the prompt, snapshot included.
    pub prefill: Nanos,
    /// Logits of the prompt → first token.
    pub first_sample: Nanos,
    /// First token → last token.
    pub decode: Nanos,
    /// Last token → parsed reply (detokenizing included).
    pub parse: Nanos,
}

impl Phases {
    /// The phases by name, in the order in which they happen.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, Nanos); 7] {
        [
            ("render", self.render),
            ("tokenize", self.tokenize),
            ("restore", self.restore),
            ("prefill", self.prefill),
            ("first_sample", self.first_sample),
            ("decode", self.decode),
            ("parse", self.parse),
        ]
    }

    /// The sum of all phases, ns.
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.named()
            .iter()
            .fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
    }
}

/// A tool call as parsed from the generated text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The call's id, where the template's format has one.
    pub id: Option<String>,
    /// The function's name.
    pub name: String,
    /// The arguments as the text that was generated (usually a JSON object).
    pub arguments: String,
}

/// The outcome of repeating a turn from an empty cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfCheck {
    /// The repeat, with the same cut list, generated the same tokens.
    pub equal: bool,
    /// Index of the first generated token that differs.
    pub first_difference: Option<usize>,
    /// The repeat *without* cuts generated the same tokens: information only,
    /// because decode-call boundaries may change the rounding. `None`: not run.
    pub unsplit_equal: Option<bool>,
}
