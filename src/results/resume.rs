//! Continuing an interrupted run: at the beginning of the conversation that it was in, since the state within one
//! cannot be rebuilt from rows.

use std::fs;

use serde_json::Value;

use super::{ResultsError, RunDir};
use crate::machine::Machine;
use crate::output::write_json_atomic;
use crate::plan::Plan;
use crate::record::{RecordLog, TurnRecord};

/// Where a run goes on.
pub struct Resumed {
    /// The rows, cut to whole conversations.
    pub log: RecordLog,
    /// Index of the first conversation to replay.
    pub conversation: usize,
    /// Number of this start.
    pub attempt: u32,
}

impl RunDir {
    /// Prepares to go on with the run in this directory, which must have been started with the same plan. A run that
    /// was killed before its first turn starts anew.
    ///
    /// # Errors
    /// Where the plan differs, the run is complete, or its rows are damaged.
    pub fn resume(&self, plan: &Plan, machine: &Machine) -> Result<Resumed, ResultsError> {
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
        if !self.file("turns.jsonl").exists() {
            return Ok(Resumed {
                log: self.begin(plan, machine)?,
                conversation: 0,
                attempt: 0,
            });
        }
        let rows = self.rows()?.records;
        let (conversation, keep) = self.whole(plan, &rows)?;
        if conversation == plan.dataset.conversations.len() {
            return Err(ResultsError::Complete {
                path: self.file("turns.jsonl"),
            });
        }
        let attempt = self.next_attempt(&rows);
        write_json_atomic(&self.file(&format!("machine-{attempt}.json")), machine)?;
        Ok(Resumed {
            log: RecordLog::resume(self.file("turns.jsonl"), keep)?,
            conversation,
            attempt,
        })
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
    fn next_attempt(&self, rows: &[TurnRecord]) -> u32 {
        let of_rows = rows.iter().map(|r| r.attempt).max().unwrap_or(0);
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
        let planned = plan.dataset.conversations.iter().enumerate();
        let mut expected = planned
            .clone()
            .flat_map(|(i, c)| (0..c.selected).map(move |k| (i, &c.id, 2 * k + 1)));
        for (line, row) in rows.iter().enumerate() {
            let next = expected.next();
            if next.is_none_or(|(_, id, turn)| (id, turn) != (&row.conversation_id, row.turn)) {
                return Err(ResultsError::Order {
                    path: self.file("turns.jsonl"),
                    line: line + 1,
                    found_conversation: row.conversation_id.clone(),
                    found_turn: row.turn,
                    expected: next.map_or_else(
                        || "no further row".to_owned(),
                        |(_, id, turn)| format!("{id:?} turn {turn}"),
                    ),
                });
            }
        }
        let Some((first, _, turn)) = expected.next() else {
            return Ok((plan.dataset.conversations.len(), rows.len()));
        };
        // Rows of the conversation that the run was in.
        let begun = (turn as usize - 1) / 2;
        Ok((first, rows.len() - begun))
    }
}

/// What differs between two plans, leaf by leaf.
fn differences(old: &Plan, new: &Plan) -> Vec<String> {
    let json = |p: &Plan| serde_json::to_value(p).unwrap_or(Value::Null);
    let mut out = Vec::new();
    compare("", &json(old), &json(new), &mut out);
    out
}

fn compare(path: &str, old: &Value, new: &Value, out: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => {
            let added = b.keys().filter(|k| !a.contains_key(*k));
            for key in a.keys().chain(added) {
                let at = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let null = Value::Null;
                compare(
                    &at,
                    a.get(key).unwrap_or(&null),
                    b.get(key).unwrap_or(&null),
                    out,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{i}]"), x, y, out);
            }
        }
        _ if old != new => out.push(format!("{path}: found {new}, expected {old}")),
        _ => {}
    }
}
