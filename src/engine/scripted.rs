//! An engine that plays a script on a manual clock: for exact tests of everything above the model.

use std::collections::VecDeque;

use super::{Engine, EngineError, EngineTimes, Sink, Token, TurnOutcome, TurnRequest};
use crate::chat::prefix::common_prefix;
use crate::clock::{Clock, ManualClock, Nanos};
use crate::record::StopReason;

/// What the script says about one turn.
#[derive(Debug, Clone, Default)]
pub struct ScriptedTurn {
    /// Evaluating the prompt takes this long, ns.
    pub prefill: Nanos,
    /// Emissions in order: how long each takes, ns, and the tokens it yields at its end.
    pub steps: Vec<(Nanos, Vec<Token>)>,
    /// How it ends, unless limits end it before: an end token by default.
    pub end: ScriptedEnd,
}

/// How a scripted turn ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ScriptedEnd {
    /// The last token is an end-of-generation token (or there is none at all).
    #[default]
    EndOfGeneration,
    /// After its steps the engine fails.
    Error(String),
}

/// Plays [`ScriptedTurn`]s in order.
#[derive(Debug)]
pub struct ScriptedEngine {
    clock: ManualClock,
    context: usize,
    turns: VecDeque<ScriptedTurn>,
    last: Vec<Token>,
    last_reusable: usize,
    played: Option<ScriptedTurn>,
    /// Repeats come out as these tokens instead of the same ones.
    pub repeat_output: Option<Vec<Token>>,
}

impl ScriptedEngine {
    /// An engine with `context` tokens of room that plays `turns`.
    #[must_use]
    pub fn new(
        clock: ManualClock,
        context: usize,
        turns: impl IntoIterator<Item = ScriptedTurn>,
    ) -> Self {
        Self {
            clock,
            context,
            turns: turns.into_iter().collect(),
            last: Vec::new(),
            last_reusable: 0,
            played: None,
            repeat_output: None,
        }
    }

    fn play(
        &mut self,
        script: &ScriptedTurn,
        request: &TurnRequest<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<TurnOutcome, EngineError> {
        let begin = self.clock.now();
        let mut out = TurnOutcome::default();
        let after_prefill = self.clock.advance(script.prefill);
        out.times.prefill = script.prefill;
        out.decode_calls = 1;
        out.stop = request.ended(after_prefill);
        if out.stop.is_some() {
            return Ok(out);
        }
        let scripted: usize = script.steps.iter().map(|(_, t)| t.len()).sum();
        let room = request
            .max_new_tokens
            .min(self.context - request.prompt.len());
        'steps: for (duration, tokens) in &script.steps {
            let now = self.clock.advance(*duration);
            out.stop = request.ended(now);
            if out.stop.is_some() {
                break;
            }
            let before = out.output.len();
            for &token in tokens {
                out.output.push(token);
                if sink(token, now).is_break() {
                    out.stop = Some(StopReason::Interrupted);
                } else if out.output.len() == scripted && script.end == ScriptedEnd::EndOfGeneration
                {
                    continue; // the end token itself: it wins over a limit reached with it
                } else if out.output.len() == room {
                    out.stop = Some(if room == request.max_new_tokens {
                        StopReason::MaxNewTokens
                    } else {
                        StopReason::ContextFull
                    });
                } else {
                    continue;
                }
                out.step_tokens.push(out.output.len() - before);
                break 'steps;
            }
            out.step_tokens.push(out.output.len() - before);
        }
        out.decode_calls += out.step_tokens.len().saturating_sub(1);
        out.times.decode = self.clock.now() - after_prefill;
        out.times.inside = self.clock.now() - begin;
        if out.stop.is_none() {
            if let ScriptedEnd::Error(message) = &script.end {
                return Err(EngineError::Scripted(message.clone()));
            }
            out.stop = Some(StopReason::EndOfGeneration);
        }
        Ok(out)
    }
}

impl Engine for ScriptedEngine {
    fn turn(
        &mut self,
        request: &TurnRequest<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<TurnOutcome, EngineError> {
        if request.prompt.len() >= self.context {
            return Err(EngineError::Overflow {
                prompt: request.prompt.len(),
                context: self.context,
            });
        }
        let script = self
            .turns
            .pop_front()
            .ok_or_else(|| EngineError::Scripted("the script has no more turns".to_owned()))?;
        let reused = common_prefix(&self.last, request.prompt).min(self.last_reusable);
        self.last = request.prompt.to_vec();
        self.last_reusable = request.reusable;
        self.played = Some(script.clone());
        let mut out = self
            .play(&script, request, sink)
            .inspect_err(|_| self.last.clear())?;
        out.reused = reused;
        out.evaluated = request.prompt.len() - reused;
        out.cuts = vec![request.prompt.len()];
        Ok(out)
    }

    fn forget(&mut self) {
        self.last.clear();
    }

    fn repeat(&mut self, _: &TurnRequest<'_>, _: bool) -> Result<TurnOutcome, EngineError> {
        let script = self.played.clone().unwrap_or_default();
        Ok(TurnOutcome {
            output: self
                .repeat_output
                .clone()
                .unwrap_or_else(|| script.steps.into_iter().flat_map(|(_, t)| t).collect()),
            times: EngineTimes::default(),
            ..TurnOutcome::default()
        })
    }

    fn context_size(&self) -> usize {
        self.context
    }
}
