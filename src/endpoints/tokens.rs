//! Token counts of samples: counted anew, taken from the engine, or absent. Never estimated.

use std::collections::HashMap;

use serde::Serialize;

use super::reply;
use super::turns::sample_id;
use crate::record::{StopReason, TurnRecord};

/// The counts of one sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleTokens {
    /// Of the prompt; none of ours, while the reference's own files have it.
    pub input: Option<u64>,
    /// Of the output.
    pub output: Option<u64>,
    /// Of the output after the first content-bearing delta: what TPOT is divided by.
    pub after_first: Option<u64>,
}

/// Counts by sample id.
pub type TokenTable = HashMap<String, SampleTokens>;

/// Counts text with the tokenizer that the reference would use.
pub trait Recount {
    /// Tokens of `text`, special tokens not added; `None` where it cannot be encoded.
    fn text(&self, text: &str) -> Option<u64>;
}

/// Where the counts in a summary come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TokenSources {
    /// Prompt tokens.
    pub input_sequence_lengths: &'static str,
    /// Output tokens.
    pub output_sequence_lengths: &'static str,
    /// Tokens that TPOT is divided by.
    pub tpot: &'static str,
}

const RECOUNTED: &str = "tokenizer.json";
const ABSENT: &str = "absent: no --tokenizer";
const NO_PROMPTS: &str = "absent: prompts not recounted";
const ENGINE: &str = "engine tokens after the emission with the first delta, end token excluded";

impl TokenSources {
    /// The sources of [`count_tokens`].
    pub(super) fn of(recounted: bool) -> Self {
        Self {
            input_sequence_lengths: NO_PROMPTS,
            output_sequence_lengths: if recounted { RECOUNTED } else { ABSENT },
            tpot: ENGINE,
        }
    }
}

/// Counts the tokens of every completed row.
///
/// Output is counted anew with `recount`, else absent; prompts are not, because the reference counts a rendering of its
/// own (`../shared/REFERENCE.md`), which is none of the prompts that were evaluated. A reply with calls is counted as
/// it was generated, markup included, where the reference renders the parsed calls through the chat
/// template: equal where the model keeps to the template's form. The tokens after the first delta
/// are the engine's, because where that delta ends is known in tokens only; the token that ends the
/// turn is not among them, as the reference's text does not have it.
#[must_use]
pub fn count_tokens(
    records: &[TurnRecord],
    dataset_sha256: &str,
    recount: Option<&dyn Recount>,
) -> TokenTable {
    let counted = records.iter().map(|record| {
        let id = sample_id(dataset_sha256, &record.conversation_id, record.turn);
        let counts = SampleTokens {
            input: None,
            output: recount.and_then(|r| output_tokens(record, r)),
            after_first: after_first(record),
        };
        (id, counts)
    });
    counted.collect()
}

fn output_tokens(record: &TurnRecord, recount: &dyn Recount) -> Option<u64> {
    let text = reply::generated(record);
    if text.is_empty() {
        return None;
    }
    recount.text(text)
}

/// Output tokens after the emission that carried the first content-bearing delta (T4-08: under
/// speculation an emission holds several, and none of them was waited for).
fn after_first(record: &TurnRecord) -> Option<u64> {
    let delta = record.first_delta_index?;
    let mut emitted = 0usize;
    for step in &record.step_tokens {
        emitted = emitted.saturating_add(*step);
        if emitted > delta {
            break;
        }
    }
    if emitted <= delta {
        return None;
    }
    let ended = record.stop_reason == Some(StopReason::EndOfGeneration);
    let text_tokens = record.output_ids.len().checked_sub(usize::from(ended))?;
    u64::try_from(text_tokens.saturating_sub(emitted)).ok()
}
