//! Rows that cannot come from the plan beside them: a performance result and an accuracy result of other settings (a
//! run with drafts, the scores of one without) must not be put together in one directory.

use super::{ResultsError, Rows, RunDir, SAMPLES, TURNS};
use crate::plan::Plan;
use crate::record::TurnRecord;

/// Steps of a phase, after each turn's first, of which at least one has drafts where `--mtp` is on.
const ENOUGH: usize = 100;

impl RunDir {
    /// Refuses rows that show another `--mtp`, another limit or another context than the plan's.
    pub(super) fn same_settings(&self, plan: &Plan, rows: &Rows) -> Result<(), ResultsError> {
        let turns: Vec<&TurnRecord> = rows.turns.iter().collect();
        let samples: Vec<&TurnRecord> = rows.samples.iter().map(|s| &s.turn).collect();
        for (name, rows) in [(TURNS, turns), (SAMPLES, samples)] {
            let refused = |line: Option<usize>, what: String| ResultsError::OtherSettings {
                path: self.file(name),
                line: line.map_or_else(String::new, |line| format!(", line {line}")),
                what,
            };
            for (index, row) in rows.iter().enumerate() {
                if let Some(what) = beyond(plan, row) {
                    return Err(refused(Some(index + 1), what));
                }
            }
            if let Some(what) = without_drafts(plan, &rows) {
                return Err(refused(None, what));
            }
        }
        Ok(())
    }
}

/// What a row has that the plan does not allow.
fn beyond(plan: &Plan, row: &TurnRecord) -> Option<String> {
    let mtp = plan.engine.mtp;
    let steps = row.step_tokens.len().saturating_sub(1);
    let most = mtp.depth() as usize * steps;
    if row.drafted_tokens > most {
        return Some(format!(
            "{} drafted tokens in {steps} steps, expected at most {most} with --mtp {mtp}",
            row.drafted_tokens
        ));
    }
    let limit = plan.replay.max_new_tokens as usize;
    if let Some(found) = row.output_tokens.filter(|found| *found > limit) {
        return Some(format!(
            "{found} output tokens, expected at most {limit} (--max-new-tokens)"
        ));
    }
    let context = plan.engine.context.ctx_size as usize;
    let used = row.prompt_tokens.unwrap_or(0) + row.output_tokens.unwrap_or(0);
    (row.state.is_completed() && used > context).then(|| {
        format!("{used} tokens of prompt and reply, expected at most {context} (--ctx-size)")
    })
}

/// Drafts that a whole phase lacks although the plan has them.
fn without_drafts(plan: &Plan, rows: &[&TurnRecord]) -> Option<String> {
    let mtp = plan.engine.mtp;
    let steps: usize = rows
        .iter()
        .map(|row| row.step_tokens.len().saturating_sub(1))
        .sum();
    let drafted = rows.iter().any(|row| row.drafted_tokens > 0);
    (mtp.depth() > 0 && steps >= ENOUGH && !drafted)
        .then(|| format!("no drafted token in {steps} steps, expected some with --mtp {mtp}"))
}
