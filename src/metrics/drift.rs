//! Whether a machine became slower within a run: heat, power limits, memory that is swapped out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::Known;
use crate::record::TurnRecord;

/// Slowdown between the first and the last third above which a run is said to have drifted, as a fraction.
pub(super) const SLOWDOWN: f64 = 0.07;

/// Width of a class of context lengths, tokens: within it, speeds are alike.
const CONTEXT_CLASS: usize = 4096;

/// Turns that must be comparable in each third. Medians of fewer say more about the turns than about the machine.
const ENOUGH: usize = 8;

/// Speed in the last third of a run's completed turns against the first third, at like context length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Prompt tokens evaluated per second of prefill, compared among turns that evaluate about as many.
    pub prefill: Known<SpeedChange>,
    /// Sampling steps per second after the first token: tokens per second without drafts, and with drafts independent
    /// of how many are accepted.
    pub decode: Known<SpeedChange>,
}

/// A speed in the first and in the last third.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedChange {
    /// In the first third, 1/s.
    pub first_per_second: f64,
    /// In the last third, 1/s.
    pub last_per_second: f64,
    /// Last ÷ first; below 1 the machine became slower.
    pub ratio: f64,
    /// Turns of each third that were compared.
    pub turns: usize,
}

/// A turn's class of like turns, and its speed.
type Speed<C> = (C, f64);

impl Drift {
    /// Compares the thirds of the completed turns, in the order in which they ran.
    pub(super) fn of(completed: &[&TurnRecord]) -> Self {
        Self {
            prefill: change(completed, prefill_speed),
            decode: change(completed, decode_speed),
        }
    }

    /// Slowdowns above [`SLOWDOWN`], in words.
    pub(super) fn notice(&self) -> Option<String> {
        let named = [("prefill", &self.prefill), ("decode", &self.decode)];
        let slow: Vec<String> = named
            .into_iter()
            .filter_map(|(name, change)| Some((name, change.get()?)))
            .filter(|(_, change)| change.ratio < 1.0 - SLOWDOWN)
            .map(|(name, change)| {
                format!(
                    "{name} {:.1} → {:.1} per second ({:.1} % slower, {} turns each)",
                    change.first_per_second,
                    change.last_per_second,
                    (1.0 - change.ratio) * 100.0,
                    change.turns
                )
            })
            .collect();
        (!slow.is_empty()).then(|| {
            format!(
                "the machine became slower, from the first to the last third of the run at like context length: {}; \
                 more than {:.0} % is drift. See temperatures, clocks and power mode in conditions.jsonl; cool it, plug \
                 it in, or set a power mode that it can hold",
                slow.join(", "),
                SLOWDOWN * 100.0
            )
        })
    }
}

/// Evaluated prompt tokens per second; like turns have about as long a context and evaluate about as many tokens
/// (within a factor of two), since short batches are slower per token.
fn prefill_speed(record: &TurnRecord) -> Option<Speed<(usize, u32)>> {
    let (prompt, evaluated) = (record.prompt_tokens?, record.evaluated_tokens?);
    let ns = record.phases_ns?.prefill;
    let class = (prompt / CONTEXT_CLASS, evaluated.checked_ilog2()?);
    (ns > 0).then(|| (class, evaluated as f64 * 1e9 / ns as f64))
}

/// Sampling steps per second after the first.
fn decode_speed(record: &TurnRecord) -> Option<Speed<usize>> {
    let steps = record.step_tokens.len().checked_sub(1).filter(|n| *n > 0)?;
    let ns = record
        .token_ns
        .last()?
        .checked_sub(*record.token_ns.first()?)?;
    let class = record.prompt_tokens? / CONTEXT_CLASS;
    (ns > 0).then(|| (class, steps as f64 * 1e9 / ns as f64))
}

/// Medians per class in both thirds, averaged with the number of turns that can be compared as weight.
fn change<C: Ord>(
    completed: &[&TurnRecord],
    speed: impl Fn(&TurnRecord) -> Option<Speed<C>>,
) -> Known<SpeedChange> {
    let third = completed.len() / 3;
    let classes = |turns: &[&TurnRecord]| {
        let mut classes: BTreeMap<C, Vec<f64>> = BTreeMap::new();
        for (class, speed) in turns.iter().filter_map(|record| speed(record)) {
            classes.entry(class).or_default().push(speed);
        }
        classes
    };
    let first = classes(&completed[..third]);
    let mut last = classes(&completed[completed.len() - third..]);
    let mut sums = (0.0, 0.0, 0.0);
    let mut turns = 0;
    for (class, mut before) in first {
        let Some(mut after) = last.remove(&class) else {
            continue;
        };
        let pairs = before.len().min(after.len());
        let (before, after) = (median(&mut before), median(&mut after));
        let weight = pairs as f64;
        sums.0 += weight * before;
        sums.1 += weight * after;
        sums.2 += weight * (after / before).ln();
        turns += pairs;
    }
    if turns < ENOUGH {
        return Known::unknown(format!(
            "{turns} turns of the first third can be compared with the last third at like length, expected at least \
             {ENOUGH}"
        ));
    }
    let n = turns as f64;
    Known::new(SpeedChange {
        first_per_second: sums.0 / n,
        last_per_second: sums.1 / n,
        ratio: (sums.2 / n).exp(),
        turns,
    })
}

/// The median, by the rule of all series: the lower of two middle values. Of at least one value.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}
