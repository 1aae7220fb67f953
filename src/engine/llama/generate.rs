//! From a prompt's logits to the end of the reply.
//!
//! Nothing is allocated, rendered, parsed, logged or written between two tokens.

use std::sync::Arc;

use super::super::{EngineError, Sink, Token, TurnOutcome, TurnRequest};
use super::candidates::Candidates;
use super::model::LoadedModel;
use super::sampler::Sampler;
use super::session::Session;
use super::turn::LlamaEngine;
use crate::chat::Vocab;
use crate::clock::{Clock, Nanos};
use crate::record::StopReason;

/// A reply as it grows, and what ends it.
struct Reply<'a, 'r> {
    request: &'a TurnRequest<'r>,
    model: &'a LoadedModel,
    clock: &'a dyn Clock,
    sink: &'a mut Sink<'r>,
    /// Most tokens of it.
    room: usize,
    /// When the first token was there, ns.
    first: Option<Nanos>,
    out: &'a mut TurnOutcome,
}

impl Reply<'_, '_> {
    /// Position in the context of the next token to be emitted.
    fn position(&self) -> usize {
        self.request.prompt.len() + self.out.output.len()
    }

    /// Takes in a token just chosen; why the turn ends with it, if it does.
    fn emit(&mut self, token: Token) -> Option<StopReason> {
        let now = self.clock.now();
        self.first.get_or_insert(now);
        self.out.output.push(token);
        let go_on = (self.sink)(token, now);
        if !self.request.ignore_end && self.model.is_end_of_generation(token) {
            Some(StopReason::EndOfGeneration)
        } else if self.out.output.len() == self.room {
            Some(if self.room == self.request.max_new_tokens {
                StopReason::MaxNewTokens
            } else {
                StopReason::ContextFull
            })
        } else if go_on.is_break() {
            Some(StopReason::Interrupted)
        } else {
            self.request.ended(now)
        }
    }

    /// One step: decodes `unread`, prompt tokens that were rolled back, and the last emitted token after them, and
    /// emits the token that follows. (A step that drafts emits several; each goes through [`Self::emit`].)
    fn step(
        &mut self,
        session: &mut Session<'_>,
        sampler: &mut Sampler,
        candidates: &mut Candidates,
        unread: &[Token],
    ) -> Result<Option<StopReason>, EngineError> {
        let last = *self.out.output.last().expect("a step follows a token");
        sampler.accept(last, self.clock)?;
        let at = self.position() - 1 - unread.len();
        session.decode(unread, &[last], at, true)?;
        let logits = session.logits();
        let token = sampler.pick(candidates, logits, at + unread.len(), self.clock)?;
        self.out.step_tokens.push(1);
        Ok(self.emit(token))
    }
}

impl LlamaEngine<'_> {
    /// Samples until something ends the turn. `roll_back`: where the reusable prefix ends, if the prompt's last
    /// call went beyond; its state is kept as soon as the first token is there, whatever that token is.
    pub(super) fn generate(
        &mut self,
        request: &TurnRequest<'_>,
        roll_back: Option<usize>,
        sampler: &mut Sampler,
        sink: &mut Sink<'_>,
        out: &mut TurnOutcome,
    ) -> Result<(), EngineError> {
        let clock = Arc::clone(&self.clock);
        let begin = clock.now();
        let prompt = request.prompt.len();
        let room = request.max_new_tokens.min(self.session.size() - prompt);
        out.output.reserve_exact(room);
        out.step_tokens.reserve_exact(room);
        let logits = self.session.logits();
        let token = sampler.pick(&mut self.candidates, logits, prompt - 1, &*clock)?;
        out.step_tokens.push(1);
        let mut reply = Reply {
            request,
            model: self.model,
            clock: &*clock,
            sink,
            room,
            first: None,
            out,
        };
        let mut stop = reply.emit(token);
        let mut unread: &[Token] = &[];
        if let Some(to) = roll_back {
            let rolled = self.roll_back(request, to, reply.out)?;
            unread = if rolled { &request.prompt[to..] } else { &[] };
        }
        while stop.is_none() {
            let (session, candidates) = (&mut self.session, &mut self.candidates);
            stop = reply.step(session, sampler, candidates, unread)?;
            unread = &[];
        }
        let first = reply.first.unwrap_or(begin);
        out.times.first_sample = first - begin;
        out.times.decode = clock.now() - first;
        out.stop = stop;
        Ok(())
    }
}
