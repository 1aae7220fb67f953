//! The conversations that a command works on.

use crate::cli::DatasetArgs;
use crate::conversation::{self, Dataset, SAMPLE, SAMPLE_NAME};
use crate::exit::{Classify, Failure};

/// Loads the data set that the arguments name, or the embedded sample.
pub fn load(args: &DatasetArgs) -> Result<Dataset, Failure> {
    match &args.dataset {
        Some(path) => conversation::load(path).bad_input(),
        None => conversation::parse(SAMPLE, SAMPLE_NAME).bad_input(),
    }
}
