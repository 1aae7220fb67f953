//! One entry of the tensor directory.

use std::io::Read;

use crate::cursor::Cursor;
use crate::fault::{Fault, Place};
use crate::metadata::capped_count;
use crate::types::TensorType;

/// Most tensors accepted in one file. Known files have fewer than 3,000.
const MAX_TENSORS: u64 = 65_536;
/// Longest name llama.cpp accepts, bytes (`GGML_MAX_NAME` less the closing zero).
const MAX_NAME: usize = 63;
/// Fewest bytes an entry takes: name length, one letter, dimensions, one of them, type, offset.
const MIN_ENTRY: u64 = 8 + 1 + 4 + 8 + 4 + 8;
/// Most dimensions (`GGML_MAX_DIMS`).
const MAX_DIMS: u32 = 4;

/// A tensor: name, shape, type and where its data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Name, unique in the model.
    pub name: String,
    /// Dimensions, the contiguous one first; one to four, none of them 0.
    pub dims: Vec<u64>,
    /// Element type.
    pub tensor_type: TensorType,
    /// Start of the data, bytes from the start of its part's data section.
    pub offset: u64,
    /// Number of elements.
    pub elements: u64,
    /// Size of the data, bytes, without padding.
    pub bytes: u64,
    /// Which part of a split model holds the data; 0 in a single file.
    pub part: usize,
}

impl Tensor {
    /// The block number in a name such as `blk.12.attn_q.weight`.
    pub fn block(&self) -> Option<u32> {
        let (number, _) = self.name.strip_prefix("blk.")?.split_once('.')?;
        number.parse().ok()
    }

    /// Reads entry `n`.
    pub(crate) fn read<R: Read>(cursor: &mut Cursor<R>, n: usize) -> Result<Self, Fault> {
        let start = cursor.offset();
        let name = cursor.text(Place::TensorName(n))?;
        if name.is_empty() || name.len() > MAX_NAME {
            let found = format!("{} bytes", name.len());
            return cursor.malformed(
                name.len() as u64,
                Place::TensorName(n),
                found,
                "1 to 63 bytes",
            );
        }
        let dims = read_dims(cursor, &name)?;
        let number = cursor.u32(Place::Tensor(&name, "type"))?;
        let tensor_type = TensorType::try_from(number).map_err(|_| Fault::UnknownTensorType {
            tensor: name.clone(),
            offset: cursor.offset() - 4,
            number,
        })?;
        let offset = cursor.u64(Place::Tensor(&name, "offset"))?;
        match size(&dims, tensor_type) {
            Ok((elements, bytes)) => Ok(Self {
                name,
                dims,
                tensor_type,
                offset,
                elements,
                bytes,
                part: 0,
            }),
            Err(problem) => Err(Fault::Shape {
                tensor: name,
                offset: start,
                dims,
                kind: tensor_type.to_string(),
                problem,
            }),
        }
    }
}

/// Reads the number of entries.
pub(crate) fn read_count<R: Read>(cursor: &mut Cursor<R>) -> Result<usize, Fault> {
    capped_count(cursor, MIN_ENTRY, MAX_TENSORS, Place::TensorCount)
}

fn read_dims<R: Read>(cursor: &mut Cursor<R>, name: &str) -> Result<Vec<u64>, Fault> {
    let place = Place::Tensor(name, "number of dimensions");
    let count = cursor.u32(place)?;
    if !(1..=MAX_DIMS).contains(&count) {
        return cursor.malformed(4, place, count, "1 to 4");
    }
    let mut dims = Vec::with_capacity(count as usize);
    for _ in 0..count {
        dims.push(cursor.u64(Place::Tensor(name, "dimensions"))?);
    }
    Ok(dims)
}

/// Elements and bytes of a shape, or why it has none.
fn size(dims: &[u64], tensor_type: TensorType) -> Result<(u64, u64), &'static str> {
    if dims.contains(&0) {
        return Err("found a dimension of 0, expected at least 1");
    }
    // llama.cpp counts elements in a signed 64-bit number.
    let elements = dims
        .iter()
        .try_fold(1_u64, |product, &n| product.checked_mul(n))
        .filter(|&n| i64::try_from(n).is_ok())
        .ok_or("found more elements than a 64-bit number holds, expected fewer than 2^63")?;
    if !dims[0].is_multiple_of(tensor_type.block_size()) {
        return Err("found a first dimension that is not a multiple of the type's block size");
    }
    let bytes = tensor_type
        .tensor_bytes(dims)
        .ok_or("found more bytes than a 64-bit number holds, expected fewer than 2^63")?;
    Ok((elements, bytes))
}
