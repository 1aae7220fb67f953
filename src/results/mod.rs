//! A run's directory: what is written when, and how everything in it follows from its records.
//!
//! `plan.json` and `machine.json` are written before the first turn, `turns.jsonl` grows by a row per turn,
//! `samples.jsonl` by a row per BFCL sample and `conditions.jsonl` by a reading of the machine at the start, after each
//! conversation and at the end, and every other file is [`derive()`]d from those and the data: by `run` when it ends, by
//! `report` at any time, byte for byte the same.

mod checks;
mod derived;
mod lines;
mod other_settings;
mod recorded;
mod resume;

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::accuracy::judged;
use crate::endpoints::EndpointsError;
use crate::machine::{Device, MACHINE_SCHEMA, Machine, Moment};
use crate::metrics::AccountingError;
use crate::output::{
    OutDirError, RenderError, WriteError, create_out_dir, probe_writable, write_bytes_atomic,
};
use crate::plan::Plan;
use crate::record::{LogError, ReadBack, ReadError, SampleRecord, TurnRecord, read_records};

/// The rows of the performance phase.
const TURNS: &str = "turns.jsonl";
/// The rows of the accuracy phase.
const SAMPLES: &str = "samples.jsonl";

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
    #[error("turns.jsonl: {0}")]
    Accounting(AccountingError),
    /// Its rows and the data set contradict each other.
    #[error("turns.jsonl: {0}")]
    Endpoints(EndpointsError),
    /// The data set is not the one that was replayed.
    #[error(
        "the data set has sha256 {found}; expected {expected}, which this run replayed: give it with --dataset"
    )]
    OtherData {
        /// Of the data set given.
        found: String,
        /// Of the plan.
        expected: String,
    },
    /// The BFCL samples are not those that were asked.
    #[error(
        "samples.jsonl: the samples of --data have ids of sha256 {found}, expected {expected}; give the data of the plan"
    )]
    OtherSamples {
        /// Of the data given.
        found: String,
        /// Of the plan.
        expected: String,
    },
    /// A recorded verdict does not follow from the recorded output.
    #[error(
        "samples.jsonl, line {line}: sample {id:?}: {field}: found {}, expected {}, which follows from what \
         was measured; the file was edited or the checker has changed since: start a new run with --out", difference[0], difference[1]
    )]
    Verdict {
        /// The row's line, from 1.
        line: usize,
        /// The sample.
        id: String,
        /// What differs.
        field: String,
        /// Recorded and judged anew, as JSON.
        difference: Box<[String; 2]>,
    },
    /// Rows come from a run with other settings.
    #[error(
        "{}{line}: {what}: these rows come from a run with other settings; a result needs both phases from one run",
        path.display()
    )]
    OtherSettings {
        /// The rows' file.
        path: PathBuf,
        /// Which line, where one shows it: `, line 7`.
        line: String,
        /// What was found and expected.
        what: String,
    },
    /// Data that a phase of the plan needs was not given.
    #[error("this run's plan has a phase on {what}: give it with {flag}")]
    DataMissing {
        /// The data.
        what: &'static str,
        /// The option.
        flag: &'static str,
    },
    /// A result has no textual form.
    #[error(transparent)]
    Render(RenderError),
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
    /// What is to be resumed is no run of this program.
    #[error("{}: not a run's directory (found {found:?} and no plan.json); start a run with --out", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
        /// One of the names in it.
        found: String,
    },
    /// The rows are not those of the plan, in its order.
    #[error("{}, line {line}: found {found}, expected {expected}", path.display())]
    Order {
        /// The rows' file.
        path: PathBuf,
        /// The row's line, from 1.
        line: usize,
        /// What the row is about.
        found: String,
        /// What the plan has there.
        expected: String,
    },
    /// There is nothing to resume.
    #[error("{}: every selected turn and sample has its row; there is nothing to resume. \
         `edge-agentic report` writes what follows from them", path.display())]
    Complete {
        /// The run's directory.
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

pub use checks::SelfCheckRow;
pub use derived::{Derived, Rows, Sources, Verdict, derive};
pub use lines::Lines;
pub use recorded::Recorded;
pub use resume::{Going, Started};

/// The file of a run's readings of the machine.
pub const CONDITIONS: &str = "conditions.jsonl";

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
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// The directory of an earlier run.
    ///
    /// # Errors
    /// Where files cannot be created in it.
    pub fn existing(path: &Path) -> Result<Self, ResultsError> {
        let dir = Self::to_read(path)?;
        probe_writable(path)?;
        Ok(dir)
    }

    /// The directory of an earlier run, to read only.
    ///
    /// # Errors
    /// Where there is none.
    pub fn to_read(path: &Path) -> Result<Self, ResultsError> {
        match path.is_dir() {
            true => Ok(Self {
                path: path.to_owned(),
            }),
            false => Err(ResultsError::File {
                path: path.to_owned(),
                cause: "no such directory".to_owned(),
            }),
        }
    }

    /// A file of it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The plan of an earlier run.
    ///
    /// # Errors
    /// Where there is none.
    pub fn plan(&self) -> Result<Plan, ResultsError> {
        let plan: Plan = self.read("plan.json")?;
        match plan.contradiction() {
            Some(cause) => Err(ResultsError::File {
                path: self.file("plan.json"),
                cause,
            }),
            None => Ok(plan),
        }
    }

    /// The machine of an earlier run.
    ///
    /// # Errors
    /// Where there is none that this version can read.
    pub fn machine(&self) -> Result<Machine, ResultsError> {
        let machine: Machine = self.read("machine.json")?;
        match machine.schema {
            MACHINE_SCHEMA => Ok(machine),
            found => Err(ResultsError::File {
                path: self.file("machine.json"),
                cause: format!("found schema {found}, expected {MACHINE_SCHEMA}"),
            }),
        }
    }

    fn devices(&self) -> Result<Vec<Device>, ResultsError> {
        match self.file("machine.json").exists() {
            true => Ok(self.machine()?.devices),
            false => Ok(Vec::new()),
        }
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
    pub fn rows(&self) -> Result<ReadBack<TurnRecord>, ResultsError> {
        let mut back = read_records(&self.file(TURNS))?;
        let path = self.file("self-checks.jsonl");
        let text = text_or_nothing(&path)?;
        checks::attach(&text, &mut back.records)
            .map_err(|cause| ResultsError::File { path, cause })?;
        Ok(back)
    }

    /// All rows of BFCL samples; a torn last line is left out and told apart.
    ///
    /// # Errors
    /// Where the file is missing or damaged in its middle.
    pub fn samples(&self) -> Result<ReadBack<SampleRecord>, ResultsError> {
        Ok(read_records(&self.file(SAMPLES))?)
    }

    /// The readings of the machine; none where the run took none.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub fn moments(&self) -> Result<Vec<Moment>, ResultsError> {
        let path = self.file(CONDITIONS);
        let text = text_or_nothing(&path)?;
        lines::read(&text).map_err(|cause| ResultsError::File { path, cause })
    }

    /// Writes every derived file from what is on disk, so that a report never says more than the records do.
    ///
    /// # Errors
    /// Where rows, plan and data contradict each other or a file cannot be written.
    pub fn derive(&self, plan: &Plan, sources: &Sources<'_>) -> Result<Derived, ResultsError> {
        let rows = self.checked_rows(plan, sources)?;
        let derived = derive(plan, &rows, sources)?;
        for (name, bytes) in &derived.files {
            let path = self.file(name);
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir).map_err(|e| ResultsError::File {
                    path: dir.to_owned(),
                    cause: e.to_string(),
                })?;
            }
            write_bytes_atomic(&path, bytes)?;
        }
        Ok(derived)
    }

    /// The rows of the planned phases, in the plan's order, on the plan's data.
    fn checked_rows(&self, plan: &Plan, sources: &Sources<'_>) -> Result<Rows, ResultsError> {
        let mut rows = Rows {
            moments: self.moments()?,
            devices: self.devices()?,
            ..Rows::default()
        };
        if let Some(planned) = &plan.dataset {
            let data = sources.conversations()?;
            if data.sha256 != planned.sha256 {
                return Err(ResultsError::OtherData {
                    found: data.sha256.clone(),
                    expected: planned.sha256.clone(),
                });
            }
            rows.turns = self.rows()?.records;
            self.whole(plan, &rows.turns)?;
        }
        if let Some(planned) = &plan.accuracy {
            let data = sources.samples()?;
            let selection = planned.selection(data);
            let found = selection.ids_sha256(data);
            if found != planned.ids_sha256 {
                let expected = planned.ids_sha256.clone();
                return Err(ResultsError::OtherSamples { found, expected });
            }
            rows.samples = self.samples()?.records;
            let ids = selection.samples(data).map(bfcl::dataset::Sample::id);
            self.in_order(&rows.samples, ids)?;
            judged_anew(&rows.samples, data)?;
        }
        self.same_settings(plan, &rows)?;
        Ok(rows)
    }
}

/// Refuses rows that do not follow from what was measured.
fn judged_anew(rows: &[SampleRecord], data: &bfcl::dataset::Dataset) -> Result<(), ResultsError> {
    let json = |row: &SampleRecord| serde_json::to_value(row).unwrap_or_default();
    for (index, row) in rows.iter().enumerate() {
        let Some(sample) = data.sample(&row.id) else {
            continue;
        };
        let anew = judged(sample, row.turn.clone());
        if anew == *row {
            continue;
        }
        let (found, expected) = (json(row), json(&anew));
        let mut keys = expected.as_object().into_iter().flat_map(|o| o.keys());
        let field = keys.find(|key| found[*key] != expected[*key]).cloned();
        let field = field.unwrap_or_default();
        return Err(ResultsError::Verdict {
            line: index + 1,
            id: row.id.clone(),
            difference: Box::new([&found, &expected].map(|row| row[&field].to_string())),
            field,
        });
    }
    Ok(())
}

/// The text of a file that need not be there.
fn text_or_nothing(path: &Path) -> Result<String, ResultsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(ResultsError::File {
            path: path.to_owned(),
            cause: e.to_string(),
        }),
    }
}
