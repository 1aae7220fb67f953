//! Where decode calls end.
//!
//! A decode call's end is where a snapshot can be taken, and its place changes rounding, so it is decided by pure
//! functions that tests and the comparison with llama-server can see.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which decode-call boundaries a prompt gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Boundaries {
    /// One cut, at the end of the reusable prefix: the fewest that reuse needs.
    Lean,
    /// The cuts of llama-server b11434, for token-by-token comparison with it.
    Server,
}

impl fmt::Display for Boundaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lean => "lean",
            Self::Server => "server",
        })
    }
}

/// The tail that llama-server b11434 keeps out of its last checkpoint, tokens (`checkpoint_offsets`).
const SERVER_TAIL: usize = 4;

/// The prompt positions at which a call must end, and those at which a snapshot is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPlan {
    /// Ascending, each in `start + 1 ..= prompt`; the last is the prompt's end.
    pub ends: Vec<usize>,
    /// Of `ends`, the end of the prompt's reusable prefix; `None` where it is too short to keep anything of it.
    pub snapshot: Option<usize>,
    /// Of `ends`, the end of the shorter prefix whose state is kept too.
    pub shared: Option<usize>,
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

/// Plans the calls for the prompt's tokens that are not in place, each of at most `micro_batch` tokens, so that a
/// deadline is seen between any two.
#[must_use]
pub fn plan(boundaries: Boundaries, layout: &Layout<'_>, micro_batch: usize) -> CutPlan {
    let &Layout {
        start,
        prompt,
        user_starts,
        ..
    } = layout;
    let inside = |cut: usize| (cut > start && cut < prompt).then_some(cut);
    let snapshot = inside(match boundaries {
        Boundaries::Lean => layout.reusable,
        Boundaries::Server => prompt.saturating_sub(SERVER_TAIL),
    });
    let first_user = user_starts.first().copied();
    let shared = layout.shared.and_then(inside);
    let mut cuts: Vec<usize> = snapshot.into_iter().chain(shared).collect();
    if boundaries == Boundaries::Server {
        cuts.extend(prompt.checked_sub(SERVER_TAIL + micro_batch));
        cuts.extend(first_user);
        cuts.extend(user_starts.last());
    }
    cuts.push(prompt);
    cuts.retain(|&c| c > start && c <= prompt);
    cuts.sort_unstable();
    cuts.dedup();
    CutPlan {
        ends: split(start, &cuts, micro_batch),
        snapshot,
        shared,
    }
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

    fn layout(start: usize, prompt: usize, reusable: usize, user_starts: &[usize]) -> Layout<'_> {
        Layout {
            start,
            prompt,
            reusable,
            user_starts,
            shared: None,
        }
    }

    #[test]
    fn lean_cuts_once_at_the_end_of_the_reusable_prefix() {
        let p = plan(Boundaries::Lean, &layout(0, 1100, 1097, &[300]), 512);
        assert_eq!(p.ends, [512, 1024, 1097, 1100]);
        assert_eq!((p.snapshot, p.shared), (Some(1097), None));
    }

    #[test]
    fn a_shorter_prefix_is_kept_only_where_asked() {
        let mut l = layout(0, 1100, 1097, &[300]);
        l.shared = Some(300);
        let p = plan(Boundaries::Lean, &l, 512);
        assert_eq!(p.ends, [300, 812, 1097, 1100]);
        assert_eq!((p.snapshot, p.shared), (Some(1097), Some(300)));
        l.start = 300;
        assert_eq!(plan(Boundaries::Lean, &l, 512).shared, None);
    }

    #[test]
    fn server_cuts_at_user_starts_and_before_the_end() {
        let p = plan(Boundaries::Server, &layout(0, 2000, 1997, &[300, 900]), 512);
        assert_eq!(p.ends, [300, 812, 900, 1412, 1484, 1996, 2000]);
        assert_eq!(p.snapshot, Some(1996));
    }

    #[test]
    fn cuts_before_the_start_are_dropped() {
        let p = plan(Boundaries::Server, &layout(1996, 2300, 2297, &[300]), 512);
        assert_eq!(p.ends, [2296, 2300]);
        let p = plan(Boundaries::Lean, &layout(1097, 1099, 1096, &[]), 512);
        assert_eq!(p.ends, [1099]);
        assert_eq!(p.snapshot, None);
    }

    #[test]
    fn a_short_prompt_keeps_nothing() {
        assert_eq!(
            plan(Boundaries::Server, &layout(0, 3, 0, &[]), 512).snapshot,
            None
        );
        assert_eq!(plan(Boundaries::Lean, &layout(0, 3, 0, &[]), 512).ends, [3]);
    }
}
