//! In how many turns two runs generated other tokens, and where. Neither a failure nor a pass: a pass over more rows
//! may use other kernels, which flips close calls.

use serde::Serialize;

use super::pairs::Pair;
use crate::chat::Token;
use crate::chat::prefix::common_prefix;

/// What differs between the replies of the compared turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outputs {
    /// Turns compared.
    pub turns: usize,
    /// Of these, turns whose token ids differ.
    pub differ: usize,
    /// Of those that differ, turns whose parsed reply (text, reasoning, tool calls) is the same all the same.
    pub same_reply: usize,
    /// Median of the first differing token's number in its reply, from 1; of two middle values the lower.
    pub median_position: Option<usize>,
    /// The first turn that differs, in the order of the data set.
    pub first: Option<FirstDifference>,
}

/// Where two runs part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FirstDifference {
    /// The conversation.
    pub conversation_id: String,
    /// The client row's number.
    pub turn: u32,
    /// Number of the first token that differs, from 1.
    pub position: usize,
}

impl Outputs {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let mut differing = pairs
            .iter()
            .filter_map(|pair| Some((pair, position(&pair.0.output_ids, &pair.1.output_ids)?)))
            .peekable();
        let first = differing
            .peek()
            .map(|((row, _), position)| FirstDifference {
                conversation_id: row.conversation_id.clone(),
                turn: row.turn,
                position: *position,
            });
        let mut same_reply = 0;
        let mut positions = Vec::new();
        for ((a, b), position) in differing {
            let same = a.content == b.content
                && a.reasoning_content == b.reasoning_content
                && a.tool_calls == b.tool_calls;
            same_reply += usize::from(same);
            positions.push(position);
        }
        positions.sort_unstable();
        Self {
            turns: pairs.len(),
            differ: positions.len(),
            same_reply,
            median_position: positions
                .get(positions.len().saturating_sub(1) / 2)
                .copied(),
            first,
        }
    }

    /// The counts in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let turns = self.turns;
        let (Some(median), Some(first)) = (self.median_position, &self.first) else {
            return match turns {
                0 => "no turn was completed in both runs from the same prompt".to_owned(),
                _ => format!("outputs are the same in all {turns} turns"),
            };
        };
        format!(
            "outputs differ in {} of {turns} turns, median first-difference position {median} (in tokens, from 1); first: \
             conversation {:?} turn {}, token {}; {} of them parse to the same reply",
            self.differ, first.conversation_id, first.turn, first.position, self.same_reply
        )
    }
}

/// Number, from 1, of the first token that two replies do not have in common.
fn position(a: &[Token], b: &[Token]) -> Option<usize> {
    let common = common_prefix(a, b);
    (common < a.len().max(b.len())).then_some(common + 1)
}
