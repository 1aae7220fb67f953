//! A run's conditions for people: one line per fact, start → end.

use super::number::{count, decimal};
use crate::machine::Known;
use crate::metrics::{Reading, SpeedChange, Summary};

/// Name and value of every line.
pub(super) fn pairs(summary: &Summary) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for attempt in &summary.conditions {
        let (start, end) = (attempt.start.get(), attempt.end.get());
        if start.is_none() && end.is_none() {
            continue;
        }
        let prefix = match summary.conditions.len() {
            1 => String::new(),
            _ => format!("{} {}: ", attempt.phase.name(), attempt.attempt),
        };
        for (name, show) in FACTS {
            let of = |reading: Option<&Reading>| reading.map_or_else(unread, &show);
            let (before, after) = (of(start), of(end));
            let value = match before == after {
                true => before,
                false => format!("{before} → {after}"),
            };
            pairs.push((format!("{prefix}{name}"), value));
        }
    }
    pairs.extend(memory(summary));
    pairs.extend(drift("prefill drift", &summary.drift.prefill));
    pairs.extend(drift("decode drift", &summary.drift.decode));
    pairs
}

type Fact = (&'static str, fn(&Reading) -> String);

const FACTS: [Fact; 6] = [
    ("power mode", |r| known(&r.power_mode, String::clone)),
    ("governor", |r| known(&r.governor, String::clone)),
    ("power source", |r| {
        known(&r.power_source, |s| s.label().to_owned())
    }),
    ("hottest sensor", |r| {
        known(&r.hottest_celsius, |c| {
            format!("{} °C", decimal(Some(*c), 1))
        })
    }),
    ("fastest core", |r| {
        known(&r.cpu_mhz, |mhz| format!("{} MHz", count(*mhz as usize)))
    }),
    ("throttle events", |r| {
        known(&r.throttle_events, |n| count(*n as usize))
    }),
];

fn unread() -> String {
    "not read".to_owned()
}

/// The reasons stand in `summary.json`.
fn known<T>(value: &Known<T>, show: impl Fn(&T) -> String) -> String {
    value.get().map_or_else(|| "unknown".to_owned(), show)
}

fn memory(summary: &Summary) -> Option<(String, String)> {
    let mib = |bytes: f64| format!("{} MiB", decimal(Some(bytes / f64::from(1 << 20)), 0));
    let peak = summary.memory.peak_rss_bytes?;
    let mut value = mib(peak as f64);
    if let Some(grown) = summary.memory.growth_bytes {
        let sign = if grown < 0 { "" } else { "+" };
        value += &format!("; {sign}{} after the first conversation", mib(grown as f64));
    }
    Some(("peak memory".to_owned(), value))
}

fn drift(name: &str, change: &Known<SpeedChange>) -> Option<(String, String)> {
    let change = change.get()?;
    let value = format!(
        "× {} (last third ÷ first third at like context length, {} turns each)",
        decimal(Some(change.ratio), 3),
        count(change.turns)
    );
    Some((name.to_owned(), value))
}
