//! The data set: samples, prompts, tools and expected answers, from files with pinned digests.

mod error;
mod locate;
mod parse;
mod pins;

pub use error::DatasetError;
pub use locate::{data_root, default_dir};
pub use parse::parse_subset;
pub use pins::{RELEASE, answer_file, data_file};

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::subset::Subset;
use crate::value::Value;

/// One sample: what the model is asked, and what is right.
#[derive(Debug, Clone)]
pub struct Sample {
    pub(crate) id: String,
    pub(crate) subset: Subset,
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<serde_json::Value>,
    pub(crate) functions: Value,
    pub(crate) answer: Option<Value>,
}

/// A chat message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `user` or `system`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Sample {
    /// The id, e.g. `live_simple_3-2-0`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The subset.
    pub fn subset(&self) -> Subset {
        self.subset
    }

    /// The messages of the request.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The tools of the request, in the form chat APIs take; key order is the source's.
    pub fn tools(&self) -> &[serde_json::Value] {
        &self.tools
    }

    /// The schemas as the checker reads them, unconverted.
    pub fn functions(&self) -> &Value {
        &self.functions
    }

    /// The expected calls; `None` where right is to call, or not to call, anything.
    pub fn answer(&self) -> Option<&Value> {
        self.answer.as_ref()
    }
}

/// A file of the data set and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    /// The file, relative to the data directory.
    pub file: String,
    /// Lower-case hex.
    pub sha256: String,
}

/// All samples, in the reference's order: subset by subset, each in file order.
#[derive(Debug, Clone)]
pub struct Dataset {
    samples: Vec<Sample>,
    by_id: HashMap<String, usize>,
    files: Vec<FileDigest>,
}

impl Dataset {
    /// Reads all 13 subsets from a directory as `scripts/fetch-data` lays it out.
    ///
    /// # Errors
    /// A file that is missing, unreadable, or holds other bytes than the pinned release.
    pub fn open(dir: &Path) -> Result<Dataset, DatasetError> {
        let mut samples = Vec::new();
        let mut files = Vec::new();
        for pin in &pins::PINS {
            let data = read_pinned(dir, data_file(pin.subset), pin.data, &mut files)?;
            let answers = pin
                .answers
                .map(|sha256| read_pinned(dir, answer_file(pin.subset), sha256, &mut files))
                .transpose()?;
            let subset = parse_subset(pin.subset, &data, answers.as_deref())?;
            debug_assert_eq!(subset.len(), pin.samples);
            samples.extend(subset);
        }
        Ok(Dataset::new(samples, files))
    }

    /// A data set of samples from elsewhere, as [`parse_subset`] reads them. Its ids are unique as
    /// long as no subset is given twice; of equal ids the last one is found by [`Dataset::sample`].
    pub fn from_samples(samples: Vec<Sample>) -> Dataset {
        Dataset::new(samples, Vec::new())
    }

    fn new(samples: Vec<Sample>, files: Vec<FileDigest>) -> Dataset {
        let by_id = samples
            .iter()
            .enumerate()
            .map(|(index, sample)| (sample.id.clone(), index))
            .collect();
        Dataset {
            samples,
            by_id,
            files,
        }
    }

    /// The samples.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The place of a sample among [`Dataset::samples`].
    pub fn index_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The sample with the id.
    pub fn sample(&self, id: &str) -> Option<&Sample> {
        self.samples.get(self.index_of(id)?)
    }

    /// The files and digests that were read; empty for samples from elsewhere.
    pub fn files(&self) -> &[FileDigest] {
        &self.files
    }
}

fn read_pinned(
    dir: &Path,
    file: String,
    expected: &'static str,
    files: &mut Vec<FileDigest>,
) -> Result<String, DatasetError> {
    let path = dir.join(&file);
    let unreadable = |path, source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => DatasetError::Missing { path },
        _ => DatasetError::Unreadable { path, source },
    };
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(source) => return Err(unreadable(path, source)),
    };
    let found = hex_sha256(&bytes);
    if found != expected {
        return Err(DatasetError::WrongBytes {
            path,
            found,
            expected,
            release: RELEASE,
        });
    }
    files.push(FileDigest {
        file,
        sha256: found,
    });
    String::from_utf8(bytes)
        .map_err(|error| unreadable(path, io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// The sha256 of bytes in lower-case hex.
pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
