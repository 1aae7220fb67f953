//! Bounded GGUF reading, validation, census and writing; no llama.cpp, no panics on file contents.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod cursor;
mod fault;
mod file;
mod header;
mod layout;
mod metadata;
mod sniff;
mod split;
mod tensor;
pub mod synth;
pub mod types;
pub mod value;
pub mod write;

pub use fault::{Fault, OpenError};
pub use file::{Gguf, Part};
pub use header::Header;
pub use metadata::{Metadata, MetadataError};
pub use split::SplitFault;
pub use tensor::Tensor;
pub use types::TensorType;
pub use value::{Array, Strings, Value, ValueType};
