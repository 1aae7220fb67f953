//! A file, or bytes, → a data set, or the list of everything wrong with it.

use super::assemble::Assembler;
use super::dataset::Dataset;
use super::fault::Faults;
use super::lines;
use super::row;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Largest file read, in bytes: a hundred times the benchmark's own 2 MB. A larger one is some
/// other file given by mistake, such as the model.
pub const MAX_BYTES: u64 = 256 << 20;

/// Why there is no data set.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{}: cannot read the conversation file; check the path and its permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The path is a directory or a device.
    #[error("{}: found no regular file; expected a conversation file (JSON lines)", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than [`MAX_BYTES`].
    #[error("{}: found {bytes} bytes; expected a conversation file of at most {MAX_BYTES}; give the JSON-lines data set", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        bytes: u64,
    },
    /// The file holds nothing but white space.
    #[error(
        "{origin}: found an empty file; expected JSON lines, one row per turn; fetch the data set again"
    )]
    Empty {
        /// The file.
        origin: String,
    },
    /// The file is of another kind.
    #[error("{origin}: found {found}; expected JSON lines, one row per turn; {}", found.remedy())]
    OtherKind {
        /// The file.
        origin: String,
        /// What it is.
        found: Lookalike,
    },
    /// The file breaks the rules of the format.
    #[error("{origin}: {faults}")]
    Invalid {
        /// The file.
        origin: String,
        /// What is wrong, and where.
        faults: Faults,
    },
}

/// A kind of file that is easily given instead of a conversation file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookalike {
    /// A web page, such as a login or an error page.
    Html,
    /// The text that stands for a file in a repository with Git LFS.
    LfsPointer,
    /// A model.
    Gguf,
    /// A gzip file.
    Gzip,
    /// UTF-16 text.
    Utf16,
    /// One JSON array, not lines.
    JsonArray,
}

impl Lookalike {
    fn of(bytes: &[u8]) -> Option<Self> {
        let text = bytes.trim_ascii_start();
        match bytes {
            [b'G', b'G', b'U', b'F', ..] => Some(Self::Gguf),
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(Self::Utf16),
            _ if text.starts_with(b"version https://git-lfs") => Some(Self::LfsPointer),
            _ if text.starts_with(b"<") => Some(Self::Html),
            _ if text.starts_with(b"[") => Some(Self::JsonArray),
            _ => None,
        }
    }

    /// What the user can do.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Html => "the download failed or needs a login: fetch the file again",
            Self::LfsPointer => "run `git lfs pull` where the file comes from",
            Self::Gguf => "this is a model: give it with --model, and the data set with --dataset",
            Self::Gzip => "decompress it first",
            Self::Utf16 => "save it as UTF-8",
            Self::JsonArray => "write one row per line, without the brackets around them",
        }
    }
}

impl fmt::Display for Lookalike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Html => "an HTML page",
            Self::LfsPointer => "a Git LFS pointer",
            Self::Gguf => "a GGUF model",
            Self::Gzip => "a gzip file",
            Self::Utf16 => "UTF-16 text",
            Self::JsonArray => "a JSON array",
        })
    }
}

/// Reads and validates a conversation file.
///
/// # Errors
/// When the file cannot be read, is of another kind, or breaks any [`Rule`](super::Rule).
pub fn load(path: &Path) -> Result<Dataset, LoadError> {
    let read_error = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    // Asked of the path first: opening a pipe would wait for its writer.
    if !path.metadata().map_err(read_error)?.is_file() {
        return Err(LoadError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(read_error)?;
    let bytes = file.metadata().map_err(read_error)?.len();
    if bytes > MAX_BYTES {
        return Err(LoadError::TooLarge {
            path: path.to_owned(),
            bytes,
        });
    }
    let mut content = Vec::new();
    // The limit holds even if the file grows while it is read.
    file.take(MAX_BYTES)
        .read_to_end(&mut content)
        .map_err(read_error)?;
    parse(&content, &path.display().to_string())
}

/// Validates the bytes of a conversation file; `origin` names them in errors.
///
/// # Errors
/// When the bytes are of another kind, or break any [`Rule`](super::Rule).
pub fn parse(bytes: &[u8], origin: &str) -> Result<Dataset, LoadError> {
    let origin = || origin.to_owned();
    if bytes.trim_ascii().is_empty() {
        return Err(LoadError::Empty { origin: origin() });
    }
    if let Some(found) = Lookalike::of(bytes) {
        return Err(LoadError::OtherKind {
            origin: origin(),
            found,
        });
    }
    let mut faults = Faults::default();
    let mut assembler = Assembler::default();
    lines::for_each(bytes, &mut faults, |line, faults| {
        match line.and_then(|line| row::read(line, faults)) {
            Some(row) => assembler.accept(row, faults),
            None => assembler.lose_row(),
        }
    });
    let conversations = assembler.finish(&mut faults);
    if faults.total() > 0 {
        return Err(LoadError::Invalid {
            origin: origin(),
            faults,
        });
    }
    Ok(Dataset {
        sha256: hex_sha256(bytes),
        conversations,
    })
}

fn hex_sha256(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
    }
    hex
}
