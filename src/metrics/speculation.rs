//! What drafts (MTP) were worth: how many were kept, at which position, and whether the steps that verified them were
//! worth their time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::turn::step_times;
use crate::clock::Nanos;
use crate::machine::Known;
use crate::record::TurnRecord;

/// Width of a class of context lengths, tokens: within it, steps take about as long.
const CONTEXT_CLASS: usize = 4096;

/// Fewest steps without drafts in a class, and with drafts in all, that times are compared from.
const ENOUGH: usize = 32;

/// Loss above which drafts are said to be slower, as a fraction.
const LOSS: f64 = 0.05;

/// Draft tokens of speculative decoding over the completed turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speculation {
    /// Tokens proposed.
    pub drafted: usize,
    /// Tokens kept.
    pub accepted: usize,
    /// Kept ÷ proposed; `None` when nothing was proposed.
    pub acceptance: Option<f64>,
    /// Tokens after each turn's first ÷ the steps that gave them; `None` when nothing was proposed.
    pub tokens_per_step: Option<f64>,
    /// The same counts for each position of a draft, the first first; their sums are those above.
    pub positions: Vec<DraftPosition>,
    /// The run's speed against that of its own steps without drafts.
    pub against_plain: Known<AgainstPlain>,
}

/// Drafts of one position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftPosition {
    /// Steps that verified a token there.
    pub drafted: usize,
    /// Of these, steps that kept it, and so all before it.
    pub accepted: usize,
}

/// Steps with drafts against steps without, in one run.
///
/// A step's time is that between its emission and the one before it. A turn's first two emissions are left out: the
/// first comes with the prompt, the second also evaluates what was rolled back. Compared is within classes of context
/// length in which there are steps without drafts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgainstPlain {
    /// Steps without drafts.
    pub plain_steps: usize,
    /// Their mean time, ns. They also feed the drafting block, and under `auto` may ask it for a draft that it is not
    /// sure of, which a run without drafts does not: its steps are faster, so that `ratio` flatters drafts.
    pub plain_step_ns: f64,
    /// Steps with drafts.
    pub drafting_steps: usize,
    /// Their mean time, ns.
    pub drafting_step_ns: f64,
    /// Tokens that these emitted per step. Above `drafting_step_ns` ÷ `plain_step_ns` they are worth their time.
    pub tokens_per_drafting_step: f64,
    /// Time that the tokens of all these steps would have taken at the mean time of a step without drafts ÷ time that
    /// they took; below 1, drafting was slower.
    pub ratio: f64,
}

impl Speculation {
    /// Adds up the given (completed) turns.
    pub(super) fn of(completed: &[&TurnRecord]) -> Self {
        let drafted = completed.iter().map(|r| r.drafted_tokens).sum();
        let accepted = completed.iter().map(|r| r.accepted_tokens).sum();
        // A turn's first token comes with its prompt: no step drafts it.
        let mut after_first = (0, 0);
        for steps in completed.iter().filter_map(|r| r.step_tokens.get(1..)) {
            after_first = (
                after_first.0 + steps.iter().sum::<usize>(),
                after_first.1 + steps.len(),
            );
        }
        Self {
            drafted,
            accepted,
            acceptance: (drafted > 0).then(|| accepted as f64 / drafted as f64),
            tokens_per_step: (drafted > 0 && after_first.1 > 0)
                .then(|| after_first.0 as f64 / after_first.1 as f64),
            positions: positions(completed),
            against_plain: match drafted {
                0 => Known::unknown("nothing was drafted"),
                _ => AgainstPlain::of(completed),
            },
        }
    }

    /// Drafts that cost more than they gave, in words.
    pub(super) fn notice(&self) -> Option<String> {
        let own = self
            .against_plain
            .get()
            .filter(|own| own.ratio < 1.0 - LOSS)?;
        Some(format!(
            "MTP is slower than none, by this run's own steps: {} steps without drafts took {:.2} ms each, {} with drafts \
             {:.2} ms each for {:.2} tokens; decoding is about {:.2} times as fast as without drafts. Use --mtp off, or \
             run both and compare them (edge-agentic compare)",
            own.plain_steps,
            own.plain_step_ns / 1e6,
            own.drafting_steps,
            own.drafting_step_ns / 1e6,
            own.tokens_per_drafting_step,
            own.ratio
        ))
    }
}

fn positions(completed: &[&TurnRecord]) -> Vec<DraftPosition> {
    let mut positions: Vec<DraftPosition> = Vec::new();
    for record in completed {
        for (drafted, accepted) in step_drafts(record) {
            if positions.len() < drafted {
                positions.resize(drafted, DraftPosition::default());
            }
            for (i, position) in positions.iter_mut().take(drafted).enumerate() {
                position.drafted += 1;
                position.accepted += usize::from(i < accepted);
            }
        }
    }
    positions
}

/// Drafted and accepted tokens of each step. Every step adds a token of the model's own to the accepted ones, but for a
/// turn's last, which may end with a draft.
fn step_drafts(record: &TurnRecord) -> impl Iterator<Item = (usize, usize)> {
    let steps = record.step_tokens.iter().zip(&record.step_drafted);
    let mut left = record.accepted_tokens;
    let last = record.step_drafted.len().saturating_sub(1);
    steps.enumerate().map(move |(i, (&emitted, &drafted))| {
        let accepted = match i {
            i if i == last => left.min(drafted),
            _ => emitted.saturating_sub(1).min(drafted),
        };
        left = left.saturating_sub(accepted);
        (drafted, accepted)
    })
}

/// Steps of a kind: their number, their tokens, their time.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    count: usize,
    tokens: usize,
    ns: Nanos,
}

impl Steps {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.tokens += other.tokens;
        self.ns = self.ns.saturating_add(other.ns);
    }

    fn mean_ns(self) -> f64 {
        self.ns as f64 / self.count as f64
    }
}

impl AgainstPlain {
    fn of(completed: &[&TurnRecord]) -> Known<Self> {
        // Per class of context length: steps without drafts, and with.
        let mut classes: BTreeMap<usize, [Steps; 2]> = BTreeMap::new();
        for record in completed {
            add_steps(record, &mut classes);
        }
        let (mut plain, mut drafting) = (Steps::default(), Steps::default());
        let mut expected_ns = 0.0;
        for [without, with] in classes.into_values().filter(|c| c[0].count >= ENOUGH) {
            let tokens = without.tokens + with.tokens;
            expected_ns += tokens as f64 * without.mean_ns();
            plain.add(without);
            drafting.add(with);
        }
        let took = plain.ns.saturating_add(drafting.ns);
        if plain.count < ENOUGH || drafting.count < ENOUGH || took == 0 {
            return Known::unknown(format!(
                "{} steps without drafts and {} with drafts can be compared at like context length, expected at least \
                 {ENOUGH} of each; compare with a run under --mtp off",
                plain.count, drafting.count
            ));
        }
        Known::new(Self {
            plain_steps: plain.count,
            plain_step_ns: plain.mean_ns(),
            drafting_steps: drafting.count,
            drafting_step_ns: drafting.mean_ns(),
            tokens_per_drafting_step: drafting.tokens as f64 / drafting.count as f64,
            ratio: expected_ns / took as f64,
        })
    }
}

fn add_steps(record: &TurnRecord, classes: &mut BTreeMap<usize, [Steps; 2]>) {
    let Some(prompt) = record.prompt_tokens else {
        return;
    };
    let steps: Vec<(usize, Nanos)> = step_times(record).collect();
    let mut before = steps
        .iter()
        .take(2)
        .map(|(tokens, _)| tokens)
        .sum::<usize>();
    for (i, pair) in steps.windows(2).enumerate().skip(1) {
        let (tokens, at) = pair[1];
        let drafted = record.step_drafted.get(i + 1).copied().unwrap_or(0);
        let class = (prompt + before) / CONTEXT_CLASS;
        classes.entry(class).or_default()[usize::from(drafted > 0)].add(Steps {
            count: 1,
            tokens,
            ns: at.saturating_sub(pair[0].1),
        });
        before += tokens;
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{facts, steps};
    use super::super::{Summary, WarningKind, inconsistencies};
    use super::*;

    /// A turn of steps (emitted, drafted, time of the step); all accepted but the token of the model's own.
    fn turn(number: u32, of: &[(usize, usize, Nanos)]) -> TurnRecord {
        let emitted: Vec<usize> = of.iter().map(|s| s.0).collect();
        let times: Vec<Nanos> = of
            .iter()
            .scan(100, |at, s| {
                *at += s.2;
                Some(*at)
            })
            .collect();
        TurnRecord {
            step_drafted: of.iter().map(|s| s.1).collect(),
            drafted_tokens: of.iter().map(|s| s.1).sum(),
            accepted_tokens: emitted.iter().map(|n| n - 1).sum(),
            ..steps("a", number, &emitted, &times)
        }
    }

    #[test]
    fn t3_05_counts_per_position_are_the_hand_count_and_add_up() {
        // Kept of three drafts each: 2, 0, 3, 1; then one step without drafts.
        let mut row = turn(
            1,
            &[
                (1, 0, 9),
                (3, 3, 9),
                (1, 3, 9),
                (4, 3, 9),
                (2, 3, 9),
                (1, 0, 9),
            ],
        );
        let of = Speculation::of(&[&row]);
        let counts: Vec<_> = of
            .positions
            .iter()
            .map(|p| (p.drafted, p.accepted))
            .collect();
        assert_eq!(counts, [(4, 3), (4, 2), (4, 1)]);
        assert_eq!((of.drafted, of.accepted), (12, 6));
        assert_eq!(
            of.positions.iter().map(|p| p.accepted).sum::<usize>(),
            of.accepted
        );
        assert_eq!(
            of.positions.iter().map(|p| p.drafted).sum::<usize>(),
            of.drafted
        );
        assert_eq!(inconsistencies(&row), []);
        // A turn that ends with a draft: the last step has no token of the model's own.
        let end = TurnRecord {
            accepted_tokens: 4,
            ..turn(1, &[(1, 0, 9), (3, 3, 9), (2, 3, 9)])
        };
        let of = Speculation::of(&[&end]);
        let counts: Vec<_> = of
            .positions
            .iter()
            .map(|p| (p.drafted, p.accepted))
            .collect();
        assert_eq!(counts, [(2, 2), (2, 2), (2, 0)]);
        row.step_drafted[1] = 1;
        let found: Vec<String> = inconsistencies(&row)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(found[0].contains("drafted_tokens = 12"), "{found:?}");
        assert!(
            found[1].contains("step 1 emitted 3 tokens with 1 drafts"),
            "{found:?}"
        );
    }

    fn alternating(drafting_ns: Nanos, emitted: usize) -> Summary {
        let mut of = vec![(1, 0, 50), (1, 0, 90)];
        for _ in 0..40 {
            of.extend([(1, 0, 1000), (emitted, 3, drafting_ns)]);
        }
        Summary::compute(&[turn(1, &of)], &facts(&[("a", 1)])).expect("rows and facts agree")
    }

    #[test]
    fn drafts_that_cost_more_than_they_give_are_a_warning() {
        let slow = alternating(3000, 2);
        let own = slow.speculation.against_plain.get().expect("enough steps");
        assert_eq!((own.plain_steps, own.drafting_steps), (40, 40));
        assert!((own.tokens_per_drafting_step - 2.0).abs() < 1e-9);
        // 120 tokens at 1000 ns against 40 · 1000 + 40 · 3000 ns.
        assert!((own.ratio - 0.75).abs() < 1e-9, "{own:?}");
        let kinds: Vec<_> = slow.warnings.iter().map(|w| w.kind).collect();
        assert!(kinds.contains(&WarningKind::SlowDrafts), "{kinds:?}");
        assert!(slow.valid);
        let fast = alternating(1500, 2);
        assert!(
            fast.speculation
                .against_plain
                .get()
                .is_some_and(|own| own.ratio > 1.0)
        );
        assert!(
            fast.warnings
                .iter()
                .all(|w| w.kind != WarningKind::SlowDrafts)
        );
    }

    #[test]
    fn too_few_steps_without_drafts_say_nothing() {
        let row = turn(1, &[(1, 0, 50), (2, 3, 90), (2, 3, 90), (1, 0, 10)]);
        let of = Speculation::of(&[&row]);
        let reason = of.against_plain.reason().expect("too few");
        assert!(
            reason.starts_with("0 steps without drafts and 0 with drafts can be compared"),
            "{reason}"
        );
        assert!(reason.contains("--mtp off"), "{reason}");
        assert_eq!(of.notice(), None);
    }
}
