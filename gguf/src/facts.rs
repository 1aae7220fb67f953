//! What the metadata says about the model: sizes, heads, recurrent layers, prediction layers.

mod keys;

use crate::file::Gguf;
use crate::metadata::MetadataError;
use crate::tensor::Tensor;
use keys::Keys;

/// Most blocks llama.cpp can hold (`LLAMA_MAX_LAYERS`; it aborts above).
const MAX_BLOCKS: u64 = 512;
const ARCHITECTURE: &str = "general.architecture";
/// Every n-th block is full attention in `qwen35` when the file does not say.
const QWEN35_INTERVAL: u64 = 4;

/// The architecture this project runs under its locked profile.
pub const QWEN35: &str = "qwen35";

/// Hyperparameters from the metadata. `None`: the file does not say.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// `general.architecture`: the prefix of all keys below.
    pub architecture: String,
    /// `general.name`.
    pub name: Option<String>,
    /// Blocks, prediction blocks included.
    pub block_count: Option<u64>,
    /// Longest context the model was trained for, tokens.
    pub context_length: Option<u64>,
    /// Width of the residual stream, elements.
    pub embedding_length: Option<u64>,
    /// Width of the feed-forward layers, elements.
    pub feed_forward_length: Option<PerBlock>,
    /// Query heads.
    pub head_count: Option<PerBlock>,
    /// Key-value heads.
    pub head_count_kv: Option<PerBlock>,
    /// Width of one key head, elements.
    pub key_length: Option<u64>,
    /// Width of one value head, elements.
    pub value_length: Option<u64>,
    /// Rotated part of a head, elements.
    pub rope_dimension_count: Option<u64>,
    /// Base of the rotary position encoding.
    pub rope_freq_base: Option<f64>,
    /// Sizes of the recurrent layers.
    pub ssm: Option<Ssm>,
    /// Every n-th block is full attention, the others are recurrent.
    pub full_attention_interval: Option<u64>,
    /// Multi-token-prediction blocks; they are the last of the blocks.
    pub nextn_predict_layers: u64,
    /// Tokens in the vocabulary.
    pub vocab_size: Option<u64>,
    /// What each block is, first to last; empty when the file does not say how many there are.
    pub blocks: Vec<Block>,
}

/// A number that holds for all blocks or differs between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PerBlock {
    /// The same everywhere.
    Same(u64),
    /// One per block.
    Each(Vec<u64>),
}

/// Sizes of the recurrent (Gated DeltaNet) layers, elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ssm {
    /// Width of the convolution, tokens.
    pub conv_kernel: u64,
    /// Size of a head's state (one side of the square).
    pub state_size: u64,
    /// Key heads.
    pub group_count: u64,
    /// Value heads.
    pub time_step_rank: u64,
    /// Value heads times state size.
    pub inner_size: u64,
}

/// Kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// Full attention: keeps keys and values of every token.
    Attention,
    /// Recurrent: keeps a state of fixed size.
    Recurrent,
    /// Multi-token prediction: attention with a cache of its own.
    Mtp,
}

/// A model that this project cannot run though its file is sound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unsupported architecture '{found}' (the file is sound), expected '{QWEN35}'; use a GGUF of \
     Qwen3.6-27B, or turn the locked profile off"
)]
pub struct UnsupportedArchitecture {
    /// The architecture of the file.
    pub found: String,
}

impl PerBlock {
    /// The number for block `index`.
    pub fn at(&self, index: usize) -> Option<u64> {
        match self {
            Self::Same(n) => Some(*n),
            Self::Each(list) => list.get(index).copied(),
        }
    }
}

impl Facts {
    /// Reads the facts of a model of any architecture.
    ///
    /// # Errors
    /// When there is no architecture, or a value is of the wrong kind or out of llama.cpp's range.
    pub fn of(model: &Gguf) -> Result<Self, MetadataError> {
        let metadata = model.metadata();
        let architecture = metadata.str(ARCHITECTURE)?.ok_or_else(|| MetadataError {
            key: ARCHITECTURE.to_owned(),
            found: "nothing".to_owned(),
            expected: "the name of an architecture",
        })?;
        let keys = Keys {
            metadata,
            architecture,
        };
        let block_count = keys.at_most("block_count", MAX_BLOCKS, "at most 512 blocks")?;
        let per_block = |name| keys.per_block(name, block_count);
        let mut facts = Self {
            architecture: architecture.to_owned(),
            name: metadata.str("general.name")?.map(str::to_owned),
            block_count,
            context_length: keys.number("context_length")?,
            embedding_length: keys.number("embedding_length")?,
            feed_forward_length: per_block("feed_forward_length")?,
            head_count: per_block("attention.head_count")?,
            head_count_kv: per_block("attention.head_count_kv")?,
            key_length: keys.number("attention.key_length")?,
            value_length: keys.number("attention.value_length")?,
            rope_dimension_count: keys.number("rope.dimension_count")?,
            rope_freq_base: metadata.f64(&keys.full("rope.freq_base"))?,
            ssm: keys.ssm()?,
            full_attention_interval: keys.interval()?,
            nextn_predict_layers: keys.number("nextn_predict_layers")?.unwrap_or(0),
            vocab_size: metadata
                .array("tokenizer.ggml.tokens")?
                .map(|tokens| tokens.len() as u64),
            blocks: Vec::new(),
        };
        facts.blocks = facts.kinds(&keys, model.tensors())?;
        Ok(facts)
    }

    /// Passes models of the architecture that the locked profile runs.
    ///
    /// # Errors
    /// For any other architecture.
    pub fn supported(&self) -> Result<(), UnsupportedArchitecture> {
        if self.architecture == QWEN35 {
            return Ok(());
        }
        Err(UnsupportedArchitecture {
            found: self.architecture.clone(),
        })
    }

    /// Full name of a key of this architecture, for messages.
    pub fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    /// Blocks of one kind.
    pub fn count(&self, kind: Block) -> u64 {
        self.blocks.iter().filter(|&&block| block == kind).count() as u64
    }

    /// Blocks but for the prediction blocks.
    pub fn trunk(&self) -> u64 {
        let blocks = self.block_count.unwrap_or(0);
        blocks.saturating_sub(self.nextn_predict_layers)
    }

    fn kinds(&self, keys: &Keys, tensors: &[Tensor]) -> Result<Vec<Block>, MetadataError> {
        let blocks = self.block_count.unwrap_or(0) as usize;
        let trunk = self.trunk() as usize;
        let recurrent = match (keys.recurrent_list(blocks)?, self.interval_rule()) {
            (Some(list), _) => list,
            (None, Some(interval)) => (1..=blocks as u64).map(|n| n % interval != 0).collect(),
            (None, None) => recurrent_by_tensors(blocks, tensors),
        };
        let kind = |(n, recurrent): (usize, bool)| match (n < trunk, recurrent) {
            (false, _) => Block::Mtp,
            (true, true) => Block::Recurrent,
            (true, false) => Block::Attention,
        };
        Ok(recurrent.into_iter().enumerate().map(kind).collect())
    }

    fn interval_rule(&self) -> Option<u64> {
        let default = (self.architecture == QWEN35).then_some(QWEN35_INTERVAL);
        self.full_attention_interval.or(default)
    }
}

/// Other hybrids: a block that has a state-space tensor is recurrent.
fn recurrent_by_tensors(blocks: usize, tensors: &[Tensor]) -> Vec<bool> {
    let mut recurrent = vec![false; blocks];
    for tensor in tensors.iter().filter(|t| t.name.contains(".ssm_")) {
        if let Some(place) = tensor.block().and_then(|n| recurrent.get_mut(n as usize)) {
            *place = true;
        }
    }
    recurrent
}
