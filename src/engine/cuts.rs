//! Where decode calls end.
//!
//! A decode call's end is where state can be kept, and its place changes rounding, so it is decided by pure functions
//! that tests and the comparison with llama-server can see.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Token;

/// Which decode-call boundaries a prompt gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Boundaries {
    /// None of their own: the prompt goes through in the fewest calls, and the few tokens after its reusable prefix
    /// are rolled back and evaluated again together with the first generated one. Without MTP every generation step
    /// then writes the recurrent states to roll back to.
    Lean,
    /// One cut, at the end of the reusable prefix: one pass over the weights more per turn, and plain generation
    /// steps. What `lean` is checked against, and what it does where it cannot roll back.
    Cut,
    /// The cuts of llama-server b11434, for token-by-token comparison with it.
    Server,
}

impl fmt::Display for Boundaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lean => "lean",
            Self::Cut => "cut",
            Self::Server => "server",
        })
    }
}

/// The tail that llama-server b11434 keeps out of its last checkpoint, tokens (`checkpoint_offsets`).
const SERVER_TAIL: usize = 4;

/// Most tokens for whose rollback recurrent states are held: each costs a whole state, 150 MiB on the 27B.
const MOST_ROLLBACK: usize = 8;

/// Rows that the CPU's quantized kernels take at once: a call that ends elsewhere is rounded differently.
const ROWS: usize = 4;

/// Tokens for whose rollback the context is to hold recurrent states (`n_rs_seq`); 0 where prompts are cut instead.
/// `held_back`: tokens at a prompt's end that its continuation may change.
#[must_use]
pub fn rollback_tokens(boundaries: Boundaries, held_back: usize, micro_batch: usize) -> usize {
    // llama.cpp asserts that a micro-batch is larger than what is rolled back and one token more.
    let fits = held_back <= MOST_ROLLBACK && held_back + 2 <= micro_batch;
    if boundaries == Boundaries::Lean && fits {
        held_back
    } else {
        0
    }
}

/// A decode call over part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Position in the prompt up to which its state was kept.
    pub end: usize,
    /// Tokens after that, evaluated in the same call and rolled back.
    pub tail: Vec<Token>,
}

impl Call {
    /// A call of which everything was kept.
    #[must_use]
    pub const fn to(end: usize) -> Self {
        Self {
            end,
            tail: Vec::new(),
        }
    }
}

/// The calls over a prompt, and where in it state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPlan {
    /// Their ends ascend, each in `start + 1 ..= prompt`; the last is the prompt's end.
    pub calls: Vec<Call>,
    /// The end of the reusable prefix: of `calls`, or `roll_back`; `None` where it is too short to keep anything.
    pub snapshot: Option<usize>,
    /// The end of the shorter prefix whose state is kept too: of `calls`, or `roll_back`.
    pub shared: Option<usize>,
    /// Position to which the last call is rolled back once the first token is chosen.
    pub roll_back: Option<usize>,
}

/// The prompt for which calls are planned.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// Tokens of it that are in place already.
    pub start: usize,
    /// Tokens.
    pub prompt: usize,
    /// Length of the prefix that any continuation shares.
    pub reusable: usize,
    /// Where users' messages start.
    pub user_starts: &'a [usize],
    /// Length of a shorter prefix whose state is kept too.
    pub shared: Option<usize>,
}

impl Layout<'_> {
    fn inside(&self, position: usize) -> Option<usize> {
        (position > self.start && position <= self.prompt).then_some(position)
    }
}

/// Plans the calls for the prompt's tokens that are not in place, each of at most `micro_batch` tokens, so that a
/// deadline is seen between any two. `rollback`: most tokens that the memory can be rolled back.
#[must_use]
pub fn plan(
    boundaries: Boundaries,
    layout: &Layout<'_>,
    micro_batch: usize,
    rollback: usize,
) -> CutPlan {
    if boundaries == Boundaries::Lean
        && let Some(plan) = uncut(layout, micro_batch, rollback)
    {
        return plan;
    }
    let &Layout {
        prompt,
        user_starts,
        ..
    } = layout;
    let snapshot = layout.inside(match boundaries {
        Boundaries::Lean | Boundaries::Cut => layout.reusable,
        Boundaries::Server => prompt.saturating_sub(SERVER_TAIL),
    });
    let shared = layout.shared.and_then(|s| layout.inside(s));
    let mut cuts: Vec<usize> = snapshot.into_iter().chain(shared).collect();
    if boundaries == Boundaries::Server {
        cuts.extend(prompt.checked_sub(SERVER_TAIL + micro_batch));
        cuts.extend(user_starts.first());
        cuts.extend(user_starts.last());
    }
    cuts.push(prompt);
    cuts.retain(|&c| layout.inside(c).is_some());
    cuts.sort_unstable();
    cuts.dedup();
    CutPlan {
        calls: calls(split(layout.start, &cuts, micro_batch)),
        snapshot,
        shared,
        roll_back: None,
    }
}

/// The plan without a cut at the reusable prefix; `None` where the memory cannot be rolled back to it.
fn uncut(layout: &Layout<'_>, micro_batch: usize, rollback: usize) -> Option<CutPlan> {
    let &Layout {
        start,
        prompt,
        reusable,
        ..
    } = layout;
    let held = prompt.checked_sub(reusable)?;
    let possible = held > 0 && held <= rollback && held + 2 <= micro_batch && reusable > start;
    let shared = layout.shared.and_then(|s| layout.inside(s));
    if !possible || shared.is_some_and(|s| s > reusable) {
        return None;
    }
    let cut = shared.filter(|&s| s < reusable);
    let cuts: Vec<usize> = cut.into_iter().chain([prompt]).collect();
    let mut ends = split(start, &cuts, micro_batch);
    lengthen_last(&mut ends, start, held + 1, micro_batch);
    Some(CutPlan {
        calls: calls(ends),
        snapshot: Some(reusable),
        shared,
        roll_back: Some(reusable),
    })
}

/// Gives the last call at least `least` tokens, at the cost of the one before it: recurrent states to roll back to
/// exist for the tokens of the last call alone, its first excepted.
fn lengthen_last(ends: &mut [usize], start: usize, least: usize, micro_batch: usize) {
    let [earlier @ .., before, end] = ends else {
        return;
    };
    let short = least.saturating_sub(*end - *before);
    let rounded = short.next_multiple_of(ROWS);
    let longest = *before - earlier.last().unwrap_or(&start);
    *before -= if rounded < longest && *end - *before + rounded <= micro_batch {
        rounded
    } else {
        short
    };
}

/// Calls that end at `ends`, all of them kept whole.
#[must_use]
pub fn calls(ends: Vec<usize>) -> Vec<Call> {
    ends.into_iter().map(Call::to).collect()
}

/// Splits the calls that end at `cuts` into calls of at most `micro_batch` tokens.
#[must_use]
pub fn split(start: usize, cuts: &[usize], micro_batch: usize) -> Vec<usize> {
    let mut ends = Vec::with_capacity(cuts.len());
    let mut at = start;
    for &cut in cuts {
        while cut - at > micro_batch {
            at += micro_batch;
            ends.push(at);
        }
        at = cut;
        ends.push(at);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout(start: usize, prompt: usize, reusable: usize, user_starts: &[usize]) -> Layout<'_> {
        Layout {
            start,
            prompt,
            reusable,
            user_starts,
            shared: None,
        }
    }

    fn ends(plan: &CutPlan) -> Vec<usize> {
        plan.calls.iter().map(|c| c.end).collect()
    }

    fn lean(start: usize, prompt: usize) -> CutPlan {
        let layout = layout(start, prompt, prompt - 3, &[]);
        plan(Boundaries::Lean, &layout, 512, 3)
    }

    #[test]
    fn lean_has_no_cut_of_its_own_and_rolls_back() {
        let p = lean(0, 1100);
        assert_eq!(ends(&p), [512, 1024, 1100]);
        assert_eq!((p.snapshot, p.roll_back), (Some(1097), Some(1097)));
        assert!(p.calls.iter().all(|c| c.tail.is_empty()));
    }

    #[test]
    fn the_last_call_holds_what_is_rolled_back_and_one_token_more() {
        assert_eq!(ends(&lean(0, 1024)), [512, 1024]);
        assert_eq!(ends(&lean(0, 1025)), [512, 1020, 1025], "a multiple of 4");
        assert_eq!(ends(&lean(0, 1027)), [512, 1020, 1027]);
        assert_eq!(ends(&lean(0, 1028)), [512, 1024, 1028]);
        assert_eq!(ends(&lean(1000, 1004)), [1004]);
    }

    #[test]
    fn where_nothing_can_be_rolled_back_the_prompt_is_cut_at_the_reusable_prefix() {
        let l = layout(0, 1100, 1097, &[300]);
        for (boundaries, micro_batch, rollback) in [
            (Boundaries::Lean, 512, 0),
            (Boundaries::Lean, 512, 2),
            (Boundaries::Lean, 4, 3),
            (Boundaries::Cut, 512, 3),
        ] {
            let p = plan(boundaries, &l, micro_batch, rollback);
            assert!(ends(&p).contains(&1097), "{boundaries} {micro_batch}");
            assert_eq!((p.snapshot, p.roll_back), (Some(1097), None));
        }
    }

    #[test]
    fn states_to_roll_back_to_are_held_only_where_they_are_few_and_a_call_can_hold_them() {
        assert_eq!(rollback_tokens(Boundaries::Lean, 3, 512), 3);
        assert_eq!(rollback_tokens(Boundaries::Lean, 3, 5), 3);
        assert_eq!(
            rollback_tokens(Boundaries::Lean, 3, 4),
            0,
            "llama.cpp aborts"
        );
        assert_eq!(rollback_tokens(Boundaries::Lean, 9, 512), 0);
        assert_eq!(rollback_tokens(Boundaries::Cut, 3, 512), 0);
        assert_eq!(rollback_tokens(Boundaries::Server, 3, 512), 0);
    }

    #[test]
    fn a_shorter_prefix_is_kept_only_where_asked() {
        let mut l = layout(0, 1100, 1097, &[300]);
        l.shared = Some(300);
        let p = plan(Boundaries::Lean, &l, 512, 3);
        assert_eq!(ends(&p), [300, 812, 1100]);
        assert_eq!((p.snapshot, p.shared), (Some(1097), Some(300)));
        let p = plan(Boundaries::Cut, &l, 512, 0);
        assert_eq!(ends(&p), [300, 812, 1097, 1100]);
        l.start = 300;
        assert_eq!(plan(Boundaries::Lean, &l, 512, 3).shared, None);
    }

    #[test]
    fn both_places_can_be_one() {
        let mut l = layout(0, 600, 597, &[]);
        l.shared = Some(597);
        let p = plan(Boundaries::Lean, &l, 512, 3);
        assert_eq!(ends(&p), [512, 600]);
        let place = Some(597);
        assert_eq!((p.snapshot, p.shared, p.roll_back), (place, place, place));
    }

    #[test]
    fn server_cuts_at_user_starts_and_before_the_end() {
        let l = layout(0, 2000, 1997, &[300, 900]);
        let p = plan(Boundaries::Server, &l, 512, 0);
        assert_eq!(ends(&p), [300, 812, 900, 1412, 1484, 1996, 2000]);
        assert_eq!(p.snapshot, Some(1996));
    }

    #[test]
    fn cuts_before_the_start_are_dropped() {
        let l = layout(1996, 2300, 2297, &[300]);
        assert_eq!(ends(&plan(Boundaries::Server, &l, 512, 0)), [2296, 2300]);
        let l = layout(1097, 1099, 1096, &[]);
        for boundaries in [Boundaries::Lean, Boundaries::Cut] {
            let p = plan(boundaries, &l, 512, 3);
            assert_eq!(ends(&p), [1099]);
            assert_eq!((p.snapshot, p.roll_back), (None, None));
        }
    }

    #[test]
    fn a_prompt_that_is_reusable_to_its_end_is_kept_there_without_a_cut() {
        let p = plan(Boundaries::Lean, &layout(0, 600, 600, &[]), 512, 0);
        assert_eq!(ends(&p), [512, 600]);
        assert_eq!((p.snapshot, p.roll_back), (Some(600), None));
    }

    #[test]
    fn a_short_prompt_keeps_nothing() {
        let l = layout(0, 3, 0, &[]);
        assert_eq!(plan(Boundaries::Server, &l, 512, 0).snapshot, None);
        let p = plan(Boundaries::Lean, &l, 512, 3);
        assert_eq!((ends(&p), p.snapshot), (vec![3], None));
    }

    proptest! {
        #[test]
        fn lean_calls_are_the_fewest_and_can_be_rolled_back(
            start in 0usize..2000,
            new in 1usize..3000,
            held in 1usize..=8,
            micro_batch in 1usize..600,
            shared in prop::option::of(0usize..5000),
        ) {
            let prompt = start + new;
            let layout = Layout { shared, ..layout(start, prompt, prompt.saturating_sub(held), &[]) };
            let p = plan(Boundaries::Lean, &layout, micro_batch, held);
            let mut at = start;
            let mut last = 0;
            for call in &p.calls {
                last = call.end - at;
                prop_assert!(last >= 1 && last <= micro_batch, "{:?}", p);
                at = call.end;
            }
            prop_assert_eq!(at, prompt);
            if let Some(to) = p.roll_back {
                prop_assert!(prompt - to < last, "{:?}", p);
                let cut = p.shared.filter(|&s| s < to).unwrap_or(start);
                let fewest = (cut - start).div_ceil(micro_batch) + (prompt - cut).div_ceil(micro_batch);
                prop_assert_eq!(p.calls.len(), fewest, "{:?}", p);
            } else if new > held {
                prop_assert!(held + 2 > micro_batch || shared.is_some(), "{:?}", p);
            }
        }
    }
}
