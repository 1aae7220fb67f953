//! The rows of `verdict.json` that the replay decides.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::inline::Scores;

/// One check: what, whether it passed, and the figures it looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The check's name, stable across versions.
    pub name: String,
    /// Whether it passed. A figure that is absent fails.
    pub passed: bool,
    /// Measured and required, in words.
    pub detail: String,
}

/// The bounds within which the mean output length must lie, tokens, both included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OslWindow {
    /// Least mean.
    pub low: f64,
    /// Greatest mean.
    pub high: f64,
}

/// Why a text is no window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("OSL window {found:?}: expected LO,HI in tokens with 0 <= LO <= HI, such as 90,110")]
pub struct OslWindowError {
    /// What was given.
    found: String,
}

impl FromStr for OslWindow {
    type Err = OslWindowError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (low, high) = text.split_once(',')?;
            let low: f64 = low.trim().parse().ok()?;
            let high: f64 = high.trim().parse().ok()?;
            (0.0 <= low && low <= high && high.is_finite()).then_some(Self { low, high })
        };
        parse().ok_or_else(|| OslWindowError {
            found: text.to_owned(),
        })
    }
}

impl fmt::Display for OslWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.low, self.high)
    }
}

/// The name of the check that `--osl-window` asks for.
pub const OSL_WINDOW: &str = "osl_window";

/// The checks of a replay.
///
/// `client_turns` is the number of client turns of the whole data set: the reference compares only
/// with what was *issued*, so that a run that stops early passes there (T2-08); ours compares with
/// the data set. `osl_mean` is the mean output length of the completed turns in the engine's own
/// tokens; the window is checked only where one was given.
#[must_use]
pub fn replay_checks(
    scores: &Scores,
    client_turns: usize,
    osl_mean: Option<f64>,
    window: Option<OslWindow>,
) -> Vec<Check> {
    let turns = &scores.turns;
    let mut checks = vec![
        check(
            "turns_issued",
            turns.issued == client_turns,
            format!("{} of {client_turns} client turns issued", turns.issued),
        ),
        check(
            "turns_missing",
            turns.missing == 0,
            format!("{} issued turns without output, 0 allowed", turns.missing),
        ),
        check(
            "turns_observed",
            turns.observed == turns.expected && turns.expected > 0,
            format!("{} outputs of {} expected", turns.observed, turns.expected),
        ),
    ];
    checks.extend(window.map(|window| osl(osl_mean, window)));
    checks
}

fn osl(mean: Option<f64>, window: OslWindow) -> Check {
    let inside = mean.is_some_and(|mean| window.low <= mean && mean <= window.high);
    let measured = mean.map_or("no turn completed".to_owned(), |mean| {
        format!("mean output length {mean:.2} tokens")
    });
    let detail = format!("{measured}, window {} to {}", window.low, window.high);
    check(OSL_WINDOW, inside, detail)
}

fn check(name: &str, passed: bool, detail: String) -> Check {
    Check {
        name: name.to_owned(),
        passed,
        detail,
    }
}
