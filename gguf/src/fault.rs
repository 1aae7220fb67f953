//! What can be wrong with a GGUF file, and the sentence that says so.

use std::fmt;
use std::path::PathBuf;

use crate::split::SplitFault;

/// A file that could not be opened, with its path. The fault says where, what and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct OpenError {
    /// The file in question (for a split model, the part).
    pub path: PathBuf,
    /// What is wrong with it. Boxed, so that results stay small. Part of the message, hence not
    /// given again as its source.
    pub fault: Box<Fault>,
}

impl OpenError {
    pub(crate) fn new(path: impl Into<PathBuf>, fault: impl Into<Fault>) -> Self {
        Self {
            path: path.into(),
            fault: Box::new(fault.into()),
        }
    }
}

/// What is wrong with one file. Offsets count bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Fault {
    #[error("no such file; check the path given as model")]
    Missing,
    #[error("this is a directory, expected a .gguf file; name the file inside it")]
    Directory,
    #[error("not a regular file (a pipe or device?); expected a .gguf file on disk")]
    NotAFile,
    #[error("cannot read: {0}")]
    Io(#[from] std::io::Error),

    #[error("the file is empty (0 bytes); the download never started: fetch it again")]
    Empty,
    #[error(
        "this is a web page (it starts with {start:?}), not a GGUF file; the download was answered \
         with an error or login page: fetch the file itself"
    )]
    WebPage { start: String },
    #[error(
        "this is a Git LFS pointer, not the model{}; run `git lfs pull` in its repository or \
         download the file itself",
        size.map_or(String::new(), |n| format!(" (which has {n} bytes)"))
    )]
    LfsPointer { size: Option<u64> },
    #[error(
        "too short for a GGUF header: {actual} bytes, expected at least 24; fetch the file again"
    )]
    TooShort { actual: u64 },
    #[error(
        "not a GGUF file: byte 0, magic: found {found}, expected \"GGUF\"{}",
        looks_like.map_or(String::new(), |what| format!("; this looks like {what}"))
    )]
    NotGguf {
        found: String,
        looks_like: Option<&'static str>,
    },
    #[error(
        "byte 4, version: big-endian GGUF (version {version} byte-swapped), expected little-endian; \
         convert it with gguf_convert_endian.py or download the little-endian file"
    )]
    BigEndian { version: u32 },
    #[error("byte 4, version: found {found}, expected 2 or 3; {}", version_remedy(*found))]
    Version { found: u32 },

    #[error(
        "truncated: the file ends inside its header: byte {offset}, {field}: needs {needs} bytes, \
         {} remain; expected size at least {expected} bytes, actual {actual}; fetch the file again",
        (actual + needs).saturating_sub(*expected)
    )]
    TruncatedHeader {
        field: String,
        offset: u64,
        needs: u64,
        /// Least size of the whole file, bytes.
        expected: u64,
        /// Size of the file, bytes.
        actual: u64,
    },
    #[error(
        "truncated: expected size {expected} bytes, actual {actual} ({} missing); tensor '{tensor}' \
         is the first that is cut; fetch the file again",
        expected.saturating_sub(*actual)
    )]
    TruncatedData {
        /// First tensor in file order whose data (or closing padding) is not all there.
        tensor: String,
        /// Size of the whole file, bytes, padding after the last tensor included.
        expected: u64,
        /// Size of the file, bytes.
        actual: u64,
    },
    #[error(
        "byte {offset}, {field}: found {found}, expected at most {limit}; the header is damaged: \
         fetch the file again and compare its checksum"
    )]
    Absurd {
        field: String,
        offset: u64,
        found: u64,
        limit: u64,
    },
    #[error(
        "byte {offset}, {field}: the header exceeds {limit} bytes, expected far less (the header of a 27B \
         model has 11 MB); the header is damaged: fetch the file again and compare its checksum"
    )]
    HeaderTooLarge {
        field: String,
        offset: u64,
        limit: u64,
    },
    #[error(
        "byte {offset}, {field}: found {found}, expected {expected}; the header is damaged or its \
         writer faulty: fetch or convert the model again"
    )]
    Malformed {
        field: String,
        offset: u64,
        found: String,
        expected: String,
    },
    #[error(
        "metadata 'general.alignment': found {found}, expected a power of two of type u32; the \
         writer of this file is faulty: convert the model again"
    )]
    Alignment { found: String },
    #[error(
        "byte {offset}, tensor '{tensor}' type: found {number}, expected a type of ggml b11434 \
         (0 to 42){}",
        crate::types::UnknownTensorType(*number).removed().map_or(
            "; the file is newer than this program or damaged".to_owned(),
            |what| format!("; {number} was {what}")
        )
    )]
    UnknownTensorType {
        tensor: String,
        offset: u64,
        number: u32,
    },
    #[error(
        "byte {offset}, {what} '{name}' appears twice (entries {first} and {second}), expected once; \
         the writer of this file is faulty: convert the model again"
    )]
    Duplicate {
        what: &'static str,
        name: String,
        first: usize,
        second: usize,
        offset: u64,
    },
    #[error(
        "byte {offset}, tensor '{tensor}' shape {dims:?} of type {kind}: {problem}; \
         the header is damaged or the writer faulty: fetch or convert the model again"
    )]
    Shape {
        tensor: String,
        offset: u64,
        dims: Vec<u64>,
        kind: String,
        problem: &'static str,
    },
    #[error(
        "tensor '{tensor}' starts at data offset {offset}, expected a multiple of the alignment \
         {alignment}; the writer of this file is faulty: convert the model again"
    )]
    Misaligned {
        tensor: String,
        offset: u64,
        alignment: u64,
    },
    #[error(
        "tensor '{tensor}' at data offset {offset} overlaps '{before}', which needs {needs} bytes \
         and ends at {end}; the file is malformed even if its checksum is right: convert the model \
         again"
    )]
    Overlap {
        tensor: String,
        offset: u64,
        before: String,
        needs: u64,
        end: u64,
    },
    #[error(
        "tensor '{tensor}' takes bytes {start} to {end} of the file, expected within its actual size \
         {actual}; the header is damaged or the file truncated: fetch it again"
    )]
    PastEnd {
        tensor: String,
        /// Absolute, bytes.
        start: u64,
        /// Absolute, bytes.
        end: u64,
        actual: u64,
    },
    #[error(
        "unsupported layout (the data is complete): tensor '{tensor}' starts at data offset \
         {found}, expected {expected}; llama.cpp loads only files whose tensors follow each other \
         in directory order without gaps: rewrite it with llama-quantize or gguf-split"
    )]
    Layout {
        tensor: String,
        found: u64,
        expected: u64,
    },
    #[error(
        "a second GGUF file begins at byte {offset}, where this one ends: split parts were joined \
         with cat; use the parts as they are, or join them with llama-gguf-split --merge"
    )]
    Joined { offset: u64 },
    #[error(transparent)]
    Split(#[from] SplitFault),
}

fn version_remedy(found: u32) -> &'static str {
    match found {
        0 => "the header is damaged: fetch the file again",
        1 => "version 1 is obsolete (2023): convert the model again",
        _ => "the file is newer than this program: use a release that knows it",
    }
}

/// Where in a header the reader is. Formatted only when something is wrong there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    Version,
    TensorCount,
    MetadataCount,
    /// Key of metadata entry n.
    Key(usize),
    /// Type of the value under a key.
    ValueType(&'a str),
    /// Value under a key.
    Value(&'a str),
    /// Element n of the array under a key.
    Element(&'a str, usize),
    /// Name of tensor n.
    TensorName(usize),
    /// A field of the tensor of that name.
    Tensor(&'a str, &'static str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => write!(f, "version"),
            Self::TensorCount => write!(f, "tensor count"),
            Self::MetadataCount => write!(f, "metadata count"),
            Self::Key(n) => write!(f, "key of metadata entry {n}"),
            Self::ValueType(key) => write!(f, "type of '{key}'"),
            Self::Value(key) => write!(f, "value of '{key}'"),
            Self::Element(key, n) => write!(f, "element {n} of '{key}'"),
            Self::TensorName(n) => write!(f, "name of tensor {n}"),
            Self::Tensor(name, field) => write!(f, "{field} of tensor '{name}'"),
        }
    }
}
