//! The conversations and BFCL samples that a command works on.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::cli::DatasetArgs;
use crate::conversation::{self, Dataset, SAMPLE, SAMPLE_NAME};
use crate::exit::{Classify, Failure};

/// Loads the data set that the arguments name, or the embedded sample.
pub fn load(args: &DatasetArgs) -> Result<Dataset, Failure> {
    match &args.dataset {
        Some(path) => file(path),
        None if args.sample => sample(),
        None => Err(anyhow!(
            "no conversations: give --dataset FILE, or --sample for a first look"
        ))
        .bad_input(),
    }
}

/// Loads a file.
pub fn file(path: &Path) -> Result<Dataset, Failure> {
    conversation::load(path).bad_input()
}

/// The embedded sample.
pub fn sample() -> Result<Dataset, Failure> {
    conversation::parse(SAMPLE, SAMPLE_NAME).run_failed()
}

/// The BFCL samples: of the directory given, else of where `scripts/fetch-data` puts them.
pub fn samples(dir: Option<&Path>) -> Result<bfcl::dataset::Dataset, Failure> {
    let dir: PathBuf = dir
        .map(Path::to_owned)
        .or_else(bfcl::dataset::default_dir)
        .ok_or_else(|| {
            anyhow!("no directory of BFCL files: give --data DIR, or set EDGE_AGENTIC_DATA")
        })
        .bad_input()?;
    bfcl::dataset::Dataset::open(&dir).bad_input()
}
