//! What a run's turns add up to: latency definitions, series, states, verdict.
//!
//! Everything here is a pure function of recorded rows, of recorded readings of
//! the machine and of facts about the plan, so any summary can be rebuilt.

mod accounting;
mod conditions;
mod consistency;
mod conversations;
mod definitions;
mod drift;
mod facts;
mod gaps;
mod notices;
mod repetition;
mod series;
mod speculation;
mod summary;
mod tokens;
mod turn;

#[cfg(test)]
mod device_faults;
#[cfg(test)]
mod field_faults;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;

pub use self::accounting::{AccountingError, StopCounts, TurnCounts};
pub use self::conditions::{AttemptConditions, MemoryUse, Reading};
pub use self::consistency::{Inconsistency, inconsistencies};
pub use self::conversations::{ConversationSummary, FirstOverflow};
pub use self::definitions::{DEFINITIONS, Definition};
pub use self::drift::{Drift, SpeedChange};
pub use self::facts::{ConversationFacts, Deviation, RunFacts, SYNTHETIC, SampleCounts};
pub use self::gaps::Gap;
pub use self::notices::{Problem, ProblemKind, Warning, WarningKind};
pub use self::repetition::degenerate;
pub use self::series::Series;
pub use self::speculation::{AgainstPlain, DraftPosition, Speculation};
pub use self::summary::{PhaseSeries, SUMMARY_SCHEMA, Summary, continued_at};
pub use self::tokens::{PromptTokens, SelfCheckCounts, TokenRates};
pub use self::turn::{
    DecodeRate, decode_rate, delta_tpot_ns, delta_ttft_ns, isl, latency_ns, osl, step_gaps_ns,
    tpot_ns, ttft_ns,
};
