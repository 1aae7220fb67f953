//! Metadata: every type, and every way to get it wrong.

use std::io::Read;

use gguf::{Array, Fault, Header, Value};

use crate::build::{ARRAY, BOOL, Build, I32, STRING, U32, read, says, string};

#[test]
fn all_types_are_read_in_file_order() {
    let header = Build::new()
        .entry("z", 0, &[200])
        .entry("i8", 1, &[0xff])
        .entry("u16", 2, &[1, 2])
        .entry("i16", 3, &[0xfe, 0xff])
        .entry("u32", U32, &[1, 0, 0, 0])
        .entry("i32", I32, &[0xff; 4])
        .entry("f32", 6, &1.5_f32.to_le_bytes())
        .entry("bool", BOOL, &[1])
        .text("text", "héllo")
        .entry("u64", 10, &u64::MAX.to_le_bytes())
        .entry("i64", 11, &(-3_i64).to_le_bytes())
        .entry("f64", 12, &2.5_f64.to_le_bytes())
        .array("bools", BOOL, 3, &[0, 1, 1])
        .texts("texts", &["", "ab"])
        .array("none", I32, 0, &[])
        .read()
        .unwrap();
    let found: Vec<_> = header
        .metadata
        .iter()
        .map(|(key, value)| (key, value.clone()))
        .collect();
    let expected = [
        ("z", Value::U8(200)),
        ("i8", Value::I8(-1)),
        ("u16", Value::U16(513)),
        ("i16", Value::I16(-2)),
        ("u32", Value::U32(1)),
        ("i32", Value::I32(-1)),
        ("f32", Value::F32(1.5)),
        ("bool", Value::Bool(true)),
        ("text", Value::String("héllo".to_owned())),
        ("u64", Value::U64(u64::MAX)),
        ("i64", Value::I64(-3)),
        ("f64", Value::F64(2.5)),
        ("bools", Value::Array(Array::Bool(vec![false, true, true]))),
        ("texts", Value::Array(Array::String(vec!["", "ab"].into()))),
        ("none", Value::Array(Array::I32(vec![]))),
    ];
    assert_eq!(found, expected);
    assert_eq!(header.metadata.u64("u64"), Ok(Some(u64::MAX)));
    assert_eq!(header.metadata.u64("nowhere"), Ok(None));
    let wrong = header.metadata.u64("text").unwrap_err();
    says(
        wrong,
        &[
            "'text'",
            "found \"héllo\"",
            "expected a non-negative integer",
        ],
    );
}

#[test]
fn absurd_counts_are_refused_before_anything_is_allocated() {
    for count in [65_537, 1 << 40, u64::MAX] {
        let entries = Build {
            entry_count: Some(count),
            ..Build::small()
        };
        says(
            entries.read().unwrap_err(),
            &["byte 16, metadata count", "at most 65536"],
        );
        let tensors = Build {
            tensor_count: Some(count),
            ..Build::small()
        };
        says(
            tensors.read().unwrap_err(),
            &["byte 8, tensor count", "at most 65536"],
        );
    }
    let more = Build {
        entry_count: Some(60_000),
        ..Build::small()
    };
    says(
        more.read().unwrap_err(),
        &["metadata count", "needs 840000 bytes", "truncated"],
    );
}

#[test]
fn absurd_lengths_are_refused_before_anything_is_allocated() {
    for count in [1 << 28, 1 << 32, 1 << 61, u64::MAX] {
        for kind in [0, U32, STRING, BOOL, 12] {
            let fault = Build::small()
                .array("list", kind, count, &[0; 64])
                .read()
                .unwrap_err();
            let refused = matches!(fault, Fault::Absurd { .. } | Fault::TruncatedHeader { .. });
            assert!(refused, "{count} of type {kind}: {fault}");
            says(fault, &["value of 'list'", &count.to_string()]);
        }
    }
    let text = Build::new()
        .entry("k", STRING, &u64::MAX.to_le_bytes())
        .read()
        .unwrap_err();
    says(text, &["value of 'k'", "18446744073709551615"]);
    let mut key = Build::new().header();
    key.truncate(24);
    key[16] = 1;
    key.extend((1_u64 << 50).to_le_bytes());
    key.extend([0; 32]);
    says(
        read(&key).unwrap_err(),
        &["byte 24", "key of metadata entry 0"],
    );
}

#[test]
fn a_long_element_names_its_place() {
    let mut payload = string(b"ok");
    payload.extend(99_u64.to_le_bytes());
    let fault = Build::new()
        .array("list", STRING, 2, &payload)
        .read()
        .unwrap_err();
    says(fault, &["element 1 of 'list'", "needs 99 bytes"]);
}

#[test]
fn malformed_entries_are_named() {
    says(
        Build::new().entry("k", 13, &[]).read().unwrap_err(),
        &["type of 'k'", "found 13"],
    );
    says(
        Build::new().entry("k", BOOL, &[2]).read().unwrap_err(),
        &["'k'", "found 2", "a bool"],
    );
    let bools = Build::new()
        .array("k", BOOL, 3, &[0, 1, 7])
        .read()
        .unwrap_err();
    says(bools, &["byte 51, element 2 of 'k'", "found 7"]);
    let nested = Build::new()
        .array("k", ARRAY, 1, &[0; 32])
        .read()
        .unwrap_err();
    says(nested, &["type of 'k'", "an array of arrays"]);
    says(
        Build::new().u32("", 1).read().unwrap_err(),
        &["metadata entry 0", "0 bytes"],
    );
    let long = "k".repeat(65_536);
    says(
        Build::new().u32(&long, 1).read().unwrap_err(),
        &["65536 bytes", "1 to 65535"],
    );
}

#[test]
fn duplicate_keys_are_refused() {
    let fault = Build::small()
        .u32("again", 1)
        .u32("b", 2)
        .u32("again", 3)
        .read()
        .unwrap_err();
    says(fault, &["key 'again' appears twice", "entries 4 and 6"]);
}

#[test]
fn text_must_be_utf8_but_tokens_need_not() {
    let value = Build::new()
        .entry("k", STRING, &string(b"ab\xff"))
        .read()
        .unwrap_err();
    says(value, &["value of 'k'", "byte 0xff at position 2", "UTF-8"]);
    let header = Build::new()
        .texts("tokens", &[&b"\xe2\x82"[..], b"ok"])
        .read()
        .unwrap();
    let tokens = header.metadata.strings("tokens").unwrap().unwrap();
    assert_eq!(tokens.get(0), Some(&b"\xe2\x82"[..]));
    assert_eq!((tokens.get_str(0), tokens.get_str(1)), (None, Some("ok")));
}

#[test]
fn alignment_must_be_a_power_of_two_of_type_u32() {
    for bad in [0, 3, 48] {
        let fault = Build::small()
            .u32("general.alignment", bad)
            .read()
            .unwrap_err();
        says(
            fault,
            &["general.alignment", &format!("found {bad}"), "power of two"],
        );
    }
    let wide = Build::small().entry("general.alignment", 10, &64_u64.to_le_bytes());
    says(wide.read().unwrap_err(), &["general.alignment", "type u64"]);
    let wide = Build {
        alignment: 4096,
        ..Build::new()
    }
    .u32("general.alignment", 4096)
    .tensor("a", &[3], gguf::TensorType::F32)
    .tensor("b", &[3], gguf::TensorType::F32);
    let header = wide.read().unwrap();
    assert_eq!(
        (header.alignment, header.data_start, header.data_end),
        (4096, 4096, 12_288)
    );
}

#[test]
fn a_header_beyond_the_limit_is_refused_even_in_a_huge_file() {
    let entry = |key: &[u8]| {
        let lengths = [string(key), STRING.to_le_bytes().to_vec()].concat();
        [lengths, (200_u64 << 20).to_le_bytes().to_vec()].concat()
    };
    let start = Build {
        entry_count: Some(2),
        ..Build::new()
    };
    let (start, a, b) = (&start.header()[..24], entry(b"a"), entry(b"b"));
    let text = std::io::repeat(b'x').take(200 << 20);
    let file = start.chain(a.as_slice()).chain(text).chain(b.as_slice());
    let fault = Header::read(file, 16 << 30).unwrap_err();
    says(fault, &["value of 'b'", "header exceeds 268435456 bytes"]);
}
