//! A turn on llama.cpp: restore, evaluate, choose the first token, keep, go on.
//!
//! Timing model. Every call into llama.cpp is stamped before and after, and the sum is `times.inside`; what else
//! happens between a turn's first and last stamp is ours. Logits are read (which waits for the device) before the
//! prefill phase is closed, so that no evaluation hides in the first token's time. Nothing is rendered, parsed,
//! logged or written here.
//!
//! Passes. The prompt's new part goes through in the fewest calls, and the first token is chosen. Then the sequence
//! is rolled back to the end of the reusable prefix (three tokens before the prompt's, for Qwen3.6), the state there
//! is kept for the next turn, and those tokens are evaluated again together with the first generated one: no pass
//! over the weights is spent on keeping state.

use std::ops::ControlFlow;
use std::sync::Arc;

use llama_cpp_2::context::session::SeqState;

use super::super::acceptance::{AcceptanceRates, Chance};
use super::super::cuts::{self, Boundaries, Call, CutPlan, Layout};
use super::super::speculation::{Depth, Mtp};
use super::super::{Engine, EngineError, Sink, TurnOutcome, TurnRequest};
use super::candidates::Candidates;
use super::context::ContextSettings;
use super::model::{LoadError, LoadedModel};
use super::sampler::Sampler;
use super::session::Session;
use super::state::{Kept, Place, Restored};
use crate::clock::Clock;
use crate::record::StopReason;

/// Reply formats whose grammars stay parsed: a run of conversations has few, one of questions a new one for each.
const SAMPLERS: usize = 8;

/// How an engine runs.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// The context.
    pub context: ContextSettings,
    /// Where decode calls end.
    pub boundaries: Boundaries,
    /// Tokens at a prompt's end that its continuation may change.
    pub held_back: usize,
    /// Whether the model's prediction block drafts; where it does, the model was loaded with it.
    pub mtp: Mtp,
    /// Rates at which drafts are kept by chance, whatever the model thinks of them: what is generated means nothing.
    pub synthetic: Option<AcceptanceRates>,
    /// Keep the state at the reusable prefix on the devices that compute it, not in host memory.
    pub device_snapshots: bool,
}

/// llama.cpp as an [`Engine`].
pub struct LlamaEngine<'m> {
    pub(super) model: &'m LoadedModel,
    pub(super) session: Session<'m>,
    pub(super) clock: Arc<dyn Clock>,
    boundaries: Boundaries,
    call_size: usize,
    kept: Kept<Option<SeqState>>,
    /// The decode calls over the prompt of the last turn, from its first token.
    lineage: Vec<Call>,
    /// Where the last turn rolled back to.
    rolled_back: Option<usize>,
    samplers: Vec<Sampler>,
    pub(super) depth: Depth,
    pub(super) chance: Option<Chance>,
    pub(super) candidates: Candidates,
}

impl<'m> LlamaEngine<'m> {
    /// Creates the context. `clock` is the run's.
    ///
    /// # Errors
    /// Where llama.cpp refuses the context, or gives another than asked for.
    pub fn new(
        model: &'m LoadedModel,
        settings: &EngineSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoadError> {
        let context = &settings.context;
        let (boundaries, call_size) = (settings.boundaries, context.call_size());
        let states = cuts::rollback_tokens(boundaries, settings.held_back, call_size);
        let (mtp, on_devices) = (settings.mtp, settings.device_snapshots);
        Ok(Self {
            model,
            session: Session::new(model, context, states, mtp, on_devices, Arc::clone(&clock))?,
            clock,
            boundaries,
            call_size,
            kept: Kept::default(),
            lineage: Vec::new(),
            rolled_back: None,
            samplers: Vec::new(),
            depth: Depth::new(mtp),
            chance: settings.synthetic.as_ref().map(Chance::new),
            candidates: Candidates::new(),
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
        for (i, call) in plan.calls.iter().enumerate() {
            let ended = request.ended(self.clock.now());
            if ended.is_some() {
                return Ok(ended);
            }
            let Call { end, tail } = call;
            let last = i + 1 == plan.calls.len();
            self.session
                .decode(&request.prompt[position..*end], tail, position, last.into())?;
            if !tail.is_empty() && !self.session.roll_back(tail.len(), *end)? {
                return Err(EngineError::Snapshot(format!(
                    "the cache refused to be rolled back to token {end} in a repeat"
                )));
            }
            position = *end;
            self.lineage.push(call.clone());
            out.evaluated = end - start;
            out.cuts.push(*end);
            self.keep(*end, plan.snapshot, plan.shared)?;
        }
        Ok(None)
    }

    /// Takes the snapshots that belong at `position`, where the memory is.
    fn keep(
        &mut self,
        position: usize,
        snapshot: Option<usize>,
        shared: Option<usize>,
    ) -> Result<(), EngineError> {
        for (place, at) in [(Place::Reusable, snapshot), (Place::Shared, shared)] {
            if at == Some(position) {
                self.kept
                    .take(&mut self.session, place, position, &self.lineage)?;
            }
        }
        Ok(())
    }

    /// Rolls the prompt's last call back to `to` and keeps the state there; whether that was possible. Where it was
    /// not, nothing of this prompt is kept, the outcome says so, and later prompts are cut instead.
    pub(super) fn roll_back(
        &mut self,
        request: &TurnRequest<'_>,
        to: usize,
        out: &mut TurnOutcome,
    ) -> Result<bool, EngineError> {
        let tail = &request.prompt[to..];
        if !self.session.roll_back(tail.len(), to)? {
            out.reuse_note = Some(format!(
                "the cache refused to be rolled back to token {to}; nothing of this prompt is kept"
            ));
            return Ok(false);
        }
        let whole = self.lineage.pop();
        self.lineage.push(Call {
            end: to,
            tail: tail.to_vec(),
        });
        let shared = request.shared.filter(|&s| s == to);
        let kept = self.keep(to, Some(to), shared);
        self.lineage.pop();
        self.lineage.extend(whole);
        self.rolled_back = Some(to);
        kept.map(|()| true)
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
        self.rolled_back = None;
        let ended = self.prefill(request, start, plan, out)?;
        // While the device computes.
        let preparing = self.clock.now();
        let mut sampler = self.sampler(request)?;
        sampler.begin()?;
        self.session.inside += self.clock.now() - preparing;
        self.session.synchronize();
        let after_prefill = self.clock.now();
        out.times.prefill = after_prefill - begin;
        out.stop = ended.or_else(|| request.ended(after_prefill));
        let result = if out.stop.is_some() {
            self.forget();
            Ok(())
        } else {
            self.generate(request, plan.roll_back, &mut sampler, sink, out)
        };
        self.session.inside += sampler.inside;
        if self.samplers.len() == SAMPLERS {
            self.samplers.remove(0);
        }
        self.samplers.push(sampler);
        out.decode_calls = self.session.calls;
        out.times.inside = self.session.inside;
        result
    }

    /// Takes the format's sampler out of the store, or builds it.
    fn sampler(&mut self, request: &TurnRequest<'_>) -> Result<Sampler, EngineError> {
        match self.samplers.iter().position(|s| s.serves(request.format)) {
            Some(i) => Ok(self.samplers.remove(i)),
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
        let rollback = self.session.rollback();
        cuts::plan(self.boundaries, &layout, self.call_size, rollback)
    }

    /// The last turn's calls again, from the prompt's first token.
    fn same_calls(&self, request: &TurnRequest<'_>) -> CutPlan {
        let whole = self.plan(request, 0);
        let roll_back = self.rolled_back;
        let reached = |place: Option<usize>| {
            place.filter(|&p| roll_back == Some(p) || self.lineage.iter().any(|c| c.end == p))
        };
        CutPlan {
            calls: self.lineage.clone(),
            snapshot: reached(whole.snapshot),
            shared: reached(whole.shared),
            roll_back,
        }
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
        match self.session.begin().and_then(|()| work(self, &mut out)) {
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
            } = engine.kept.restore(&mut engine.session, request.prompt)?;
            out.times.restore = engine.clock.now() - begin;
            out.reused = position;
            out.reuse_note = note;
            engine.lineage = lineage;
            let plan = engine.plan(request, position);
            engine.run(request, position, &plan, sink, out)
        })
    }

    fn forget(&mut self) {
        self.lineage.clear();
        self.rolled_back = None;
        self.depth.reset();
        // A cache that cannot even be emptied is found by the next turn, whose restore reports it.
        let _ = self.kept.clear(&mut self.session);
    }

    fn repeat(
        &mut self,
        request: &TurnRequest<'_>,
        same_cuts: bool,
    ) -> Result<TurnOutcome, EngineError> {
        self.check_room(request)?;
        let plan = if same_cuts {
            self.same_calls(request)
        } else {
            CutPlan {
                calls: cuts::calls(cuts::split(0, &[request.prompt.len()], self.call_size)),
                snapshot: None,
                shared: None,
                roll_back: None,
            }
        };
        let (lineage, rolled_back) = (std::mem::take(&mut self.lineage), self.rolled_back);
        self.guarded(|engine, out| {
            engine.forget();
            engine.kept.restore(&mut engine.session, request.prompt)?;
            let ignore = &mut |_, _| ControlFlow::Continue(());
            let result = engine.run(request, 0, &plan, ignore, out);
            if !same_cuts {
                engine.forget();
                engine.lineage = lineage;
                engine.rolled_back = rolled_back;
            }
            result
        })
    }

    fn context_size(&self) -> usize {
        self.session.size()
    }
}
