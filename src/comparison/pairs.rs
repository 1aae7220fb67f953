//! Which turns of two runs can be compared.

use std::collections::HashMap;

use serde::Serialize;

use crate::record::TurnRecord;

/// Turns by what both runs have of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Completed in both, from the same prompt: what is compared.
    pub compared: usize,
    /// Completed in both, from prompts that differ.
    pub other_prompt: usize,
    /// Completed in the first run only.
    pub only_first: usize,
    /// Completed in the second run only.
    pub only_second: usize,
}

/// A turn in both runs.
pub(super) type Pair<'a> = (&'a TurnRecord, &'a TurnRecord);

/// Pairs the completed turns of two runs by conversation and turn, in the first run's order.
pub(super) fn pair<'a>(
    first: &'a [TurnRecord],
    second: &'a [TurnRecord],
) -> (Vec<Pair<'a>>, Coverage) {
    let key = |r: &'a TurnRecord| (r.conversation_id.as_str(), r.turn);
    let completed = |rows: &'a [TurnRecord]| rows.iter().filter(|r| r.state.is_completed());
    let mut others: HashMap<_, _> = completed(second).map(|r| (key(r), r)).collect();
    let mut pairs = Vec::new();
    let mut coverage = Coverage::default();
    for row in completed(first) {
        match others.remove(&key(row)) {
            None => coverage.only_first += 1,
            Some(other) if row.prompt_ids_sha256 != other.prompt_ids_sha256 => {
                coverage.other_prompt += 1;
            }
            Some(other) => pairs.push((row, other)),
        }
    }
    coverage.compared = pairs.len();
    coverage.only_second = others.len();
    (pairs, coverage)
}

/// The pairs by conversation, in order.
pub(super) fn by_conversation<'p, 'a>(pairs: &'p [Pair<'a>]) -> Vec<(&'a str, &'p [Pair<'a>])> {
    pairs
        .chunk_by(|a, b| a.0.conversation_id == b.0.conversation_id)
        .map(|part| (part[0].0.conversation_id.as_str(), part))
        .collect()
}
