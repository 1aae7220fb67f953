//! Why a command line is no plan.

use thiserror::Error;

use crate::conversation::variant::SaltError;

/// Why a command line is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A duration that is none.
    #[error("{flag} {found}: expected a number of seconds above 0")]
    Duration {
        /// The flag.
        flag: &'static str,
        /// What was given.
        found: f64,
    },
    /// A conversation that the data set does not have.
    #[error("--conversations {asked:?}: the data set has no such conversation; it has {}", known.join(", "))]
    Conversation {
        /// What was given.
        asked: String,
        /// Ids there are.
        known: Vec<String>,
    },
    /// A number of conversations that the data set does not have.
    #[error(
        "--conversations {asked}: expected 1 to {known}, the number of conversations in the data set"
    )]
    ConversationCount {
        /// What was given.
        asked: usize,
        /// Conversations there are.
        known: usize,
    },
    /// A model that the locked profile does not allow.
    #[error(
        "the model's architecture is {found:?}, and profile mlperf-v6.1-edge expects {expected:?}; use --profile none \
         to run it all the same, as a deviation"
    )]
    Architecture {
        /// `general.architecture`.
        found: String,
        /// The benchmark's.
        expected: &'static str,
    },
    /// A conversation that cannot be salted.
    #[error("--salt: {0}")]
    Salt(#[from] SaltError),
    /// A micro-batch larger than the batch.
    #[error("--ubatch-size {ubatch} is larger than --batch-size {batch}")]
    Batch {
        /// Micro-batch.
        ubatch: u32,
        /// Batch.
        batch: u32,
    },
}
