//! What is kept of a prompt: the recurrent state at the end of its reusable prefix, and, where it is asked
//! for, at the end of a shorter one.
//!
//! A Gated-DeltaNet layer's state cannot be cut back, so the only way to return to an earlier position is a copy
//! taken there. The attention cache can be cut, and is: a restored copy without that cut gives wrong results and no
//! error, so the two always go together here.

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::session::{LlamaStateSeqFlags, SeqState};

use super::super::{EngineError, Token};
use crate::chat::prefix::common_prefix;

/// The only sequence.
const SEQ: i32 = 0;

/// The memory of one sequence, as far as reuse needs it; llama.cpp's context, and a fake one in tests.
pub trait Memory {
    /// A copy of what cannot be cut.
    type State;

    /// Copies the state at the current end.
    fn save(&self) -> Result<Self::State, String>;

    /// Puts a copy back; cells after its position must then be cut.
    fn load(&mut self, state: &Self::State) -> Result<(), String>;

    /// Removes every cell from `position` on; `false` where the memory cannot do it.
    fn cut(&mut self, position: usize) -> Result<bool, String>;
}

impl Memory for LlamaContext<'_> {
    type State = SeqState;

    fn save(&self) -> Result<SeqState, String> {
        self.state_seq_get(SEQ, LlamaStateSeqFlags::PARTIAL_ONLY)
            .map_err(|e| e.to_string())
    }

    fn load(&mut self, state: &SeqState) -> Result<(), String> {
        self.state_seq_set(state, SEQ).map_err(|e| e.to_string())
    }

    fn cut(&mut self, position: usize) -> Result<bool, String> {
        let from = u32::try_from(position).map_err(|e| e.to_string())?;
        self.clear_kv_cache_seq(Some(SEQ.cast_unsigned()), Some(from), None)
            .map_err(|e| e.to_string())
    }
}

struct Snapshot<S> {
    position: usize,
    state: S,
    /// Ends of the decode calls that led here from an empty cache: what a faithful repeat needs.
    lineage: Vec<usize>,
}

/// The last prompt and the snapshots taken in it.
pub struct Kept<S> {
    prompt: Vec<Token>,
    snapshot: Option<Snapshot<S>>,
    shared: Option<Snapshot<S>>,
}

/// Which of the two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The end of the prompt's reusable prefix.
    Reusable,
    /// The end of a shorter prefix.
    Shared,
}

/// How much of a prompt is in place already.
#[derive(Debug, PartialEq, Eq)]
pub struct Restored {
    /// Tokens in place.
    pub position: usize,
    /// Ends of the decode calls that put them there.
    pub lineage: Vec<usize>,
    /// Why it is less than the common prefix allows, if so.
    pub note: Option<String>,
}

impl Restored {
    const fn nothing(note: Option<String>) -> Self {
        Self {
            position: 0,
            lineage: Vec::new(),
            note,
        }
    }
}

impl<S> Default for Kept<S> {
    fn default() -> Self {
        Self {
            prompt: Vec::new(),
            snapshot: None,
            shared: None,
        }
    }
}

impl<S> Kept<S> {
    /// Brings `memory` to the newest kept position at or below the common prefix with `prompt`, leaving at least
    /// one token to evaluate; where there is none, to empty.
    pub fn restore(
        &mut self,
        memory: &mut impl Memory<State = S>,
        prompt: &[Token],
    ) -> Result<Restored, EngineError> {
        let common = common_prefix(&self.prompt, prompt);
        let usable = [&self.snapshot, &self.shared]
            .into_iter()
            .flatten()
            .filter(|s| s.position <= common && s.position < prompt.len())
            .max_by_key(|s| s.position);
        let Some(snapshot) = usable else {
            self.clear(memory)?;
            return Ok(Restored::nothing(None));
        };
        let restored = Restored {
            position: snapshot.position,
            lineage: snapshot.lineage.clone(),
            note: None,
        };
        memory
            .load(&snapshot.state)
            .map_err(|e| failed("restoring", restored.position, &e))?;
        if !cut(memory, restored.position)? {
            self.clear(memory)?;
            return Ok(Restored::nothing(Some(format!(
                "the cache refused to be cut at token {}; the prompt was evaluated from its beginning",
                restored.position
            ))));
        }
        Ok(restored)
    }

    /// Takes the snapshot at `position`, which the memory has just reached.
    pub fn take(
        &mut self,
        memory: &impl Memory<State = S>,
        place: Place,
        position: usize,
        lineage: &[usize],
    ) -> Result<(), EngineError> {
        let slot = match place {
            Place::Reusable => &mut self.snapshot,
            Place::Shared => &mut self.shared,
        };
        // The old copy goes before the new one comes: on the 27B each is 150 MiB.
        *slot = None;
        *slot = Some(Snapshot {
            position,
            state: memory.save().map_err(|e| failed("taking", position, &e))?,
            lineage: lineage.to_vec(),
        });
        Ok(())
    }

    /// Remembers which prompt the memory now holds. A snapshot beyond what the new prompt shares with the old one is
    /// of the old one, and is given up.
    pub fn set_prompt(&mut self, prompt: &[Token], taken: bool) {
        let common = common_prefix(&self.prompt, prompt);
        if !taken && self.snapshot.as_ref().is_some_and(|s| s.position > common) {
            self.snapshot = None;
        }
        self.prompt.clear();
        self.prompt.extend_from_slice(prompt);
    }

    /// Gives up everything, in the memory too.
    pub fn clear(&mut self, memory: &mut impl Memory<State = S>) -> Result<(), EngineError> {
        self.prompt.clear();
        self.snapshot = None;
        self.shared = None;
        if cut(memory, 0)? {
            Ok(())
        } else {
            Err(EngineError::Snapshot(
                "the cache refused to be emptied".to_owned(),
            ))
        }
    }
}

fn failed(what: &str, position: usize, cause: &str) -> EngineError {
    EngineError::Snapshot(format!("{what} at token {position}: {cause}"))
}

fn cut(memory: &mut impl Memory, position: usize) -> Result<bool, EngineError> {
    memory
        .cut(position)
        .map_err(|e| failed("cutting", position, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds a number of tokens; refuses to be cut where told to.
    #[derive(Default)]
    struct Fake {
        tokens: usize,
        refuses: Option<usize>,
    }

    impl Memory for Fake {
        type State = usize;

        fn save(&self) -> Result<usize, String> {
            Ok(self.tokens)
        }

        fn load(&mut self, state: &usize) -> Result<(), String> {
            assert!(*state <= self.tokens, "a copy of what was never evaluated");
            Ok(())
        }

        fn cut(&mut self, position: usize) -> Result<bool, String> {
            if self.refuses == Some(position) {
                return Ok(false);
            }
            self.tokens = self.tokens.min(position);
            Ok(true)
        }
    }

    /// A prompt of `n` tokens evaluated with snapshots at 4 and `n - 3`.
    fn played(memory: &mut Fake, n: usize) -> Kept<usize> {
        let mut kept = Kept::default();
        for (place, at) in [(Place::Shared, 4), (Place::Reusable, n - 3)] {
            memory.tokens = at;
            kept.take(memory, place, at, &[at]).expect("a copy");
        }
        memory.tokens = n;
        kept.set_prompt(&prompt(n), true);
        kept
    }

    fn prompt(n: usize) -> Vec<Token> {
        (0..n as Token).collect()
    }

    #[test]
    fn t2_02_a_refused_cut_means_from_the_beginning_with_the_reason() {
        let mut memory = Fake {
            refuses: Some(17),
            ..Fake::default()
        };
        let mut kept = played(&mut memory, 20);
        let restored = kept
            .restore(&mut memory, &prompt(30))
            .expect("the turn goes on");
        assert_eq!((restored.position, memory.tokens), (0, 0));
        let note = restored.note.expect("a reason");
        assert!(note.contains("refused to be cut at token 17"), "{note}");
    }

    #[test]
    fn the_newest_state_within_the_common_prefix_comes_back() {
        let mut memory = Fake::default();
        let mut kept = played(&mut memory, 20);
        let longer = kept.restore(&mut memory, &prompt(30)).expect("restored");
        assert_eq!((longer.position, memory.tokens), (17, 17));
        let mut kept = played(&mut memory, 20);
        let mut other = prompt(10);
        other.extend([99; 5]);
        let shared = kept.restore(&mut memory, &other).expect("restored");
        assert_eq!(
            (shared.position, shared.lineage, memory.tokens),
            (4, vec![4], 4)
        );
        let nothing = kept.restore(&mut memory, &[99, 98]).expect("emptied");
        assert_eq!((nothing, memory.tokens), (Restored::nothing(None), 0));
    }

    #[test]
    fn a_snapshot_of_the_old_prompt_is_given_up_with_it() {
        let mut memory = Fake::default();
        let mut kept = played(&mut memory, 20);
        let mut other = prompt(10);
        other.extend([99; 20]);
        kept.set_prompt(&other, false);
        memory.tokens = 30;
        let restored = kept.restore(&mut memory, &prompt(40)).expect("restored");
        assert_eq!(restored.position, 4, "17 was a place in the old prompt");
    }
}
