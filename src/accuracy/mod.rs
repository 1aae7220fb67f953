//! What the model *said*, judged: the reference's inline checker over the replay, the BFCL samples, and the checks
//! that make a run valid.
//!
//! ```text
//! recorded replies ─expected──┐
//!                             ├─ inline::score ─► Scores ─┐
//! turns issued ─────answers───┘                           ├─ checks ─► [{name, passed, detail}]
//! mean OSL, window ───────────────────────────────────────┤
//!                                                         │
//! BFCL samples ─samples─► conversations of one turn       │
//!      (replayed) ─► rows ─samples─► verdicts ─figures────┘
//!                                  └─ certainty: what is decided before the end
//! ```
//!
//! Everything here is a pure function. Facts of the reference are those of mlcommons/endpoints
//! ea33275 (`../shared/REFERENCE.md`, "Inline checker"); the code is our own.

mod answer;
mod certainty;
mod checks;
mod command;
mod expected;
mod figures;
mod inline;
mod intent;
mod samples;

#[cfg(test)]
mod tests;

pub use self::answer::{Answer, Call, Said, split_repeat};
pub use self::certainty::{Certainty, Running};
pub use self::checks::{Check, OSL_WINDOW, OslWindow, OslWindowError, replay_checks};
pub use self::command::executables;
pub use self::expected::{Expected, Truth, expected};
pub use self::figures::{ACCURACY_SCHEMA, AccuracyFacts, AccuracyFigures, Conditions, by_name};
pub use self::inline::{DomainScore, Domains, ExcludedTurn, Scores, TurnCounts, TurnScore, score};
pub use self::samples::{SampleError, conversations, judged, output_text};
