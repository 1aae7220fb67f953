//! `summary.json`: everything a run came to.

use serde::{Deserialize, Serialize};

use super::accounting::{AccountingError, StopCounts, TurnCounts};
use super::conditions::{AttemptConditions, MemoryUse};
use super::conversations::{ConversationSummary, span_ns};
use super::drift::Drift;
use super::facts::{Deviation, RunFacts, SampleCounts};
use super::gaps::{Gap, gaps};
use super::notices::{Measured, Problem, Warning, problems, warnings};
use super::repetition;
use super::series::Series;
use super::speculation::Speculation;
use super::tokens::{PromptTokens, SelfCheckCounts, TokenRates};
use super::turn;
use crate::clock::Nanos;
use crate::record::{Phases, TurnRecord};

/// The version of the summary's layout.
pub const SUMMARY_SCHEMA: u32 = 1;

/// The summary of a run. Series and token totals are over completed turns only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Layout version, [`SUMMARY_SCHEMA`].
    pub schema: u32,
    /// The run went through its whole plan.
    pub complete: bool,
    /// Every selected turn completed and no check found a problem.
    pub valid: bool,
    /// Valid and without deviations from the locked profile.
    pub compliant: bool,
    /// Settings that differ from the locked profile.
    pub deviations: Vec<Deviation>,
    /// Why the run is not valid.
    pub problems: Vec<Problem>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
    /// The data set's client turns by state.
    pub turns: TurnCounts,
    /// Rows by the reason for which generation stopped.
    pub stop_reasons: StopCounts,
    /// Prompt tokens.
    pub prompt_tokens: PromptTokens,
    /// Decode calls, prefill and generation together.
    pub decode_calls: usize,
    /// First turn handed to the engine → last turn ended, ns; the parts of a
    /// continued run are added up.
    pub duration_ns: Option<Nanos>,
    /// How often the run was continued with `--resume`.
    pub resumed: usize,
    /// Turn latency, ns.
    pub latency_ns: Series,
    /// Time to first token, ns.
    pub ttft_ns: Series,
    /// Time per output token after the first, ns.
    pub tpot_ns: Series,
    /// Input sequence length, tokens.
    pub isl: Series,
    /// Output sequence length, tokens.
    pub osl: Series,
    /// Where the turns' time went, ns.
    pub phases_ns: PhaseSeries,
    /// Turn latency minus time inside llama.cpp, ns.
    pub driver_ns: Series,
    /// Tokens per second.
    pub tokens_per_second: TokenRates,
    /// Draft tokens.
    pub speculation: Speculation,
    /// Completed turns whose reply ends in a loop.
    pub degenerate: usize,
    /// The inline checker's score (multiset IoU, 0 to 1); null when not run.
    pub inline_score: Option<f64>,
    /// How far the accuracy phase came; null without one. Its figures are in `accuracy.json`.
    pub samples: Option<SampleCounts>,
    /// Outcomes of `--self-check`.
    pub self_check: SelfCheckCounts,
    /// The machine at the start and at the end, per start of the run.
    pub conditions: Vec<AttemptConditions>,
    /// This process's memory.
    pub memory: MemoryUse,
    /// Speed at the end against speed at the beginning.
    pub drift: Drift,
    /// Turns during which the machine slept, or its clock was set.
    pub gaps: Vec<Gap>,
    /// The selected conversations, in the order of the data set.
    pub conversations: Vec<ConversationSummary>,
}

impl Summary {
    /// Computes the summary from the rows of `turns.jsonl` and the plan.
    ///
    /// # Errors
    /// When rows and plan contradict each other, so that the states of the data
    /// set's turns cannot add up.
    pub fn compute(records: &[TurnRecord], facts: &RunFacts) -> Result<Self, AccountingError> {
        let turns = TurnCounts::count(records, facts)?;
        let completed: Vec<&TurnRecord> =
            records.iter().filter(|r| r.state.is_completed()).collect();
        let series = |metric: fn(&TurnRecord) -> Option<f64>| {
            Series::of(records.len(), completed.iter().filter_map(|r| metric(r)))
        };
        let self_check = SelfCheckCounts::of(records);
        let measured = Measured {
            gaps: gaps(records, &facts.moments),
            drift: Drift::of(&completed),
            memory: MemoryUse::of(&facts.moments),
        };
        let problems = problems(records, &turns, facts, self_check, &measured);
        let prompt_tokens = PromptTokens::of(&completed);
        let speculation = Speculation::of(&completed);
        let duration_ns = duration_ns(records);
        let valid = problems.is_empty();
        Ok(Self {
            schema: SUMMARY_SCHEMA,
            complete: facts.finished
                && turns.not_issued == 0
                && facts.samples.is_none_or(|s| s.answered == s.planned),
            valid,
            compliant: valid && facts.deviations.is_empty(),
            deviations: facts.deviations.clone(),
            problems,
            warnings: warnings(records, &turns, &prompt_tokens, &speculation, &measured),
            turns,
            stop_reasons: StopCounts::count(records),
            prompt_tokens,
            decode_calls: completed.iter().filter_map(|r| r.decode_calls).sum(),
            duration_ns,
            resumed: records
                .iter()
                .map(|r| r.attempt as usize)
                .max()
                .unwrap_or(0)
                .max(facts.resumed),
            latency_ns: series(|r| turn::latency_ns(r).map(|ns| ns as f64)),
            ttft_ns: series(|r| turn::ttft_ns(r).map(|ns| ns as f64)),
            tpot_ns: series(turn::tpot_ns),
            isl: series(|r| turn::isl(r).map(|n| n as f64)),
            osl: series(|r| turn::osl(r).map(|n| n as f64)),
            phases_ns: PhaseSeries::of(records.len(), &completed),
            driver_ns: series(|r| r.driver_ns.map(|ns| ns as f64)),
            tokens_per_second: TokenRates::of(&completed, duration_ns),
            speculation,
            degenerate: repetition::count(records),
            inline_score: facts.inline_score,
            samples: facts.samples,
            self_check,
            conditions: AttemptConditions::all(&facts.moments),
            memory: measured.memory,
            drift: measured.drift,
            gaps: measured.gaps,
            conversations: ConversationSummary::all(records, facts),
        })
    }
}

/// Index of the first row of each continuation of a resumed run: the run's clock
/// starts again there.
#[must_use]
pub fn continued_at(records: &[TurnRecord]) -> Vec<usize> {
    (1..records.len())
        .filter(|&i| records[i].attempt != records[i - 1].attempt)
        .collect()
}

/// One series per phase of a turn, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSeries {
    /// Messages → prompt text.
    pub render: Series,
    /// Prompt text → token ids.
    pub tokenize: Series,
    /// Restoring a snapshot and trimming the attention cells.
    pub restore: Series,
    /// Decode calls over the prompt, snapshot included.
    pub prefill: Series,
    /// Logits of the prompt → first token.
    pub first_sample: Series,
    /// First token → last token.
    pub decode: Series,
    /// Last token → parsed reply.
    pub parse: Series,
}

impl PhaseSeries {
    fn of(rows: usize, completed: &[&TurnRecord]) -> Self {
        let series = |phase: fn(&Phases) -> Nanos| {
            let values = completed.iter().filter_map(|r| r.phases_ns.as_ref());
            Series::of(rows, values.map(|p| phase(p) as f64))
        };
        Self {
            render: series(|p| p.render),
            tokenize: series(|p| p.tokenize),
            restore: series(|p| p.restore),
            prefill: series(|p| p.prefill),
            first_sample: series(|p| p.first_sample),
            decode: series(|p| p.decode),
            parse: series(|p| p.parse),
        }
    }

    /// The series by name, in the order in which the phases happen.
    #[must_use]
    pub fn named(&self) -> [(&'static str, &Series); 7] {
        [
            ("render", &self.render),
            ("tokenize", &self.tokenize),
            ("restore", &self.restore),
            ("prefill", &self.prefill),
            ("first_sample", &self.first_sample),
            ("decode", &self.decode),
            ("parse", &self.parse),
        ]
    }
}

/// The run's duration, ns: its parts are timed by clocks of their own.
fn duration_ns(records: &[TurnRecord]) -> Option<Nanos> {
    let mut cuts = vec![0];
    cuts.extend(continued_at(records));
    cuts.push(records.len());
    cuts.windows(2)
        .filter_map(|cut| records.get(cut[0]..cut[1]))
        .filter_map(|part| span_ns(&part.iter().collect::<Vec<_>>()))
        .reduce(|sum, ns| sum.saturating_add(ns))
}
