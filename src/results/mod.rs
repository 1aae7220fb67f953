//! A run's directory: what is written when, and how everything in it follows from its records.
//!
//! `plan.json` and `machine.json` are written before the first turn, `turns.jsonl` grows by a row per turn, and every
//! other file is [`derive`]d from those and the data set: by `run` when it ends, by `report` at any time, byte for
//! byte the same.

mod resume;

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::machine::Machine;
use crate::metrics::{AccountingError, Deviation, RunFacts, Summary};
use crate::output::{OutDirError, WriteError, create_out_dir, probe_writable, write_json_atomic};
use crate::plan::Plan;
use crate::record::{LogError, ReadBack, ReadError, RecordLog, TurnRecord, read_records};

/// What can be wrong with a run's directory.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// It cannot be used for a new run.
    #[error(transparent)]
    Directory(#[from] OutDirError),
    /// A file of it cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Its rows cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Its rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its rows and its plan contradict each other.
    #[error("{}: {source}", path.display())]
    Accounting {
        /// The rows' file.
        path: PathBuf,
        /// How.
        source: AccountingError,
    },
    /// The run to resume had other settings, another model or another data set.
    #[error(
        "{}: this run was started otherwise ({differences}); give what it was started with, or start a new one with \
         --out", path.display()
    )]
    OtherPlan {
        /// The plan's file.
        path: PathBuf,
        /// What differs.
        differences: String,
    },
    /// There is nothing to resume.
    #[error("{}: every selected turn has its row; there is nothing to resume", path.display())]
    Complete {
        /// The rows' file.
        path: PathBuf,
    },
    /// A file of it is missing or is not what this program writes.
    #[error("{}: {cause}; expected a file that `edge-agentic run` wrote", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
}

pub use resume::Resumed;

/// A run's directory.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes, or takes over, an empty directory.
    ///
    /// # Errors
    /// Where it holds something or cannot be written.
    pub fn create(path: &Path) -> Result<Self, ResultsError> {
        create_out_dir(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// The directory of an earlier run.
    ///
    /// # Errors
    /// Where files cannot be created in it.
    pub fn existing(path: &Path) -> Result<Self, ResultsError> {
        probe_writable(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// A file of it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes what is known before the first turn, a summary that says `"complete": false`, and opens the log.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn begin(&self, plan: &Plan, machine: &Machine) -> Result<RecordLog, ResultsError> {
        write_json_atomic(&self.file("plan.json"), plan)?;
        write_json_atomic(&self.file("machine.json"), machine)?;
        self.write_summary(&self.summary(plan, &[])?)?;
        Ok(RecordLog::create(self.file("turns.jsonl"))?)
    }

    /// The plan of an earlier run.
    ///
    /// # Errors
    /// Where there is none.
    pub fn plan(&self) -> Result<Plan, ResultsError> {
        self.read("plan.json")
    }

    /// The machine of an earlier run.
    ///
    /// # Errors
    /// Where there is none.
    pub fn machine(&self) -> Result<Machine, ResultsError> {
        self.read("machine.json")
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, ResultsError> {
        let path = self.file(name);
        let bytes = fs::read(&path).map_err(|e| ResultsError::File {
            path: path.clone(),
            cause: e.to_string(),
        })?;
        serde_json::from_slice(&bytes).map_err(|e| ResultsError::File {
            path,
            cause: e.to_string(),
        })
    }

    /// All rows; a torn last line is left out and told apart.
    ///
    /// # Errors
    /// Where the file is missing or damaged in its middle.
    pub fn rows(&self) -> Result<ReadBack, ResultsError> {
        Ok(read_records(&self.file("turns.jsonl"))?)
    }

    /// Writes every derived file from what is on disk, so that a report never says more than the records do.
    ///
    /// # Errors
    /// Where the rows contradict the plan or a file cannot be written.
    pub fn derive(&self, plan: &Plan) -> Result<Summary, ResultsError> {
        let summary = self.summary(plan, &self.rows()?.records)?;
        self.write_summary(&summary)?;
        Ok(summary)
    }

    fn summary(&self, plan: &Plan, records: &[TurnRecord]) -> Result<Summary, ResultsError> {
        Summary::compute(records, &facts(plan, records)).map_err(|source| ResultsError::Accounting {
            path: self.file("turns.jsonl"),
            source,
        })
    }

    fn write_summary(&self, summary: &Summary) -> Result<(), ResultsError> {
        Ok(write_json_atomic(&self.file("summary.json"), summary)?)
    }
}

/// What the summary needs besides the rows: all of it follows from the plan and the rows.
fn facts(plan: &Plan, records: &[TurnRecord]) -> RunFacts {
    let mut deviations = plan.deviations.clone();
    let continued_at: Vec<usize> = (1..records.len())
        .filter(|&i| records[i].attempt != records[i - 1].attempt)
        .collect();
    let attempts = records.iter().map(|r| r.attempt).max().unwrap_or(0);
    if attempts > 0 {
        deviations.push(Deviation {
            name: "resumed".to_owned(),
            expected: 0.into(),
            actual: attempts.into(),
        });
    }
    let conversations = plan.selection();
    let selected: usize = conversations.iter().map(|c| c.selected as usize).sum();
    RunFacts {
        deviations,
        finished: records.len() == selected,
        context_tokens: plan.engine.context.ctx_size as usize,
        continued_at,
        conversations,
        ..RunFacts::default()
    }
}
