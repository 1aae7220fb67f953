//! Rows that cannot come from the plan beside them: a performance result and an accuracy result of other settings (a
//! run with drafts, the scores of one without) must not be put together in one directory.

use super::{ResultsError, Rows, RunDir, SAMPLES, TURNS};
use crate::engine::speculation::Mtp;
use crate::plan::Plan;
use crate::record::TurnRecord;

/// Steps of a phase that had room for a draft, of which at least one has one under `--mtp N`.
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
            let context = plan.engine.context.ctx_size as usize;
            if let Some(what) = without_drafts(plan.engine.mtp, context, &rows) {
                return Err(refused(None, what));
            }
        }
        Ok(())
    }
}

/// What a row has that the plan does not allow.
fn beyond(plan: &Plan, row: &TurnRecord) -> Option<String> {
    let mtp = plan.engine.mtp;
    let depth = mtp.depth() as usize;
    let steps = row.step_tokens.len().saturating_sub(1);
    let most = depth * steps;
    if row.drafted_tokens > most {
        return Some(format!(
            "{} drafted tokens in {steps} steps, expected at most {most} with --mtp {mtp}",
            row.drafted_tokens
        ));
    }
    let beyond = row.step_drafted.iter().position(|drafted| *drafted > depth);
    if let Some(step) = beyond {
        return Some(format!(
            "step {step} has {} drafted tokens, expected at most {depth} with --mtp {mtp}",
            row.step_drafted[step]
        ));
    }
    let limit = plan.replay.max_new_tokens as usize;
    if let Some(found) = row.output_tokens.filter(|found| *found > limit) {
        return Some(format!(
            "{found} output tokens, expected at most {limit} (--max-new-tokens)"
        ));
    }
    let context = plan.engine.context.ctx_size as usize;
    let used = length(row);
    (row.state.is_completed() && used > context).then(|| {
        format!("{used} tokens of prompt and reply, expected at most {context} (--ctx-size)")
    })
}

/// Tokens of prompt and reply; a damaged row may have any number of them.
fn length(row: &TurnRecord) -> usize {
    let [prompt, output] = [row.prompt_tokens, row.output_tokens].map(Option::unwrap_or_default);
    prompt.saturating_add(output)
}

/// Drafts that a whole phase lacks although the plan has them. `auto` may draft nothing at all: it leaves out what the
/// block itself is not sure of.
fn without_drafts(mtp: Mtp, context: usize, rows: &[&TurnRecord]) -> Option<String> {
    let Mtp::Depth(depth) = mtp else {
        return None;
    };
    // A turn's first step comes with the prompt, and its last may have room for one token only; so may those at the
    // context's end.
    let steps: usize = rows
        .iter()
        .filter(|row| length(row).saturating_add(depth as usize) <= context)
        .map(|row| row.step_tokens.len().saturating_sub(2))
        .sum();
    let drafted = rows.iter().any(|row| row.drafted_tokens > 0);
    (steps >= ENOUGH && !drafted)
        .then(|| format!("no drafted token in {steps} steps, expected some with --mtp {mtp}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TurnState;

    /// Turns of `steps` steps without a draft, each step of one token, after a prompt of 1,000.
    fn plain(turns: usize, steps: usize) -> Vec<TurnRecord> {
        let mut row = TurnRecord::new("a".to_owned(), 1, TurnState::CompletedLength);
        row.prompt_tokens = Some(1000);
        row.output_tokens = Some(steps);
        row.step_tokens = vec![1; steps];
        vec![row; turns]
    }

    fn found(mtp: Mtp, context: usize, rows: &[TurnRecord]) -> Option<String> {
        without_drafts(mtp, context, &rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn t3_01_steps_without_room_for_a_draft_show_nothing() {
        let two = Mtp::Depth(2);
        let said = found(two, 4096, &plain(10, 12)).expect("100 steps lack drafts");
        assert!(said.contains("in 100 steps"), "{said}");
        // --max-new-tokens 2: the second token is the last, and nothing can be drafted for its step.
        assert_eq!(found(two, 4096, &plain(660, 2)), None);
        // Every reply ends at the context's end, before which there is no room for a draft of this depth.
        assert_eq!(found(two, 1012, &plain(100, 12)), None);
        // A block that is never sure of its first draft.
        assert_eq!(found(Mtp::Auto, 4096, &plain(10, 1000)), None);
        assert_eq!(found(Mtp::Off, 4096, &plain(10, 1000)), None);
    }

    #[test]
    fn lengths_beyond_any_context_do_not_wrap_around() {
        let mut rows = plain(1, 12);
        rows[0].prompt_tokens = Some(usize::MAX);
        assert_eq!(length(&rows[0]), usize::MAX);
    }
}
