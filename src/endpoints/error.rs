//! What can be wrong with an event log, or with rows that become one.

use std::path::PathBuf;

/// Why there is no result in the reference's shape.
#[derive(Debug, thiserror::Error)]
pub enum EndpointsError {
    /// A line of an event log is no event.
    #[error("{}: line {line}: {source}; expected an event of the reference load generator", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A sample ends before it begins.
    #[error(
        "sample {sample}: {event} at {found} ns, before it was issued at {issued} ns; the log mixes \
         clocks or is damaged"
    )]
    Backwards {
        /// The sample's id.
        sample: String,
        /// The event.
        event: &'static str,
        /// Its stamp.
        found: u64,
        /// The stamp it must not precede.
        issued: u64,
    },
    /// A row is about a turn that the data set does not have.
    #[error(
        "row {row}: conversation {conversation_id:?} has no client turn {turn} in this data set; \
         give the data set that the run replayed (its sha256 is in plan.json)"
    )]
    UnknownTurn {
        /// The row, from 1.
        row: usize,
        /// The conversation.
        conversation_id: String,
        /// The turn.
        turn: u32,
    },
    /// A value that JSON cannot hold.
    #[error("cannot write {what} as JSON: {source}")]
    Encode {
        /// What was written.
        what: &'static str,
        /// What the writer says.
        source: serde_json::Error,
    },
}
