//! The one sequence of a context: decode calls over it, and its memory.
//!
//! Every call into llama.cpp is stamped here before and after; the sum is [`Session::inside`].

use std::sync::Arc;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::session::{LlamaStateSeqFlags, SeqState};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

use super::super::speculation::Mtp;
use super::super::{EngineError, Token};
use super::context::ContextSettings;
use super::drafter::Drafter;
use super::model::{LoadError, LoadedModel, explanation};
use super::state::{Memory, Place};
use crate::clock::{Clock, Nanos};

/// The only sequence.
const SEQ: i32 = 0;

/// The model's context, alone or beside one that drafts.
enum Contexts<'m> {
    Plain(LlamaContext<'m>),
    Drafting(Drafter<'m>),
}

impl<'m> Contexts<'m> {
    fn target(&self) -> &LlamaContext<'m> {
        match self {
            Self::Plain(context) => context,
            Self::Drafting(drafter) => drafter.target(),
        }
    }

    fn target_mut(&mut self) -> &mut LlamaContext<'m> {
        match self {
            Self::Plain(context) => context,
            Self::Drafting(drafter) => drafter.target_mut(),
        }
    }
}

/// A context with one sequence.
pub struct Session<'m> {
    contexts: Contexts<'m>,
    /// Most tokens of a decode call.
    call_size: usize,
    batch: LlamaBatch<'static>,
    clock: Arc<dyn Clock>,
    device_snapshots: bool,
    /// Whether the memory is cells alone: cutting them is all that a return to an earlier place needs.
    cells_only: bool,
    /// Most tokens that the end can be moved back by.
    rollback: usize,
    /// Tokens of the last decode call, while the end is where it left it.
    rollable: usize,
    /// Time spent in llama.cpp since the turn's start, ns.
    pub inside: Nanos,
    /// Decode calls since the turn's start.
    pub calls: usize,
}

impl<'m> Session<'m> {
    /// Creates the context with recurrent states for the last `states` tokens of a call, or as many as `mtp` may have
    /// to take back; copies of the state at the reusable prefix stay on the devices where `device_snapshots`.
    pub fn new(
        model: &'m LoadedModel,
        settings: &ContextSettings,
        states: usize,
        mtp: Mtp,
        device_snapshots: bool,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoadError> {
        let depth = mtp.depth();
        let rollback = model.rollback(states.max(depth as usize));
        let cells_only = rollback == usize::MAX;
        let states = if cells_only { 0 } else { rollback };
        let target = settings.create(model, u32::try_from(states).unwrap_or(0), depth + 1)?;
        let contexts = match mtp {
            Mtp::Off => Contexts::Plain(target),
            Mtp::Auto | Mtp::Depth(_) => {
                Contexts::Drafting(Drafter::new(model, settings, target, mtp)?)
            }
        };
        Ok(Self {
            contexts,
            call_size: settings.call_size(),
            batch: LlamaBatch::new(settings.call_size(), 1),
            clock,
            device_snapshots,
            cells_only,
            rollback,
            rollable: 0,
            inside: 0,
            calls: 0,
        })
    }

    /// Tokens that the context holds.
    pub fn size(&self) -> usize {
        self.contexts.target().n_ctx() as usize
    }

    /// Most tokens that a call's end can be moved back by.
    pub const fn rollback(&self) -> usize {
        self.rollback
    }

    /// A new turn begins: counts start over.
    pub fn begin(&mut self) -> Result<(), EngineError> {
        self.inside = 0;
        self.calls = 0;
        match &mut self.contexts {
            Contexts::Plain(_) => Ok(()),
            Contexts::Drafting(drafter) => drafter.begin(),
        }
    }

    fn stamped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let begin = self.clock.now();
        let out = work(self);
        self.inside += self.clock.now() - begin;
        out
    }

    /// One decode call over `tokens` and then `more` at `position`; logits for the last `outputs` of them.
    pub fn decode(
        &mut self,
        tokens: &[Token],
        more: &[Token],
        position: usize,
        outputs: usize,
    ) -> Result<(), EngineError> {
        self.batch.clear();
        let count = tokens.len() + more.len();
        for (i, &token) in tokens.iter().chain(more).enumerate() {
            let at = i32::try_from(position + i).expect("the context is smaller than 2^31 tokens");
            self.batch
                .add(LlamaToken(token), at, &[SEQ], i + outputs >= count)
                .expect("a call is never larger than the batch it was planned for");
        }
        self.calls += 1;
        self.rollable = count;
        self.stamped(|s| s.contexts.target_mut().decode(&mut s.batch))
            .map_err(|e| EngineError::Decode {
                tokens: count,
                position,
                cause: explanation(&e.to_string()),
            })?;
        self.stamped(|s| match &mut s.contexts {
            Contexts::Plain(_) => Ok(()),
            Contexts::Drafting(drafter) => drafter.process(&s.batch, position, count),
        })
    }

    /// At most `most` tokens that may follow `last` at `position`, no more than fit a call with `others` beside.
    pub fn draft(
        &mut self,
        position: usize,
        last: Token,
        most: usize,
        others: usize,
    ) -> Result<Vec<LlamaToken>, EngineError> {
        let most = most.min(self.call_size.saturating_sub(others + 1));
        self.stamped(|s| match &mut s.contexts {
            Contexts::Plain(_) => Ok(Vec::new()),
            Contexts::Drafting(drafter) => drafter.draft(position, last, most),
        })
    }

    /// Of the last draft's `drafted` tokens, `kept` were; the others are taken back, so that the sequence ends at
    /// `position`.
    pub fn judged(
        &mut self,
        drafted: usize,
        kept: usize,
        position: usize,
    ) -> Result<(), EngineError> {
        let Contexts::Drafting(drafter) = &mut self.contexts else {
            return Ok(());
        };
        if drafted > 0 {
            drafter.judged(kept)?;
        }
        if kept < drafted && !self.roll_back(drafted - kept, position)? {
            return Err(EngineError::Draft(format!(
                "the cache refused to give back {} tokens after token {position}",
                drafted - kept
            )));
        }
        Ok(())
    }

    /// Waits for the device.
    pub fn synchronize(&mut self) {
        self.stamped(|s| s.contexts.target().synchronize());
    }

    /// Logits of one of the last call's tokens, for which the call was told to give them: the one before `after`
    /// others.
    pub fn logits(&mut self, after: usize) -> &[f32] {
        let begin = self.clock.now();
        let row = i32::try_from(after).expect("a call has few outputs");
        let logits = self.contexts.target().get_logits_ith(-1 - row);
        self.inside += self.clock.now() - begin;
        logits
    }

    /// Takes back the last `tokens` tokens of the last decode call, so that it ends at `position`; `false` where the
    /// memory cannot do it, which leaves it as it was.
    pub fn roll_back(&mut self, tokens: usize, position: usize) -> Result<bool, EngineError> {
        // llama.cpp takes more than the last call can give back for granted, and leaves garbage.
        if tokens >= self.rollable || tokens > self.rollback {
            return Ok(false);
        }
        let done = self
            .cut_target(position)
            .map_err(|e| EngineError::Snapshot(format!("rolling back to token {position}: {e}")))?;
        if !done {
            self.rollback = 0;
            self.cells_only = false;
        }
        Ok(done)
    }

    fn cut_target(&mut self, position: usize) -> Result<bool, String> {
        self.rollable = 0;
        let from = u32::try_from(position).map_err(|e| e.to_string())?;
        self.stamped(|s| {
            s.contexts
                .target_mut()
                .clear_kv_cache_seq(Some(SEQ.cast_unsigned()), Some(from), None)
        })
        .map_err(|e| e.to_string())
    }
}

impl Memory for Session<'_> {
    type State = Option<SeqState>;

    fn save(&mut self, place: Place) -> Result<Self::State, String> {
        if self.cells_only {
            return Ok(None);
        }
        // llama.cpp keeps one state per sequence on the devices; the other place's goes to the host.
        let flags = if self.device_snapshots && place == Place::Reusable {
            LlamaStateSeqFlags::PARTIAL_ONLY | LlamaStateSeqFlags::ON_DEVICE
        } else {
            LlamaStateSeqFlags::PARTIAL_ONLY
        };
        self.stamped(|s| s.contexts.target().state_seq_get(SEQ, flags))
            .map(Some)
            .map_err(|e| e.to_string())
    }

    fn load(&mut self, state: &Self::State) -> Result<(), String> {
        self.rollable = 0;
        let Some(state) = state else {
            return Ok(());
        };
        self.stamped(|s| s.contexts.target_mut().state_seq_set(state, SEQ))
            .map_err(|e| e.to_string())
    }

    fn cut(&mut self, position: usize) -> Result<bool, String> {
        if let Contexts::Drafting(drafter) = &mut self.contexts {
            drafter.cut(position).map_err(|e| e.to_string())?;
        }
        self.cut_target(position)
    }
}
