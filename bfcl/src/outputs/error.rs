//! Why outputs cannot be read. Nothing that cannot be read is scored as the model's mistake.

use std::io;
use std::path::PathBuf;

/// Outputs that cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum OutputsError {
    /// A file or directory cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A line that is not what the format demands.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected.
        problem: String,
    },
    /// A file that is not what the format demands.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        problem: String,
    },
}
