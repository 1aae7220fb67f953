//! `edge-agentic`: a single-stream runner, profiler and validator for MLPerf Inference v6.1 Edge Agentic on
//! llama.cpp, in-process.
//!
//! The binary is thin; everything it does is here. Dependencies point one way:
//! `commands → {replay, output} → {engine, chat, conversation, metrics} → {record, clock, plan} → gguf`.

pub mod chat;
pub mod clock;
pub mod engine;
pub mod record;
