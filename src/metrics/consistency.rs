//! Checks that a row does not contradict itself.
//!
//! A figure that cannot be right (a TPOT of zero, a first token after the last)
//! means that the measurement is broken; such a run must not pass for valid.

use super::turn;
use crate::clock::Nanos;
use crate::record::{StopReason, TurnRecord, TurnState};

/// One contradiction within a row.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Inconsistency {
    /// A completed turn lacks a figure that it must have.
    #[error("{0} is missing from a completed turn")]
    Missing(&'static str),
    /// Tokens took no time, or less.
    #[error("TPOT is {0} ns, expected more than 0")]
    TpotNotPositive(f64),
    /// A part took longer than the whole turn.
    #[error("{part} is {ns} ns, expected at most the latency of {latency} ns")]
    LongerThanTurn {
        /// Which part.
        part: &'static str,
        /// How long it took.
        ns: Nanos,
        /// The turn's latency.
        latency: Nanos,
    },
    /// TTFT is not the first token's time.
    #[error("TTFT is {ttft} ns but the first token came at {first} ns")]
    FirstTokenTime {
        /// TTFT of the row.
        ttft: Nanos,
        /// The first entry of `token_ns`.
        first: Nanos,
    },
    /// A token is older than the one before it.
    #[error("token_ns[{0}] is earlier than the token before it")]
    TimeRunsBack(usize),
    /// Two counts of the same thing differ.
    #[error("{what} is {found}, expected output_tokens = {osl}")]
    OutputCount {
        /// Which count.
        what: &'static str,
        /// Its value.
        found: usize,
        /// `output_tokens`.
        osl: usize,
    },
    /// Prompt tokens do not add up.
    #[error("{reused} reused and {evaluated} evaluated tokens do not make a prompt of {prompt}")]
    PromptCount {
        /// `reused_tokens`.
        reused: usize,
        /// `evaluated_tokens`.
        evaluated: usize,
        /// `prompt_tokens`.
        prompt: usize,
    },
    /// More draft tokens kept than proposed.
    #[error("{accepted} draft tokens accepted of {drafted} proposed")]
    Drafts {
        /// `accepted_tokens`.
        accepted: usize,
        /// `drafted_tokens`.
        drafted: usize,
    },
    /// The drafts of the steps are not those of the turn.
    #[error(
        "step_drafted has {steps} steps and {sum} drafts, expected {expected_steps} and drafted_tokens = {drafted}"
    )]
    StepDrafts {
        /// Steps in `step_drafted`.
        steps: usize,
        /// Its sum.
        sum: usize,
        /// Steps in `step_tokens`.
        expected_steps: usize,
        /// `drafted_tokens`.
        drafted: usize,
    },
    /// A step emitted more than its drafts and a token of the model's own.
    #[error("step {step} emitted {emitted} tokens with {drafted} drafts")]
    StepTokens {
        /// Which step, from 0.
        step: usize,
        /// Tokens it emitted.
        emitted: usize,
        /// Tokens drafted for it.
        drafted: usize,
    },
    /// The stop reason belongs to another state.
    #[error("state {state} with stop_reason {reason}, expected {expected}")]
    Stop {
        /// The state.
        state: TurnState,
        /// The reason.
        reason: StopReason,
        /// The reason that belongs to the state.
        expected: StopReason,
    },
}

/// Everything in which `record` contradicts itself; empty when it is sound.
#[must_use]
pub fn inconsistencies(record: &TurnRecord) -> Vec<Inconsistency> {
    let mut found = Vec::new();
    times(record, &mut found);
    if record.accepted_tokens > record.drafted_tokens {
        found.push(Inconsistency::Drafts {
            accepted: record.accepted_tokens,
            drafted: record.drafted_tokens,
        });
    }
    step_drafts(record, &mut found);
    if record.state.is_completed() {
        missing(record, &mut found);
        output_counts(record, &mut found);
        prompt_counts(record, &mut found);
        stop(record, &mut found);
    }
    found
}

fn times(record: &TurnRecord, found: &mut Vec<Inconsistency>) {
    if let Some(tpot) = turn::tpot_ns(record).filter(|tpot| *tpot <= 0.0) {
        found.push(Inconsistency::TpotNotPositive(tpot));
    }
    if let Some(pair) = record.token_ns.windows(2).position(|p| p[1] < p[0]) {
        found.push(Inconsistency::TimeRunsBack(pair + 1));
    }
    if let (Some(ttft), Some(first)) = (turn::ttft_ns(record), record.token_ns.first().copied())
        && ttft != first
    {
        found.push(Inconsistency::FirstTokenTime { ttft, first });
    }
    let Some(latency) = record.latency_ns else {
        return;
    };
    let parts = [
        ("TTFT", turn::ttft_ns(record)),
        ("time to the last token", record.token_ns.last().copied()),
        ("driver time", record.driver_ns),
        ("the sum of phases", record.phases_ns.map(|p| p.total())),
    ];
    for (part, ns) in parts {
        if let Some(ns) = ns.filter(|ns| *ns > latency) {
            found.push(Inconsistency::LongerThanTurn { part, ns, latency });
        }
    }
}

fn step_drafts(record: &TurnRecord, found: &mut Vec<Inconsistency>) {
    if record.step_drafted.is_empty() {
        return;
    }
    let (steps, sum) = (record.step_drafted.len(), record.step_drafted.iter().sum());
    if (steps, sum) != (record.step_tokens.len(), record.drafted_tokens) {
        found.push(Inconsistency::StepDrafts {
            steps,
            sum,
            expected_steps: record.step_tokens.len(),
            drafted: record.drafted_tokens,
        });
    }
    let steps = record.step_tokens.iter().zip(&record.step_drafted);
    if let Some((step, (&emitted, &drafted))) = steps
        .enumerate()
        .find(|(_, (emitted, drafted))| **emitted > **drafted + 1)
    {
        found.push(Inconsistency::StepTokens {
            step,
            emitted,
            drafted,
        });
    }
}

fn missing(record: &TurnRecord, found: &mut Vec<Inconsistency>) {
    let some_output = record.output_tokens.is_some_and(|osl| osl > 0);
    let needed = [
        ("started_ns", record.started_ns.is_some()),
        ("latency_ns", record.latency_ns.is_some()),
        ("ttft_ns", record.ttft_ns.is_some() || !some_output),
        ("prompt_tokens", record.prompt_tokens.is_some()),
        ("output_tokens", record.output_tokens.is_some()),
        ("stop_reason", record.stop_reason.is_some()),
    ];
    found.extend(
        needed
            .into_iter()
            .filter(|(_, there)| !there)
            .map(|(name, _)| Inconsistency::Missing(name)),
    );
}

fn output_counts(record: &TurnRecord, found: &mut Vec<Inconsistency>) {
    let Some(osl) = record.output_tokens else {
        return;
    };
    let counts = [
        ("the length of output_ids", record.output_ids.len()),
        ("the length of token_ns", record.token_ns.len()),
        ("the sum of step_tokens", record.step_tokens.iter().sum()),
    ];
    for (what, count) in counts {
        if count != osl {
            found.push(Inconsistency::OutputCount {
                what,
                found: count,
                osl,
            });
        }
    }
}

fn prompt_counts(record: &TurnRecord, found: &mut Vec<Inconsistency>) {
    let (Some(prompt), Some(reused), Some(evaluated)) = (
        record.prompt_tokens,
        record.reused_tokens,
        record.evaluated_tokens,
    ) else {
        return;
    };
    // More may be evaluated than was missing (a few tokens twice), never less.
    if reused > prompt || reused.saturating_add(evaluated) < prompt {
        found.push(Inconsistency::PromptCount {
            reused,
            evaluated,
            prompt,
        });
    }
}

fn stop(record: &TurnRecord, found: &mut Vec<Inconsistency>) {
    let expected = match record.state {
        TurnState::Completed => StopReason::EndOfGeneration,
        TurnState::CompletedLength => StopReason::MaxNewTokens,
        TurnState::CompletedContext => StopReason::ContextFull,
        _ => return,
    };
    if let Some(reason) = record.stop_reason.filter(|reason| *reason != expected) {
        found.push(Inconsistency::Stop {
            state: record.state,
            reason,
            expected,
        });
    }
}
