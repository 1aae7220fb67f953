//! Starting a run, and continuing an interrupted one: at the beginning of the conversation that it was in, since the
//! state within one cannot be rebuilt from rows, or at the sample that it was at.

use std::fs;

use bfcl::dataset::Sample;
use bfcl::sampling::Selection;
use serde_json::Value;

use super::{ResultsError, RunDir, SAMPLES, TURNS, derived, judged_anew};
use crate::machine::Machine;
use crate::output::write_json_atomic;
use crate::plan::{Leaf, Plan, differing_leaves};
use crate::record::{RecordLog, Row, SampleRecord, TurnRecord};

const NO_ROW: &str = "no further row";

/// A phase that has something to do.
pub struct Going<R> {
    /// Its rows, cut to what is kept.
    pub log: RecordLog<R>,
    /// What is kept.
    pub kept: Vec<R>,
    /// Index of the first conversation, or sample, to go on with.
    pub first: usize,
}

impl<R> Going<R> {
    fn anew(log: RecordLog<R>) -> Self {
        Self {
            log,
            kept: Vec::new(),
            first: 0,
        }
    }
}

/// A run that starts, or goes on.
pub struct Started {
    /// The performance phase; `None` where the plan has none, or it is complete.
    pub turns: Option<Going<TurnRecord>>,
    /// The accuracy phase; `None` where the plan has none, or it is complete.
    pub samples: Option<Going<SampleRecord>>,
    /// Number of this start: 0, or one more for each resumption.
    pub attempt: u32,
}

impl RunDir {
    /// Writes what is known before the first turn, a summary that says `"complete": false`, and opens the logs.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn begin(&self, plan: &Plan, machine: &Machine) -> Result<Started, ResultsError> {
        write_json_atomic(&self.file("plan.json"), plan)?;
        write_json_atomic(&self.file("machine.json"), machine)?;
        write_json_atomic(&self.file("summary.json"), &derived::initial(plan)?)?;
        let mut started = Started {
            turns: None,
            samples: None,
            attempt: 0,
        };
        if plan.dataset.is_some() {
            started.turns = Some(Going::anew(RecordLog::create(self.file(TURNS))?));
        }
        if plan.accuracy.is_some() {
            started.samples = Some(Going::anew(RecordLog::create(self.file(SAMPLES))?));
        }
        Ok(started)
    }

    /// Prepares to go on with the run in this directory, which must have been started with the same plan. `asked` are
    /// the plan's BFCL samples. A run that was killed before its first turn starts anew.
    ///
    /// # Errors
    /// Where the plan differs, the run is complete, or its rows are damaged.
    pub fn resume(
        &self,
        plan: &Plan,
        machine: &Machine,
        asked: Option<(&bfcl::dataset::Dataset, &Selection)>,
    ) -> Result<Started, ResultsError> {
        self.same_plan(plan)?;
        let exists = |name: &str| self.file(name).exists();
        if !exists(TURNS) && !exists(SAMPLES) {
            return self.begin(plan, machine);
        }
        let mut attempts = Vec::new();
        let mut turns = None;
        if plan.dataset.is_some() {
            let mut rows = self.rows()?.records;
            attempts.extend(rows.iter().map(|r| r.attempt));
            let (first, keep) = self.whole(plan, &rows)?;
            rows.truncate(keep);
            turns = (first < plan.conversations().len()).then_some((first, rows));
        }
        let mut samples = None;
        if let Some((data, selection)) = asked {
            let rows = match exists(SAMPLES) {
                true => self.samples()?.records,
                false => Vec::new(),
            };
            attempts.extend(rows.iter().map(|r| r.turn.attempt));
            self.in_order(&rows, selection.samples(data).map(Sample::id))?;
            judged_anew(&rows, data)?;
            let whole = rows.len() == selection.indexes().len();
            samples = (!whole).then_some((rows.len(), rows));
        }
        if turns.is_none() && samples.is_none() {
            return Err(ResultsError::Complete {
                path: self.path.clone(),
            });
        }
        let attempt = self.next_attempt(attempts.into_iter().max().unwrap_or(0));
        write_json_atomic(&self.file(&format!("machine-{attempt}.json")), machine)?;
        Ok(Started {
            turns: turns.map(|t| self.reopen(TURNS, t)).transpose()?,
            samples: samples.map(|s| self.reopen(SAMPLES, s)).transpose()?,
            attempt,
        })
    }

    /// Refuses a directory whose run was started with another plan, or that holds no run.
    ///
    /// # Errors
    /// As said.
    pub fn same_plan(&self, plan: &Plan) -> Result<(), ResultsError> {
        let path = self.file("plan.json");
        if path.exists() {
            let differences = differences(&self.plan()?, plan);
            if !differences.is_empty() {
                return Err(ResultsError::OtherPlan {
                    path,
                    differences: differences.join("; "),
                });
            }
        } else if let Some(found) = self.foreign_file()? {
            return Err(ResultsError::NotARun {
                path: self.path.clone(),
                found,
            });
        }
        Ok(())
    }

    /// The phase with the rows that are kept; a run killed at its very start may lack the file.
    fn reopen<R: Row>(
        &self,
        name: &str,
        (first, kept): (usize, Vec<R>),
    ) -> Result<Going<R>, ResultsError> {
        let path = self.file(name);
        let log = match path.exists() {
            true => RecordLog::resume(path, kept.len())?,
            false => RecordLog::create(path)?,
        };
        Ok(Going { log, kept, first })
    }

    /// A file that a run killed at its very start does not leave: its unfinished ones have hidden names.
    fn foreign_file(&self) -> Result<Option<String>, ResultsError> {
        let failed = |e: std::io::Error| ResultsError::File {
            path: self.path.clone(),
            cause: e.to_string(),
        };
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let name = entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if !(name.starts_with('.') && name.ends_with(".partial")) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The number of this start: above that of every row, and of every start that was killed before its first row.
    fn next_attempt(&self, of_rows: u32) -> u32 {
        let taken = |attempt: &u32| self.file(&format!("machine-{attempt}.json")).exists();
        (of_rows + 1..)
            .find(|attempt| !taken(attempt))
            .unwrap_or(u32::MAX)
    }

    /// How many conversations of the plan are whole in `rows`, and how many rows they have.
    pub(super) fn whole(
        &self,
        plan: &Plan,
        rows: &[TurnRecord],
    ) -> Result<(usize, usize), ResultsError> {
        // Client rows are the odd ones of a conversation.
        let planned = plan.conversations().iter().enumerate();
        let mut expected = planned
            .clone()
            .flat_map(|(i, c)| (0..c.selected).map(move |k| (i, &c.id, 2 * k + 1)));
        for (line, row) in rows.iter().enumerate() {
            let next = expected.next();
            if next.is_none_or(|(_, id, turn)| (id, turn) != (&row.conversation_id, row.turn)) {
                return Err(ResultsError::Order {
                    path: self.file(TURNS),
                    line: line + 1,
                    found: row.about(),
                    expected: next.map_or_else(
                        || NO_ROW.to_owned(),
                        |(_, id, turn)| format!("{id:?} turn {turn}"),
                    ),
                });
            }
        }
        let Some((first, _, turn)) = expected.next() else {
            return Ok((plan.conversations().len(), rows.len()));
        };
        // Rows of the conversation that the run was in.
        let begun = (turn as usize - 1) / 2;
        Ok((first, rows.len() - begun))
    }

    /// Refuses rows that are not those of `ids`, from the first.
    pub(super) fn in_order<'i>(
        &self,
        rows: &[SampleRecord],
        mut ids: impl Iterator<Item = &'i str>,
    ) -> Result<(), ResultsError> {
        for (index, row) in rows.iter().enumerate() {
            let next = ids.next();
            if next != Some(row.id.as_str()) {
                return Err(ResultsError::Order {
                    path: self.file(SAMPLES),
                    line: index + 1,
                    found: row.about(),
                    expected: next.map_or_else(|| NO_ROW.to_owned(), |id| format!("sample {id:?}")),
                });
            }
        }
        Ok(())
    }
}

/// What differs between two plans, leaf by leaf.
fn differences(old: &Plan, new: &Plan) -> Vec<String> {
    let json = |p: &Plan| serde_json::to_value(p).unwrap_or(Value::Null);
    differing_leaves(&json(old), &json(new))
        .into_iter()
        .map(|Leaf { path, values }| format!("{path}: found {}, expected {}", values[1], values[0]))
        .collect()
}
