//! The recorded conversations of the replay: strict loading, validation, and the messages of each
//! turn.
//!
//! The file is JSON lines, one row per recorded turn. [`load()`] accepts a file only if every row
//! obeys every rule, and otherwise lists what is wrong and where. What it returns is the
//! *recorded* trajectory: a client turn's messages never contain anything the model under test
//! has generated.
//!
//! ```text
//! bytes ─lines─► line ─row─► Row ─assemble─► Conversation ─messages─► JSON text
//!                   └───────────┴──────faults──────┘
//! ```

mod assemble;
mod call;
mod dataset;
mod fault;
mod lines;
mod load;
mod messages;
mod reader;
mod row;
mod rule;
pub mod variant;
mod wellformed;

#[cfg(test)]
mod messages_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod real_data_tests;
#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod testing;

pub use dataset::{ClientTurn, Conversation, Dataset, Recorded, ToolCall, ToolResult, TurnInput};
pub use fault::{Fault, Faults, LateSystem, MAX_LISTED, Place};
pub use load::{LoadError, Lookalike, MAX_BYTES, load, parse};
pub use messages::{Call, json_array};
pub use rule::Rule;

/// Name under which the embedded sample appears in messages and results.
pub const SAMPLE_NAME: &str = "embedded sample";

/// A small data set written for this project, in exactly the form of the benchmark's file: enough
/// to try every command without downloading anything. It is not the benchmark.
pub const SAMPLE: &[u8] = include_bytes!("../../assets/sample_conversations.jsonl");
