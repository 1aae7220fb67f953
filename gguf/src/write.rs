//! A streaming GGUF v3 writer.
//!
//! The tensor directory is computed up front from names, shapes and types, so the data can be
//! streamed tensor by tensor to any [`Write`]: nothing but the directory is held in memory, and a
//! tensor that turns out longer or shorter than its directory entry is an error, never a bad file.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::types::TensorType;
use crate::value::Value;

mod encode;

/// Alignment of every tensor's data, in bytes: the format's default, so no
/// `general.alignment` key is needed.
pub const ALIGNMENT: u64 = 32;

/// Most dimensions that a tensor may have (`GGML_MAX_DIMS`).
const MAX_DIMS: usize = 4;

/// Longest tensor name that ggml accepts, in bytes (`GGML_MAX_NAME` less its terminator).
const MAX_NAME: usize = 63;

/// One line of the tensor directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorEntry {
    /// The name, unique in the file.
    pub name: String,
    /// Dimensions as GGUF stores them: the contiguous one first.
    pub dims: Vec<u64>,
    /// Element type.
    pub tensor_type: TensorType,
}

/// Why a GGUF file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output refused bytes.
    #[error("writing the GGUF output failed")]
    Io(#[from] io::Error),
    /// The same metadata key twice.
    #[error("metadata key `{0}` is given twice; a GGUF file holds each key once")]
    DuplicateKey(String),
    /// The same tensor name twice.
    #[error("tensor `{0}` is listed twice; names must be unique")]
    DuplicateTensor(String),
    /// A name that ggml would refuse.
    #[error("tensor `{name}`: the name has {length} bytes, expected 1 to {MAX_NAME}")]
    Name {
        /// The name as given.
        name: String,
        /// Its length in bytes.
        length: usize,
    },
    /// A shape that does not fit its type.
    #[error(
        "tensor `{name}`: {dims:?} cannot be stored as {tensor_type}; expected 1 to {MAX_DIMS} \
         dimensions of at least 1, the first a multiple of {block}",
        block = tensor_type.block_size()
    )]
    Shape {
        /// The tensor.
        name: String,
        /// Its dimensions as given.
        dims: Vec<u64>,
        /// Its type as given.
        tensor_type: TensorType,
    },
    /// Tensor data in another order than the directory's.
    #[error(
        "tensor `{found}` was given where the directory has {expected}; write tensors in directory order"
    )]
    Order {
        /// The tensor that was given.
        found: String,
        /// The directory's next tensor in backquotes, or the end of the directory.
        expected: String,
    },
    /// Tensor data of another size than the directory's.
    #[error("tensor `{name}`: {found} bytes of data, expected {expected} from its shape and type")]
    Size {
        /// The tensor.
        name: String,
        /// Bytes that were given; one more than `expected` when the data did not end there.
        found: u64,
        /// Bytes that its shape and type need.
        expected: u64,
    },
    /// The file was finished before every tensor was written.
    #[error("the file has {expected} tensors and only {found} were written; the next is `{next}`")]
    Unfinished {
        /// Tensors written.
        found: usize,
        /// Tensors in the directory.
        expected: usize,
        /// First tensor that is missing.
        next: String,
    },
}

/// Writes one GGUF file: header first, then each tensor's data in directory order.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    directory: Vec<TensorEntry>,
    next: usize,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Write the header: metadata in the given order and the whole tensor directory.
    ///
    /// # Errors
    /// A duplicate key or tensor, a shape that does not fit its type, or a failed write. All
    /// checks come before the first byte.
    pub fn begin(
        mut out: W,
        metadata: &[(String, Value)],
        directory: Vec<TensorEntry>,
    ) -> Result<Self, WriteError> {
        check_keys(metadata)?;
        check_directory(&directory)?;
        let mut header = Vec::new();
        encode::header(&mut header, metadata, &directory);
        pad(&mut header);
        out.write_all(&header)?;
        Ok(Self {
            out,
            directory,
            next: 0,
            written: header.len() as u64,
        })
    }

    /// Write the data of the next tensor, which must be `name`: `fill` gets a sink that takes
    /// exactly the tensor's bytes.
    ///
    /// # Errors
    /// Another tensor is next, `fill` failed, or it gave too few or too many bytes.
    pub fn tensor<F>(&mut self, name: &str, fill: F) -> Result<(), WriteError>
    where
        F: FnOnce(&mut Sink<'_, W>) -> io::Result<()>,
    {
        let entry = self.directory.get(self.next).filter(|e| e.name == name);
        let Some(entry) = entry else {
            return Err(WriteError::Order {
                found: name.to_owned(),
                expected: match self.directory.get(self.next) {
                    Some(entry) => format!("`{}`", entry.name),
                    None => "no more tensors".to_owned(),
                },
            });
        };
        let expected = entry_bytes(entry)?;
        let mut sink = Sink {
            out: &mut self.out,
            left: expected,
            overrun: false,
        };
        let filled = fill(&mut sink);
        let (left, overrun) = (sink.left, sink.overrun);
        if overrun {
            return Err(WriteError::Size {
                name: name.to_owned(),
                found: expected.saturating_add(1),
                expected,
            });
        }
        filled?;
        if left > 0 {
            return Err(WriteError::Size {
                name: name.to_owned(),
                found: expected - left,
                expected,
            });
        }
        let gap = padding(expected) as usize;
        self.out.write_all(&[0; ALIGNMENT as usize][..gap])?;
        self.next += 1;
        self.written += expected + gap as u64;
        Ok(())
    }

    /// Bytes written so far: header, finished tensors and their padding.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Flush and give the output back.
    ///
    /// # Errors
    /// A tensor of the directory was not written, or the flush failed.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if let Some(entry) = self.directory.get(self.next) {
            return Err(WriteError::Unfinished {
                found: self.next,
                expected: self.directory.len(),
                next: entry.name.clone(),
            });
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Takes the bytes of one tensor and refuses more than its directory entry says.
#[derive(Debug)]
pub struct Sink<'a, W: Write> {
    out: &'a mut W,
    left: u64,
    overrun: bool,
}

impl<W: Write> Sink<'_, W> {
    /// Bytes that the tensor still needs.
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl<W: Write> Write for Sink<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.overrun = true;
            return Err(io::Error::other("more data than the tensor's shape needs"));
        }
        let taken = self.out.write(bytes)?;
        self.left -= taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Size of the whole file in bytes: what [`Writer`] will have written after `finish`.
///
/// # Errors
/// The same checks as [`Writer::begin`].
pub fn file_size(
    metadata: &[(String, Value)],
    directory: &[TensorEntry],
) -> Result<u64, WriteError> {
    check_keys(metadata)?;
    check_directory(directory)?;
    let mut header = Vec::new();
    encode::header(&mut header, metadata, directory);
    pad(&mut header);
    directory.iter().try_fold(header.len() as u64, |at, entry| {
        let bytes = entry_bytes(entry)?;
        Ok(at + bytes + padding(bytes))
    })
}

fn check_keys(metadata: &[(String, Value)]) -> Result<(), WriteError> {
    let mut seen = HashSet::new();
    match metadata.iter().find(|(key, _)| !seen.insert(key)) {
        Some((key, _)) => Err(WriteError::DuplicateKey(key.clone())),
        None => Ok(()),
    }
}

fn check_directory(directory: &[TensorEntry]) -> Result<(), WriteError> {
    let mut seen = HashSet::new();
    let mut end = 0_u64;
    for entry in directory {
        if entry.name.is_empty() || entry.name.len() > MAX_NAME {
            return Err(WriteError::Name {
                name: entry.name.clone(),
                length: entry.name.len(),
            });
        }
        if !seen.insert(&entry.name) {
            return Err(WriteError::DuplicateTensor(entry.name.clone()));
        }
        let bytes = entry_bytes(entry)?;
        end = bytes
            .checked_add(padding(bytes))
            .and_then(|padded| end.checked_add(padded))
            .filter(|&end| end < u64::MAX / 2) // room for the header
            .ok_or_else(|| shape_error(entry))?;
    }
    Ok(())
}

/// Bytes of the tensor's data, padding not included.
fn entry_bytes(entry: &TensorEntry) -> Result<u64, WriteError> {
    let dims_fit = (1..=MAX_DIMS).contains(&entry.dims.len()) && !entry.dims.contains(&0);
    Some(())
        .filter(|()| dims_fit)
        .and_then(|()| entry.tensor_type.tensor_bytes(&entry.dims))
        .ok_or_else(|| shape_error(entry))
}

fn shape_error(entry: &TensorEntry) -> WriteError {
    WriteError::Shape {
        name: entry.name.clone(),
        dims: entry.dims.clone(),
        tensor_type: entry.tensor_type,
    }
}

/// Zero bytes that must follow `size` bytes to reach the alignment.
fn padding(size: u64) -> u64 {
    (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT
}

fn pad(header: &mut Vec<u8>) {
    header.resize(header.len().next_multiple_of(ALIGNMENT as usize), 0);
}

#[cfg(test)]
mod tests;
