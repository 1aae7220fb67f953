//! `edge-agentic`: a single-stream runner, profiler and validator for MLPerf Inference v6.1 Edge Agentic on
//! llama.cpp, in-process.
//!
//! The binary is thin; everything it does is here. Dependencies point one way:
//! `commands → {comparison, results, replay} → {endpoints, accuracy, engine, chat, metrics, output} → {plan, machine, conversation,
//! record, clock} → {gguf, bfcl}`.

#![cfg_attr(not(test), deny(clippy::print_stderr))] // see `say`

pub mod accuracy;
pub mod chat;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod comparison;
pub mod conversation;
pub mod endpoints;
pub mod engine;
pub mod exit;
pub mod machine;
pub mod metrics;
pub mod output;
pub mod plan;
mod random;
pub mod record;
pub mod replay;
pub mod results;
pub mod say;
