//! What a run's turns add up to: latency definitions, series, states, verdict.
//!
//! Everything here is a pure function of recorded rows and of facts about the
//! plan, so any summary can be rebuilt from `turns.jsonl`.

mod accounting;
mod consistency;
mod conversations;
mod definitions;
mod facts;
mod notices;
mod series;
mod summary;
mod tokens;
mod turn;

#[cfg(test)]
mod field_faults;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

pub use self::accounting::{AccountingError, StopCounts, TurnCounts};
pub use self::consistency::{Inconsistency, inconsistencies};
pub use self::conversations::{ConversationSummary, FirstOverflow};
pub use self::definitions::{DEFINITIONS, Definition};
pub use self::facts::{ConversationFacts, Deviation, RunFacts, SampleCounts};
pub use self::notices::{Problem, ProblemKind, Warning, WarningKind};
pub use self::series::Series;
pub use self::summary::{PhaseSeries, SUMMARY_SCHEMA, Summary, continued_at};
pub use self::tokens::{PromptTokens, SelfCheckCounts, Speculation, TokenRates};
pub use self::turn::{
    DecodeRate, decode_rate, delta_tpot_ns, delta_ttft_ns, isl, latency_ns, osl, step_gaps_ns,
    tpot_ns, ttft_ns,
};
