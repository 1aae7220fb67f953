//! Builds GGUF files byte by byte, without the crate's writer: tests must not share its mistakes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use gguf::{Fault, Header, TensorType};

/// Type numbers of metadata values.
pub const U32: u32 = 4;
pub const I32: u32 = 5;
pub const BOOL: u32 = 7;
pub const STRING: u32 = 8;
pub const ARRAY: u32 = 9;

/// A file under construction.
#[derive(Clone)]
pub struct Build {
    pub version: u32,
    pub alignment: u64,
    /// Counts written instead of the true ones.
    pub tensor_count: Option<u64>,
    pub entry_count: Option<u64>,
    pub entries: Vec<Vec<u8>>,
    pub tensors: Vec<Entry>,
}

#[derive(Clone)]
pub struct Entry {
    bytes: Vec<u8>,
    /// End of the data with its padding, from the start of the data section.
    end: u64,
}

impl Build {
    pub fn new() -> Self {
        Self {
            version: 3,
            alignment: 32,
            tensor_count: None,
            entry_count: None,
            entries: Vec::new(),
            tensors: Vec::new(),
        }
    }

    /// A small sound model: four keys, three tensors (f32, f16, q4_K), 32-byte alignment.
    pub fn small() -> Self {
        Self::new()
            .text("general.architecture", "test")
            .u32("test.block_count", 1)
            .texts("tokenizer.ggml.tokens", &["a", "b", "<|im_end|>"])
            .array(
                "tokenizer.ggml.token_type",
                I32,
                3,
                &[1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0],
            )
            .tensor("token_embd.weight", &[256, 3], TensorType::F16)
            .tensor("output_norm.weight", &[9], TensorType::F32)
            .tensor("blk.0.ffn_up.weight", &[256, 2], TensorType::Q4_K)
    }

    pub fn entry(mut self, key: &str, kind: u32, payload: &[u8]) -> Self {
        let mut bytes = string(key.as_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(payload);
        self.entries.push(bytes);
        self
    }

    pub fn u32(self, key: &str, value: u32) -> Self {
        self.entry(key, U32, &value.to_le_bytes())
    }

    pub fn text(self, key: &str, value: &str) -> Self {
        self.entry(key, STRING, &string(value.as_bytes()))
    }

    pub fn array(self, key: &str, kind: u32, count: u64, payload: &[u8]) -> Self {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(count.to_le_bytes());
        bytes.extend(payload);
        self.entry(key, ARRAY, &bytes)
    }

    pub fn texts<S: AsRef<[u8]>>(self, key: &str, texts: &[S]) -> Self {
        let payload: Vec<u8> = texts.iter().flat_map(|t| string(t.as_ref())).collect();
        self.array(key, STRING, texts.len() as u64, &payload)
    }

    /// A tensor that follows the one before it.
    pub fn tensor(self, name: &str, dims: &[u64], kind: TensorType) -> Self {
        let offset = self.data_bytes();
        let bytes = kind.tensor_bytes(dims).expect("the test's shape is sound");
        let end = (offset + bytes).next_multiple_of(self.alignment);
        self.raw_tensor(name, dims, kind as u32, offset, end)
    }

    /// A directory entry with any contents; `end` tells how much data the file should have.
    pub fn raw_tensor(
        mut self,
        name: &str,
        dims: &[u64],
        kind: u32,
        offset: u64,
        end: u64,
    ) -> Self {
        let mut bytes = string(name.as_bytes());
        bytes.extend((dims.len() as u32).to_le_bytes());
        dims.iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        self.tensors.push(Entry { bytes, end });
        self
    }

    pub fn without_entry(mut self, key: &str) -> Self {
        let start = string(key.as_bytes());
        self.entries.retain(|entry| !entry.starts_with(&start));
        self
    }

    fn data_bytes(&self) -> u64 {
        self.tensors.last().map_or(0, |t| t.end)
    }

    /// The header, padded to where the data starts.
    pub fn header(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        let tensors = self.tensors.len() as u64;
        bytes.extend(self.tensor_count.unwrap_or(tensors).to_le_bytes());
        let entries = self.entries.len() as u64;
        bytes.extend(self.entry_count.unwrap_or(entries).to_le_bytes());
        self.entries.iter().for_each(|entry| bytes.extend(entry));
        self.tensors
            .iter()
            .for_each(|tensor| bytes.extend(&tensor.bytes));
        bytes.resize(bytes.len().next_multiple_of(self.alignment as usize), 0);
        bytes
    }

    /// The whole file with zeros for data.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.resize(bytes.len() + self.data_bytes() as usize, 0);
        bytes
    }

    pub fn read(&self) -> Result<Header, Fault> {
        read(&self.bytes())
    }

    /// Writes the file; the data is a hole, so that a 27B model takes no disk.
    pub fn write(&self, path: &Path) -> PathBuf {
        let header = self.header();
        let mut file = File::create(path).expect("the test's directory is writable");
        file.write_all(&header)
            .expect("the disk has room for a header");
        file.set_len(header.len() as u64 + self.data_bytes())
            .expect("holes are supported");
        path.to_owned()
    }
}

/// Length and bytes.
pub fn string(bytes: &[u8]) -> Vec<u8> {
    let mut all = (bytes.len() as u64).to_le_bytes().to_vec();
    all.extend(bytes);
    all
}

pub fn read(bytes: &[u8]) -> Result<Header, Fault> {
    Header::read(bytes, bytes.len() as u64)
}

/// Asserts that a message has all these parts.
#[track_caller]
pub fn says(fault: impl std::fmt::Display, parts: &[&str]) {
    let said = fault.to_string();
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
}
