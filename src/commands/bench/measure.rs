//! The tests, each a turn of the engine from a context of known depth.
//!
//! Before every test the context is brought back to its depth: a short turn, not measured, restores a state that is
//! kept a few tokens before it and leaves the engine as a turn of a conversation does, with the state at the depth
//! kept where the next turn looks for it. So a measured turn restores what a turn of `run` restores. The context is
//! evaluated once; greater depths go on from smaller ones.

use std::ops::ControlFlow;

use thiserror::Error;

use super::plan::BenchPlan;
use super::random::Tokens;
use crate::chat::Token;
use crate::clock::{Clock, Nanos};
use crate::engine::{Engine, EngineError, EngineTimes, TurnOutcome, TurnRequest};

/// Tokens before a depth at which the state is kept that the depth is reached from again.
const STEP: usize = 4;

/// Generated tokens of the turn that warms up.
const WARM_UP: usize = 4;

/// A test at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Evaluates new prompt tokens; the time is that of the prefill.
    Prompt,
    /// Generates, without a grammar; the time is that from the first token to the last.
    Generation,
    /// A whole turn of the engine: restores, evaluates, generates, keeps the state for the next one.
    Turn,
}

impl Test {
    /// All of them, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::Prompt, Self::Generation, Self::Turn];

    /// Whether it is asked for: as with llama-bench, a test that would count no tokens is left out.
    pub const fn is_asked(self, plan: &BenchPlan) -> bool {
        match self {
            Self::Prompt => plan.n_prompt > 0,
            Self::Generation => plan.n_gen > 0,
            Self::Turn => plan.n_prompt > 0 && plan.n_gen > 0,
        }
    }

    /// New prompt tokens.
    pub const fn new_tokens(self, plan: &BenchPlan) -> usize {
        match self {
            Self::Prompt | Self::Turn => plan.n_prompt,
            Self::Generation => 1,
        }
    }

    /// Tokens that its turn generates.
    pub const fn generated(self, plan: &BenchPlan) -> usize {
        match self {
            Self::Prompt => 1,
            // One more than are timed: the first belongs to the prompt's evaluation.
            Self::Generation => plan.n_gen + 1,
            Self::Turn => plan.n_gen,
        }
    }

    /// Prompt and generated tokens that its speed counts.
    pub const fn counted(self, plan: &BenchPlan) -> (usize, usize) {
        match self {
            Self::Prompt => (plan.n_prompt, 0),
            Self::Generation => (0, plan.n_gen),
            Self::Turn => (plan.n_prompt, plan.n_gen),
        }
    }

    /// Its name, as llama-bench writes such.
    pub fn name(self, plan: &BenchPlan, depth: usize) -> String {
        let (prompt, generated) = self.counted(plan);
        match self {
            Self::Prompt => format!("pp{prompt} @ d{depth}"),
            Self::Generation => format!("tg{generated} @ d{depth}"),
            Self::Turn => format!("turn {prompt}+{generated} @ d{depth}"),
        }
    }
}

/// One measurement.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// What the test is about, ns.
    pub elapsed: Nanos,
    /// The turn handed to the engine → first token, ns.
    pub ttft: Nanos,
    /// First token → last token, ns.
    pub generation: Nanos,
    /// The turn's latency outside llama.cpp, ns.
    pub driver: Nanos,
    /// The turn's phases.
    pub times: EngineTimes,
}

/// All measurements of a test at a depth.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The test.
    pub test: Test,
    /// Tokens in the context before it.
    pub depth: usize,
    /// One per repetition.
    pub samples: Vec<Sample>,
}

/// Why there is no figure.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The engine failed.
    #[error("{test}: {source}")]
    Engine {
        /// The test's name.
        test: String,
        /// What happened.
        source: EngineError,
    },
    /// The engine did something else than what the test is about.
    #[error(
        "{test}: found {found:?} tokens reused, evaluated and generated, expected {expected:?}{note}; nothing is \
         reported rather than the speed of something else"
    )]
    Shape {
        /// The test's name.
        test: String,
        /// What the turn did.
        found: [usize; 3],
        /// What it was to do.
        expected: [usize; 3],
        /// The engine's explanation, if it has one.
        note: String,
    },
}

/// A turn's shape.
struct Shape {
    name: String,
    depth: usize,
    new: usize,
    generated: usize,
    /// Whether the state at its end is kept for a next turn.
    keeps: bool,
}

/// A benchmark under way.
pub struct Bench<'a> {
    pub engine: &'a mut dyn Engine,
    pub clock: &'a dyn Clock,
    pub plan: &'a BenchPlan,
    /// Tokens at a prompt's end that its continuation may change.
    pub held_back: usize,
    pub tokens: Tokens,
    /// What fills the context.
    pub context: Vec<Token>,
    /// Told the name of every test that starts.
    pub started: &'a mut dyn FnMut(&str),
    /// Told when one has ended.
    pub ended: &'a mut dyn FnMut(),
}

impl Bench<'_> {
    /// Measures every test that is asked for at every depth. The tests take turns, so that a machine that
    /// grows slower slows all.
    ///
    /// # Errors
    /// See [`BenchError`].
    pub fn run(&mut self) -> Result<Vec<Measured>, BenchError> {
        let plan = self.plan;
        let mut all = Vec::new();
        for &depth in &plan.depths {
            let empty = |test| Measured {
                test,
                depth,
                samples: Vec::new(),
            };
            let mut here: Vec<_> = plan.tests().map(empty).collect();
            self.warm_up(depth)?;
            for _ in 0..plan.repetitions {
                for measured in &mut here {
                    let sample = self.measure(measured.test, depth)?;
                    measured.samples.push(sample);
                    (self.ended)();
                }
            }
            all.extend(here);
        }
        Ok(all)
    }

    fn warm_up(&mut self, depth: usize) -> Result<(), BenchError> {
        self.reach(depth)?;
        let shape = Shape {
            name: format!("warm-up @ d{depth}"),
            depth,
            new: self.plan.n_prompt.max(1),
            generated: self.plan.n_gen.clamp(1, WARM_UP),
            keeps: true,
        };
        self.turn(&shape).map(|_| ())
    }

    fn measure(&mut self, test: Test, depth: usize) -> Result<Sample, BenchError> {
        let name = test.name(self.plan, depth);
        (self.started)(&name);
        self.reach(depth)?;
        let mut sample = self.turn(&Shape {
            name,
            depth,
            new: test.new_tokens(self.plan),
            generated: test.generated(self.plan),
            keeps: test == Test::Turn,
        })?;
        match test {
            Test::Prompt => sample.elapsed = sample.times.prefill,
            Test::Generation => sample.elapsed = sample.generation,
            Test::Turn => {}
        }
        Ok(sample)
    }

    /// Brings the engine to where a conversation's next turn would find `depth` tokens in place.
    fn reach(&mut self, depth: usize) -> Result<(), BenchError> {
        if depth == 0 {
            self.engine.forget();
            return Ok(());
        }
        let length = depth + self.held_back;
        let missing = length.saturating_sub(self.context.len());
        self.context.extend(self.tokens.by_ref().take(missing));
        let request = TurnRequest {
            reusable: depth,
            shared: depth.checked_sub(STEP).filter(|&s| s > 0),
            ..request(&self.context[..length], 1)
        };
        let ignore = &mut |_, _| ControlFlow::Continue(());
        match self.engine.turn(&request, ignore) {
            Ok(_) => Ok(()),
            Err(source) => Err(BenchError::Engine {
                test: format!("filling the context to {depth} tokens"),
                source,
            }),
        }
    }

    /// A turn from a context of `shape.depth` tokens; `elapsed` is its latency.
    fn turn(&mut self, shape: &Shape) -> Result<Sample, BenchError> {
        let new = self.tokens.by_ref().take(shape.new);
        let mut prompt = self.context[..shape.depth].to_vec();
        prompt.extend(new);
        let kept = prompt.len().saturating_sub(self.held_back);
        let request = TurnRequest {
            reusable: if shape.keeps { kept } else { shape.depth },
            ..request(&prompt, shape.generated)
        };
        let (mut first, mut last) = (None, 0);
        let begin = self.clock.now();
        let result = self.engine.turn(&request, &mut |_, now| {
            first.get_or_insert(now);
            last = now;
            ControlFlow::Continue(())
        });
        let elapsed = self.clock.now() - begin;
        let out = result.map_err(|source| BenchError::Engine {
            test: shape.name.clone(),
            source,
        })?;
        check(shape, &out)?;
        Ok(Sample {
            elapsed,
            ttft: first.map_or(elapsed, |at| at - begin),
            generation: first.map_or(0, |at| last - at),
            driver: elapsed.saturating_sub(out.times.inside),
            times: out.times,
        })
    }
}

fn request(prompt: &[Token], max_new_tokens: usize) -> TurnRequest<'_> {
    TurnRequest {
        prompt,
        reusable: prompt.len(),
        shared: None,
        user_starts: &[],
        format: None,
        max_new_tokens,
        ignore_end: true,
        deadline: None,
        cancel: None,
    }
}

fn check(shape: &Shape, out: &TurnOutcome) -> Result<(), BenchError> {
    let found = [out.reused, out.evaluated, out.output.len()];
    let expected = [shape.depth, shape.new, shape.generated];
    if found == expected {
        return Ok(());
    }
    let note = out.reuse_note.as_ref();
    Err(BenchError::Shape {
        test: shape.name.clone(),
        found,
        expected,
        note: note.map_or_else(String::new, |n| format!(" ({n})")),
    })
}
