//! Continuing an interrupted run: at the beginning of the conversation that it was in, since the state within one
//! cannot be rebuilt from rows.

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
        }
        if !self.file("turns.jsonl").exists() {
            return Ok(Resumed {
                log: self.begin(plan, machine)?,
                conversation: 0,
                attempt: 0,
            });
        }
        let rows = self.rows()?.records;
        let (conversation, keep) = whole(plan, &rows);
        if conversation == plan.dataset.conversations.len() {
            return Err(ResultsError::Complete {
                path: self.file("turns.jsonl"),
            });
        }
        let attempt = rows.iter().map(|r| r.attempt).max().unwrap_or(0) + 1;
        write_json_atomic(&self.file(&format!("machine-{attempt}.json")), machine)?;
        Ok(Resumed {
            log: RecordLog::resume(self.file("turns.jsonl"), keep)?,
            conversation,
            attempt,
        })
    }
}

/// How many conversations of the plan are whole in `rows`, and how many rows they have.
fn whole(plan: &Plan, rows: &[TurnRecord]) -> (usize, usize) {
    let mut keep = 0;
    for (i, c) in plan.dataset.conversations.iter().enumerate() {
        let selected = c.selected as usize;
        let there = rows[keep..]
            .iter()
            .take_while(|r| r.conversation_id == c.id)
            .count();
        if there < selected {
            return (i, keep);
        }
        keep += selected;
    }
    (plan.dataset.conversations.len(), keep)
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
