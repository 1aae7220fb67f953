//! What the machine was like when a run started and when it ended, and whether its memory grew.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machine::{Known, Moment, Occasion, Phase, PowerSource};

/// Growth of allocated memory, after the first conversation, above which something is kept that should not be, bytes.
/// Everything of fixed size, snapshots included, is touched by then.
pub(super) const MEMORY_GROWTH: u64 = 256 << 20;

/// The readings of one start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptConditions {
    /// Which start of the run.
    pub attempt: u32,
    /// Which phase of it.
    pub phase: Phase,
    /// Before its first turn.
    pub start: Known<Reading>,
    /// After its last turn.
    pub end: Known<Reading>,
}

/// The machine at one moment, in short; `conditions.jsonl` has all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The power mode: Jetson's power model, the platform profile, or Apple's mode.
    pub power_mode: Known<String>,
    /// How the kernel chooses the processor's frequency.
    pub governor: Known<String>,
    /// Where the power comes from.
    pub power_source: Known<PowerSource>,
    /// The hottest sensor, °C.
    pub hottest_celsius: Known<f64>,
    /// The fastest core, MHz.
    pub cpu_mhz: Known<u32>,
    /// Events that held clocks down since the machine started.
    pub throttle_events: Known<u64>,
}

impl AttemptConditions {
    /// Every start and phase of which there are readings; where there are none at all, the reason.
    pub(super) fn all(moments: &[Moment]) -> Vec<Self> {
        let read: BTreeSet<(u32, Phase)> = moments.iter().map(|m| (m.attempt, m.phase)).collect();
        let of = |(attempt, phase)| Self {
            attempt,
            phase,
            start: reading(moments, (attempt, phase), Occasion::Start),
            end: reading(moments, (attempt, phase), Occasion::End),
        };
        match read.is_empty() {
            true => vec![of((0, Phase::Performance))],
            false => read.into_iter().map(of).collect(),
        }
    }
}

fn reading(moments: &[Moment], part: (u32, Phase), occasion: Occasion) -> Known<Reading> {
    let reason = match occasion {
        Occasion::End => "no reading was taken: it did not end by itself",
        Occasion::Start | Occasion::Conversation => "no reading was taken",
    };
    let moment = moments
        .iter()
        .find(|m| (m.attempt, m.phase) == part && m.occasion == occasion);
    Known::or_reason(moment.and_then(Reading::of), reason)
}

impl Reading {
    fn of(moment: &Moment) -> Option<Self> {
        let conditions = moment.conditions.as_ref()?;
        let hottest = conditions.hottest();
        Some(Self {
            power_mode: conditions.power.mode(),
            governor: conditions.power.governor.clone(),
            power_source: conditions.power.source.clone(),
            hottest_celsius: Known::or_reason(
                hottest.get().map(|t| t.celsius),
                hottest.reason().unwrap_or_default(),
            ),
            cpu_mhz: conditions.clocks.cpu_fastest_mhz.clone(),
            throttle_events: conditions.throttling.events(),
        })
    }
}

/// This process's memory over the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryUse {
    /// The most that it had, mapped weights included, bytes.
    pub peak_rss_bytes: Option<u64>,
    /// By how much its allocated memory grew from the end of the first conversation to the run's end, bytes; of
    /// several starts, the one that grew most.
    pub growth_bytes: Option<i64>,
    /// Over how many turns it did so.
    pub growth_turns: Option<usize>,
}

impl MemoryUse {
    pub(super) fn of(moments: &[Moment]) -> Self {
        let peaks = moments.iter().filter_map(|m| m.memory.peak_rss_bytes.get());
        let last = moments.iter().map(|m| m.attempt).max();
        let growth = (0..=last.unwrap_or(0)).filter_map(|attempt| growth(moments, attempt));
        let most = growth.max_by_key(|(bytes, _)| *bytes);
        Self {
            peak_rss_bytes: peaks.max().copied(),
            growth_bytes: most.map(|(bytes, _)| bytes),
            growth_turns: most.map(|(_, turns)| turns),
        }
    }

    /// Growth above [`MEMORY_GROWTH`], in words.
    pub(super) fn notice(&self) -> Option<String> {
        let grown = u64::try_from(self.growth_bytes?).ok()?;
        let turns = self.growth_turns.filter(|n| *n > 0)?;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        (grown > MEMORY_GROWTH).then(|| {
            format!(
                "memory grew by {:.0} MiB in {turns} turns after the first conversation ({:.2} MiB per turn; more than \
                 {:.0} MiB is not expected): a longer run may end for lack of memory. Please report it with \
                 conditions.jsonl",
                mib(grown),
                mib(grown) / turns as f64,
                mib(MEMORY_GROWTH)
            )
        })
    }
}

/// Whether it belongs to this start's replay: the accuracy phase has rows of its own.
pub(super) fn is_of_turns(moment: &Moment, attempt: u32) -> bool {
    moment.attempt == attempt && moment.phase == Phase::Performance
}

/// Bytes and turns between the first conversation's end and the last reading of one start.
fn growth(moments: &[Moment], attempt: u32) -> Option<(i64, usize)> {
    let known = |m: &&Moment| is_of_turns(m, attempt) && m.memory.growing_bytes().is_some();
    let mut of_attempt = moments.iter().filter(known);
    let first = of_attempt
        .clone()
        .find(|m| m.occasion == Occasion::Conversation)?;
    let last = of_attempt
        .next_back()
        .filter(|last| last.rows > first.rows)?;
    let bytes = |m: &Moment| i64::try_from(m.memory.growing_bytes()?).ok();
    let grown = bytes(last)?.checked_sub(bytes(first)?)?;
    Some((grown, last.rows - first.rows))
}
