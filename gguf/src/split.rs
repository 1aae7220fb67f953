//! Models in several files: `name-00001-of-00003.gguf` and the `split.*` metadata.

use std::path::{Path, PathBuf};

use crate::header::Header;
use crate::metadata::MetadataError;

/// What is wrong with a split model as a whole.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum SplitFault {
    #[error(
        "this is part {found} of {count} of a split model, expected part 1; give {}",
        first.display()
    )]
    NotFirst {
        found: u64,
        count: u64,
        first: PathBuf,
    },
    #[error(
        "part 1 of {count} of a split model is named {found:?}, expected a name that ends in \
         {expected:?}; parts are found by name: give them their names back"
    )]
    Name {
        count: u64,
        found: String,
        expected: String,
    },
    #[error(
        "split model: {} of {count} parts missing, first part {number}: {}; fetch the missing parts \
         into the same directory",
        missing.len(), missing[0].display()
    )]
    MissingParts {
        count: u64,
        /// Number of the first missing part, from 1.
        number: u64,
        /// Never empty.
        missing: Vec<PathBuf>,
    },
    #[error(
        "metadata '{key}': found {found}, expected {expected}; this file is not that part of this \
         model: fetch the parts again"
    )]
    Field {
        key: &'static str,
        found: String,
        expected: u64,
    },
    #[error(
        "metadata 'split.no' is {number} of 'split.count' {count}, expected a number below the \
         count and at most 65535 parts; the file is damaged: fetch it again"
    )]
    Number { number: u64, count: u64 },
    #[error(
        "the {count} parts hold {found} tensors, expected {expected} ('split.tensors.count'); a part \
         belongs to another model: fetch all parts again"
    )]
    TensorCount {
        count: u64,
        found: u64,
        expected: u64,
    },
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}

/// Place of a file among the parts of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SplitInfo {
    /// From 0.
    pub(crate) number: u64,
    /// At least 2.
    pub(crate) count: u64,
    /// Tensors in all parts, when the file says.
    pub(crate) tensors: Option<u64>,
}

impl SplitInfo {
    /// The file's place, `None` for a model in one file.
    pub(crate) fn of(header: &Header) -> Result<Option<Self>, SplitFault> {
        let metadata = &header.metadata;
        let count = metadata.u64("split.count")?.unwrap_or(1);
        if count <= 1 {
            return Ok(None);
        }
        let number = metadata.u64("split.no")?.ok_or(SplitFault::Field {
            key: "split.no",
            found: "nothing".to_owned(),
            expected: 0,
        })?;
        if number >= count || count > u16::MAX.into() {
            return Err(SplitFault::Number { number, count });
        }
        let tensors = metadata.u64("split.tensors.count")?;
        Ok(Some(Self {
            number,
            count,
            tensors,
        }))
    }

    /// Paths of all parts in order, given the path of this one, which must be the first.
    pub(crate) fn part_paths(self, path: &Path) -> Result<Vec<PathBuf>, SplitFault> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let suffix = suffix(self.number, self.count);
        let Some(stem) = name.strip_suffix(&suffix) else {
            return Err(SplitFault::Name {
                count: self.count,
                found: name.into_owned(),
                expected: suffix,
            });
        };
        let part =
            |number| path.with_file_name(format!("{stem}{}", self::suffix(number, self.count)));
        if self.number != 0 {
            return Err(SplitFault::NotFirst {
                found: self.number + 1,
                count: self.count,
                first: part(0),
            });
        }
        Ok((0..self.count).map(part).collect())
    }
}

/// Names the parts that are not there.
pub(crate) fn refuse_missing(parts: &[PathBuf]) -> Result<(), SplitFault> {
    let absent = |(_, path): &(usize, &PathBuf)| !path.exists();
    let mut missing = parts.iter().enumerate().filter(absent).peekable();
    let Some(&(first, _)) = missing.peek() else {
        return Ok(());
    };
    Err(SplitFault::MissingParts {
        count: parts.len() as u64,
        number: first as u64 + 1,
        missing: missing.map(|(_, path)| path.clone()).collect(),
    })
}

/// Checks that a header is the part it should be.
pub(crate) fn check_part(header: &Header, number: u64, count: u64) -> Result<(), SplitFault> {
    for (key, expected) in [("split.no", number), ("split.count", count)] {
        let found = header.metadata.u64(key)?;
        if found != Some(expected) {
            return Err(SplitFault::Field {
                key,
                found: found.map_or("nothing".to_owned(), |n| n.to_string()),
                expected,
            });
        }
    }
    Ok(())
}

/// End of a part's file name; `number` counts from 0, names count from 1.
fn suffix(number: u64, count: u64) -> String {
    format!("-{:05}-of-{count:05}.gguf", number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(number: u64) -> SplitInfo {
        SplitInfo {
            number,
            count: 3,
            tensors: None,
        }
    }

    #[test]
    fn parts_are_named_after_the_first() {
        let parts = info(0)
            .part_paths(Path::new("dir/m-00001-of-00003.gguf"))
            .unwrap();
        assert_eq!(parts[2], Path::new("dir/m-00003-of-00003.gguf"));
        assert_eq!(parts.len(), 3);
    }

    #[test]
    fn t6_03_a_later_part_names_the_first() {
        let said = info(1)
            .part_paths(Path::new("dir/m-00002-of-00003.gguf"))
            .unwrap_err();
        assert!(said.to_string().contains("part 2 of 3"), "{said}");
        assert!(
            said.to_string().ends_with("give dir/m-00001-of-00003.gguf"),
            "{said}"
        );
    }

    #[test]
    fn a_renamed_part_is_told_its_name() {
        let said = info(0).part_paths(Path::new("dir/model.gguf")).unwrap_err();
        assert!(said.to_string().contains("-00001-of-00003.gguf"), "{said}");
    }
}
