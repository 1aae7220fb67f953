//! A model on disk: one GGUF file, or all parts of a split one.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::fault::{Fault, OpenError};
use crate::header::Header;
use crate::metadata::{Metadata, sorted_unique};
use crate::split::{self, SplitFault, SplitInfo};
use crate::tensor::Tensor;

/// A model whose header (for a split model: every part's header) was read and checked.
#[derive(Debug, Clone)]
pub struct Gguf {
    parts: Vec<Part>,
    version: u32,
    alignment: u64,
    metadata: Metadata,
    tensors: Vec<Tensor>,
    /// Tensor numbers sorted by name.
    by_name: Vec<u32>,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it is.
    pub path: PathBuf,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// Size of its header, bytes.
    pub header_bytes: u64,
    /// Start of its tensor data, bytes from the start of the file.
    pub data_start: u64,
    /// Bytes after the data that belong to nothing (0 in files of all known writers).
    pub trailing_bytes: u64,
}

impl Gguf {
    /// Reads and checks the header of the model at `path`, and of all its parts when it is split.
    ///
    /// # Errors
    /// When a file is not what it should be; see [`Fault`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let (header, part) = open_part(path)?;
        let split = SplitInfo::of(&header).map_err(|fault| OpenError::new(path, fault))?;
        let mut model = Self::of_part(header, part);
        if let Some(split) = split {
            model.add_parts(path, split)?;
        }
        model.by_name = model.index().map_err(|fault| OpenError::new(path, fault))?;
        Ok(model)
    }

    /// A model in one file of `bytes` bytes whose header was read from elsewhere than a path.
    ///
    /// # Errors
    /// When two tensors have one name (never for a header that [`Header::read`] returned).
    pub fn from_header(header: Header, bytes: u64) -> Result<Self, Fault> {
        let part = Part::of(&header, Path::new(""), bytes);
        let mut model = Self::of_part(header, part);
        model.by_name = model.index()?;
        Ok(model)
    }

    fn of_part(header: Header, part: Part) -> Self {
        Self {
            parts: vec![part],
            version: header.version,
            alignment: header.alignment,
            metadata: header.metadata,
            tensors: header.tensors,
            by_name: Vec::new(),
        }
    }

    /// Opens parts 2 and up of a split model.
    fn add_parts(&mut self, path: &Path, split: SplitInfo) -> Result<(), OpenError> {
        let of_model = |fault: SplitFault| OpenError::new(path, fault);
        let paths = split.part_paths(path).map_err(of_model)?;
        split::refuse_missing(&paths).map_err(of_model)?;
        for (number, path) in paths.iter().enumerate().skip(1) {
            let (mut header, part) = open_part(path)?;
            split::check_part(&header, number as u64, split.count)
                .map_err(|fault| OpenError::new(path, fault))?;
            header.tensors.iter_mut().for_each(|t| t.part = number);
            self.tensors.append(&mut header.tensors);
            self.parts.push(part);
        }
        let found = self.tensors.len() as u64;
        match split.tensors {
            Some(expected) if expected != found => Err(of_model(SplitFault::TensorCount {
                count: split.count,
                found,
                expected,
            })),
            _ => Ok(()),
        }
    }

    fn index(&self) -> Result<Vec<u32>, Fault> {
        let offset = |t: &Tensor| self.parts[t.part].data_start + t.offset;
        let offsets: Vec<u64> = self.tensors.iter().map(offset).collect();
        sorted_unique(&self.tensors, "tensor", |tensor| &tensor.name, &offsets)
    }

    /// The file given, the first part of a split model.
    pub fn path(&self) -> &Path {
        &self.parts[0].path
    }

    /// All files of the model in order: hash them in this order to identify it.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Format version, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Alignment of tensor data, bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Keys and values (of the first part).
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors, part by part, in file order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        let name_of = |n: u32| self.tensors[n as usize].name.as_str();
        let at = self
            .by_name
            .binary_search_by(|&n| name_of(n).cmp(name))
            .ok()?;
        Some(&self.tensors[self.by_name[at] as usize])
    }

    /// Size of all files together, bytes.
    pub fn file_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Size of all tensors together, bytes, without padding.
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors.iter().map(|tensor| tensor.bytes).sum()
    }
}

impl Part {
    fn of(header: &Header, path: &Path, bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            bytes,
            header_bytes: header.header_bytes,
            data_start: header.data_start,
            trailing_bytes: bytes.saturating_sub(header.data_end),
        }
    }
}

fn open_part(path: &Path) -> Result<(Header, Part), OpenError> {
    read_part(path).map_err(|fault| OpenError::new(path, fault))
}

fn read_part(path: &Path) -> Result<(Header, Part), Fault> {
    let info = std::fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Fault::Missing,
        _ => Fault::Io(error),
    })?;
    if info.is_dir() {
        return Err(Fault::Directory);
    }
    // Opening a pipe would wait for a writer.
    if !info.is_file() {
        return Err(Fault::NotAFile);
    }
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let header = Header::read(&mut file, bytes)?;
    refuse_joined(&mut file, header.data_end, bytes)?;
    let part = Part::of(&header, path, bytes);
    Ok((header, part))
}

/// Recognizes parts joined with `cat`: the next file begins where the first one ends.
fn refuse_joined(file: &mut File, end: u64, len: u64) -> Result<(), Fault> {
    let mut magic = [0; 4];
    if len.saturating_sub(end) < magic.len() as u64 {
        return Ok(());
    }
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut magic)?;
    if magic == *b"GGUF" {
        return Err(Fault::Joined { offset: end });
    }
    Ok(())
}
