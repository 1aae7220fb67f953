//! Synthetic models of arch `qwen35`: files that llama.cpp loads and runs like the real ones.
//!
//! Two shapes. [`Shape::Tiny`] is a four-block hybrid with *planted* weights: given tools, it
//! writes a real tool call and stops by itself, so that everything downstream of the engine is
//! exercised in seconds on one core. [`Shape::Qwen36_27B`] has the exact shapes and tensor types of
//! Qwen3.6-27B Q4_K_M with random weights, for memory, loading and speed.
//!
//! A file is a function of its [`Spec`]: the same spec gives the same bytes.

use std::io::Write;

use crate::write::{self, TensorEntry, WriteError};

mod arch;
mod blocks;
mod builtin;
mod linear;
mod metadata;
mod plant;
mod random;
mod specials;
mod tiny;
mod vocab;

pub use plant::PlantError;
pub use vocab::{Vocab, VocabError};

/// Which model to imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Four blocks (three Gated-DeltaNet, one attention), embedding 256, F16, planted weights.
    Tiny,
    /// Qwen3.6-27B in Q4_K_M: 851 tensors, 866 with the MTP block; random quantized blocks.
    Qwen36_27B,
}

/// Everything that decides a synthetic model's bytes.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Which model to imitate.
    pub shape: Shape,
    /// Whether to add the multi-token-prediction block.
    pub mtp: bool,
    /// Tokens and merges.
    pub vocab: Vocab,
    /// The chat template (Jinja), stored as it is.
    pub template: String,
    /// Seed of every random weight.
    pub seed: u64,
    /// `qwen35.context_length`, in tokens.
    pub context_length: u32,
}

impl Spec {
    /// Context length of Qwen3.6, in tokens.
    pub const CONTEXT_LENGTH: u32 = 262_144;

    /// A model that needs nothing from outside: built-in vocabulary and template, seed 1.
    ///
    /// # Errors
    /// Training the built-in vocabulary failed, which its tests exclude.
    pub fn builtin(shape: Shape) -> Result<Self, SynthError> {
        Ok(Self {
            shape,
            mtp: false,
            vocab: Vocab::builtin()?,
            template: CHAT_TEMPLATE.to_owned(),
            seed: 1,
            context_length: Self::CONTEXT_LENGTH,
        })
    }
}

/// The project's own chat template, in Qwen's tool-call format.
pub const CHAT_TEMPLATE: &str = include_str!("../assets/chat_template.jinja");

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Number of tensors.
    pub tensors: usize,
    /// Number of weights.
    pub parameters: u64,
}

/// Why a synthetic model could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// The vocabulary cannot be used.
    #[error(transparent)]
    Vocab(#[from] VocabError),
    /// The planted behaviour could not be built.
    #[error(transparent)]
    Plant(#[from] PlantError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Size of the file that [`write()`] makes, in bytes: to compare with the space on the disk first.
///
/// # Errors
/// The vocabulary lacks the special tokens of the Qwen family.
pub fn size(spec: &Spec) -> Result<u64, SynthError> {
    let directory = directory(&arch::tensors(spec), spec.shape);
    Ok(write::file_size(&metadata::metadata(spec)?, &directory)?)
}

/// Write a synthetic model to `out`; `progress` hears bytes written and bytes in all after
/// every tensor.
///
/// Everything that can be wrong with the spec is found before the first byte is written. Writes
/// are small for [`Shape::Tiny`]: give it a buffered `out`.
///
/// # Errors
/// The vocabulary lacks a token that the plant needs, or `out` failed.
pub fn write(
    spec: &Spec,
    out: impl Write,
    mut progress: impl FnMut(u64, u64),
) -> Result<Written, SynthError> {
    let tensors = arch::tensors(spec);
    let metadata = metadata::metadata(spec)?;
    let directory = directory(&tensors, spec.shape);
    let bytes = write::file_size(&metadata, &directory)?;
    let source = match spec.shape {
        Shape::Tiny => Source::Tiny(tiny::Weights::plant(spec)?),
        Shape::Qwen36_27B => Source::Blocks(blocks::Pools::new(spec.seed)),
    };
    let mut writer = write::Writer::begin(out, &metadata, directory)?;
    for tensor in &tensors {
        writer.tensor(&tensor.name, |sink| match &source {
            Source::Tiny(weights) => weights.fill(tensor, sink),
            Source::Blocks(pools) => pools.fill(tensor, sink),
        })?;
        progress(writer.written(), bytes);
    }
    writer.finish()?;
    Ok(Written {
        bytes,
        tensors: tensors.len(),
        parameters: tensors.iter().map(|t| t.dims.iter().product::<u64>()).sum(),
    })
}

fn directory(tensors: &[arch::Tensor], shape: Shape) -> Vec<TensorEntry> {
    tensors.iter().map(|tensor| tensor.entry(shape)).collect()
}

/// Where the weights come from.
enum Source {
    Tiny(tiny::Weights),
    Blocks(blocks::Pools),
}

#[cfg(test)]
mod tests;
