//! One BFCL sample: a row of `samples.jsonl`.

use bfcl::subset::Subset;
use serde::{Deserialize, Serialize};

use super::{Row, SCHEMA, TurnRecord, TurnState, other_schema};

/// One BFCL sample, as written to `samples.jsonl`.
///
/// A sample is a conversation of one turn, and is measured like one; what is judged is
/// [`SampleRecord::output`]. The verdict follows from that text and the data set: `report` judges
/// anew, and refuses a file whose verdicts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleRecord {
    /// Layout version, [`SCHEMA`].
    pub schema: u32,
    /// The sample, e.g. `live_simple_3-2-0`.
    pub id: String,
    /// Its subset.
    pub subset: Subset,
    /// The text that is scored: the tool calls as JSON if there are any, else reasoning and
    /// content. `None` where no reply came: the sample counts as missing.
    pub output: Option<String>,
    /// 1 or 0.
    pub score: u8,
    /// The checker's error type, if any.
    pub error_type: Option<String>,
    /// Why the score is 0.
    pub reason: Option<String>,
    /// Everything measured; its `conversation_id` is the sample's id, its `turn` 1.
    pub turn: TurnRecord,
}

impl Row for SampleRecord {
    const NOUN: &'static str = "sample";

    fn about(&self) -> String {
        format!("sample {:?}", self.id)
    }

    fn fault(&self) -> Option<String> {
        if self.schema != SCHEMA {
            return Some(other_schema(self.schema));
        }
        if (&self.turn.conversation_id, self.turn.turn) != (&self.id, 1) {
            return Some(format!("turn: found that of {}", self.turn.about()));
        }
        if self.turn.state == TurnState::Skipped {
            return Some("turn: found skipped, which no sample can be".to_owned());
        }
        self.turn.fault()
    }
}
