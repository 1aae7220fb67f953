//! Bounded GGUF reading, validation, census and writing; no llama.cpp, no panics on file contents.
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
mod sniff;
mod split;
pub mod template;
mod tensor;
pub mod synth;
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
