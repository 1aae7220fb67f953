//! The inline checker: every issued turn against the recorded one, as the reference scores it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::answer::{Answer, Said};
use super::expected::{Expected, Truth, generated_actions};
use super::intent;

/// The verdict over a replay: the content of `scores.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    /// Mean score of the scored turns, 0 to 1, four decimals; `None` when none was scored.
    pub score: Option<f64>,
    /// How many turns.
    pub turns: TurnCounts,
    /// The score by kind of conversation.
    pub domains: Domains,
    /// Every scored turn, by conversation id, pass and turn.
    pub per_turn: Vec<TurnScore>,
    /// Turns of the data set that have nothing to compare with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded_turns: Vec<ExcludedTurn>,
}

/// Turns, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnCounts {
    /// Issued turns that the data set knows, scored or not.
    pub issued: usize,
    /// Issued turns that have something to compare with.
    pub expected: usize,
    /// Of those, turns with an output.
    pub observed: usize,
    /// Of those, turns without: they score 0.
    pub missing: usize,
    /// Turns in the mean; equal to `expected`.
    pub scored: usize,
}

/// Scores by kind of conversation; a kind without turns is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Domains {
    /// Compared by executables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coding: Option<DomainScore>,
    /// Compared by intent code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<DomainScore>,
}

/// The score of one kind of conversation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DomainScore {
    /// Mean score, four decimals.
    pub score: f64,
    /// Turns in the mean.
    pub scored: usize,
}

/// One scored turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnScore {
    /// The data set's id of the conversation.
    pub conversation_id: String,
    /// Which pass, from 1.
    pub repeat: u32,
    /// The *assistant* row's number: 2, 4, 6, …
    pub turn: u32,
    /// `coding` or `workflow`.
    pub domain: &'static str,
    /// `true` for a turn without output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<bool>,
    /// What was compared.
    #[serde(flatten)]
    pub compared: Compared,
    /// The turn's score, four decimals.
    pub score: f64,
}

/// Recorded and generated, side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Compared {
    /// A coding turn.
    Actions {
        /// Executables of the recorded calls.
        gt_actions: Vec<&'static str>,
        /// Executables of the generated calls.
        model_actions: Vec<&'static str>,
    },
    /// A workflow turn.
    Intents {
        /// Codes that are right, sorted.
        gt_intents: Vec<String>,
        /// The code the reply states.
        model_intent: Option<String>,
    },
}

/// A turn of the data set that is not scored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExcludedTurn {
    /// The data set's id of the conversation.
    pub conversation_id: String,
    /// The assistant row's number.
    pub turn: u32,
    /// `coding` or `workflow`.
    pub domain: &'static str,
    /// Why: there is no ground truth.
    pub exclude_reason: &'static str,
}

/// Scores `answers` against `expected`.
///
/// A turn's score is the multiset intersection of recorded and generated executables over their
/// union (coding), or 1 for a right intent code and 0 otherwise (workflow). Turns without output
/// score 0; turns without ground truth are left out; turns that were never issued do not count
/// here, which is why [`replay_checks`](super::replay_checks) compares with the data set.
/// Of several answers to one turn, the last one with an output counts.
#[must_use]
pub fn score(expected: &[Expected], answers: &[Answer]) -> Scores {
    let known: BTreeMap<(&str, u32), &Expected> = expected
        .iter()
        .map(|e| ((e.conversation_id.as_str(), e.turn), e))
        .collect();
    let issued = issued(&known, answers);
    let per_turn: Vec<(TurnScore, f64)> = issued
        .iter()
        .filter(|(_, (truth, _))| !truth.truth.is_empty())
        .map(|((_, repeat, _), (truth, said))| turn_score(truth, *repeat, *said))
        .collect();
    let missing = per_turn.iter().filter(|(t, _)| t.missing.is_some()).count();
    let scored = per_turn.len();
    Scores {
        score: mean(per_turn.iter().map(|(_, exact)| *exact)),
        turns: TurnCounts {
            issued: issued.len(),
            expected: scored,
            observed: scored - missing,
            missing,
            scored,
        },
        domains: Domains {
            coding: domain(&per_turn, "coding"),
            workflow: domain(&per_turn, "workflow"),
        },
        per_turn: per_turn.into_iter().map(|(turn, _)| turn).collect(),
        excluded_turns: known.values().filter_map(|e| excluded(e)).collect(),
    }
}

type Issued<'a> = BTreeMap<(&'a str, u32, u32), (&'a Expected, Option<&'a Said>)>;

/// The answers to turns that the data set knows, each turn once.
fn issued<'a>(known: &BTreeMap<(&str, u32), &'a Expected>, answers: &'a [Answer]) -> Issued<'a> {
    let mut issued = Issued::new();
    for answer in answers {
        let id = answer.conversation_id.as_str();
        let Some(expected) = known.get(&(id, answer.turn)) else {
            continue;
        };
        let entry = issued
            .entry((id, answer.repeat, answer.turn))
            .or_insert((expected, None));
        if let Some(said) = &answer.said {
            entry.1 = Some(said);
        }
    }
    issued
}

/// One turn's row, and its score before rounding.
fn turn_score(expected: &Expected, repeat: u32, said: Option<&Said>) -> (TurnScore, f64) {
    let nothing = Said::default();
    let reply = said.unwrap_or(&nothing);
    let (compared, score) = match &expected.truth {
        Truth::Actions(recorded) => compare_actions(recorded, generated_actions(&reply.calls)),
        Truth::Intents(right) => {
            let model_intent = intent::stated(reply);
            let hit = model_intent
                .as_ref()
                .is_some_and(|code| right.contains(code));
            let gt_intents = right.iter().cloned().collect();
            let compared = Compared::Intents {
                gt_intents,
                model_intent,
            };
            (compared, f64::from(u8::from(hit)))
        }
    };
    let turn = TurnScore {
        conversation_id: expected.conversation_id.clone(),
        repeat,
        turn: expected.assistant_turn,
        domain: domain_of(&expected.truth),
        missing: said.is_none().then_some(true),
        compared,
        score: round4(score),
    };
    (turn, score)
}

fn compare_actions(recorded: &[&'static str], generated: Vec<&'static str>) -> (Compared, f64) {
    let mut names: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for name in recorded {
        names.entry(name).or_default().0 += 1;
    }
    for name in &generated {
        names.entry(name).or_default().1 += 1;
    }
    let common: usize = names.values().map(|(a, b)| a.min(b)).sum();
    let all: usize = names.values().map(|(a, b)| a.max(b)).sum();
    let compared = Compared::Actions {
        gt_actions: recorded.to_vec(),
        model_actions: generated,
    };
    // `all` is at least the number of recorded executables, and a turn without any is not scored.
    (compared, common as f64 / all as f64)
}

fn domain_of(truth: &Truth) -> &'static str {
    match truth {
        Truth::Actions(_) => "coding",
        Truth::Intents(_) => "workflow",
    }
}

fn domain(per_turn: &[(TurnScore, f64)], name: &str) -> Option<DomainScore> {
    let turns = || per_turn.iter().filter(|(turn, _)| turn.domain == name);
    Some(DomainScore {
        score: mean(turns().map(|(_, exact)| *exact))?,
        scored: turns().count(),
    })
}

fn excluded(expected: &Expected) -> Option<ExcludedTurn> {
    expected.truth.is_empty().then(|| ExcludedTurn {
        conversation_id: expected.conversation_id.clone(),
        turn: expected.assistant_turn,
        domain: domain_of(&expected.truth),
        exclude_reason: "no ground truth",
    })
}

/// The mean, added up in order as the reference does and rounded to four decimals.
fn mean(scores: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = scores.fold((0.0, 0usize), |(sum, n), score| (sum + score, n + 1));
    (count > 0).then(|| round4(sum / count as f64))
}

/// Four decimals, rounded as Python's `round` does: on the exact value of the double.
fn round4(value: f64) -> f64 {
    format!("{value:.4}").parse().unwrap_or(value)
}
