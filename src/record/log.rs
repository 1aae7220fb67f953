//! The append-only writer of `turns.jsonl` and `samples.jsonl`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use super::Row;
use super::read::{ReadError, read_records};

/// Why a row could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file is already there.
    #[error("{}: already exists; choose another --out, or continue that run with --resume", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be created or opened.
    #[error("{}: cannot open for appending: {source}; check that the directory exists and is writable", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Another process is writing it.
    #[error("{}: a run is writing it; wait for that run to end, or choose another --out", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The rows that are already there cannot be kept.
    #[error("cannot resume: {0}")]
    Resume(#[from] ReadError),
    /// Fewer rows are there than were to be kept.
    #[error("{}: cannot resume: found {found} rows, expected at least {expected}", path.display())]
    TooFewRows {
        /// The file.
        path: PathBuf,
        /// Rows found.
        found: usize,
        /// Rows to keep.
        expected: usize,
    },
    /// The row must not be written.
    #[error("row {row}: {about}: {what}")]
    Row {
        /// The row's number, from 1.
        row: usize,
        /// What it is about.
        about: String,
        /// What is wrong with it.
        what: String,
    },
    /// Writing or syncing failed; nothing more is written after it.
    #[error("{}: cannot write row {row}: {source}; the {} rows before it are safe; free space or choose another --out", path.display(), row - 1)]
    Write {
        /// The file.
        path: PathBuf,
        /// The row's number, from 1.
        row: usize,
        /// The operating system's answer.
        source: io::Error,
    },
    /// An earlier write failed, so the file may end in half a row.
    #[error("{}: not writing row {row}: an earlier write failed", path.display())]
    Poisoned {
        /// The file.
        path: PathBuf,
        /// The row's number, from 1.
        row: usize,
    },
}

/// Where rows go: a writer that can also make them durable.
pub trait RowSink: Write + Send {
    /// Returns once everything written is on the device.
    ///
    /// # Errors
    /// Whatever the operating system reports.
    fn sync(&mut self) -> io::Result<()>;
}

impl RowSink for File {
    fn sync(&mut self) -> io::Result<()> {
        match self.sync_data() {
            // Character devices and pipes have nothing to make durable.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }
}

/// An append-only log of rows.
///
/// Each row is one `write` call followed by `fdatasync`, so a process killed at
/// any moment leaves whole rows and at most one torn last line.
pub struct RecordLog<R> {
    path: PathBuf,
    sink: Box<dyn RowSink>,
    line: Vec<u8>,
    rows: usize,
    failed: bool,
    kind: PhantomData<fn(&R)>,
}

impl<R: Row> RecordLog<R> {
    /// Creates the file, which must not exist yet.
    ///
    /// # Errors
    /// [`LogError::Exists`] or [`LogError::Open`].
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let path = path.into();
        let file = match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return Err(LogError::Exists { path });
            }
            Err(source) => return Err(LogError::Open { path, source }),
        };
        let file = locked(file, &path)?;
        if let Err(source) = sync_parent(&path) {
            return Err(LogError::Open { path, source });
        }
        Ok(Self::with_sink(path, 0, Box::new(file)))
    }

    /// Opens an interrupted run's file, keeps its first `keep` rows and drops
    /// what follows them: rows of the conversation that must be replayed, and a
    /// torn last line.
    ///
    /// # Errors
    /// [`LogError::Resume`] when the file is damaged, [`LogError::TooFewRows`],
    /// [`LogError::Open`].
    pub fn resume(path: impl Into<PathBuf>, keep: usize) -> Result<Self, LogError> {
        let path = path.into();
        let file = match OpenOptions::new().append(true).open(&path) {
            Ok(file) => locked(file, &path)?,
            Err(source) => return Err(LogError::Open { path, source }),
        };
        let back = read_records::<R>(&path)?;
        let Some(length) = back.length_of(keep) else {
            let found = back.records.len();
            return Err(LogError::TooFewRows {
                path,
                found,
                expected: keep,
            });
        };
        match file.set_len(length).and_then(|()| file.sync_all()) {
            Ok(()) => Ok(Self::with_sink(path, keep, Box::new(file))),
            Err(source) => Err(LogError::Open { path, source }),
        }
    }

    /// A log over any sink, `rows` of which are already written. `path` is used
    /// in errors only.
    #[must_use]
    pub fn with_sink(path: impl Into<PathBuf>, rows: usize, sink: Box<dyn RowSink>) -> Self {
        Self {
            path: path.into(),
            sink,
            line: Vec::new(),
            rows,
            failed: false,
            kind: PhantomData,
        }
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows in the file.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Writes one row and returns once it is on the device.
    ///
    /// # Errors
    /// [`LogError::Write`] at the first failure; [`LogError::Poisoned`] for
    /// every call after it; [`LogError::Row`] for a record that may not be a
    /// row.
    pub fn append(&mut self, record: &R) -> Result<(), LogError> {
        let row = self.rows + 1;
        if self.failed {
            let path = self.path.clone();
            return Err(LogError::Poisoned { path, row });
        }
        self.encode(row, record)?;
        let written = self
            .sink
            .write_all(&self.line)
            .and_then(|()| self.sink.flush())
            .and_then(|()| self.sink.sync());
        if let Err(source) = written {
            self.failed = true;
            let path = self.path.clone();
            return Err(LogError::Write { path, row, source });
        }
        self.rows = row;
        Ok(())
    }

    fn encode(&mut self, row: usize, record: &R) -> Result<(), LogError> {
        let refuse = |what: String| LogError::Row {
            row,
            about: record.about(),
            what,
        };
        if let Some(what) = record.fault() {
            return Err(refuse(what));
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, record).map_err(|e| refuse(e.to_string()))?;
        self.line.push(b'\n');
        Ok(())
    }
}

/// Holds `file` for this process alone, until it is closed. A file system that
/// knows no locks is no reason not to measure.
fn locked(file: File, path: &Path) -> Result<File, LogError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(LogError::Locked {
            path: path.to_owned(),
        }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Makes the file's name itself durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Directories cannot be opened as files on Windows, nor need they be.
    if cfg!(unix) {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}
