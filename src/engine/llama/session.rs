//! The one sequence of a context: decode calls over it, and its memory.
//!
//! Every call into llama.cpp is stamped here before and after; the sum is [`Session::inside`].

use std::sync::Arc;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::session::{LlamaStateSeqFlags, SeqState};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

use super::super::{EngineError, Token};
use super::context::ContextSettings;
use super::model::{LoadError, LoadedModel, explanation};
use super::state::{Memory, Place};
use crate::clock::{Clock, Nanos};

/// The only sequence.
const SEQ: i32 = 0;

/// A context with one sequence.
pub struct Session<'m> {
    context: LlamaContext<'m>,
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
    /// Creates the context with recurrent states for the last `states` tokens of a call; copies of the state at the
    /// reusable prefix stay on the devices where `device_snapshots`.
    pub fn new(
        model: &'m LoadedModel,
        settings: &ContextSettings,
        states: usize,
        device_snapshots: bool,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoadError> {
        let rollback = model.rollback(states);
        let cells_only = rollback == usize::MAX;
        let states = if cells_only { 0 } else { rollback };
        Ok(Self {
            context: settings.create(model, u32::try_from(states).unwrap_or(0))?,
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
        self.context.n_ctx() as usize
    }

    /// Most tokens that a call's end can be moved back by.
    pub const fn rollback(&self) -> usize {
        self.rollback
    }

    /// A new turn begins: counts start over.
    pub const fn begin(&mut self) {
        self.inside = 0;
        self.calls = 0;
    }

    fn stamped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let begin = self.clock.now();
        let out = work(self);
        self.inside += self.clock.now() - begin;
        out
    }

    /// One decode call over `tokens` and then `more` at `position`; logits for the last one if `logits`.
    pub fn decode(
        &mut self,
        tokens: &[Token],
        more: &[Token],
        position: usize,
        logits: bool,
    ) -> Result<(), EngineError> {
        self.batch.clear();
        let count = tokens.len() + more.len();
        for (i, &token) in tokens.iter().chain(more).enumerate() {
            let at = i32::try_from(position + i).expect("the context is smaller than 2^31 tokens");
            self.batch
                .add(LlamaToken(token), at, &[SEQ], logits && i + 1 == count)
                .expect("a call is never larger than the batch it was planned for");
        }
        self.calls += 1;
        self.rollable = count;
        self.stamped(|s| s.context.decode(&mut s.batch))
            .map_err(|e| EngineError::Decode {
                tokens: count,
                position,
                cause: explanation(&e.to_string()),
            })
    }

    /// Waits for the device.
    pub fn synchronize(&mut self) {
        self.stamped(|s| s.context.synchronize());
    }

    /// Logits of the last call's last token.
    pub fn logits(&mut self) -> &[f32] {
        let begin = self.clock.now();
        let logits = self.context.get_logits_ith(-1);
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
            .cut(position)
            .map_err(|e| EngineError::Snapshot(format!("rolling back to token {position}: {e}")))?;
        if !done {
            self.rollback = 0;
            self.cells_only = false;
        }
        Ok(done)
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
        self.stamped(|s| s.context.state_seq_get(SEQ, flags))
            .map(Some)
            .map_err(|e| e.to_string())
    }

    fn load(&mut self, state: &Self::State) -> Result<(), String> {
        self.rollable = 0;
        let Some(state) = state else {
            return Ok(());
        };
        self.stamped(|s| s.context.state_seq_set(state, SEQ))
            .map_err(|e| e.to_string())
    }

    fn cut(&mut self, position: usize) -> Result<bool, String> {
        self.rollable = 0;
        let from = u32::try_from(position).map_err(|e| e.to_string())?;
        self.stamped(|s| {
            s.context
                .clear_kv_cache_seq(Some(SEQ.cast_unsigned()), Some(from), None)
        })
        .map_err(|e| e.to_string())
    }
}
