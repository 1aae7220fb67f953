//! One turn of a model: prompt ids in, output ids out, everything counted.
//!
//! [`Engine`] has two implementations: [`llama`] runs llama.cpp in this process, [`scripted`] replays given
//! tokens on a manual clock, so that everything above it is tested without a model.

pub mod acceptance;
pub mod cuts;
pub mod llama;
pub mod scripted;
pub mod speculation;

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use crate::chat::ReplyFormat;
pub use crate::chat::Token;
use crate::clock::Nanos;
use crate::record::StopReason;

/// Receives each generated token with the time at which it was sampled, ns on the run's clock; may end the turn.
pub type Sink<'a> = dyn FnMut(Token, Nanos) -> ControlFlow<()> + 'a;

/// What one turn asks for.
#[derive(Debug)]
pub struct TurnRequest<'a> {
    /// Token ids of the whole prompt; never empty.
    pub prompt: &'a [Token],
    /// Length in tokens of the prefix that any continuation of this prompt shares.
    pub reusable: usize,
    /// Length of a shorter prefix whose state is to be kept too, if any.
    pub shared: Option<usize>,
    /// Where in the prompt a user's own message starts; only `--boundaries server` looks at it.
    pub user_starts: &'a [usize],
    /// Grammar and markers of the reply; `None` for free text.
    pub format: Option<&'a Rc<ReplyFormat>>,
    /// Most tokens to generate; at least 1.
    pub max_new_tokens: usize,
    /// Go on after an end-of-generation token, so that the reply is as long as asked: for measuring alone.
    pub ignore_end: bool,
    /// Time on the run's clock after which the turn fails, ns.
    pub deadline: Option<Nanos>,
    /// Set while the turn runs to end it between two decode calls.
    pub cancel: Option<&'a AtomicBool>,
}

impl TurnRequest<'_> {
    /// What, at `now`, ends the turn from outside, if anything does.
    #[must_use]
    pub fn ended(&self, now: Nanos) -> Option<StopReason> {
        if self.cancel.is_some_and(|c| c.load(Ordering::Relaxed)) {
            Some(StopReason::Interrupted)
        } else if self.deadline.is_some_and(|d| now > d) {
            Some(StopReason::Deadline)
        } else {
            None
        }
    }
}

/// What one turn gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnOutcome {
    /// Generated token ids, the end token included.
    pub output: Vec<Token>,
    /// Why generation ended; [`StopReason::Error`] never appears here.
    pub stop: Option<StopReason>,
    /// Prompt tokens whose state was reused.
    pub reused: usize,
    /// Why less was reused than the common prefix allows, if so.
    pub reuse_note: Option<String>,
    /// Prompt tokens evaluated.
    pub evaluated: usize,
    /// Prompt positions at which decode calls of this turn's prefill ended, ascending.
    pub cuts: Vec<usize>,
    /// Decode calls, prefill and generation together.
    pub decode_calls: usize,
    /// Tokens emitted per sampling step.
    pub step_tokens: Vec<usize>,
    /// Tokens drafted and verified per sampling step, as long as `step_tokens`.
    pub step_drafted: Vec<usize>,
    /// Drafted tokens that the model verified: their sum.
    pub drafted: usize,
    /// Of these, the ones that it would have chosen itself and that were emitted.
    pub accepted: usize,
    /// Where the time went.
    pub times: EngineTimes,
}

/// Durations inside [`Engine::turn`], ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineTimes {
    /// Restoring a snapshot and trimming.
    pub restore: Nanos,
    /// Decode calls over the prompt.
    pub prefill: Nanos,
    /// Logits of the prompt → first token.
    pub first_sample: Nanos,
    /// First token → last token; keeping the state after a rollback included.
    pub decode: Nanos,
    /// Of all that, the time inside llama.cpp: decode, synchronize, state copies, grammar.
    pub inside: Nanos,
}

/// What can end a turn without a result.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The prompt leaves no room for a single token.
    #[error(
        "the prompt has {prompt} tokens and the context {context}: at least one token of room is needed; the turn was \
         not decoded"
    )]
    Overflow {
        /// Prompt tokens.
        prompt: usize,
        /// Context size, tokens.
        context: usize,
    },
    /// llama.cpp failed on a decode call.
    #[error("llama.cpp could not decode {tokens} tokens at position {position}: {cause}")]
    Decode {
        /// Tokens in the call.
        tokens: usize,
        /// Position of the first.
        position: usize,
        /// llama.cpp's words.
        cause: String,
    },
    /// The logits hold no number.
    #[error(
        "the logits after position {position} hold no finite number: the model or its backend is broken"
    )]
    Logits {
        /// Prompt or output position.
        position: usize,
    },
    /// A grammar could not be built, or refuses every token.
    #[error("tool-call grammar: {0}")]
    Grammar(String),
    /// A snapshot could not be taken or restored.
    #[error("state snapshot: {0}")]
    Snapshot(String),
    /// The prediction block failed.
    #[error("MTP draft: {0}")]
    Draft(String),
    /// Told to fail, by a test's script.
    #[error("{0}")]
    Scripted(String),
}

/// A model that runs turns one at a time.
pub trait Engine {
    /// Runs one turn. `sink` sees every token as it is sampled and may stop it. After an error the engine holds no
    /// reusable state, and the next turn is evaluated from its beginning.
    ///
    /// # Errors
    /// See [`EngineError`]; deadlines, limits and stops are outcomes, not errors.
    fn turn(
        &mut self,
        request: &TurnRequest<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<TurnOutcome, EngineError>;

    /// Drops all reusable state: new conversation, new client.
    fn forget(&mut self);

    /// Repeats the last turn from an empty cache: with the decode-call boundaries that led to its state where
    /// `same_cuts`, else in as few calls as possible. Only the former leaves state that the next turn can reuse, so
    /// it comes last.
    ///
    /// # Errors
    /// As [`Engine::turn`].
    fn repeat(
        &mut self,
        request: &TurnRequest<'_>,
        same_cuts: bool,
    ) -> Result<TurnOutcome, EngineError>;

    /// Tokens the context really holds.
    fn context_size(&self) -> usize;
}
