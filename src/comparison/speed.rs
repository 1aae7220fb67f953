//! How many times as fast the second run is as the first, per figure, overall and per conversation.

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;

use super::bootstrap::{FEWEST, Mean, Unit, interval};
use super::pairs::{Pair, by_conversation};
use crate::accuracy::split_repeat;
use crate::metrics::{latency_ns, tpot_ns, ttft_ns};
use crate::record::TurnRecord;

/// What an interval was drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawn {
    /// Whole conversations, with all passes over them.
    Conversations,
    /// Single turns, with all passes over them. Those of one conversation are alike, so the interval is rather too narrow.
    Turns,
}

/// One figure of both runs over the turns that both completed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// Turns that have the figure in both.
    pub turns: usize,
    /// Mean of the first run, ns; for `decode` tokens per second.
    pub first: Option<f64>,
    /// Mean of the second run.
    pub second: Option<f64>,
    /// How many times as fast the second is; below 1 it is slower.
    pub ratio: Option<f64>,
    /// The ratio's 95 % interval; null with fewer than 8 units to draw from.
    pub interval: Option<[f64; 2]>,
    /// What the interval was drawn from.
    pub drawn: Option<Drawn>,
}

/// All figures of some turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Mean turn latency, ns.
    pub latency: Ratio,
    /// Mean time to first token, ns.
    pub ttft: Ratio,
    /// Mean over turns of the time per output token after the first, ns.
    pub tpot: Ratio,
    /// Tokens after each turn's first ÷ their time, of all turns together, per second.
    pub decode: Ratio,
}

/// The figures of one conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfConversation {
    /// The conversation.
    pub conversation_id: String,
    /// Its turns that are compared.
    pub turns: usize,
    /// Its figures.
    pub figures: Figures,
}

/// What a figure takes from a turn; `None` where the turn does not have it.
type Measure = fn(&TurnRecord) -> Option<Mean>;

fn one(value: f64) -> Mean {
    Mean {
        sum: value,
        of: 1.0,
    }
}

fn latency(record: &TurnRecord) -> Option<Mean> {
    latency_ns(record).map(|ns| one(ns as f64))
}

fn ttft(record: &TurnRecord) -> Option<Mean> {
    ttft_ns(record).map(|ns| one(ns as f64))
}

fn tpot(record: &TurnRecord) -> Option<Mean> {
    tpot_ns(record).map(one)
}

/// Time and tokens after the first token.
fn decode(record: &TurnRecord) -> Option<Mean> {
    let [first, .., last] = record.token_ns.as_slice() else {
        return None;
    };
    Some(Mean {
        sum: last.saturating_sub(*first) as f64,
        of: (record.token_ns.len() - 1) as f64,
    })
}

impl Figures {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let mut decode = Ratio::of(pairs, decode);
        // Reported as a rate; the ratio of speeds is the same either way.
        for mean in [&mut decode.first, &mut decode.second] {
            *mean = mean.filter(|ns| *ns > 0.0).map(|ns| 1e9 / ns);
        }
        Self {
            latency: Ratio::of(pairs, latency),
            ttft: Ratio::of(pairs, ttft),
            tpot: Ratio::of(pairs, tpot),
            decode,
        }
    }

    /// The figures by name.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, &Ratio); 4] {
        [
            ("latency", &self.latency),
            ("ttft", &self.ttft),
            ("tpot", &self.tpot),
            ("decode", &self.decode),
        ]
    }
}

impl Ratio {
    fn of(pairs: &[Pair<'_>], measure: Measure) -> Self {
        let unit = |pair: &Pair<'_>| {
            Some(Unit {
                first: measure(pair.0)?,
                second: measure(pair.1)?,
            })
        };
        let measured: Vec<(&TurnRecord, Unit)> = pairs
            .iter()
            .filter_map(|pair| Some((pair.0, unit(pair)?)))
            .collect();
        // Another pass (--repeat) replays the same thing: it makes what one draws from no more varied.
        let conversation = |row: &TurnRecord| split_repeat(&row.conversation_id).0.to_owned();
        let mut units = pooled(&measured, conversation);
        let mut drawn = Drawn::Conversations;
        if units.len() < FEWEST {
            units = pooled(&measured, |row| (conversation(row), row.turn));
            drawn = Drawn::Turns;
        }
        let total = Unit::total(&units);
        let [first, second] = total.means().map_or([None; 2], |means| means.map(Some));
        let interval = interval(&units);
        Self {
            turns: measured.len(),
            first,
            second,
            ratio: total.ratio(),
            interval,
            drawn: interval.map(|_| drawn),
        }
    }
}

/// What was measured, added up by `key`, in the order in which each key is first met.
fn pooled<K: Eq + Hash>(
    measured: &[(&TurnRecord, Unit)],
    key: impl Fn(&TurnRecord) -> K,
) -> Vec<Unit> {
    let (mut units, mut places) = (Vec::new(), HashMap::new());
    for (row, unit) in measured {
        let place = *places.entry(key(row)).or_insert(units.len());
        if place == units.len() {
            units.push(Unit::default());
        }
        units[place].add(unit);
    }
    units
}

/// Figures per conversation.
pub(super) fn conversations(pairs: &[Pair<'_>]) -> Vec<OfConversation> {
    by_conversation(pairs)
        .into_iter()
        .map(|(id, part)| OfConversation {
            conversation_id: id.to_owned(),
            turns: part.len(),
            figures: Figures::of(part),
        })
        .collect()
}
