//! A line of `conditions.jsonl`: what the machine was like at one moment of a run.

use serde::{Deserialize, Serialize};

use super::{Conditions, ProcessMemory};
use crate::clock::{Clock, Nanos, Timestamp};
use crate::machine::Known;
use crate::machine::source::{Platform, Source, into_known};

/// Layout version of [`Moment`].
pub const MOMENT_SCHEMA: u32 = 1;

/// When readings are taken: never while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// The model is loaded and warmed up; the first turn has not begun.
    Start,
    /// The first turn of another conversation is on disk. Memory only, which takes less than a millisecond.
    Conversation,
    /// The last turn is on disk.
    End,
}

/// The part of a run that a reading belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The replay of conversations.
    Performance,
    /// The BFCL samples.
    Accuracy,
}

impl Phase {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Accuracy => "accuracy",
        }
    }
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Layout version, [`MOMENT_SCHEMA`].
    pub schema: u32,
    /// Which start of the run it belongs to.
    pub attempt: u32,
    /// Which phase of it.
    pub phase: Phase,
    /// When it was taken.
    pub occasion: Occasion,
    /// Rows of the phase on disk at that time.
    pub rows: usize,
    /// Wall-clock time.
    pub at: Timestamp,
    /// The same moment on the run's clock, ns.
    pub at_ns: Nanos,
    /// How long the reading took, ns.
    pub took_ns: Nanos,
    /// Time since the machine was started, sleep included, seconds: with `at_ns` it tells sleep from a clock that was
    /// set.
    pub uptime_s: Known<f64>,
    /// Memory.
    pub memory: ProcessMemory,
    /// Everything else; null after a conversation.
    pub conditions: Option<Conditions>,
}

impl Moment {
    /// Takes the readings now, as of the performance phase.
    #[must_use]
    pub fn read(
        source: &Source,
        clock: &dyn Clock,
        attempt: u32,
        rows: usize,
        occasion: Occasion,
    ) -> Self {
        let (at, at_ns) = (clock.wall(), clock.now());
        let uptime_s = into_known(uptime(source));
        let memory = ProcessMemory::read(source);
        let conditions = (occasion != Occasion::Conversation).then(|| Conditions::read(source));
        Self {
            schema: MOMENT_SCHEMA,
            attempt,
            phase: Phase::Performance,
            occasion,
            rows,
            at,
            at_ns,
            took_ns: clock.now().saturating_sub(at_ns),
            uptime_s,
            memory,
            conditions,
        }
    }
}

/// `/proc/uptime` follows the boot clock, which goes on in sleep.
fn uptime(source: &Source) -> Result<f64, String> {
    if source.platform != Platform::Linux {
        return Err("only read on Linux".to_owned());
    }
    let text = source.text("proc/uptime")?;
    let seconds = text.split_whitespace().next().and_then(|s| s.parse().ok());
    seconds
        .filter(|s: &f64| s.is_finite())
        .ok_or_else(|| format!("/proc/uptime: found {text:?}, expected seconds"))
}
