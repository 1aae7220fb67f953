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

struct Snapshot {
    position: usize,
    state: SeqState,
    /// Ends of the decode calls that led here from an empty cache: what a faithful repeat needs.
    lineage: Vec<usize>,
}

/// The last prompt and the snapshots taken in it.
#[derive(Default)]
pub struct Kept {
    prompt: Vec<Token>,
    snapshot: Option<Snapshot>,
    shared: Option<Snapshot>,
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

impl Kept {
    /// Brings `context` to the newest kept position at or below the common prefix with `prompt`, leaving at least
    /// one token to evaluate; where there is none, to empty.
    pub fn restore(
        &mut self,
        context: &mut LlamaContext<'_>,
        prompt: &[Token],
    ) -> Result<Restored, EngineError> {
        let common = common_prefix(&self.prompt, prompt);
        let usable = [&self.snapshot, &self.shared]
            .into_iter()
            .flatten()
            .filter(|s| s.position <= common && s.position < prompt.len())
            .max_by_key(|s| s.position);
        let Some(snapshot) = usable else {
            self.clear(context)?;
            return Ok(Restored::nothing(None));
        };
        let restored = Restored {
            position: snapshot.position,
            lineage: snapshot.lineage.clone(),
            note: None,
        };
        context.state_seq_set(&snapshot.state, SEQ).map_err(|e| {
            EngineError::Snapshot(format!("restoring at token {}: {e}", snapshot.position))
        })?;
        if !trim(context, restored.position)? {
            self.clear(context)?;
            return Ok(Restored::nothing(Some(format!(
                "the cache refused to be cut at token {}; the prompt was evaluated from its beginning",
                restored.position
            ))));
        }
        Ok(restored)
    }

    /// Takes the snapshot at `position`, which the context has just reached.
    pub fn take(
        &mut self,
        context: &LlamaContext<'_>,
        place: Place,
        position: usize,
        lineage: &[usize],
    ) -> Result<(), EngineError> {
        // The old copy goes before the new one comes: on the 27B each is 150 MiB.
        match place {
            Place::Reusable => self.snapshot = None,
            Place::Shared => self.shared = None,
        }
        let state = context
            .state_seq_get(SEQ, LlamaStateSeqFlags::PARTIAL_ONLY)
            .map_err(|e| EngineError::Snapshot(format!("taking at token {position}: {e}")))?;
        let snapshot = Some(Snapshot {
            position,
            state,
            lineage: lineage.to_vec(),
        });
        match place {
            Place::Reusable => self.snapshot = snapshot,
            Place::Shared => self.shared = snapshot,
        }
        Ok(())
    }

    /// Remembers which prompt the context now holds. A snapshot beyond what the new prompt shares with the old one is
    /// of the old one, and is given up.
    pub fn set_prompt(&mut self, prompt: &[Token], taken: bool) {
        let common = common_prefix(&self.prompt, prompt);
        if !taken && self.snapshot.as_ref().is_some_and(|s| s.position > common) {
            self.snapshot = None;
        }
        self.prompt.clear();
        self.prompt.extend_from_slice(prompt);
    }

    /// Gives up everything, in the context too.
    pub fn clear(&mut self, context: &mut LlamaContext<'_>) -> Result<(), EngineError> {
        self.prompt.clear();
        self.snapshot = None;
        self.shared = None;
        if trim(context, 0)? {
            Ok(())
        } else {
            Err(EngineError::Snapshot(
                "the cache refused to be emptied".to_owned(),
            ))
        }
    }
}

/// Removes every cell from `position` on; `false` where the memory cannot do it.
fn trim(context: &mut LlamaContext<'_>, position: usize) -> Result<bool, EngineError> {
    let from = u32::try_from(position).map_err(|e| EngineError::Snapshot(e.to_string()))?;
    context
        .clear_kv_cache_seq(Some(SEQ.cast_unsigned()), Some(from), None)
        .map_err(|e| EngineError::Snapshot(e.to_string()))
}
