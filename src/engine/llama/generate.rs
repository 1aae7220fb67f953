//! From a prompt's logits to the end of the reply.
//!
//! A step is a pass over the weights and what it gives: one token, or, where the prediction block drafts, as many as
//! the model itself would have chosen one after the other. All of them are there when the last is, and have its time.
//!
//! Nothing is rendered, parsed, logged or written between two tokens.

use std::sync::Arc;

use super::super::acceptance::Chance;
use super::super::speculation::Depth;
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

    /// Whether the model ends the reply with `token`.
    fn ends(&self, token: Token) -> bool {
        !self.request.ignore_end && self.model.is_end_of_generation(token)
    }

    /// Lets the sampler take in a token after which the reply goes on.
    fn accept(&self, sampler: &mut Sampler, token: Token) -> Result<(), EngineError> {
        if self.model.is_end_of_generation(token) {
            // No grammar goes on after an end; only a reply that is to ignore it does.
            sampler.release();
            return Ok(());
        }
        sampler.accept(token, self.clock)
    }

    /// Takes in the tokens of a step just chosen, which verified `drafted` ones, up to one that ends the turn; why it
    /// ends, if it does.
    fn emit(&mut self, tokens: &[Token], drafted: usize) -> Option<StopReason> {
        let now = self.clock.now();
        let before = self.out.output.len();
        let stop = tokens.iter().find_map(|&token| self.emit_one(token, now));
        self.out.step_tokens.push(self.out.output.len() - before);
        self.out.step_drafted.push(drafted);
        self.out.drafted += drafted;
        stop.or_else(|| self.request.ended(now))
    }

    fn emit_one(&mut self, token: Token, now: Nanos) -> Option<StopReason> {
        self.first.get_or_insert(now);
        self.out.output.push(token);
        let go_on = (self.sink)(token, now);
        if self.ends(token) {
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
            None
        }
    }

    /// One step: drafts, decodes `unread`, prompt tokens that were rolled back, the last emitted token and the drafted
    /// ones, and emits the drafted tokens that the model would have chosen and the token that follows them.
    fn step(
        &mut self,
        tools: &mut Tools<'_, '_>,
        unread: &[Token],
    ) -> Result<Option<StopReason>, EngineError> {
        let last = *self.out.output.last().expect("a step follows a token");
        self.accept(tools.sampler, last)?;
        let at = self.position() - 1;
        let most = tools
            .depth
            .ahead()
            .min(self.room - self.out.output.len() - 1);
        let drafts = tools.session.draft(at, last, most, unread.len())?;
        tools.read.clear();
        tools.read.push(last);
        tools.read.extend(drafts.iter().map(|t| t.0));
        let from = at - unread.len();
        tools
            .session
            .decode(unread, &tools.read, from, tools.read.len())?;
        let kept = self.verify(tools, at)?;
        let drafted = tools.read.len() - 1;
        let before = self.out.output.len();
        let stop = self.emit(&tools.chosen, drafted);
        tools.depth.learn(drafted, kept);
        // What follows the token that ended the turn was not kept, whatever the model thinks of it.
        self.out.accepted += kept.min(self.out.output.len() - before);
        if stop.is_none() {
            tools.session.judged(drafted, kept, at + 1 + kept)?;
        }
        Ok(stop)
    }

    /// Chooses the tokens that follow those of `tools.read`, the first of which is at position `at`, as long as they
    /// are the drafted ones; how many were. The sampler takes in a drafted token only once it has chosen it itself.
    fn verify(&mut self, tools: &mut Tools<'_, '_>, at: usize) -> Result<usize, EngineError> {
        tools.chosen.clear();
        let drafts = &tools.read[1..];
        for kept in 0..=drafts.len() {
            let logits = tools.session.logits(drafts.len() - kept);
            let token = tools
                .sampler
                .pick(tools.candidates, logits, at + kept, self.clock)?;
            if let (Some(chance), Some(&draft)) = (&mut tools.chance, drafts.get(kept)) {
                // As llama-server's: a draft kept by chance moves no grammar, and an end is never kept so.
                let keeps = chance.keeps(kept) && !self.model.is_end_of_generation(draft);
                tools.chosen.push(if keeps { draft } else { token });
                if keeps {
                    continue;
                }
                return Ok(kept);
            }
            tools.chosen.push(token);
            if drafts.get(kept) != Some(&token) {
                return Ok(kept);
            }
            if self.ends(token) {
                return Ok(kept + 1);
            }
            self.accept(tools.sampler, token)?;
        }
        unreachable!("nothing is drafted after the last draft")
    }
}

/// What steps work with.
struct Tools<'t, 'm> {
    session: &'t mut Session<'m>,
    sampler: &'t mut Sampler,
    candidates: &'t mut Candidates,
    depth: &'t mut Depth,
    chance: Option<&'t mut Chance>,
    /// What a step's pass reads after the prompt: the last emitted token and the drafted ones.
    read: Vec<Token>,
    /// What it emits.
    chosen: Vec<Token>,
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
        out.step_drafted.reserve_exact(room);
        let logits = self.session.logits(0);
        let token = sampler.pick(&mut self.candidates, logits, prompt - 1, &*clock)?;
        let mut reply = Reply {
            request,
            model: self.model,
            clock: &*clock,
            sink,
            room,
            first: None,
            out,
        };
        let mut stop = reply.emit(&[token], 0);
        let mut unread: &[Token] = &[];
        if let Some(to) = roll_back {
            let rolled = self.roll_back(request, to, reply.out)?;
            unread = if rolled { &request.prompt[to..] } else { &[] };
        }
        if let Some(chance) = &mut self.chance {
            chance.begin();
        }
        let mut tools = Tools {
            session: &mut self.session,
            sampler,
            candidates: &mut self.candidates,
            depth: &mut self.depth,
            chance: self.chance.as_mut(),
            read: Vec::new(),
            chosen: Vec::new(),
        };
        while stop.is_none() {
            stop = reply.step(&mut tools, unread)?;
            unread = &[];
        }
        let first = reply.first.unwrap_or(begin);
        out.times.first_sample = first - begin;
        out.times.decode = clock.now() - first;
        out.stop = stop;
        Ok(())
    }
}
