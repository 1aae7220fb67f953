//! Why data cannot be used. Bad data is never scored as the model's mistake.

use std::io;
use std::path::PathBuf;

/// A data set that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file is not there.
    #[error("{}: missing; fetch the BFCL data with `scripts/fetch-data --bfcl`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A file holds other bytes than the pinned release.
    #[error(
        "{}: sha256 {found}, expected {expected} (bfcl-eval {release}); scores of other data are \
         not comparable: fetch the pinned files with `scripts/fetch-data --bfcl`",
        path.display()
    )]
    WrongBytes {
        /// The file.
        path: PathBuf,
        /// The digest of its bytes.
        found: String,
        /// The pinned digest.
        expected: &'static str,
        /// The pinned release.
        release: &'static str,
    },
    /// A line that is not what the format demands.
    #[error("{file}, line {line}: {problem}")]
    Malformed {
        /// The file, relative to the data directory.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected.
        problem: String,
    },
}
