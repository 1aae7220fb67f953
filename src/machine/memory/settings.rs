//! The settings that decide how much memory a model takes.

use gguf::TensorType;
use serde::{Serialize, Serializer};

/// llama.cpp rounds contexts up to a multiple of this many tokens.
const CONTEXT_STEP: u32 = 256;

/// What is asked of llama.cpp. The number of threads is not among it: they share all buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Context, tokens (`--ctx-size`).
    pub ctx_size: u32,
    /// Most tokens of one pass over the weights (`--ubatch-size`).
    pub ubatch_size: u32,
    /// Element type of the K cache.
    #[serde(serialize_with = "lower_case")]
    pub cache_type_k: TensorType,
    /// Element type of the V cache.
    #[serde(serialize_with = "lower_case")]
    pub cache_type_v: TensorType,
    /// Whether attention runs fused; otherwise all scores of a pass are kept.
    pub flash_attention: bool,
    /// Layers to offload, from the output backwards; more than the model has means all, 0 none.
    pub n_gpu_layers: u32,
    /// Tokens drafted by the prediction block per step; 0 leaves the block out.
    pub mtp_depth: u32,
    /// Tokens that the recurrent state can be rolled back (`n_rs_seq`); MTP needs at least its depth.
    pub rollback_tokens: u32,
    /// Snapshots of the recurrent state: the first where its layers are, more in host memory.
    pub snapshots: u32,
}

impl Default for Settings {
    /// The benchmark's settings: 32,768 tokens, f16 caches, everything offloaded that can be, one snapshot,
    /// no MTP, and the three tokens rolled back that Qwen3.6's template holds back.
    fn default() -> Self {
        Self {
            ctx_size: 32_768,
            ubatch_size: 512,
            cache_type_k: TensorType::F16,
            cache_type_v: TensorType::F16,
            flash_attention: true,
            n_gpu_layers: 999,
            mtp_depth: 0,
            rollback_tokens: 3,
            snapshots: 1,
        }
    }
}

impl Settings {
    /// Cells of the KV cache: the context rounded up as llama.cpp does, tokens.
    pub(super) fn cells(&self) -> u64 {
        u64::from(self.ctx_size).next_multiple_of(CONTEXT_STEP.into())
    }

    /// Tokens of the largest pass.
    pub(super) fn pass(&self) -> u64 {
        u64::from(self.ubatch_size).min(self.cells())
    }

    /// Rows of logits of a decode call: the next token, and one per draft.
    pub(super) fn outputs(&self) -> u64 {
        u64::from(self.mtp_depth) + 1
    }

    /// Copies of the recurrent state that the context holds.
    pub(super) fn recurrent_slots(&self) -> u64 {
        u64::from(self.mtp_depth.max(self.rollback_tokens)) + 1
    }
}

fn lower_case<S: Serializer>(kind: &TensorType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&kind.to_string().to_lowercase())
}

/// A share of memory in mebibytes, for people.
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
