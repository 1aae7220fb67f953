//! A turn on llama.cpp: restore, evaluate, sample, stop.
//!
//! Timing model. Every call into llama.cpp is stamped before and after, and the sum is `times.inside`; what else
//! happens between a turn's first and last stamp is ours. Logits are read (which waits for the device) before the
//! prefill phase is closed, so that no evaluation hides in the first token's time. Nothing is rendered, parsed,
//! logged or written here.

use std::ops::ControlFlow;
use std::sync::Arc;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::session::SeqState;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

use super::super::cuts::{self, Boundaries, CutPlan, Layout};
use super::super::{Engine, EngineError, Sink, Token, TurnOutcome, TurnRequest};
use super::context::ContextSettings;
use super::model::{LoadError, LoadedModel, explanation};
use super::sampler::Sampler;
use super::state::{Kept, Place, Restored};
use crate::chat::Vocab;
use crate::clock::{Clock, Nanos};
use crate::record::StopReason;

/// llama.cpp as an [`Engine`].
pub struct LlamaEngine<'m> {
    model: &'m LoadedModel,
    context: LlamaContext<'m>,
    clock: Arc<dyn Clock>,
    boundaries: Boundaries,
    call_size: usize,
    batch: LlamaBatch<'static>,
    kept: Kept<SeqState>,
    /// Ends of the decode calls over the prompt now in the context, from its first token.
    lineage: Vec<usize>,
    samplers: Vec<Sampler>,
}

impl<'m> LlamaEngine<'m> {
    /// Creates the context. `clock` is the run's.
    ///
    /// # Errors
    /// Where llama.cpp refuses the context, or gives another than asked for.
    pub fn new(
        model: &'m LoadedModel,
        settings: &ContextSettings,
        boundaries: Boundaries,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoadError> {
        let call_size = settings.call_size();
        Ok(Self {
            model,
            context: settings.create(model)?,
            clock,
            boundaries,
            call_size,
            batch: LlamaBatch::new(call_size, 1),
            kept: Kept::default(),
            lineage: Vec::new(),
            samplers: Vec::new(),
        })
    }

    /// Runs `work` and adds its duration to `inside`.
    fn timed<T>(clock: &dyn Clock, inside: &mut Nanos, work: impl FnOnce() -> T) -> T {
        let begin = clock.now();
        let out = work();
        *inside += clock.now() - begin;
        out
    }

    /// One decode call over `tokens` at `position`; logits for the last token if `logits`.
    fn decode(
        &mut self,
        tokens: &[Token],
        position: usize,
        logits: bool,
        out: &mut TurnOutcome,
    ) -> Result<(), EngineError> {
        self.batch.clear();
        for (i, &token) in tokens.iter().enumerate() {
            let last = i + 1 == tokens.len();
            let at = i32::try_from(position + i).expect("the context is smaller than 2^31 tokens");
            self.batch
                .add(LlamaToken(token), at, &[0], logits && last)
                .expect("a call is never larger than the batch it was planned for");
        }
        out.decode_calls += 1;
        let begin = self.clock.now();
        let result = self.context.decode(&mut self.batch);
        out.times.inside += self.clock.now() - begin;
        result.map_err(|e| EngineError::Decode {
            tokens: tokens.len(),
            position,
            cause: explanation(&e.to_string()),
        })
    }

    /// Evaluates the prompt as planned, unless something ends the turn first.
    fn prefill(
        &mut self,
        request: &TurnRequest<'_>,
        start: usize,
        plan: &CutPlan,
        out: &mut TurnOutcome,
    ) -> Result<Option<StopReason>, EngineError> {
        let mut position = start;
        for &end in &plan.ends {
            let ended = request.ended(self.clock.now());
            if ended.is_some() {
                return Ok(ended);
            }
            let last = end == request.prompt.len();
            self.decode(&request.prompt[position..end], position, last, out)?;
            position = end;
            self.lineage.push(end);
            out.evaluated = end - start;
            out.cuts.push(end);
            for (place, at) in [
                (Place::Reusable, plan.snapshot),
                (Place::Shared, plan.shared),
            ] {
                if at == Some(end) {
                    let begin = self.clock.now();
                    self.kept.take(&self.context, place, end, &self.lineage)?;
                    out.times.inside += self.clock.now() - begin;
                }
            }
        }
        Self::timed(&*self.clock, &mut out.times.inside, || {
            self.context.synchronize()
        });
        Ok(request.ended(self.clock.now()))
    }

    /// Samples until something ends the turn.
    fn generate(
        &mut self,
        request: &TurnRequest<'_>,
        sampler: &mut Sampler,
        sink: &mut Sink<'_>,
        out: &mut TurnOutcome,
    ) -> Result<StopReason, EngineError> {
        let clock = Arc::clone(&self.clock);
        let clock = &*clock;
        let prompt = request.prompt.len();
        let room = request.max_new_tokens.min(self.context_size() - prompt);
        out.output.reserve_exact(room);
        out.step_tokens.reserve_exact(room);
        loop {
            let position = prompt + out.output.len();
            let token = {
                let context = &self.context;
                let logits =
                    Self::timed(clock, &mut out.times.inside, || context.get_logits_ith(-1));
                sampler.pick(logits, position - 1, clock)?
            };
            let now = clock.now();
            out.output.push(token);
            out.step_tokens.push(1);
            let go_on = sink(token, now);
            if self.model.is_end_of_generation(token) {
                return Ok(StopReason::EndOfGeneration);
            }
            if out.output.len() == room {
                return Ok(if room == request.max_new_tokens {
                    StopReason::MaxNewTokens
                } else {
                    StopReason::ContextFull
                });
            }
            if go_on.is_break() {
                return Ok(StopReason::Interrupted);
            }
            if let Some(ended) = request.ended(now) {
                return Ok(ended);
            }
            sampler.accept(token, clock)?;
            self.decode(&[token], position, true, out)?;
        }
    }

    /// Evaluates and generates from `start`, whose state is in place.
    fn run(
        &mut self,
        request: &TurnRequest<'_>,
        start: usize,
        plan: &CutPlan,
        sink: &mut Sink<'_>,
        out: &mut TurnOutcome,
    ) -> Result<(), EngineError> {
        let begin = self.clock.now();
        if let Some(ended) = self.prefill(request, start, plan, out)? {
            out.times.prefill = self.clock.now() - begin;
            out.stop = Some(ended);
            self.forget();
            return Ok(());
        }
        self.kept
            .set_prompt(request.prompt, plan.snapshot.is_some());
        let after_prefill = self.clock.now();
        out.times.prefill = after_prefill - begin;
        let mut sampler = self.sampler(request)?;
        sampler.begin()?;
        out.times.inside += self.clock.now() - after_prefill;
        let mut first = None;
        let mut stamped = |token: Token, now: Nanos| {
            first.get_or_insert(now);
            sink(token, now)
        };
        let stop = self.generate(request, &mut sampler, &mut stamped, out);
        out.times.inside += sampler.inside;
        self.samplers.push(sampler);
        let first = first.unwrap_or(after_prefill);
        out.times.first_sample = first - after_prefill;
        out.times.decode = self.clock.now() - first;
        out.stop = Some(stop?);
        Ok(())
    }

    /// Takes the format's sampler out of the store, or builds it.
    fn sampler(&mut self, request: &TurnRequest<'_>) -> Result<Sampler, EngineError> {
        match self.samplers.iter().position(|s| s.serves(request.format)) {
            Some(i) => Ok(self.samplers.swap_remove(i)),
            None => Sampler::new(self.model, request.format),
        }
    }

    fn plan(&self, request: &TurnRequest<'_>, start: usize) -> CutPlan {
        let layout = Layout {
            start,
            prompt: request.prompt.len(),
            reusable: request.reusable,
            user_starts: request.user_starts,
            shared: request.shared,
        };
        cuts::plan(self.boundaries, &layout, self.call_size)
    }

    fn check_room(&self, request: &TurnRequest<'_>) -> Result<(), EngineError> {
        if request.prompt.len() >= self.context_size() {
            return Err(EngineError::Overflow {
                prompt: request.prompt.len(),
                context: self.context_size(),
            });
        }
        Ok(())
    }

    /// Runs, and gives up all reusable state where that fails.
    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self, &mut TurnOutcome) -> Result<(), EngineError>,
    ) -> Result<TurnOutcome, EngineError> {
        let mut out = TurnOutcome::default();
        match work(self, &mut out) {
            Ok(()) => Ok(out),
            Err(e) => {
                self.forget();
                Err(e)
            }
        }
    }
}

impl Engine for LlamaEngine<'_> {
    fn turn(
        &mut self,
        request: &TurnRequest<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<TurnOutcome, EngineError> {
        self.check_room(request)?;
        self.guarded(|engine, out| {
            let begin = engine.clock.now();
            let Restored {
                position,
                lineage,
                note,
            } = engine.kept.restore(&mut engine.context, request.prompt)?;
            out.times.restore = engine.clock.now() - begin;
            out.times.inside += out.times.restore;
            out.reused = position;
            out.reuse_note = note;
            engine.lineage = lineage;
            let plan = engine.plan(request, position);
            engine.run(request, position, &plan, sink, out)
        })
    }

    fn forget(&mut self) {
        self.lineage.clear();
        // A cache that cannot even be emptied is found by the next turn, whose restore reports it.
        let _ = self.kept.clear(&mut self.context);
    }

    fn repeat(
        &mut self,
        request: &TurnRequest<'_>,
        same_cuts: bool,
    ) -> Result<TurnOutcome, EngineError> {
        self.check_room(request)?;
        let prompt = request.prompt.len();
        let plan = if same_cuts {
            let whole = self.plan(request, 0);
            let reached = |cut: Option<usize>| cut.filter(|c| self.lineage.contains(c));
            CutPlan {
                ends: self.lineage.clone(),
                snapshot: reached(whole.snapshot),
                shared: reached(whole.shared),
            }
        } else {
            CutPlan {
                ends: cuts::split(0, &[prompt], self.call_size),
                snapshot: None,
                shared: None,
            }
        };
        let lineage = std::mem::take(&mut self.lineage);
        self.guarded(|engine, out| {
            engine.forget();
            let result = engine.run(
                request,
                0,
                &plan,
                &mut |_, _| ControlFlow::Continue(()),
                out,
            );
            if !same_cuts {
                engine.forget();
                engine.lineage = lineage;
            }
            result
        })
    }

    fn context_size(&self) -> usize {
        self.context.n_ctx() as usize
    }
}
