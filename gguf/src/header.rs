//! The header of one GGUF file: metadata, tensor directory, extents.

use std::io::Read;

use crate::cursor::Cursor;
use crate::fault::{Fault, Place};
use crate::layout;
use crate::metadata::{self, Metadata, sorted_unique};
use crate::sniff::{SNIFF, sniff};
use crate::tensor::{self, Tensor};
use crate::value::Value;

/// Alignment of tensor data when the file does not say, bytes.
const DEFAULT_ALIGNMENT: u64 = 32;

/// The header of one file, read and held against the file's size.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Format version, 2 or 3.
    pub version: u32,
    /// Keys and values.
    pub metadata: Metadata,
    /// The tensor directory in file order.
    pub tensors: Vec<Tensor>,
    /// Alignment of tensor data, bytes, a power of two.
    pub alignment: u64,
    /// Size of the header itself, bytes.
    pub header_bytes: u64,
    /// Start of the tensor data, bytes from the start of the file.
    pub data_start: u64,
    /// End of the tensor data with its padding, bytes from the start of the file.
    pub data_end: u64,
}

impl Header {
    /// Reads and checks the header at the front of `reader`, whose whole size is `len` bytes.
    ///
    /// Reads no tensor data, and allocates at most a small multiple of what the file can fill:
    /// every count and length is held against the bytes that remain first.
    ///
    /// # Errors
    /// On anything that would make llama.cpp refuse the file, abort, or read garbage.
    pub fn read(mut reader: impl Read, len: u64) -> Result<Self, Fault> {
        let mut head = Vec::new();
        reader
            .by_ref()
            .take(SNIFF.min(len))
            .read_to_end(&mut head)?;
        sniff(&head, len)?;
        // The magic is known to be right.
        let mut cursor = Cursor::new(head.chain(reader), len);
        let _magic: [u8; 4] = cursor.bytes(Place::Version)?;
        let version = read_version(&mut cursor)?;
        let tensor_count = tensor::read_count(&mut cursor)?;
        let entry_count = metadata::read_count(&mut cursor)?;
        let metadata = Metadata::read(&mut cursor, entry_count)?;
        let alignment = alignment(&metadata)?;
        let tensors = read_tensors(&mut cursor, tensor_count)?;
        Self {
            version,
            metadata,
            tensors,
            alignment,
            header_bytes: cursor.offset(),
            data_start: 0,
            data_end: 0,
        }
        .with_extents(cursor.len())
    }

    /// Finds and checks where the data lies.
    fn with_extents(mut self, len: u64) -> Result<Self, Fault> {
        let aligned = layout::align(self.header_bytes, self.alignment).unwrap_or(u64::MAX);
        // A file without tensors need not be padded.
        self.data_start = if self.tensors.is_empty() {
            aligned.min(len)
        } else {
            aligned
        };
        self.data_end = layout::check(&self.tensors, self.alignment, self.data_start, len)?;
        Ok(self)
    }
}

fn read_version<R: Read>(cursor: &mut Cursor<R>) -> Result<u32, Fault> {
    match cursor.u32(Place::Version)? {
        version @ (2 | 3) => Ok(version),
        // A small number with its bytes swapped.
        version if version != 0 && version & 0xffff == 0 => Err(Fault::BigEndian {
            version: version.swap_bytes(),
        }),
        found => Err(Fault::Version { found }),
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, Fault> {
    let found = match metadata.get("general.alignment") {
        None => return Ok(DEFAULT_ALIGNMENT),
        Some(&Value::U32(n)) if n.is_power_of_two() => return Ok(n.into()),
        Some(&Value::U32(n)) => n.to_string(),
        Some(other) => format!("a value of type {}", other.value_type()),
    };
    Err(Fault::Alignment { found })
}

fn read_tensors<R: Read>(cursor: &mut Cursor<R>, count: usize) -> Result<Vec<Tensor>, Fault> {
    // No capacity up front: an entry in memory is larger than its smallest form in a file.
    let mut tensors = Vec::new();
    let mut offsets = Vec::new();
    for n in 0..count {
        offsets.push(cursor.offset());
        tensors.push(Tensor::read(cursor, n)?);
    }
    sorted_unique(&tensors, "tensor", |tensor| &tensor.name, &offsets)?;
    Ok(tensors)
}
