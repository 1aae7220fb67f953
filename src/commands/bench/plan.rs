//! What is measured, validated and resolved.

use serde::Serialize;

use super::measure::Test;
use crate::cli::{BenchArgs, Reasoning};
use crate::plan::{EnginePlan, PlanError};

/// A benchmark's plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchPlan {
    /// Tokens in the context before a test starts, ascending.
    pub depths: Vec<usize>,
    /// New prompt tokens.
    pub n_prompt: usize,
    /// Generated tokens.
    pub n_gen: usize,
    /// Measurements of each test.
    pub repetitions: u32,
    /// How llama.cpp runs.
    pub engine: EnginePlan,
}

impl BenchPlan {
    /// Validates and resolves `args`; `threads` is used where none are given, `held_back` tokens at a prompt's end may
    /// change with its continuation.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(args: &BenchArgs, threads: u32, held_back: usize) -> Result<Self, PlanError> {
        // Ascending, so that every depth is filled from the one before.
        let mut depths: Vec<usize> = args.depths.iter().map(|&d| d as usize).collect();
        depths.sort_unstable();
        depths.dedup();
        let plan = Self {
            depths,
            n_prompt: args.n_prompt as usize,
            n_gen: args.n_gen as usize,
            repetitions: args.repetitions,
            engine: EnginePlan::new(&args.engine, args.boundaries, Reasoning::Off, threads)?,
        };
        if plan.tests().next().is_none() {
            return Err(PlanError::NoTest);
        }
        let context = plan.engine.context.ctx_size as usize;
        // A depth is reached with a prompt that ends that much later, and with one generated token.
        let filling = held_back + 1;
        for &depth in &plan.depths {
            let longest = plan
                .tests()
                .map(|t| t.new_tokens(&plan) + t.generated(&plan));
            let needed = depth + longest.max().unwrap_or(0).max(filling);
            if needed > context {
                return Err(PlanError::Depth {
                    depth,
                    needed,
                    context,
                });
            }
        }
        Ok(plan)
    }

    /// The tests that are asked for, in the order in which they take turns.
    pub fn tests(&self) -> impl Iterator<Item = Test> {
        Test::ALL.into_iter().filter(|test| test.is_asked(self))
    }

    /// Measurements at all depths.
    pub fn measurements(&self) -> u64 {
        (self.depths.len() * self.tests().count()) as u64 * u64::from(self.repetitions)
    }
}
