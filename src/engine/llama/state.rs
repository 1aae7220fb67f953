//! What is kept of a prompt: the recurrent state at the end of its reusable prefix, and, where it is asked
//! for, at the end of a shorter one.
//!
//! A Gated-DeltaNet layer's state cannot be cut back, so the only way to return to an earlier position is a copy
//! taken there. The attention cache can be cut, and is: a restored copy without that cut gives wrong results and no
//! error, so the two always go together here.

use super::super::cuts::Call;
use super::super::{EngineError, Token};
use crate::chat::prefix::common_prefix;

/// The memory of one sequence, as far as reuse needs it; llama.cpp's, and a fake one in tests.
pub trait Memory {
    /// A copy of what cannot be cut.
    type State;

    /// Copies the state at the current end, for `place`.
    fn save(&mut self, place: Place) -> Result<Self::State, String>;

    /// Puts a copy back; cells after its position must then be cut.
    fn load(&mut self, state: &Self::State) -> Result<(), String>;

    /// Removes every cell from `position` on; `false` where the memory cannot do it.
    fn cut(&mut self, position: usize) -> Result<bool, String>;
}

struct Snapshot<S> {
    position: usize,
    state: S,
    /// The decode calls that led here from an empty cache: what a faithful repeat needs.
    lineage: Vec<Call>,
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
    /// The decode calls that put them there.
    pub lineage: Vec<Call>,
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
    /// one token to evaluate; where there is none, to empty. `prompt` is then the one whose state is kept.
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
            self.prompt.extend_from_slice(prompt);
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
            self.prompt.extend_from_slice(prompt);
            return Ok(Restored::nothing(Some(format!(
                "the cache refused to be cut at token {}; the prompt was evaluated from its beginning",
                restored.position
            ))));
        }
        self.adopt(prompt, common);
        Ok(restored)
    }

    /// `prompt` takes the place of the last one, with which it has `common` tokens in common. What was kept beyond
    /// them is of the last one alone, and is given up.
    fn adopt(&mut self, prompt: &[Token], common: usize) {
        for kept in [&mut self.snapshot, &mut self.shared] {
            kept.take_if(|s| s.position > common);
        }
        self.prompt.truncate(common);
        self.prompt.extend_from_slice(&prompt[common..]);
    }

    /// Takes the snapshot at `position`, which the memory has just reached.
    pub fn take(
        &mut self,
        memory: &mut impl Memory<State = S>,
        place: Place,
        position: usize,
        lineage: &[Call],
    ) -> Result<(), EngineError> {
        let slot = match place {
            Place::Reusable => &mut self.snapshot,
            Place::Shared => &mut self.shared,
        };
        // The old copy goes before the new one comes: on the 27B each is 150 MiB.
        *slot = None;
        *slot = Some(Snapshot {
            position,
            state: memory
                .save(place)
                .map_err(|e| failed("taking", position, &e))?,
            lineage: lineage.to_vec(),
        });
        Ok(())
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

        fn save(&mut self, _: Place) -> Result<usize, String> {
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
        kept.restore(memory, &prompt(n)).expect("emptied");
        for (place, at) in [(Place::Shared, 4), (Place::Reusable, n - 3)] {
            memory.tokens = at;
            kept.take(memory, place, at, &[Call::to(at)])
                .expect("a copy");
        }
        memory.tokens = n;
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
            (4, vec![Call::to(4)], 4)
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
        kept.restore(&mut memory, &other).expect("restored");
        memory.tokens = 30;
        let restored = kept.restore(&mut memory, &prompt(40)).expect("restored");
        assert_eq!(restored.position, 4, "17 was a place in the old prompt");
        kept.restore(&mut memory, &[0, 1, 99]).expect("emptied");
        memory.tokens = 3;
        let restored = kept.restore(&mut memory, &prompt(40)).expect("emptied");
        assert_eq!(restored.position, 0, "and so was 4");
    }
}
