//! A small GGUF in memory, to be changed and written again.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use gguf::types::TensorType;
use gguf::write::{TensorEntry, Writer};
use gguf::{Gguf, Value};

/// Everything that a file holds.
#[derive(Clone)]
pub struct GgufFile {
    pub metadata: Vec<(String, Value)>,
    pub tensors: Vec<(TensorEntry, Vec<u8>)>,
}

impl GgufFile {
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("the model can be read");
        let model = Gguf::open(path).expect("the model is sound");
        let start = model.parts()[0].data_start;
        let data =
            |offset: u64, size: u64| bytes[(start + offset) as usize..][..size as usize].to_vec();
        let entry = |t: &gguf::Tensor| TensorEntry {
            name: t.name.clone(),
            dims: t.dims.clone(),
            tensor_type: t.tensor_type,
        };
        Self {
            metadata: model
                .metadata()
                .iter()
                .map(|(k, v)| (k.to_owned(), v.clone()))
                .collect(),
            tensors: model
                .tensors()
                .iter()
                .map(|t| (entry(t), data(t.offset, t.bytes)))
                .collect(),
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    pub fn set(&mut self, key: &str, value: Value) {
        match self.metadata.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.metadata.push((key.to_owned(), value)),
        }
    }

    /// Keeps only the metadata whose key passes.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.metadata.retain(|(key, _)| keep(key));
    }

    /// Adds a tensor of 4-byte elements.
    pub fn push(
        &mut self,
        name: &str,
        dims: Vec<u64>,
        tensor_type: TensorType,
        element: impl Fn(u64) -> [u8; 4],
    ) {
        let elements: u64 = dims.iter().product();
        let entry = TensorEntry {
            name: name.to_owned(),
            dims,
            tensor_type,
        };
        self.tensors
            .push((entry, (0..elements).flat_map(element).collect()));
    }

    pub fn write(&self, path: &Path) {
        let directory = self
            .tensors
            .iter()
            .map(|(entry, _)| entry.clone())
            .collect();
        let file = BufWriter::new(File::create(path).expect("the test's directory is writable"));
        let mut writer = Writer::begin(file, &self.metadata, directory).expect("a sound directory");
        for (entry, data) in &self.tensors {
            writer
                .tensor(&entry.name, |sink| sink.write_all(data))
                .expect("tensor data");
        }
        writer.finish().expect("a whole file");
    }

    /// Writes the model in `count` parts, as llama.cpp's own tool splits one; returns the parts in order.
    pub fn write_split(&self, dir: &Path, count: u16) -> Vec<PathBuf> {
        let share = self.tensors.len().div_ceil(usize::from(count));
        let total = i32::try_from(self.tensors.len()).expect("a small model");
        let parts = (0..count)
            .zip(self.tensors.chunks(share))
            .map(|(number, tensors)| {
                let mut part = Self {
                    metadata: if number == 0 {
                        self.metadata.clone()
                    } else {
                        Vec::new()
                    },
                    tensors: tensors.to_vec(),
                };
                part.set("split.no", Value::U16(number));
                part.set("split.count", Value::U16(count));
                part.set("split.tensors.count", Value::I32(total));
                let path = dir.join(format!("model-{:05}-of-{count:05}.gguf", number + 1));
                part.write(&path);
                path
            });
        parts.collect()
    }
}

/// Replaces the data offset in the directory entry of tensor `name`.
pub fn set_offset(bytes: &mut [u8], name: &str, offset: u64) {
    let mut entry = (name.len() as u64).to_le_bytes().to_vec();
    entry.extend(name.as_bytes());
    let at = bytes
        .windows(entry.len())
        .position(|w| w == entry)
        .expect("the tensor's entry")
        + entry.len();
    let dims = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let at = at + 4 + 8 * dims as usize + 4;
    bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
}
