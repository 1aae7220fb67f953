//! The outputs of a model: what was issued, and the text that came back.
//!
//! The text of a sample is what the reference scores: the structured tool calls as JSON if there are
//! any, else reasoning and content with nothing between.

mod config;
mod error;
mod jsonl;
mod report_dir;

pub use error::OutputsError;

use std::path::Path;

use crate::dataset::Dataset;
use crate::sampling::Selection;

/// An issued sample and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The sample's place in [`Dataset::samples`].
    pub sample: usize,
    /// The text to score; `None` where no output came back.
    pub output: Option<String>,
}

/// The outputs of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outputs {
    issues: Vec<Issue>,
    duplicates: usize,
    unknown: usize,
}

impl Outputs {
    /// Outputs that are at hand already. A sample may be issued more than once.
    pub fn new(issues: Vec<Issue>) -> Outputs {
        Outputs {
            issues,
            duplicates: 0,
            unknown: 0,
        }
    }

    /// Reads outputs from a file of JSON lines, where the samples of `selection` count as issued,
    /// or from a report directory of the reference, which says itself what was issued.
    ///
    /// # Errors
    /// What cannot be read, with file, line and problem.
    pub fn read(
        path: &Path,
        dataset: &Dataset,
        selection: &Selection,
    ) -> Result<Outputs, OutputsError> {
        match path.is_dir() {
            true => report_dir::read(path, dataset),
            false => jsonl::read(path, dataset, selection),
        }
    }

    /// What was issued, in order.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Outputs beyond the first of their sample, which alone counts.
    pub fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// Outputs of samples that were not issued.
    pub fn unknown(&self) -> usize {
        self.unknown
    }
}
