//! How a turn ended, and why generation stopped.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The one state in which every client turn of the data set ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// Stopped at an end-of-generation token.
    Completed,
    /// Reached `max_new_tokens`; counts as complete, as the reference does.
    CompletedLength,
    /// Generation reached the end of the context; the output is short.
    CompletedContext,
    /// The prompt has at least as many tokens as the context; not decoded.
    FailedOverflow,
    /// The turn's deadline passed.
    FailedTimeout,
    /// The engine reported an error.
    FailedError,
    /// Dropped because an earlier turn of its conversation failed.
    Skipped,
    /// The run ended first (time cap, interrupt). Derived: never a row.
    NotIssued,
    /// Left out by `--conversations` or `--turns`. Derived: never a row.
    NotSelected,
}

impl TurnState {
    /// Every state, in the order in which results list them.
    pub const ALL: [Self; 9] = [
        Self::Completed,
        Self::CompletedLength,
        Self::CompletedContext,
        Self::FailedOverflow,
        Self::FailedTimeout,
        Self::FailedError,
        Self::Skipped,
        Self::NotIssued,
        Self::NotSelected,
    ];

    /// The name used in every result file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::CompletedLength => "completed_length",
            Self::CompletedContext => "completed_context",
            Self::FailedOverflow => "failed_overflow",
            Self::FailedTimeout => "failed_timeout",
            Self::FailedError => "failed_error",
            Self::Skipped => "skipped",
            Self::NotIssued => "not_issued",
            Self::NotSelected => "not_selected",
        }
    }

    /// One of the `completed*` states: the turns over which metrics are taken.
    #[must_use]
    pub const fn is_completed(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::CompletedLength | Self::CompletedContext
        )
    }

    /// One of the `failed_*` states: the rest of the conversation is skipped.
    #[must_use]
    pub const fn is_failed(self) -> bool {
        matches!(
            self,
            Self::FailedOverflow | Self::FailedTimeout | Self::FailedError
        )
    }

    /// Whether a turn in this state has a row in `turns.jsonl`.
    #[must_use]
    pub const fn is_row(self) -> bool {
        !matches!(self, Self::NotIssued | Self::NotSelected)
    }
}

impl fmt::Display for TurnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why generation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model chose an end-of-generation token.
    EndOfGeneration,
    /// `max_new_tokens` tokens were generated.
    MaxNewTokens,
    /// The context has no room for another token.
    ContextFull,
    /// The turn's deadline passed.
    Deadline,
    /// The user interrupted the run.
    Interrupted,
    /// The engine failed.
    Error,
}

impl StopReason {
    /// Every reason, in the order in which results list them.
    pub const ALL: [Self; 6] = [
        Self::EndOfGeneration,
        Self::MaxNewTokens,
        Self::ContextFull,
        Self::Deadline,
        Self::Interrupted,
        Self::Error,
    ];

    /// The name used in every result file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndOfGeneration => "end_of_generation",
            Self::MaxNewTokens => "max_new_tokens",
            Self::ContextFull => "context_full",
            Self::Deadline => "deadline",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_are_the_names_of_as_str() {
        for state in TurnState::ALL {
            let json = serde_json::to_value(state).expect("a state is a string");
            assert_eq!(json, state.as_str());
        }
        for reason in StopReason::ALL {
            let json = serde_json::to_value(reason).expect("a reason is a string");
            assert_eq!(json, reason.as_str());
        }
    }
}
