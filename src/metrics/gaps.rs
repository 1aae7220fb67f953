//! Gaps between the wall clock and the run's monotonic clock: sleep, or a clock that was set.
//!
//! The monotonic clock stands still while a Linux machine or a Mac sleeps, the wall clock does not. Rows hold both
//! clocks at the moment at which a turn was handed over, so that a hole between two of them shows.

use serde::{Deserialize, Serialize};

use super::conditions::is_of_turns;
use crate::clock::{Nanos, Timestamp};
use crate::machine::{Moment, Occasion};
use crate::record::TurnRecord;

/// Difference between the clocks above which something happened, ns. Time servers correct by less than half a second at
/// a time and by 0.5 ms per second; no machine sleeps and wakes faster than this.
const GAP_NS: i128 = 3_000_000_000;

/// Sleep below which there was none, seconds: the boot clock is read in hundredths.
const NO_SLEEP_S: f64 = 1.0;

/// A turn during which, or after which, the clocks came apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// The conversation.
    pub conversation_id: String,
    /// The turn that was handed over last before the gap.
    pub turn: u32,
    /// Wall-clock time that the monotonic clock does not have, seconds; negative where the wall clock was set back.
    pub seconds: f64,
    /// Whether the machine slept; null where only the two clocks are known, and it most likely did.
    pub slept: Option<bool>,
}

/// Every gap, in the order of the rows.
pub(super) fn gaps(records: &[TurnRecord], moments: &[Moment]) -> Vec<Gap> {
    // Skipped turns were never handed over.
    let handed_over: Vec<(&TurnRecord, i128)> = records
        .iter()
        .filter_map(|row| Some((row, ahead(row.started_at?, row.started_ns?)?)))
        .collect();
    let turns = handed_over.iter().enumerate();
    turns
        .filter_map(|(i, &(row, before))| {
            let next = handed_over.get(i + 1);
            let after = match next.filter(|(next, _)| next.attempt == row.attempt) {
                Some(&(_, after)) => after,
                None => ahead_at_end(records, moments, row.attempt)?,
            };
            let gap = after - before;
            (gap.abs() > GAP_NS).then(|| Gap {
                conversation_id: row.conversation_id.clone(),
                turn: row.turn,
                seconds: gap as f64 / 1e9,
                slept: slept(moments, row.attempt),
            })
        })
        .collect()
}

/// How far the wall clock was ahead when a start ended; `None` where rows that a resumption dropped lie between its
/// last row and its end.
fn ahead_at_end(records: &[TurnRecord], moments: &[Moment], attempt: u32) -> Option<i128> {
    let rows = records.iter().rposition(|row| row.attempt == attempt)? + 1;
    let end =
        |m: &&Moment| is_of_turns(m, attempt) && m.occasion == Occasion::End && m.rows == rows;
    moments.iter().find(end).and_then(|m| ahead(m.at, m.at_ns))
}

/// How far the wall clock is ahead of the run's clock, ns.
fn ahead(wall: Timestamp, now: Nanos) -> Option<i128> {
    wall.as_nanosecond().checked_sub(i128::from(now))
}

/// Whether the machine slept between the first and the last reading of this start: only then does the boot clock run
/// ahead of the monotonic one.
fn slept(moments: &[Moment], attempt: u32) -> Option<bool> {
    let at = |occasion| {
        moments
            .iter()
            .find(|m| is_of_turns(m, attempt) && m.occasion == occasion)
    };
    let (start, end) = (at(Occasion::Start)?, at(Occasion::End)?);
    let boot = end.uptime_s.get()? - start.uptime_s.get()?;
    let run = end.at_ns.checked_sub(start.at_ns)? as f64 / 1e9;
    Some(boot - run > NO_SLEEP_S)
}

/// Why the run is not valid: turns across which the machine slept, or may have.
pub(super) fn problem(gaps: &[Gap]) -> Option<String> {
    let slept: Vec<&Gap> = gaps.iter().filter(|g| g.slept != Some(false)).collect();
    let first = slept.first()?;
    let cause = match slept.iter().all(|g| g.slept == Some(true)) {
        true => "the machine was asleep",
        false => "the machine was asleep, or its clock was set",
    };
    Some(format!(
        "{cause} during {} turns; first: conversation {:?} turn {}: {:.1} s that the run's clock does not have. Keep the \
         machine awake (systemd-inhibit --what=sleep:idle:handle-lid-switch, caffeinate) and repeat the run",
        slept.len(),
        first.conversation_id,
        first.turn,
        first.seconds
    ))
}

/// What a reader should know: the wall clock was set while the machine was awake.
pub(super) fn warning(gaps: &[Gap]) -> Option<String> {
    let set: Vec<&Gap> = gaps.iter().filter(|g| g.slept == Some(false)).collect();
    let first = set.first()?;
    Some(format!(
        "the wall clock was set {} times during the run, first by {:.1} s at conversation {:?} turn {}; the machine did \
         not sleep, and durations come from another clock",
        set.len(),
        first.seconds,
        first.conversation_id,
        first.turn
    ))
}
