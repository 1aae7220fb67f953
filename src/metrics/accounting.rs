//! Truncation accounting: every client turn of the data set in one state.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::facts::{ConversationFacts, RunFacts};
use crate::record::{StopReason, TurnRecord, TurnState};

/// How many turns ended in each state. `sum` adds up the states and equals
/// `total`, the client turns of the data set, whatever was selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnCounts {
    /// Client turns of the data set.
    pub total: usize,
    /// Turns in [`TurnState::Completed`].
    pub completed: usize,
    /// Turns in [`TurnState::CompletedLength`].
    pub completed_length: usize,
    /// Turns in [`TurnState::CompletedContext`].
    pub completed_context: usize,
    /// Turns in [`TurnState::FailedOverflow`].
    pub failed_overflow: usize,
    /// Turns in [`TurnState::FailedTimeout`].
    pub failed_timeout: usize,
    /// Turns in [`TurnState::FailedError`].
    pub failed_error: usize,
    /// Turns in [`TurnState::Skipped`].
    pub skipped: usize,
    /// Turns in [`TurnState::NotIssued`].
    pub not_issued: usize,
    /// Turns in [`TurnState::NotSelected`].
    pub not_selected: usize,
    /// The states above, added up.
    pub sum: usize,
}

/// Rows and facts that do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountingError {
    /// The facts name a conversation twice.
    #[error("conversation {0:?} stands twice in the plan")]
    DuplicateConversation(String),
    /// More turns are selected than there are.
    #[error(
        "conversation {conversation_id:?}: {selected} turns selected, expected at most {turns}"
    )]
    SelectedTooMany {
        /// The conversation.
        conversation_id: String,
        /// Turns selected.
        selected: u32,
        /// Turns in the data set.
        turns: u32,
    },
    /// A row is about a conversation that the data set lacks.
    #[error(
        "row {row}: conversation {conversation_id:?} is not in the data set; was it recorded with another one?"
    )]
    UnknownConversation {
        /// The row's number, from 1.
        row: usize,
        /// The conversation.
        conversation_id: String,
    },
    /// A row's turn is no selected client turn.
    #[error(
        "row {row}: conversation {conversation_id:?}: found turn {turn}, expected an odd number up to {last}; was it recorded with another --turns or --conversations?"
    )]
    UnknownTurn {
        /// The row's number, from 1.
        row: usize,
        /// The conversation.
        conversation_id: String,
        /// The turn.
        turn: u32,
        /// The last client turn that is selected, as numbered in the file.
        last: u32,
    },
    /// A turn has two rows.
    #[error("row {row}: conversation {conversation_id:?} turn {turn} has a row already")]
    DuplicateTurn {
        /// The row's number, from 1.
        row: usize,
        /// The conversation.
        conversation_id: String,
        /// The turn.
        turn: u32,
    },
    /// A row claims a state that only the absence of a row can mean.
    #[error("row {row}: state {state} is derived and cannot be recorded")]
    DerivedState {
        /// The row's number, from 1.
        row: usize,
        /// The state.
        state: TurnState,
    },
    /// The states do not add up. A defect of this program, not of the input.
    #[error("turn states add up to {sum}, expected {total}; please report this")]
    Sum {
        /// The states added up.
        sum: usize,
        /// Client turns of the data set.
        total: usize,
    },
}

impl TurnCounts {
    /// Counts the rows' states and derives `not_issued` and `not_selected`.
    ///
    /// # Errors
    /// When rows and facts contradict each other; see [`AccountingError`].
    pub fn count(records: &[TurnRecord], facts: &RunFacts) -> Result<Self, AccountingError> {
        let mut counts = Self::default();
        let selected = selection(&facts.conversations)?;
        check_rows(records, &selected)?;
        for conversation in &facts.conversations {
            counts.total += conversation.turns as usize;
            counts.not_selected += (conversation.turns - conversation.selected) as usize;
        }
        for record in records {
            *counts.slot(record.state) += 1;
        }
        let issuable: usize = selected.values().map(|turns| *turns as usize).sum();
        counts.not_issued = issuable - records.len();
        counts.sum = TurnState::ALL.iter().map(|s| counts.of(*s)).sum();
        if counts.sum == counts.total {
            Ok(counts)
        } else {
            let (sum, total) = (counts.sum, counts.total);
            Err(AccountingError::Sum { sum, total })
        }
    }

    /// The count of one state.
    #[must_use]
    pub fn of(&self, state: TurnState) -> usize {
        let mut copy = *self;
        *copy.slot(state)
    }

    /// Turns that completed, in whichever way.
    #[must_use]
    pub fn completed_all(&self) -> usize {
        self.completed + self.completed_length + self.completed_context
    }

    /// Turns that failed, in whichever way.
    #[must_use]
    pub fn failed_all(&self) -> usize {
        self.failed_overflow + self.failed_timeout + self.failed_error
    }

    /// Turns that the plan selects.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.total - self.not_selected
    }

    fn slot(&mut self, state: TurnState) -> &mut usize {
        match state {
            TurnState::Completed => &mut self.completed,
            TurnState::CompletedLength => &mut self.completed_length,
            TurnState::CompletedContext => &mut self.completed_context,
            TurnState::FailedOverflow => &mut self.failed_overflow,
            TurnState::FailedTimeout => &mut self.failed_timeout,
            TurnState::FailedError => &mut self.failed_error,
            TurnState::Skipped => &mut self.skipped,
            TurnState::NotIssued => &mut self.not_issued,
            TurnState::NotSelected => &mut self.not_selected,
        }
    }
}

/// Selected client turns by conversation.
fn selection(facts: &[ConversationFacts]) -> Result<HashMap<&str, u32>, AccountingError> {
    let mut selected = HashMap::with_capacity(facts.len());
    for fact in facts {
        let id = fact.conversation_id.as_str();
        if fact.selected > fact.turns {
            return Err(AccountingError::SelectedTooMany {
                conversation_id: id.to_owned(),
                selected: fact.selected,
                turns: fact.turns,
            });
        }
        if selected.insert(id, fact.selected).is_some() {
            return Err(AccountingError::DuplicateConversation(id.to_owned()));
        }
    }
    Ok(selected)
}

/// Every row is about one selected client turn, and no two about the same.
fn check_rows(
    records: &[TurnRecord],
    selected: &HashMap<&str, u32>,
) -> Result<(), AccountingError> {
    let mut seen = HashSet::with_capacity(records.len());
    for (index, record) in records.iter().enumerate() {
        let (row, turn) = (index + 1, record.turn);
        let conversation_id = record.conversation_id.clone();
        let Some(turns) = selected.get(conversation_id.as_str()) else {
            return Err(AccountingError::UnknownConversation {
                row,
                conversation_id,
            });
        };
        // Client rows of the file are 1, 3, 5, …
        let last = (turns * 2).saturating_sub(1);
        if turn % 2 == 0 || turn > last {
            return Err(AccountingError::UnknownTurn {
                row,
                conversation_id,
                turn,
                last,
            });
        }
        if !record.state.is_row() {
            let state = record.state;
            return Err(AccountingError::DerivedState { row, state });
        }
        if !seen.insert((record.conversation_id.as_str(), turn)) {
            return Err(AccountingError::DuplicateTurn {
                row,
                conversation_id,
                turn,
            });
        }
    }
    Ok(())
}

/// How many turns generation stopped for which reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopCounts {
    /// Rows with [`StopReason::EndOfGeneration`].
    pub end_of_generation: usize,
    /// Rows with [`StopReason::MaxNewTokens`].
    pub max_new_tokens: usize,
    /// Rows with [`StopReason::ContextFull`].
    pub context_full: usize,
    /// Rows with [`StopReason::Deadline`].
    pub deadline: usize,
    /// Rows with [`StopReason::Interrupted`].
    pub interrupted: usize,
    /// Rows with [`StopReason::Error`].
    pub error: usize,
}

impl StopCounts {
    /// Counts the reasons of all rows that have one.
    #[must_use]
    pub fn count(records: &[TurnRecord]) -> Self {
        let of = |reason| {
            records
                .iter()
                .filter(|r| r.stop_reason == Some(reason))
                .count()
        };
        Self {
            end_of_generation: of(StopReason::EndOfGeneration),
            max_new_tokens: of(StopReason::MaxNewTokens),
            context_full: of(StopReason::ContextFull),
            deadline: of(StopReason::Deadline),
            interrupted: of(StopReason::Interrupted),
            error: of(StopReason::Error),
        }
    }
}
