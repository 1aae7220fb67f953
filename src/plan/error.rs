//! Why a command line is no plan.

use thiserror::Error;

use crate::conversation::variant::SaltError;
use crate::engine::llama::KvType;
use crate::engine::speculation::Mtp;

/// Why a command line is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A duration that is none.
    #[error("{flag} {found:?}: expected a number of seconds above 0 and below 1e9")]
    Duration {
        /// The flag.
        flag: &'static str,
        /// What was given.
        found: f64,
    },
    /// A context depth that leaves no room for the tests.
    #[error(
        "--depth {depth}: the tests there take {needed} tokens, and the context holds {context}; give a smaller depth, \
         or --ctx-size"
    )]
    Depth {
        /// What was given.
        depth: usize,
        /// Tokens in the context at a test's end.
        needed: usize,
        /// `--ctx-size`.
        context: usize,
    },
    /// Tests that are all left out.
    #[error("--n-prompt 0 --n-gen 0: no test is left; give at least one of them a number above 0")]
    NoTest,
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
    /// A BFCL category or subset that there is none of.
    #[error(
        "--categories {found:?}: expected non_live, live, hallucination, or a subset: {}",
        bfcl::subset::Subset::ALL.map(bfcl::subset::Subset::name).join(", ")
    )]
    Category {
        /// What was given.
        found: String,
    },
    /// An end that would never come.
    #[error(
        "--stop-when-decided: only the gate's 995 samples decide its gates, and these are {samples}; leave it out, or \
         leave out --categories, --full-subsets and --bfcl-samples"
    )]
    NeverDecided {
        /// What is asked, in words.
        samples: String,
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
    /// A quantized V cache, which llama.cpp has only with fused attention.
    #[error(
        "--cache-type-v {found} needs --flash-attn on: llama.cpp quantizes the V cache only there"
    )]
    QuantizedV {
        /// The type.
        found: KvType,
    },
    /// A context size that llama.cpp would change.
    #[error("--ctx-size {found}: expected a multiple of {step}, since llama.cpp would round it up")]
    CtxSize {
        /// Tokens asked for.
        found: u32,
        /// Tokens of a step.
        step: u32,
    },
    /// Drafts of a model that has no prediction block.
    #[error(
        "--mtp {asked}: the model has no prediction (MTP) block to draft with; use --mtp off, or a file that was \
         converted with it"
    )]
    NoMtp {
        /// What was given.
        asked: Mtp,
    },
    /// Drafts of an architecture that cannot take them back.
    #[error(
        "--mtp {asked}: the model's architecture is {found:?}, and rejected drafts can be taken back only in qwen35 and \
         qwen35moe; use --mtp off"
    )]
    MtpArchitecture {
        /// What was given.
        asked: Mtp,
        /// `general.architecture`.
        found: String,
    },
    /// More drafts than a pass holds.
    #[error("--mtp {asked} needs --ubatch-size {least} or more, found {found}: a step is one pass")]
    MtpBatch {
        /// What was given.
        asked: Mtp,
        /// The micro-batch, tokens.
        found: u32,
        /// The least that would do.
        least: u32,
    },
    /// Rates that do not fit the drafts.
    #[error(
        "--synthetic-acceptance has {rates} rates and --mtp is {mtp}: expected --mtp {rates}, a rate for each position"
    )]
    Acceptance {
        /// Rates given.
        rates: usize,
        /// What drafts.
        mtp: Mtp,
    },
    /// A micro-batch larger than the batch.
    #[error("--ubatch-size {ubatch} is larger than --batch-size {batch}")]
    Batch {
        /// Micro-batch.
        ubatch: u32,
        /// Batch.
        batch: u32,
    },
}
