//! The tensor directory: shapes, types, extents. T6-05.

use gguf::{Fault, TensorType};

use crate::build::{Build, says};

const F32: u32 = TensorType::F32 as u32;

#[test]
fn a_sound_directory_is_read() {
    let build = Build::small();
    let header = build.read().unwrap();
    let (first, last) = (&header.tensors[0], &header.tensors[2]);
    assert_eq!(
        (first.name.as_str(), first.bytes, first.elements),
        ("token_embd.weight", 1536, 768)
    );
    assert_eq!(
        (last.tensor_type, last.offset, last.bytes),
        (TensorType::Q4_K, 1600, 288)
    );
    assert_eq!(last.block(), Some(0));
    assert_eq!(header.data_start, build.header().len() as u64);
    assert_eq!(header.data_end, build.bytes().len() as u64);
}

#[test]
fn a_file_without_tensors_needs_no_padding() {
    let mut bytes = Build::new().text("general.architecture", "x").bytes();
    bytes.truncate(24 + 8 + 20 + 4 + 8 + 1);
    assert!(crate::build::read(&bytes).unwrap().tensors.is_empty());
}

#[test]
fn unknown_and_removed_types_are_named() {
    let with = |kind| {
        Build::new()
            .raw_tensor("t", &[32], kind, 0, 64)
            .read()
            .unwrap_err()
    };
    says(
        with(77),
        &["tensor 't' type: found 77", "newer than this program"],
    );
    says(with(31), &["found 31", "quantize to Q4_0 instead"]);
    says(with(u32::MAX), &["found 4294967295"]);
}

#[test]
fn impossible_shapes_are_refused() {
    let with = |dims: &[u64], kind| Build::new().raw_tensor("t", dims, kind, 0, 64).read();
    says(
        with(&[], F32).unwrap_err(),
        &["number of dimensions of tensor 't'", "found 0", "1 to 4"],
    );
    says(with(&[1; 5], F32).unwrap_err(), &["found 5", "1 to 4"]);
    says(
        with(&[4, 0], F32).unwrap_err(),
        &["[4, 0]", "dimension of 0"],
    );
    let q4_k = TensorType::Q4_K as u32;
    says(
        with(&[100], q4_k).unwrap_err(),
        &["[100] of type Q4_K", "block size"],
    );
    for dims in [[u64::MAX, 2], [1 << 32, 1 << 32], [1 << 63, 1]] {
        says(with(&dims, F32).unwrap_err(), &["more elements", "2^63"]);
    }
    says(with(&[1 << 62, 1], F32).unwrap_err(), &["more bytes"]);
}

#[test]
fn an_absurd_number_of_dimensions_reads_nothing_more() {
    let mut bytes = Build::new().raw_tensor("t", &[1], F32, 0, 32).bytes();
    bytes[33..37].copy_from_slice(&u32::MAX.to_le_bytes());
    says(
        crate::build::read(&bytes).unwrap_err(),
        &["byte 33", "found 4294967295"],
    );
}

#[test]
fn names_are_bounded_and_unique() {
    let named = |name: &str| Build::new().raw_tensor(name, &[8], F32, 0, 32).read();
    assert!(named(&"n".repeat(63)).is_ok());
    says(
        named(&"n".repeat(64)).unwrap_err(),
        &["name of tensor 0", "64 bytes", "1 to 63"],
    );
    says(named("").unwrap_err(), &["name of tensor 0", "0 bytes"]);
    let twice = Build::small()
        .tensor("output_norm.weight", &[8], TensorType::F32)
        .read();
    says(
        twice.unwrap_err(),
        &[
            "tensor 'output_norm.weight' appears twice",
            "entries 1 and 3",
        ],
    );
}

#[test]
fn t6_05_short_or_overlapping_regions_are_refused() {
    // The second tensor starts where the first would end were it half as large.
    let short = Build::new()
        .raw_tensor("first", &[32], F32, 0, 128)
        .raw_tensor("second", &[16], F32, 64, 128);
    let parts = [
        "tensor 'second' at data offset 64",
        "overlaps 'first'",
        "128 bytes",
    ];
    says(short.read().unwrap_err(), &parts);
    let same = Build::new()
        .raw_tensor("a", &[8], F32, 0, 32)
        .raw_tensor("b", &[8], F32, 0, 32);
    says(same.read().unwrap_err(), &["'b'", "overlaps 'a'"]);
}

#[test]
fn a_tensor_past_the_end_is_named() {
    let far = Build::small()
        .raw_tensor("far", &[8], F32, 1 << 40, 4096)
        .read()
        .unwrap_err();
    says(&far, &["tensor 'far'", "actual size"]);
    assert!(matches!(far, Fault::PastEnd { .. }));
    let overflow = (u64::MAX / 32) * 32;
    let fault = Build::small()
        .raw_tensor("far", &[8], F32, overflow, 4096)
        .read()
        .unwrap_err();
    says(
        fault,
        &["data offset of tensor 'far'", &overflow.to_string()],
    );
}

#[test]
fn misaligned_offsets_are_refused() {
    let fault = Build::new()
        .raw_tensor("t", &[8], F32, 4, 64)
        .read()
        .unwrap_err();
    says(fault, &["'t' starts at data offset 4", "alignment 32"]);
}

#[test]
fn t6_11_an_unusual_layout_is_not_called_corrupt() {
    let gap = Build::new()
        .raw_tensor("a", &[8], F32, 0, 32)
        .raw_tensor("b", &[8], F32, 64, 96);
    let fault = gap.read().unwrap_err();
    says(
        &fault,
        &[
            "unsupported layout (the data is complete)",
            "'b'",
            "64, expected 32",
        ],
    );
    let order = Build::new()
        .raw_tensor("a", &[8], F32, 32, 32)
        .raw_tensor("b", &[8], F32, 0, 64);
    let fault = order.read().unwrap_err();
    says(&fault, &["unsupported layout", "'a'"]);
    let said = fault.to_string();
    assert!(
        !said.contains("truncated") && !said.contains("damaged"),
        "{said}"
    );
}
