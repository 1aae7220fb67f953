//! The whole diagnosis: what `--format json` prints.

use clap::Parser;
use serde::Serialize;

use super::findings::{self, Finding, Standing};
use super::{BuildFacts, DataFacts};
use crate::cli::EngineArgs;
use crate::commands::inspect::Inspection;
use crate::machine::{Machine, offload_targets};

/// Layout version of [`Diagnosis`].
const SCHEMA: u32 = 1;

/// A machine, as `run` meets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Layout version.
    pub schema: u32,
    /// Whether nothing is missing that `run --performance-only` needs; the accuracy phase needs the BFCL data too.
    pub ready: bool,
    /// The machine.
    pub machine: Machine,
    /// This program.
    pub build: BuildFacts,
    /// The data.
    pub data: DataFacts,
    /// What `run` would use where nothing else is asked of it.
    pub run: RunChoice,
    /// The model that was given.
    pub model: Option<Inspection>,
    /// What is there, what to know, and what is missing.
    pub findings: Vec<Finding>,
}

/// What `run` uses by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunChoice {
    /// Threads: one per physical core.
    pub threads: u32,
    /// Devices that take layers, in llama.cpp's order; none: the processor computes all.
    pub devices: Vec<String>,
    /// Layers to offload; more than the model has means all.
    pub n_gpu_layers: u32,
    /// Context, tokens.
    pub ctx_size: u32,
    /// Most tokens per decode call.
    pub batch_size: u32,
    /// Most tokens per pass over the weights.
    pub ubatch_size: u32,
}

/// The engine's options, all at their defaults: `run` reads them from the same place.
#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    engine: EngineArgs,
}

impl RunChoice {
    /// `run`'s choice on this machine.
    #[must_use]
    pub fn on(machine: &Machine) -> Self {
        let engine = Defaults::parse_from(["run"]).engine;
        let targets = offload_targets(&machine.devices, &engine.device);
        Self {
            threads: machine.cpu.physical_cores.get().copied().unwrap_or(1),
            devices: targets.iter().map(|d| d.name.clone()).collect(),
            n_gpu_layers: engine.n_gpu_layers,
            ctx_size: engine.ctx_size,
            batch_size: engine.batch_size,
            ubatch_size: engine.ubatch_size,
        }
    }
}

impl Diagnosis {
    /// Judges what was found.
    #[must_use]
    pub fn new(
        build: BuildFacts,
        machine: Machine,
        data: DataFacts,
        model: Option<Inspection>,
    ) -> Self {
        let mut diagnosis = Self {
            schema: SCHEMA,
            ready: true,
            run: RunChoice::on(&machine),
            machine,
            build,
            data,
            model,
            findings: Vec::new(),
        };
        diagnosis.findings = findings::of(&diagnosis);
        let missing = |f: &Finding| f.standing == Standing::Missing;
        diagnosis.ready = !diagnosis.findings.iter().any(missing);
        diagnosis
    }
}
