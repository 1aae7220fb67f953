//! One conversation's share of the summary.

use serde::{Deserialize, Serialize};

use super::facts::{ConversationFacts, RunFacts};
use crate::clock::Nanos;
use crate::record::TurnRecord;

/// What one conversation of the data set came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationSummary {
    /// The data set's id.
    pub conversation_id: String,
    /// Client turns in the data set.
    pub turns: usize,
    /// Client turns selected.
    pub selected: usize,
    /// Client turns completed.
    pub completed: usize,
    /// Trajectory time, ns: first turn handed to the engine → last turn ended.
    /// `None` unless every selected turn completed.
    pub trajectory_ns: Option<Nanos>,
    /// Most tokens in the context at once: the largest prompt with its output.
    pub peak_context: Option<usize>,
    /// Context size − `peak_context`, tokens; 0 when it is over.
    pub headroom: Option<usize>,
    /// Where smaller contexts would have ended it.
    pub first_overflow: FirstOverflow,
}

/// The first turn whose prompt does not fit a context of that size; `None` when
/// all recorded prompts fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstOverflow {
    /// 8,192 tokens.
    pub at_8k: Option<u32>,
    /// 16,384 tokens.
    pub at_16k: Option<u32>,
    /// 24,576 tokens.
    pub at_24k: Option<u32>,
    /// 32,768 tokens.
    pub at_32k: Option<u32>,
}

impl ConversationSummary {
    /// Every selected conversation, in the order of the data set.
    pub(super) fn all(records: &[TurnRecord], facts: &RunFacts) -> Vec<Self> {
        facts
            .conversations
            .iter()
            .filter(|c| c.selected > 0)
            .map(|c| Self::of(records, c, facts.context_tokens))
            .collect()
    }

    fn of(records: &[TurnRecord], facts: &ConversationFacts, context: usize) -> Self {
        let rows: Vec<&TurnRecord> = records
            .iter()
            .filter(|r| r.conversation_id == facts.conversation_id)
            .collect();
        let completed = rows.iter().filter(|r| r.state.is_completed()).count();
        let selected = facts.selected as usize;
        let peak = rows
            .iter()
            .filter(|r| r.state.is_completed())
            .filter_map(|r| Some(r.prompt_tokens? + r.output_tokens?))
            .max();
        Self {
            conversation_id: facts.conversation_id.clone(),
            turns: facts.turns as usize,
            selected,
            completed,
            trajectory_ns: (completed == selected).then(|| span_ns(&rows)).flatten(),
            peak_context: peak,
            headroom: peak.map(|peak| context.saturating_sub(peak)),
            first_overflow: FirstOverflow::of(&rows),
        }
    }
}

impl FirstOverflow {
    fn of(rows: &[&TurnRecord]) -> Self {
        let at = |size| {
            rows.iter()
                .find(|r| r.prompt_tokens.is_some_and(|n| n >= size))
                .map(|r| r.turn)
        };
        Self {
            at_8k: at(8 * 1024),
            at_16k: at(16 * 1024),
            at_24k: at(24 * 1024),
            at_32k: at(32 * 1024),
        }
    }
}

/// From the first start among `rows` to the last end, ns. They must lie on one
/// clock; a continued run starts a new one.
pub(super) fn span_ns(rows: &[&TurnRecord]) -> Option<Nanos> {
    let started = rows.iter().filter_map(|r| r.started_ns).min()?;
    let ended = rows
        .iter()
        .filter_map(|r| r.started_ns?.checked_add(r.latency_ns?))
        .max()?;
    ended.checked_sub(started)
}
