//! Bounded GGUF reading, validation, census and writing; no llama.cpp, no panics on file contents.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod types;
pub mod value;

pub use types::TensorType;
pub use value::{Array, Strings, Value, ValueType};
