//! One line of a memory plan.

use serde::{Deserialize, Serialize};

/// What memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Weights where the file's type and layout are kept.
    Weights,
    /// Weights in another layout, for the processor.
    RepackedWeights,
    /// Keys and values of every token of context.
    KvCache,
    /// Recurrent state: one slot, and one per token that can be rolled back.
    RecurrentState,
    /// Copies of the recurrent state, to start later turns from.
    Snapshots,
    /// Intermediate results of a pass.
    ComputeBuffer,
    /// Rows of logits on the host.
    OutputRows,
    /// The draft context's keys and values.
    DraftKvCache,
    /// Intermediate results of the draft context.
    DraftComputeBuffer,
    /// llama.cpp's tables of the vocabulary.
    Vocabulary,
}

impl Part {
    /// Name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::RepackedWeights => "repacked weights",
            Self::KvCache => "KV cache",
            Self::RecurrentState => "recurrent state",
            Self::Snapshots => "snapshots",
            Self::ComputeBuffer => "compute buffer",
            Self::OutputRows => "output rows",
            Self::DraftKvCache => "draft KV cache",
            Self::DraftComputeBuffer => "draft compute buffer",
            Self::Vocabulary => "vocabulary",
        }
    }

    /// Whether its size is an estimate and not a consequence of shapes.
    #[must_use]
    pub const fn is_estimate(self) -> bool {
        matches!(
            self,
            Self::ComputeBuffer | Self::DraftComputeBuffer | Self::Vocabulary
        )
    }
}

/// How memory is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// Pages of the model file: the kernel drops and re-reads them as it needs to.
    Mapped,
    /// Allocated: must fit, or the load fails.
    Anonymous,
}

/// One part of the plan in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Share {
    /// What it is for.
    pub part: Part,
    /// The pool it comes from: `host` or a device's name.
    pub pool: String,
    /// How it is held.
    pub kind: MemoryKind,
    /// Size, bytes. Of mapped weights the range of the file, as llama.cpp's log has it.
    pub bytes: u64,
    /// What is touched at every token, bytes: less than `bytes` where weights in the mapped range were repacked or
    /// copied to a device, and without the embedding, of which a token reads one row.
    pub in_use_bytes: u64,
    /// Whether the size is an estimate.
    pub estimate: bool,
}
