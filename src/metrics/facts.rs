//! What a summary needs to know about the plan.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::Moment;

/// The facts about a run that its rows do not hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// Every conversation of the data set, in file order, selected or not.
    pub conversations: Vec<ConversationFacts>,
    /// Settings that differ from the locked profile.
    pub deviations: Vec<Deviation>,
    /// The run went through its whole plan: no interrupt, no time cap, no error.
    pub finished: bool,
    /// The context the engine really allocated, tokens.
    pub context_tokens: usize,
    /// The inline checker's score, once it has run.
    pub inline_score: Option<f64>,
    /// How often the run was continued, as far as the rows of turns do not say it.
    pub resumed: usize,
    /// How far the accuracy phase came, where the plan has one.
    pub samples: Option<SampleCounts>,
    /// Readings of the machine, in the order in which they were taken.
    pub moments: Vec<Moment>,
}

/// How far the accuracy phase came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleCounts {
    /// Samples that the plan asks.
    pub planned: usize,
    /// Of those, samples that have a row.
    pub answered: usize,
    /// Of those, samples without a reply.
    pub failed: usize,
    /// The phase ended early because its gates were decided, as `--stop-when-decided` asks.
    pub decided: bool,
}

/// One conversation of the data set and how much of it the plan selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationFacts {
    /// The data set's id.
    pub conversation_id: String,
    /// Client turns in the data set.
    pub turns: u32,
    /// How many of them, from the first, are selected; 0 to leave it out.
    pub selected: u32,
}

/// Deviations with which replies are not the model's own, by name.
pub const SYNTHETIC: [&str; 2] = ["synthetic-acceptance", "recorded-lengths"];

/// A setting that differs from what the locked profile expects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The setting's name, as on the command line.
    pub name: String,
    /// What the profile says.
    pub expected: Value,
    /// What the run had.
    pub actual: Value,
}
