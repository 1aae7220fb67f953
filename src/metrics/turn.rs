//! The metrics of one turn.
//!
//! All times of a row count from the moment the turn was handed to the engine.

use crate::clock::Nanos;
use crate::record::TurnRecord;

/// Time to first token, ns.
///
/// Start: the turn is handed to the engine. End: the first generated token has
/// been sampled. Includes rendering, tokenizing, snapshot restore and prefill.
/// `None` for a turn without output.
#[must_use]
pub fn ttft_ns(record: &TurnRecord) -> Option<Nanos> {
    match osl(record) {
        None | Some(0) => None,
        Some(_) => record.ttft_ns,
    }
}

/// Turn latency, ns.
///
/// Start: the turn is handed to the engine. End: the last token has been
/// sampled and the reply parsed. Includes all of TTFT, decoding and parsing.
#[must_use]
pub fn latency_ns(record: &TurnRecord) -> Option<Nanos> {
    record.latency_ns
}

/// Time per output token after the first, ns.
///
/// Start: the first token has been sampled. End: the last token has been
/// sampled. Divided by OSL − 1, the end token counted. `None` when OSL < 2, and
/// when one step emitted every token, because no interval was observed.
#[must_use]
pub fn tpot_ns(record: &TurnRecord) -> Option<f64> {
    if record.step_tokens.len() < 2 {
        return None;
    }
    per_token(
        *record.token_ns.first()?,
        *record.token_ns.last()?,
        osl(record)?.checked_sub(1)?,
    )
}

/// Input sequence length, tokens: the whole prompt as given to the model,
/// template, tools and history included.
#[must_use]
pub fn isl(record: &TurnRecord) -> Option<usize> {
    record.prompt_tokens
}

/// Output sequence length, tokens: everything generated, tags, arguments,
/// reasoning and the end token included.
#[must_use]
pub fn osl(record: &TurnRecord) -> Option<usize> {
    record.output_tokens
}

/// TTFT as the reference client would see it, ns: to the token that completes
/// the first content-bearing delta. For `endpoints/` only.
#[must_use]
pub fn delta_ttft_ns(record: &TurnRecord) -> Option<Nanos> {
    record.token_ns.get(record.first_delta_index?).copied()
}

/// TPOT by the reference client's rule, ns.
///
/// Start: the first content-bearing delta. End: the last token. Divided by the
/// tokens *after* the emission that carried that delta: under speculation the
/// emission may hold several, none of which was waited for. `None` when nothing
/// follows it. For `endpoints/` only.
#[must_use]
pub fn delta_tpot_ns(record: &TurnRecord) -> Option<f64> {
    let delta = record.first_delta_index?;
    let emitted = step_ends(record).find(|end| *end > delta)?;
    per_token(
        *record.token_ns.get(delta)?,
        *record.token_ns.last()?,
        osl(record)?.checked_sub(emitted)?,
    )
}

/// Time between successive sampling steps, ns. Equal to inter-token times only
/// without speculation, where each step emits one token.
#[must_use]
pub fn step_gaps_ns(record: &TurnRecord) -> Vec<Nanos> {
    let times: Vec<Nanos> = step_times(record).map(|(_, at)| at).collect();
    times
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect()
}

/// How fast a turn's tokens came after the first emission, tokens per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeRate {
    /// Tokens after the first emission ÷ time from first to last emission.
    pub mean: f64,
    /// The fastest step's tokens ÷ the time that step took.
    pub peak: f64,
}

/// The turn's decode rate; `None` with fewer than two steps or no time between.
#[must_use]
pub fn decode_rate(record: &TurnRecord) -> Option<DecodeRate> {
    let steps: Vec<(usize, Nanos)> = step_times(record).collect();
    let (first, last) = (steps.first()?, steps.last()?);
    let after: usize = steps.iter().skip(1).map(|(tokens, _)| tokens).sum();
    let mean = per_second(after, last.1.saturating_sub(first.1))?;
    let peak = steps
        .windows(2)
        .filter_map(|pair| per_second(pair[1].0, pair[1].1.saturating_sub(pair[0].1)))
        .fold(mean, f64::max);
    Some(DecodeRate { mean, peak })
}

/// `tokens` ÷ `ns`, per second; `None` when no time passed.
pub(super) fn per_second(tokens: usize, ns: Nanos) -> Option<f64> {
    (ns > 0).then(|| tokens as f64 * 1e9 / ns as f64)
}

/// (`last` − `first`) ÷ `tokens`; `None` for no tokens. Negative when the times
/// are out of order, which the consistency check then reports.
fn per_token(first: Nanos, last: Nanos, tokens: usize) -> Option<f64> {
    (tokens > 0).then(|| (last as f64 - first as f64) / tokens as f64)
}

/// For each step, how many tokens exist once it is done.
fn step_ends(record: &TurnRecord) -> impl Iterator<Item = usize> {
    record.step_tokens.iter().scan(0usize, |sum, tokens| {
        *sum = sum.saturating_add(*tokens);
        Some(*sum)
    })
}

/// Each step's tokens and the time of the last of them; steps that emitted
/// nothing have no time.
pub(super) fn step_times(record: &TurnRecord) -> impl Iterator<Item = (usize, Nanos)> {
    record
        .step_tokens
        .iter()
        .zip(step_ends(record))
        .filter(|(tokens, _)| **tokens > 0)
        .filter_map(|(tokens, end)| Some((*tokens, *record.token_ns.get(end - 1)?)))
}
