//! The conversations that a command works on.

use std::path::Path;

use crate::cli::DatasetArgs;
use crate::conversation::{self, Dataset, SAMPLE, SAMPLE_NAME};
use crate::exit::{Classify, Failure};

/// Loads the data set that the arguments name, or the embedded sample.
pub fn load(args: &DatasetArgs) -> Result<Dataset, Failure> {
    args.dataset.as_deref().map_or_else(sample, file)
}

/// Loads a file.
pub fn file(path: &Path) -> Result<Dataset, Failure> {
    conversation::load(path).bad_input()
}

/// The embedded sample.
pub fn sample() -> Result<Dataset, Failure> {
    conversation::parse(SAMPLE, SAMPLE_NAME).run_failed()
}
