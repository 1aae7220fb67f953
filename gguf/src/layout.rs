//! Where the tensors of one file lie, held against the file's real size.

use crate::fault::{Fault, Place};
use crate::tensor::Tensor;

/// The next multiple of `alignment` (a power of two) at or above `n`.
pub(crate) fn align(n: u64, alignment: u64) -> Option<u64> {
    n.checked_next_multiple_of(alignment)
}

/// Checks every extent and returns where the file's data ends (absolute, bytes, padded).
///
/// The file must hold the padding after its last tensor too: every writer of the format puts it
/// there, so that its absence means that the file was cut.
pub(crate) fn check(
    tensors: &[Tensor],
    alignment: u64,
    data_start: u64,
    len: u64,
) -> Result<u64, Fault> {
    let ends = padded_ends(tensors, alignment, data_start)?;
    refuse_overlaps(tensors, &ends)?;
    let gap = first_gap(tensors, &ends);
    let end = data_start + ends.iter().copied().max().unwrap_or(0);
    if end > len {
        return Err(match gap {
            // The sizes add up, so that the size the file should have is known.
            None => truncated(tensors, &ends, data_start, len),
            Some(_) => past_end(tensors, &ends, data_start, len),
        });
    }
    match gap {
        Some(layout) => Err(layout),
        None => Ok(end),
    }
}

/// End of each tensor with its padding, bytes from the start of the data section.
fn padded_ends(tensors: &[Tensor], alignment: u64, data_start: u64) -> Result<Vec<u64>, Fault> {
    tensors
        .iter()
        .map(|tensor| {
            if !tensor.offset.is_multiple_of(alignment) {
                return Err(Fault::Misaligned {
                    tensor: tensor.name.clone(),
                    offset: tensor.offset,
                    alignment,
                });
            }
            let end = tensor.offset.checked_add(tensor.bytes);
            let end = end.and_then(|end| align(end, alignment));
            end.filter(|end| end.checked_add(data_start).is_some())
                .ok_or_else(|| Fault::Absurd {
                    field: Place::Tensor(&tensor.name, "data offset").to_string(),
                    offset: data_start,
                    found: tensor.offset,
                    limit: (u64::MAX - data_start).saturating_sub(tensor.bytes),
                })
        })
        .collect()
}

fn refuse_overlaps(tensors: &[Tensor], ends: &[u64]) -> Result<(), Fault> {
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|&n| (tensors[n].offset, n));
    for pair in order.windows(2) {
        let (before, tensor) = (&tensors[pair[0]], &tensors[pair[1]]);
        if tensor.offset < ends[pair[0]] {
            return Err(Fault::Overlap {
                tensor: tensor.name.clone(),
                offset: tensor.offset,
                before: before.name.clone(),
                needs: before.bytes,
                end: before.offset + before.bytes,
            });
        }
    }
    Ok(())
}

/// The first tensor that does not follow its predecessor, as llama.cpp demands.
fn first_gap(tensors: &[Tensor], ends: &[u64]) -> Option<Fault> {
    let starts = std::iter::once(&0).chain(ends);
    let (tensor, &expected) = tensors
        .iter()
        .zip(starts)
        .find(|(t, start)| t.offset != **start)?;
    Some(Fault::Layout {
        tensor: tensor.name.clone(),
        found: tensor.offset,
        expected,
    })
}

/// Number of the first tensor that does not end within the file.
fn first_cut(ends: &[u64], data_start: u64, len: u64) -> usize {
    let cut = ends.iter().position(|end| data_start + end > len);
    cut.unwrap_or(ends.len() - 1)
}

fn truncated(tensors: &[Tensor], ends: &[u64], data_start: u64, len: u64) -> Fault {
    Fault::TruncatedData {
        tensor: tensors[first_cut(ends, data_start, len)].name.clone(),
        expected: data_start + ends[ends.len() - 1],
        actual: len,
    }
}

fn past_end(tensors: &[Tensor], ends: &[u64], data_start: u64, len: u64) -> Fault {
    let tensor = &tensors[first_cut(ends, data_start, len)];
    Fault::PastEnd {
        tensor: tensor.name.clone(),
        start: data_start.saturating_add(tensor.offset),
        end: data_start.saturating_add(tensor.offset + tensor.bytes),
        actual: len,
    }
}
