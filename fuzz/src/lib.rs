//! The conversation reader, compiled on its own: with the whole program, every fuzz target would build llama.cpp.

#[path = "../../src/conversation/mod.rs"]
pub mod conversation;
