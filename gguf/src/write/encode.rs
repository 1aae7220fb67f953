//! The header's bytes: little-endian numbers, strings as a 64-bit length and the text.

use super::{TensorEntry, padding};
use crate::value::{Array, Value};

/// Version of the format that is written.
const VERSION: u32 = 3;

/// Append magic, counts, metadata and tensor directory. The directory has been checked.
pub(super) fn header(out: &mut Vec<u8>, metadata: &[(String, Value)], directory: &[TensorEntry]) {
    out.extend_from_slice(b"GGUF");
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(directory.len() as u64).to_le_bytes());
    out.extend_from_slice(&(metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        string(out, key);
        out.extend_from_slice(&(value.value_type() as u32).to_le_bytes());
        self::value(out, value);
    }
    let mut offset = 0_u64; // from the start of the data section
    for entry in directory {
        string(out, &entry.name);
        out.extend_from_slice(&(entry.dims.len() as u32).to_le_bytes());
        for dim in &entry.dims {
            out.extend_from_slice(&dim.to_le_bytes());
        }
        out.extend_from_slice(&(entry.tensor_type as u32).to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        let bytes = super::entry_bytes(entry).expect("the directory has been checked");
        offset += bytes + padding(bytes);
    }
}

fn string(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    let bytes = text.as_ref();
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::U8(v) => out.push(*v),
        Value::I8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::F32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Bool(v) => out.push((*v).into()),
        Value::String(v) => string(out, v),
        Value::Array(v) => array(out, v),
        Value::U64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::F64(v) => out.extend_from_slice(&v.to_le_bytes()),
    }
}

fn array(out: &mut Vec<u8>, array: &Array) {
    out.extend_from_slice(&(array.value_type() as u32).to_le_bytes());
    out.extend_from_slice(&(array.len() as u64).to_le_bytes());
    match array {
        Array::U8(v) => out.extend_from_slice(v),
        Array::I8(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::U16(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::I16(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::U32(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::I32(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::F32(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::Bool(v) => v.iter().for_each(|&x| out.push(x.into())),
        Array::String(v) => v.iter().for_each(|x| string(out, x)),
        Array::U64(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::I64(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Array::F64(v) => v
            .iter()
            .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
    }
}
