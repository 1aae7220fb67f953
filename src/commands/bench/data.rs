//! The report's data: what llama-bench's rows hold, by its names, and the phases of turns.

use gguf::{Census, Facts, Gguf, Label, MetadataError};
use serde::Serialize;

use super::measure::{Measured, Sample, Test};
use super::plan::BenchPlan;
use crate::clock::{Nanos, Timestamp};
use crate::machine::Machine;
use crate::metrics::Series;

/// The version of the report's layout.
pub const BENCH_SCHEMA: u32 = 1;

/// The model, as llama-bench describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFacts {
    /// The file's name.
    pub model_filename: String,
    /// Architecture and quantization.
    pub model_type: String,
    /// All tensors, bytes.
    pub model_size: u64,
    /// All weights.
    pub model_n_params: u64,
}

impl ModelFacts {
    /// What the file's header says.
    ///
    /// # Errors
    /// Where metadata fields are of the wrong kind.
    pub fn of(model: &Gguf) -> Result<Self, MetadataError> {
        let census = Census::of(model);
        let label = Label::of(model, &census)?;
        let by_number = label.file_type.and_then(gguf::FileType::name);
        let quantization = by_number.map(str::to_owned).or(label.named);
        let architecture = Facts::of(model)?.architecture;
        let name = model.path().file_name().unwrap_or_default();
        Ok(Self {
            model_filename: name.to_string_lossy().into_owned(),
            model_type: match quantization {
                Some(quantization) => format!("{architecture} {quantization}"),
                None => architecture,
            },
            model_size: model.tensor_bytes(),
            model_n_params: census.elements(),
        })
    }
}

/// A benchmark's report.
#[derive(Debug, Clone, Serialize)]
pub struct BenchReport {
    /// Layout version, [`BENCH_SCHEMA`].
    pub schema: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// The model.
    #[serde(flatten)]
    pub model: ModelFacts,
    /// Backends that compute layers, `CPU` where none but the processor does.
    pub backends: String,
    /// What was asked for.
    pub plan: BenchPlan,
    /// One row per test and depth.
    pub tests: Vec<TestRow>,
    /// What it ran on.
    pub machine: Machine,
}

impl BenchReport {
    /// The report on `measured`.
    pub fn new(
        model: ModelFacts,
        plan: &BenchPlan,
        machine: Machine,
        started_at: Timestamp,
        measured: &[Measured],
    ) -> Self {
        Self {
            schema: BENCH_SCHEMA,
            started_at,
            model,
            backends: backends(plan, &machine),
            plan: plan.clone(),
            tests: measured.iter().map(|m| TestRow::new(m, plan)).collect(),
            machine,
        }
    }
}

fn backends(plan: &BenchPlan, machine: &Machine) -> String {
    let targets = plan.engine.targets(&machine.devices);
    let mut names: Vec<&str> = targets.iter().map(|d| d.backend.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        "CPU".to_owned()
    } else {
        names.join(",")
    }
}

/// A test at a depth.
#[derive(Debug, Clone, Serialize)]
pub struct TestRow {
    /// Its name, e.g. `tg128 @ d8192`.
    pub test: String,
    /// Prompt tokens that the speed counts.
    pub n_prompt: usize,
    /// Generated tokens that the speed counts.
    pub n_gen: usize,
    /// Tokens in the context before the test.
    pub n_depth: usize,
    /// Mean time, ns.
    pub avg_ns: Option<f64>,
    /// Its sample standard deviation, ns.
    pub stddev_ns: Option<f64>,
    /// Mean speed, tokens per second.
    pub avg_ts: Option<f64>,
    /// Its sample standard deviation.
    pub stddev_ts: Option<f64>,
    /// Every time, ns.
    pub samples_ns: Vec<Nanos>,
    /// Every speed, tokens per second.
    pub samples_ts: Vec<f64>,
    /// Of a turn: where its time went.
    pub phases: Option<PhasesRow>,
}

impl TestRow {
    fn new(measured: &Measured, plan: &BenchPlan) -> Self {
        let (n_prompt, n_gen) = measured.test.counted(plan);
        let samples_ns: Vec<Nanos> = measured.samples.iter().map(|s| s.elapsed).collect();
        let tokens = (n_prompt + n_gen) as f64;
        // A clock that did not move gives no speed; the series leaves it out.
        let speed = |&ns: &Nanos| tokens * 1e9 / ns as f64;
        let samples_ts: Vec<f64> = samples_ns.iter().filter(|&&ns| ns > 0).map(speed).collect();
        let times = Series::of(samples_ns.len(), samples_ns.iter().map(|&ns| ns as f64));
        let speeds = Series::of(samples_ns.len(), samples_ts.iter().copied());
        let turn = measured.test == Test::Turn;
        Self {
            test: measured.test.name(plan, measured.depth),
            n_prompt,
            n_gen,
            n_depth: measured.depth,
            avg_ns: times.mean,
            stddev_ns: times.sigma,
            avg_ts: speeds.mean,
            stddev_ts: speeds.sigma,
            samples_ns,
            samples_ts,
            phases: turn.then(|| PhasesRow::new(&measured.samples)),
        }
    }
}

/// Means over a turn's measurements, ns; the phases are those of `turns.jsonl`.
#[derive(Debug, Clone, Serialize)]
pub struct PhasesRow {
    /// Turn handed to the engine → first token.
    pub ttft: Option<f64>,
    /// Putting the kept state back.
    pub restore: Option<f64>,
    /// Decode calls over the new prompt tokens.
    pub prefill: Option<f64>,
    /// The prompt's logits → first token.
    pub first_sample: Option<f64>,
    /// First token → last token, keeping the state for the next turn included.
    pub decode: Option<f64>,
    /// Of the whole turn, what is spent outside llama.cpp.
    pub driver: Option<f64>,
}

impl PhasesRow {
    fn new(samples: &[Sample]) -> Self {
        let mean = |value: fn(&Sample) -> Nanos| {
            Series::of(samples.len(), samples.iter().map(|s| value(s) as f64)).mean
        };
        Self {
            ttft: mean(|s| s.ttft),
            restore: mean(|s| s.times.restore),
            prefill: mean(|s| s.times.prefill),
            first_sample: mean(|s| s.times.first_sample),
            decode: mean(|s| s.times.decode),
            driver: mean(|s| s.driver),
        }
    }
}
