//! Files that are not a whole GGUF file: T6-01 and T6-02.

use std::path::Path;

use gguf::{Fault, Gguf, OpenError};

use crate::build::{Build, read, says};

fn open_bytes(bytes: &[u8]) -> OpenError {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    Gguf::open(&path).unwrap_err()
}

#[test]
fn t6_01_truncated_file_is_refused() {
    let whole = Build::small().tensor("output.weight", &[256, 4096], gguf::TensorType::F16);
    let whole = whole.bytes();
    assert!(read(&whole).is_ok());
    for cut in [1, 1 << 20, whole.len() / 2] {
        let kept = whole.len() - cut;
        let fault = open_bytes(&whole[..kept]);
        let expected = format!("expected size {} bytes", whole.len());
        says(
            &fault,
            &[
                "model.gguf: truncated",
                &expected,
                &format!("actual {kept}"),
            ],
        );
        says(
            &fault,
            &[&format!("{cut} missing"), "tensor 'output.weight'", "fetch"],
        );
    }
}

#[test]
fn t6_01_every_shorter_file_is_refused() {
    let whole = Build::small().bytes();
    for len in 0..whole.len() {
        let fault = read(&whole[..len]).expect_err("a cut file");
        match len {
            0 => assert!(matches!(fault, Fault::Empty)),
            1..24 => assert!(matches!(fault, Fault::TooShort { actual } if actual == len as u64)),
            _ => match fault {
                Fault::TruncatedHeader {
                    actual, expected, ..
                } => {
                    assert!(actual == len as u64 && expected > actual);
                }
                Fault::TruncatedData {
                    actual, expected, ..
                } => {
                    assert!(actual == len as u64 && expected == whole.len() as u64);
                }
                other => panic!("{len}: {other}"),
            },
        }
    }
}

#[test]
fn t6_01_a_cut_in_the_header_says_where() {
    let whole = Build::small().bytes();
    let fault = read(&whole[..70]).unwrap_err();
    says(
        fault,
        &[
            "byte 8, tensor count",
            "needs 99 bytes, 54 remain",
            "actual 70",
        ],
    );
    let fault = read(&whole[..140]).unwrap_err();
    says(
        fault,
        &[
            "inside its header",
            "byte 1",
            "tokenizer.ggml.tokens",
            "actual 140",
        ],
    );
}

#[test]
fn t6_02_not_a_model_gets_a_plain_message() {
    says(open_bytes(b""), &["empty (0 bytes)"]);
    says(open_bytes(b"<html><body>503</body>"), &["web page"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 42\n";
    says(
        open_bytes(pointer.as_bytes()),
        &["Git LFS pointer", "42 bytes", "git lfs pull"],
    );
    says(
        open_bytes(b"GGUF\x03\0"),
        &["too short", "6 bytes", "at least 24"],
    );
    says(
        open_bytes(b"not a model at all"),
        &["not a GGUF file", "\"not \"", "\"GGUF\""],
    );
}

#[test]
fn missing_file_directory_and_device_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    says(Gguf::open(dir.path()).unwrap_err(), &["directory"]);
    let missing = Gguf::open(dir.path().join("none.gguf")).unwrap_err();
    says(missing, &["none.gguf: no such file"]);
    if Path::new("/dev/zero").exists() {
        says(
            Gguf::open("/dev/zero").unwrap_err(),
            &["not a regular file"],
        );
    }
}

#[test]
fn other_versions_and_byte_orders_are_named() {
    let with = |version| {
        Build {
            version,
            ..Build::small()
        }
        .read()
    };
    assert_eq!(with(2).unwrap().version, 2);
    says(with(0).unwrap_err(), &["version: found 0", "damaged"]);
    says(
        with(1).unwrap_err(),
        &["version: found 1", "expected 2 or 3", "obsolete"],
    );
    says(with(4).unwrap_err(), &["version: found 4", "newer"]);
    says(
        with(3_u32.swap_bytes()).unwrap_err(),
        &["big-endian", "version 3"],
    );
}

#[test]
fn messages_are_not_repeated_as_their_own_cause() {
    let fault = open_bytes(b"");
    assert!(std::error::Error::source(&fault).is_none());
}
