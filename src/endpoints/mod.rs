//! The reference load generator's own artifacts, from our records: the shapes that its tools read.
//!
//! ```text
//! turn records ─turns─► events ──────► events.jsonl
//!   (the reference's   ▲  │  track
//!    events.jsonl) ────┘  ▼
//!                      samples ─block─► performance/result_summary.json, report.txt
//! ```
//!
//! Two layers. The lower one is a model of the reference: its events, and what its aggregator makes
//! of them; it reads the reference's own `events.jsonl` and reproduces its figures exactly. The
//! upper one turns our records into such events. Facts of the reference are those of
//! mlcommons/endpoints ea33275 (`../shared/REFERENCE.md`); the code is our own.
//!
//! These files follow the reference's rules, not ours: failures are in the latency, percentiles are
//! observed values, and the times are those of content-bearing deltas. Every file that has room for
//! it says in `load_generator` that `edge-agentic run` made it.

mod block;
mod config;
mod early_stopping;
mod error;
mod event;
mod files;
mod output;
mod reply;
mod report;
mod samples;
mod summary;
mod text;
mod tokenizer;
mod tokens;
mod track;
mod turns;
mod yaml;

/// The name under which the reference files the BFCL samples.
const BFCL: &str = "bfcl_v4::function_calling";

#[cfg(test)]
mod files_tests;
#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod turns_tests;

pub use self::block::{Block, Grid, Histogram, Number, Stats};
pub use self::config::{LoadPattern, RunConfig, Setup, Warmup, config_yaml, run_config};
pub use self::early_stopping::early_stopping;
pub use self::error::EndpointsError;
pub use self::event::{Data, Event, EventKind, read_events, write_events};
pub use self::files::{Artifacts, Input, accuracy_results, answers, files, performance_entry};
pub use self::output::{FunctionDelta, Text, TextOutput, ToolCallDelta, ToolCalls};
pub use self::report::report;
pub use self::samples::Asked;
pub use self::summary::{Origin, ResultSummary};
pub use self::tokenizer::{HfTokenizer, TokenizerError};
pub use self::tokens::{Recount, SampleTokens, TokenSources, TokenTable, count_tokens};
pub use self::track::{FinishReasons, Samples, track};
pub use self::turns::{events, sample_id};
