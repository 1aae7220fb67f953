//! The report's shape: what `--format json` prints.

use std::path::PathBuf;

use serde::Serialize;

use super::tokens::TokenizerCheck;
use crate::machine::Known;
use crate::machine::memory::MemoryPlan;

/// A model by its header.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// Layout version.
    pub schema: u32,
    /// The file that was given.
    pub path: PathBuf,
    /// All files of the model, in order.
    pub files: Vec<ModelFile>,
    /// Version of the GGUF format.
    pub gguf_version: u32,
    /// What it is and how large.
    pub model: ModelFacts,
    /// Its tensors by role and type.
    pub census: Vec<CensusLine>,
    /// Three sources on its quantization.
    pub label: LabelFacts,
    /// Its chat template.
    pub template: Known<TemplateFacts>,
    /// The markers that its template uses, of those in Qwen's format.
    pub markers: Vec<Marker>,
    /// The token that ends a reply.
    pub end_token: Known<EndToken>,
    /// Multi-token prediction.
    pub mtp: MtpFacts,
    /// What it takes with the benchmark's settings, on this machine.
    pub memory: Known<MemoryPlan>,
    /// Whether its vocabulary tokenizes like the `tokenizer.json` that was given; null where none was, or where the
    /// model has problems.
    pub tokenizer: Option<TokenizerCheck>,
    /// What makes it unusable.
    pub problems: Vec<String>,
    /// What one should know.
    pub notes: Vec<String>,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFile {
    /// File name.
    pub name: String,
    /// Size, bytes.
    pub bytes: u64,
}

/// A model's name and sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelFacts {
    /// `general.architecture`.
    pub architecture: String,
    /// Whether that is the benchmark's.
    pub supported: bool,
    /// `general.name`.
    pub name: Option<String>,
    /// Weights, prediction block included.
    pub parameters: u64,
    /// Bits per weight over all tensors.
    pub bits_per_weight: Option<f64>,
    /// Longest context it was trained for, tokens.
    pub context_length: Option<u64>,
    /// Tokens in the vocabulary.
    pub vocabulary: Option<u64>,
    /// Blocks with attention.
    pub attention_blocks: u64,
    /// Blocks with a recurrent state.
    pub recurrent_blocks: u64,
    /// Blocks that predict further tokens.
    pub mtp_blocks: u64,
}

/// Tensors of one role and type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CensusLine {
    /// What they are for.
    pub role: &'static str,
    /// Their type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many there are.
    pub tensors: u64,
    /// Weights in them.
    pub elements: u64,
    /// Their size, bytes.
    pub bytes: u64,
    /// Bits per weight.
    pub bits_per_weight: f64,
}

/// Three sources on a model's quantization; null: that one says nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelFacts {
    /// `general.file_type`.
    pub file_type: Option<String>,
    /// What the model's name, or the file's, says.
    pub named: Option<String>,
    /// The type of most weights.
    pub dominant_type: Option<String>,
    /// Its share of them, 0 to 1.
    pub dominant_share: Option<f64>,
    /// Whether those that say something say the same.
    pub agree: bool,
}

/// A chat template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TemplateFacts {
    /// sha256 of its text.
    pub sha256: String,
    /// Its length, bytes.
    pub bytes: usize,
    /// Whether it shows tools to the model.
    pub mentions_tools: bool,
}

/// A marker that should be one special token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Marker {
    /// Its text.
    pub marker: &'static str,
    /// Its token, or why it is none.
    pub id: Known<u32>,
}

/// The token that ends a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndToken {
    /// Its number.
    pub id: u64,
    /// Its text.
    pub text: String,
}

/// Whether a model predicts several tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MtpFacts {
    /// `yes`, `no` or `inconsistent`.
    pub state: &'static str,
    /// Why it is inconsistent.
    pub reason: Option<String>,
}
