//! What is there of the data that `scripts/fetch-data` brings.

use std::path::{Path, PathBuf};

use bfcl::dataset::{Dataset, answer_file, data_file};
use bfcl::subset::Subset;
use serde::Serialize;

use crate::machine::Known;
use crate::machine::identity::identify;
use crate::plan::locked;

/// The replay data set's file name.
pub(super) const REPLAY: &str = "agentic_coding_2.5h.jsonl";

/// The data directory and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataFacts {
    /// The directory in which commands look by themselves.
    pub directory: Known<PathBuf>,
    /// The recorded conversations.
    pub replay: Item,
    /// The BFCL v4 files.
    pub bfcl: Item,
}

/// A part of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Whether it is there.
    pub state: Presence,
    /// What was found.
    pub detail: String,
}

/// Whether a part of the data is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// There, with the pinned sha256.
    Right,
    /// Not there, or not all of it.
    Absent,
    /// There, with other bytes.
    Wrong,
}

impl DataFacts {
    /// Looks into `root`, the data directory.
    #[must_use]
    pub fn of(root: Option<PathBuf>) -> Self {
        let Some(root) = root else {
            let nowhere = || Item::absent("no data directory".to_owned());
            return Self {
                directory: Known::unknown("none of EDGE_AGENTIC_DATA, XDG_DATA_HOME, HOME is set"),
                replay: nowhere(),
                bfcl: nowhere(),
            };
        };
        Self {
            replay: replay(&root.join(REPLAY)),
            bfcl: bfcl(&root.join("bfcl")),
            directory: Known::new(root),
        }
    }
}

impl Item {
    fn absent(detail: String) -> Self {
        Self {
            state: Presence::Absent,
            detail,
        }
    }

    fn right(detail: String) -> Self {
        Self {
            state: Presence::Right,
            detail,
        }
    }

    fn wrong(detail: String) -> Self {
        Self {
            state: Presence::Wrong,
            detail,
        }
    }
}

fn replay(path: &Path) -> Item {
    if !path.exists() {
        return Item::absent(format!("{} is not there", path.display()));
    }
    match identify(&[path.to_owned()], &mut |_, _| {}).as_deref() {
        Ok([file]) if file.sha256 == locked::DATASET_SHA256 => {
            Item::right(path.display().to_string())
        }
        Ok(files) => {
            let found = files.first().map_or("nothing", |f| f.sha256.as_str());
            Item::wrong(format!(
                "{}: found sha256 {found}, expected {}",
                path.display(),
                locked::DATASET_SHA256
            ))
        }
        Err(e) => Item::wrong(e.to_string()),
    }
}

fn bfcl(dir: &Path) -> Item {
    let answers = |subset: &Subset| subset.has_answers().then(|| answer_file(*subset));
    let files: Vec<String> = (Subset::ALL.iter().map(|subset| data_file(*subset)))
        .chain(Subset::ALL.iter().filter_map(answers))
        .collect();
    let there = files.iter().filter(|file| dir.join(file).is_file()).count();
    if there < files.len() {
        let all = files.len();
        return Item::absent(format!("{there} of {all} files in {}", dir.display()));
    }
    match Dataset::open(dir) {
        Ok(_) => Item::right(format!("{there} files in {}", dir.display())),
        Err(e) => Item::wrong(e.to_string()),
    }
}
