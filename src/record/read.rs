//! Reading rows back, after a finished run or a killed one.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::Row;

/// Why a file of rows cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("{}: cannot read: {source}; --out of an earlier run is expected here", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A whole line is not a row. Results must not be derived from such a file.
    #[error("{}: line {line}, column {column}: {what}; the file is damaged, repeat the run", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The column, from 1; 0 when the whole line is meant.
        column: usize,
        /// What was found and expected.
        what: String,
    },
    /// One thing has two rows.
    #[error("{}: line {line}: {about} is already on line {first}; one row each is expected", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The second row's line, from 1.
        line: usize,
        /// The first row's line, from 1.
        first: usize,
        /// What both are about.
        about: String,
    },
}

/// A last line without its newline: the process died while it wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornLine {
    /// The line's number, from 1.
    pub line: usize,
    /// Its byte offset in the file.
    pub offset: u64,
    /// How many bytes of it are there.
    pub bytes: u64,
}

/// What a file of rows holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadBack<R> {
    /// The whole rows, in file order.
    pub records: Vec<R>,
    /// The torn last line, if there is one. What it is about did not finish.
    pub torn: Option<TornLine>,
    /// Byte offset of the end of each row.
    ends: Vec<u64>,
}

impl<R> Default for ReadBack<R> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            torn: None,
            ends: Vec::new(),
        }
    }
}

impl<R> ReadBack<R> {
    /// The file's length in bytes up to the end of its first `rows` rows;
    /// `None` when it has fewer.
    #[must_use]
    pub fn length_of(&self, rows: usize) -> Option<u64> {
        match rows {
            0 => Some(0),
            n => self.ends.get(n - 1).copied(),
        }
    }
}

/// Reads a file of rows.
///
/// # Errors
/// See [`ReadError`]; a torn last line is not an error.
pub fn read_records<R: Row>(path: &Path) -> Result<ReadBack<R>, ReadError> {
    let bytes = std::fs::read(path).map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse_records(path, &bytes)
}

/// Parses the bytes of a file of rows; `path` is used in errors only.
///
/// # Errors
/// [`ReadError::Damaged`] or [`ReadError::Duplicate`].
pub fn parse_records<R: Row>(path: &Path, bytes: &[u8]) -> Result<ReadBack<R>, ReadError> {
    let mut back = ReadBack::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut offset = 0;
    for (index, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        let number = index + 1;
        let Some(row) = line.strip_suffix(b"\n") else {
            back.torn = Some(TornLine {
                line: number,
                offset: offset as u64,
                bytes: line.len() as u64,
            });
            break;
        };
        offset += line.len();
        let record: R = parse_row(path, number, row)?;
        if let Some(first) = seen.insert(record.about(), number) {
            return Err(ReadError::Duplicate {
                path: path.to_owned(),
                line: number,
                first,
                about: record.about(),
            });
        }
        back.records.push(record);
        back.ends.push(offset as u64);
    }
    Ok(back)
}

fn parse_row<R: Row>(path: &Path, line: usize, row: &[u8]) -> Result<R, ReadError> {
    let damaged = |column, what| ReadError::Damaged {
        path: path.to_owned(),
        line,
        column,
        what,
    };
    let record: R = serde_json::from_slice(row).map_err(|e| {
        // serde_json counts lines within the row, which is always 1 here.
        let place = format!(" at line {} column {}", e.line(), e.column());
        let text = e.to_string();
        let what = text.strip_suffix(&place).unwrap_or(&text);
        damaged(e.column(), format!("expected a {}, found {what}", R::NOUN))
    })?;
    match record.fault() {
        Some(what) => Err(damaged(0, what)),
        None => Ok(record),
    }
}
