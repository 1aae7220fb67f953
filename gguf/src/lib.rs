//! Bounded GGUF reading, validation, census and writing; no llama.cpp, no panics on file contents.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod types;
