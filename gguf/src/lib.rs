//! Bounded GGUF reading, validation, census and writing; no llama.cpp, no panics on file contents.
//!
//! [`Gguf::open`] reads the header of a model, and of all its parts when it is split, checks every
//! count, length, shape and extent against the files' real sizes, and reads no tensor data: a 27B
//! model with 248,320 tokens opens in about 25 ms. What is wrong is a [`Fault`] that says where,
//! what was found, what was expected and what to do. The rest asks questions of an open model:
//!
//! - [`Facts`]: sizes, heads, recurrent and prediction blocks; bytes per token and per sequence.
//! - [`Mtp`]: whether metadata and tensors agree that there is a prediction head.
//! - [`Census`] and [`Label`]: tensors by role and type; what the quantization claims and is.
//! - [`Vocabulary`] and [`template`]: markers as single tokens; a chat template with tools.
//!
//! ```no_run
//! let model = gguf::Gguf::open("model.gguf")?;
//! let facts = gguf::Facts::of(&model)?;
//! println!("{}: {:?} tokens of context", facts.architecture, facts.context_length);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod census;
mod cursor;
mod facts;
mod fault;
mod file;
mod header;
mod label;
mod layout;
mod memory;
mod metadata;
mod mtp;
pub mod sanity;
mod sniff;
mod split;
pub mod synth;
pub mod template;
mod tensor;
pub mod types;
pub mod value;
mod vocabulary;
pub mod write;

pub use census::{Census, CensusRow, Role};
pub use facts::{Block, Facts, PerBlock, QWEN35, Ssm, UnsupportedArchitecture};
pub use fault::{Fault, OpenError};
pub use file::{Gguf, Part};
pub use header::Header;
pub use label::{FileType, Label};
pub use metadata::{Metadata, MetadataError};
pub use mtp::{Mtp, MtpFault};
pub use split::SplitFault;
pub use tensor::Tensor;
pub use types::TensorType;
pub use value::{Array, Strings, Value, ValueType};
pub use vocabulary::{MarkerFault, MarkerProblem, Vocabulary};
