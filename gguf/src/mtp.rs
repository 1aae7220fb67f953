//! Multi-token prediction: whether metadata and tensors agree that the model has it.

use crate::facts::{Facts, QWEN35};
use crate::file::Gguf;
use crate::tensor::Tensor;

/// Whether a model can predict several tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mtp {
    /// Neither metadata nor tensors speak of it.
    No,
    /// Metadata and tensors agree.
    Yes {
        /// Number of prediction blocks.
        layers: u64,
    },
    /// They do not: the model would fail to load, or load as something else.
    Inconsistent(MtpFault),
}

/// How metadata and tensors disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum MtpFault {
    #[error(
        "MTP metadata without tensors: '{key}' is {layers}, but '{missing}' and the other tensors \
         of its block are absent; use a file with the head, or one converted without it"
    )]
    MetadataWithoutTensors {
        key: String,
        layers: u64,
        missing: String,
    },
    #[error(
        "MTP tensors without metadata: '{tensor}' is there, but '{key}' is absent or 0; an engine \
         would take the head for a normal block: convert the model again"
    )]
    TensorsWithoutMetadata { key: String, tensor: String },
    #[error(
        "MTP block incomplete: '{key}' is {layers}, but {} absent; convert the model again",
        missing.join(", ")
    )]
    Incomplete {
        key: String,
        layers: u64,
        missing: Vec<String>,
    },
    #[error(
        "MTP tensor '{tensor}' outside the last {layers} of {blocks} blocks, where '{key}' places \
         the head; convert the model again"
    )]
    Misplaced {
        key: String,
        layers: u64,
        blocks: u64,
        tensor: String,
    },
    #[error(
        "'{key}' is {layers}, expected fewer than the {blocks} blocks of 'block_count'; convert the \
         model again"
    )]
    TooMany {
        key: String,
        layers: u64,
        blocks: u64,
    },
    #[error(
        "'block_count' is {blocks}, but the tensors end with block {found} (counted from 1); a head \
         was cut off or added by hand: convert the model again"
    )]
    BlockCount { blocks: u64, found: u64 },
}

/// Tensors every prediction block has, in any architecture.
const HEAD: &[&str] = &[
    "nextn.eh_proj.weight",
    "nextn.enorm.weight",
    "nextn.hnorm.weight",
];

/// The other tensors that llama.cpp b11434 requires in a `qwen35` prediction block.
const QWEN35_BLOCK: &[&str] = &[
    "attn_norm.weight",
    "post_attention_norm.weight",
    "attn_output.weight",
    "attn_q_norm.weight",
    "attn_k_norm.weight",
    "ffn_gate.weight",
    "ffn_down.weight",
    "ffn_up.weight",
];

/// The projections, when they are not fused into `attn_qkv.weight`.
const QKV: &[&str] = &["attn_q.weight", "attn_k.weight", "attn_v.weight"];

impl Mtp {
    /// Compares the metadata of a model with its tensors. Reads no data.
    pub fn of(model: &Gguf, facts: &Facts) -> Self {
        match check(model, facts) {
            Ok(0) => Self::No,
            Ok(layers) => Self::Yes { layers },
            Err(fault) => Self::Inconsistent(fault),
        }
    }

    /// Whether the model has a usable head.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes { .. })
    }
}

/// The number of usable prediction blocks.
fn check(model: &Gguf, facts: &Facts) -> Result<u64, MtpFault> {
    let layers = facts.nextn_predict_layers;
    let heads: Vec<&Tensor> = model
        .tensors()
        .iter()
        .filter(|t| t.name.contains(".nextn."))
        .collect();
    if layers > 0 {
        check_place(facts, layers, &heads)?;
        check_complete(model, facts, layers)?;
    } else if let Some(tensor) = heads.first() {
        return Err(MtpFault::TensorsWithoutMetadata {
            key: key(facts),
            tensor: tensor.name.clone(),
        });
    }
    same_blocks(model, facts)?;
    Ok(layers)
}

fn key(facts: &Facts) -> String {
    facts.key("nextn_predict_layers")
}

/// The head is there, in the last blocks, behind a trunk.
fn check_place(facts: &Facts, layers: u64, heads: &[&Tensor]) -> Result<(), MtpFault> {
    let blocks = facts.block_count.unwrap_or(0);
    if layers >= blocks {
        return Err(MtpFault::TooMany {
            key: key(facts),
            layers,
            blocks,
        });
    }
    if heads.is_empty() {
        return Err(MtpFault::MetadataWithoutTensors {
            key: key(facts),
            layers,
            missing: format!("blk.{}.{}", blocks - layers, HEAD[0]),
        });
    }
    let last = blocks - layers..blocks;
    let inside = |tensor: &Tensor| tensor.block().is_some_and(|n| last.contains(&n.into()));
    match heads.iter().find(|tensor| !inside(tensor)) {
        Some(tensor) => Err(MtpFault::Misplaced {
            key: key(facts),
            layers,
            blocks,
            tensor: tensor.name.clone(),
        }),
        None => Ok(()),
    }
}

/// Every prediction block has all its tensors.
fn check_complete(model: &Gguf, facts: &Facts, layers: u64) -> Result<(), MtpFault> {
    let blocks = facts.trunk()..facts.trunk() + layers;
    let missing: Vec<String> = blocks.flat_map(|n| missing_in(model, facts, n)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(MtpFault::Incomplete {
        key: key(facts),
        layers,
        missing,
    })
}

/// Required tensors that prediction block `n` lacks.
fn missing_in(model: &Gguf, facts: &Facts, n: u64) -> Vec<String> {
    let has = |part: &str| model.tensor(&format!("blk.{n}.{part}")).is_some();
    let (block, qkv): (&[&str], &[&str]) = match facts.architecture.as_str() {
        QWEN35 if has("attn_qkv.weight") => (QWEN35_BLOCK, &[]),
        QWEN35 => (QWEN35_BLOCK, QKV),
        _ => (&[], &[]),
    };
    let parts = HEAD.iter().chain(block).chain(qkv);
    parts
        .filter(|part| !has(part))
        .map(|part| format!("'blk.{n}.{part}'"))
        .collect()
}

/// A head that was cut off leaves a block count behind that is one too high.
fn same_blocks(model: &Gguf, facts: &Facts) -> Result<(), MtpFault> {
    let found = model
        .tensors()
        .iter()
        .filter_map(Tensor::block)
        .max()
        .map(|n| u64::from(n) + 1);
    match (facts.block_count, found) {
        (Some(blocks), Some(found)) if blocks != found => {
            Err(MtpFault::BlockCount { blocks, found })
        }
        _ => Ok(()),
    }
}
