//! Token totals of a run: prompts, rates, self-checks.

use serde::{Deserialize, Serialize};

use super::turn::per_second;
use crate::clock::Nanos;
use crate::record::TurnRecord;

/// Prompt tokens over the completed turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptTokens {
    /// Tokens of all prompts.
    pub total: usize,
    /// Of these, taken over from a snapshot.
    pub reused: usize,
    /// Of these, put through a decode call.
    pub evaluated: usize,
    /// The fewest that any cache could evaluate.
    pub ideal: usize,
}

impl PromptTokens {
    /// Adds up the given (completed) turns.
    pub(super) fn of(completed: &[&TurnRecord]) -> Self {
        let sum = |field: fn(&TurnRecord) -> Option<usize>| {
            completed.iter().filter_map(|r| field(r)).sum::<usize>()
        };
        Self {
            total: sum(|r| r.prompt_tokens),
            reused: sum(|r| r.reused_tokens),
            evaluated: sum(|r| r.evaluated_tokens),
            ideal: sum(|r| r.ideal_tokens),
        }
    }

    /// Evaluated ÷ ideal; 1 is perfect reuse. `None` without prompts.
    #[must_use]
    pub fn evaluated_to_ideal(&self) -> Option<f64> {
        (self.ideal > 0).then(|| self.evaluated as f64 / self.ideal as f64)
    }
}

/// Tokens per second over the completed turns; `None` when no time was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRates {
    /// Evaluated prompt tokens ÷ time in the prefill phase.
    pub prefill: Option<f64>,
    /// Tokens after each turn's first ÷ time after each turn's first.
    pub decode: Option<f64>,
    /// All generated tokens ÷ the run's duration.
    pub overall: Option<f64>,
}

impl TokenRates {
    /// Rates of the given (completed) turns in a run of `duration` ns.
    pub(super) fn of(completed: &[&TurnRecord], duration: Option<Nanos>) -> Self {
        let mut prefill = (0, 0);
        let mut decode = (0, 0);
        let mut generated = 0;
        for record in completed {
            if let (Some(tokens), Some(phases)) = (record.evaluated_tokens, record.phases_ns) {
                prefill = (prefill.0 + tokens, prefill.1 + phases.prefill);
            }
            if let [first, .., last] = record.token_ns.as_slice() {
                let after = record.token_ns.len() - 1;
                decode = (decode.0 + after, decode.1 + last.saturating_sub(*first));
            }
            generated += record.output_tokens.unwrap_or(0);
        }
        Self {
            prefill: per_second(prefill.0, prefill.1),
            decode: per_second(decode.0, decode.1),
            // Without a completed turn there is no rate, which is not a rate of zero.
            overall: duration
                .filter(|_| !completed.is_empty())
                .and_then(|ns| per_second(generated, ns)),
        }
    }
}

/// Outcomes of `--self-check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfCheckCounts {
    /// Turns repeated from an empty cache with the same cut list.
    pub checked: usize,
    /// Of these, generated the same tokens.
    pub equal: usize,
    /// Turns repeated without cuts (information only).
    pub unsplit_checked: usize,
    /// Of these, generated the same tokens.
    pub unsplit_equal: usize,
}

impl SelfCheckCounts {
    /// Counts over all rows.
    pub(super) fn of(records: &[TurnRecord]) -> Self {
        let mut counts = Self::default();
        for check in records.iter().filter_map(|r| r.self_check) {
            counts.checked += 1;
            counts.equal += usize::from(check.equal);
            counts.unsplit_checked += usize::from(check.unsplit_equal.is_some());
            counts.unsplit_equal += usize::from(check.unsplit_equal == Some(true));
        }
        counts
    }
}
