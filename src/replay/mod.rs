//! The single-stream replay: one conversation after the other, one turn after the other, every turn accounted for.
//!
//! ```text
//! for each selected conversation          forget all state
//!   for each selected turn                time cap, interrupt → the rest is `not_issued`
//!     its messages as JSON text                                     ← what a client hands over, not timed
//!     started ─ render ─ tokenize ─ engine.turn ─ parse ─ ended     ← all that is timed
//!     row written; digests, first delta, self-check                 ← between turns, not timed
//!     a failed turn → the rest of the conversation is `skipped`
//! ```

mod chat;
mod interrupt;
mod overflow;
mod row;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use thiserror::Error;

pub use chat::{Chat, Dropped, LlamaChat};
pub use interrupt::Interrupt;

use crate::clock::{Clock, Nanos};
use crate::conversation::{Conversation, Dataset};
use crate::engine::{Engine, TurnRequest};
use crate::metrics::ConversationFacts;
use crate::record::{SelfCheck, StopReason, TurnRecord};
use row::{Clocked, Issue};

/// Longest wait between two looks at the interrupt, ns.
const WAIT_STEP: Nanos = 100_000_000;

/// Tokens of each turn's recorded reply, by conversation.
pub type Lengths = BTreeMap<String, Vec<usize>>;

/// What the replay needs of the plan.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// One entry per conversation of the data set, in its order.
    pub selection: &'a [ConversationFacts],
    /// Index of the first conversation to replay; those before it have their rows.
    pub first: usize,
    /// Number of this start of the run: 0, or one more for each resumption.
    pub attempt: u32,
    /// Most tokens per turn.
    pub max_new_tokens: usize,
    /// Tokens that each turn generates, by conversation, instead of as many as the model wants.
    pub lengths: Option<&'a Lengths>,
    /// Time after which a turn fails, ns.
    pub turn_timeout: Option<Nanos>,
    /// Time after the replay's start at which no further turn is issued, ns.
    pub time_cap: Option<Nanos>,
    /// Repeat every K-th issued turn.
    pub self_check: Option<u32>,
    /// Whether the engine looks at where users' messages start.
    pub user_starts: bool,
    /// The context size, where prompts that do not fit it lose their oldest exchanges instead of failing.
    pub drop_oldest: Option<usize>,
    /// Whether to wait the recorded time of a tool before its results are sent.
    pub inject_delays: bool,
    /// Whether state is kept for the next turn. Without it a prompt is evaluated in as few calls as possible.
    pub keep_state: bool,
    /// Whether a conversation may start from state that another one left.
    pub reuse_across: bool,
    /// Which earlier state is kept besides that of the last prompt.
    pub shared: Shared,
}

impl Settings<'_> {
    /// Tokens that a turn is to generate.
    fn length(&self, conversation_id: &str, index: usize) -> Option<usize> {
        self.lengths?.get(conversation_id)?.get(index).copied()
    }

    /// The length of the current prompt's prefix whose state is kept.
    fn reusable(&self, chat: &dyn Chat) -> usize {
        if self.keep_state { chat.reusable() } else { 0 }
    }

    /// Where users' messages start in the current prompt, for an engine that looks at it.
    fn user_starts(&self, chat: &dyn Chat) -> Vec<usize> {
        if self.user_starts {
            chat.user_starts()
        } else {
            Vec::new()
        }
    }
}

/// State that is kept besides that of the last prompt's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// None: what the reference setup needs.
    Nothing,
    /// Before the first user's message: what conversations have in common.
    System,
    /// At the end of a conversation's first prompt: what is left when exchanges are dropped.
    Opening,
}

impl Shared {
    /// The place in the current prompt.
    fn position(self, chat: &dyn Chat, user_starts: &[usize]) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::System => user_starts.first().copied(),
            Self::Opening => Some(chat.opening()),
        }
    }
}

/// Sees every turn.
pub trait Observer {
    /// A turn is about to be issued.
    fn started(&mut self, conversation_id: &str, turn: u32);

    /// A turn has its row. A break ends the replay after it.
    ///
    /// # Errors
    /// Where the row cannot be kept; the replay stops.
    fn ended(&mut self, record: &TurnRecord) -> anyhow::Result<ControlFlow<()>>;

    /// A turn that has its row was repeated.
    ///
    /// # Errors
    /// Where the outcome cannot be kept; the replay stops.
    fn checked(&mut self, conversation_id: &str, turn: u32, check: SelfCheck)
    -> anyhow::Result<()>;
}

/// Why the replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every selected turn was issued or skipped.
    Finished,
    /// The time cap was reached.
    TimeCap,
    /// The user interrupted.
    Interrupted,
    /// The observer had seen enough.
    Enough,
}

/// What stops a replay with an error. A failing turn does not: it is a row.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// A row could not be kept.
    #[error("the replay stopped after turn {turn} of conversation {conversation_id:?}: {source:#}")]
    Row {
        /// The conversation.
        conversation_id: String,
        /// The turn.
        turn: u32,
        /// Why.
        source: anyhow::Error,
    },
    /// A repeated turn failed in the engine.
    #[error("self-check of turn {turn} of conversation {conversation_id:?}: {source}")]
    SelfCheck {
        /// The conversation.
        conversation_id: String,
        /// The turn.
        turn: u32,
        /// Why.
        source: crate::engine::EngineError,
    },
}

/// Everything a replay works with.
pub struct Replay<'a> {
    /// Plan.
    pub settings: Settings<'a>,
    /// Prompts and replies.
    pub chat: &'a mut dyn Chat,
    /// Model.
    pub engine: &'a mut dyn Engine,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
    /// Rows and progress.
    pub observer: &'a mut dyn Observer,
}

impl Replay<'_> {
    /// Replays the selected turns of `data`.
    ///
    /// # Errors
    /// See [`ReplayError`].
    ///
    /// # Panics
    /// If the selection is not one entry per conversation: the plan makes it so.
    pub fn run(&mut self, data: &Dataset) -> Result<Ending, ReplayError> {
        assert_eq!(self.settings.selection.len(), data.conversations.len());
        let start = self.clock.now();
        let mut issued = 0u32;
        for (conversation, facts) in data
            .conversations
            .iter()
            .zip(self.settings.selection)
            .skip(self.settings.first)
        {
            if !self.settings.reuse_across {
                self.engine.forget();
            }
            let mut failed: Option<TurnRecord> = None;
            for index in 0..facts.selected as usize {
                let turn = conversation.turns[index].turn;
                if let Some(cause) = &failed {
                    let reason = format!("turn {} ended as {}", cause.turn, cause.state);
                    let row = TurnRecord::skipped(conversation.id.clone(), turn, reason);
                    if self.write(row)?.is_break() {
                        return Ok(Ending::Enough);
                    }
                    continue;
                }
                let cap = self.settings.time_cap.map(|cap| start.saturating_add(cap));
                self.wait(conversation, index, cap);
                if cap.is_some_and(|cap| self.clock.now() >= cap) {
                    return Ok(Ending::TimeCap);
                }
                if self.interrupt.requested() {
                    return Ok(Ending::Interrupted);
                }
                self.observer.started(&conversation.id, turn);
                let record = self.turn(conversation, index);
                if record.stop_reason == Some(StopReason::Interrupted) {
                    return Ok(Ending::Interrupted);
                }
                issued += 1;
                let every = self.settings.self_check;
                let check =
                    record.state.is_completed() && every.is_some_and(|k| issued.is_multiple_of(k));
                let go_on = self.write(record.clone())?;
                if check {
                    self.self_check(&record)?;
                }
                if go_on.is_break() {
                    return Ok(Ending::Enough);
                }
                failed = record.state.is_failed().then_some(record);
            }
        }
        Ok(Ending::Finished)
    }

    fn write(&mut self, mut record: TurnRecord) -> Result<ControlFlow<()>, ReplayError> {
        record.attempt = self.settings.attempt;
        self.observer
            .ended(&record)
            .map_err(|source| ReplayError::Row {
                conversation_id: record.conversation_id,
                turn: record.turn,
                source,
            })
    }

    /// Waits as long as the recorded tool took, where that is asked for; an interrupt or the time cap
    /// ends the wait.
    fn wait(&self, conversation: &Conversation, index: usize, cap: Option<Nanos>) {
        let delay = conversation.turns[index]
            .delay_seconds
            .filter(|_| self.settings.inject_delays);
        let until = self
            .clock
            .now()
            .saturating_add(delay.map_or(0, |s| (s * 1e9) as Nanos));
        let until = cap.map_or(until, |cap| until.min(cap));
        while !self.interrupt.requested() {
            match until.saturating_sub(self.clock.now()) {
                0 => return,
                left => self.clock.sleep(left.min(WAIT_STEP)),
            }
        }
    }

    /// Issues one turn; whatever happens becomes a record.
    fn turn(&mut self, conversation: &Conversation, index: usize) -> TurnRecord {
        let messages = self.chat.messages(conversation, index);
        let mut clocked = Clocked::start(self.clock);
        let issue = Issue {
            conversation,
            index,
            messages: &messages,
            settings: &self.settings,
            cancel: self.interrupt.urgent(),
        };
        let outcome = issue.run(self.chat, self.engine, self.clock, &mut clocked);
        issue.record(self.chat, outcome, clocked)
    }

    /// Repeats the turn just recorded from an empty cache. The unsplit repeat comes first because only the other
    /// leaves the engine as the turn left it. An urgent interrupt ends it without an outcome.
    fn self_check(&mut self, record: &TurnRecord) -> Result<(), ReplayError> {
        let failed = |source| ReplayError::SelfCheck {
            conversation_id: record.conversation_id.clone(),
            turn: record.turn,
            source,
        };
        let user_starts = self.settings.user_starts(self.chat);
        let format = self.chat.format();
        let request = TurnRequest {
            prompt: self.chat.ids(),
            reusable: self.settings.reusable(self.chat),
            shared: self.settings.shared.position(self.chat, &user_starts),
            user_starts: &user_starts,
            format: format.as_ref(),
            max_new_tokens: self.settings.max_new_tokens,
            ignore_end: false,
            deadline: None,
            cancel: Some(self.interrupt.urgent()),
        };
        let unsplit = self.engine.repeat(&request, false).map_err(failed)?;
        let same = self.engine.repeat(&request, true).map_err(failed)?;
        if [&unsplit, &same]
            .iter()
            .any(|o| o.stop == Some(StopReason::Interrupted))
        {
            return Ok(());
        }
        let first_difference = (same.output != record.output_ids).then(|| {
            let common = crate::chat::prefix::common_prefix(&same.output, &record.output_ids);
            common.min(record.output_ids.len().saturating_sub(1))
        });
        let check = SelfCheck {
            equal: first_difference.is_none(),
            first_difference,
            unsplit_equal: Some(unsplit.output == record.output_ids),
        };
        let kept = self
            .observer
            .checked(&record.conversation_id, record.turn, check);
        kept.map_err(|source| ReplayError::Row {
            conversation_id: record.conversation_id.clone(),
            turn: record.turn,
            source,
        })
    }
}
