use std::io::Write;

use super::{ALIGNMENT, TensorEntry, WriteError, Writer, file_size};
use crate::{Array, Gguf, Header, TensorType, Value};

fn entry(name: &str, dims: &[u64], tensor_type: TensorType) -> TensorEntry {
    TensorEntry {
        name: name.to_owned(),
        dims: dims.to_vec(),
        tensor_type,
    }
}

fn metadata() -> Vec<(String, Value)> {
    let strings = ["", "Ġa", "b"].into_iter().collect();
    [
        ("general.architecture", Value::from("qwen35")),
        ("a.u8", Value::U8(1)),
        ("a.i8", Value::I8(-1)),
        ("a.u16", Value::U16(2)),
        ("a.i16", Value::I16(-2)),
        ("a.u32", Value::U32(3)),
        ("a.i32", Value::I32(-3)),
        ("a.f32", Value::F32(1e-6)),
        ("a.bool", Value::Bool(true)),
        ("a.u64", Value::U64(u64::MAX)),
        ("a.i64", Value::I64(i64::MIN)),
        ("a.f64", Value::F64(0.5)),
        ("a.strings", Value::Array(Array::String(strings))),
        ("a.ints", Value::Array(Array::I32(vec![11, 11, 10, 0]))),
        ("a.bools", Value::Array(Array::Bool(vec![true, false]))),
        ("a.bytes", Value::Array(Array::U8(vec![1, 2, 3]))),
        ("a.doubles", Value::Array(Array::F64(vec![0.25]))),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

/// Fill every tensor with its index.
fn write_all(directory: &[TensorEntry]) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), &metadata(), directory.to_vec()).unwrap();
    for (index, entry) in directory.iter().enumerate() {
        let bytes = entry.tensor_type.tensor_bytes(&entry.dims).unwrap();
        writer
            .tensor(&entry.name, |sink| {
                assert_eq!(sink.left(), bytes);
                sink.write_all(&vec![index as u8 + 1; bytes as usize])
            })
            .unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn the_reader_reads_what_was_written() {
    let directory = [
        entry("odd", &[3], TensorType::F32),
        entry("blocks", &[256, 2], TensorType::Q4_K),
        entry("halves", &[5, 3, 2], TensorType::F16),
    ];
    let bytes = write_all(&directory);
    assert_eq!(
        bytes.len() as u64,
        file_size(&metadata(), &directory).unwrap()
    );
    let len = bytes.len() as u64;
    let file = Gguf::from_header(Header::read(&bytes[..], len).unwrap(), len).unwrap();
    assert_eq!(file.version(), 3);
    let read: Vec<_> = file.metadata().iter().collect();
    let written = metadata();
    let written: Vec<_> = written
        .iter()
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    assert_eq!(read, written);
    for (tensor, entry) in file.tensors().iter().zip(&directory) {
        assert_eq!(
            (&tensor.name, &tensor.dims[..]),
            (&entry.name, &entry.dims[..])
        );
        assert_eq!(tensor.tensor_type, entry.tensor_type);
    }
}

#[test]
fn data_is_aligned_and_padded_with_zeros() {
    let bytes = write_all(&[
        entry("odd", &[3], TensorType::F32),
        entry("one", &[1], TensorType::F32),
    ]);
    let mut expected = vec![0; 2 * ALIGNMENT as usize];
    expected[..12].fill(1);
    expected[32..36].fill(2);
    assert_eq!(bytes[bytes.len() - 64..], expected);
    assert_eq!(bytes.len() % ALIGNMENT as usize, 0);
}

#[test]
fn a_tensor_of_another_size_is_refused() {
    for (given, found) in [(11, 11), (13, 13), (0, 0)] {
        let directory = vec![entry("odd", &[3], TensorType::F32)];
        let mut writer = Writer::begin(Vec::new(), &[], directory).unwrap();
        let error = writer
            .tensor("odd", |sink| sink.write_all(&vec![0; given]))
            .unwrap_err();
        let WriteError::Size {
            found: f,
            expected: 12,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(f, found);
    }
}

#[test]
fn tensors_come_in_directory_order_and_all_of_them() {
    let directory = vec![
        entry("a", &[1], TensorType::F32),
        entry("b", &[1], TensorType::F32),
    ];
    let mut writer = Writer::begin(Vec::new(), &[], directory).unwrap();
    let error = writer.tensor("b", |_| Ok(())).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`b` was given where the directory has `a`"),
        "{error}"
    );
    writer.tensor("a", |sink| sink.write_all(&[0; 4])).unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file has 2 tensors and only 1 were written; the next is `b`"
    );
}

#[test]
fn a_directory_that_no_reader_would_accept_is_refused_before_the_first_byte() {
    let long = "n".repeat(64);
    let faulty = [
        vec![entry("a", &[255], TensorType::Q4_K)],
        vec![entry("a", &[], TensorType::F32)],
        vec![entry("a", &[0], TensorType::F32)],
        vec![entry("a", &[1; 5], TensorType::F32)],
        vec![entry("a", &[u64::MAX, 2], TensorType::F16)],
        vec![entry("a", &[u64::MAX / 8], TensorType::F32)],
        vec![entry("", &[1], TensorType::F32)],
        vec![entry(&long, &[1], TensorType::F32)],
        vec![
            entry("a", &[1], TensorType::F32),
            entry("a", &[2], TensorType::F32),
        ],
    ];
    for directory in faulty {
        let mut out = Vec::new();
        assert!(
            Writer::begin(&mut out, &[], directory.clone()).is_err(),
            "{directory:?}"
        );
        assert!(out.is_empty());
    }
    let key = ("k".to_owned(), Value::U8(1));
    let error = Writer::begin(Vec::new(), &[key.clone(), key], Vec::new()).unwrap_err();
    assert!(matches!(error, WriteError::DuplicateKey(key) if key == "k"));
}
