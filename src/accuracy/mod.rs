//! What the model *said*, judged: the reference's inline checker over the replay, and the checks
//! that make a run valid.
//!
//! ```text
//! recorded replies ─expected──┐
//!                             ├─ inline::score ─► Scores ─┐
//! turns issued ─────answers───┘                           ├─ checks ─► [{name, passed, detail}]
//! mean OSL, window ───────────────────────────────────────┘
//! ```
//!
//! Everything here is a pure function. Facts of the reference are those of mlcommons/endpoints
//! ea33275 (`../shared/REFERENCE.md`, "Inline checker"); the code is our own.

mod answer;
mod checks;
mod command;
mod expected;
mod inline;
mod intent;

#[cfg(test)]
mod tests;

pub use self::answer::{Answer, Call, Said, split_repeat};
pub use self::checks::{Check, OslWindow, OslWindowError, replay_checks};
pub use self::command::executables;
pub use self::expected::{Expected, Truth, expected};
pub use self::inline::{DomainScore, Domains, ExcludedTurn, Scores, TurnCounts, TurnScore, score};
