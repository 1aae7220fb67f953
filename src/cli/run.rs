//! The options of `run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{DatasetArgs, EngineArgs, FormatArgs};
use crate::accuracy::OslWindow;
use crate::engine::acceptance::AcceptanceRates;
use crate::engine::cuts::Boundaries;

/// Which rules a run is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// MLPerf Inference v6.1, Edge, agentic: every departure from its settings is listed as a deviation, and a model
    /// it does not allow is refused.
    #[value(name = "mlperf-v6.1-edge")]
    MlperfV61Edge,
    /// No rules: any model that llama.cpp runs. Departures are still listed.
    None,
}

/// What to do with a prompt that does not fit the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The turn fails and the rest of its conversation is skipped, as in the reference.
    Fail,
    /// Whole oldest tool exchanges are left out until the prompt fits.
    DropOldest,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Model file (GGUF; of a split model the first part).
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub results: ResultsArgs,
    /// Rules to hold the run to.
    #[arg(long, value_enum, default_value = "mlperf-v6.1-edge")]
    pub profile: Profile,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub phases: PhaseArgs,
    /// Conversations to replay: ids separated by commas, or a number N for the first N.
    #[arg(long, value_name = "IDS|N")]
    pub conversations: Option<String>,
    /// Client turns to replay of each conversation, from its first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub turns: Option<u32>,
    /// Most tokens to generate per turn or BFCL sample.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_new_tokens: u32,
    /// Seconds after which a turn or BFCL sample fails.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    pub turn_timeout: f64,
    /// Seconds after which no further turn is issued. The accuracy phase is not limited.
    #[arg(long, value_name = "SECONDS")]
    pub time_cap: Option<f64>,
    /// What to do with a prompt that does not fit the context.
    #[arg(long, value_enum, default_value = "fail")]
    pub overflow: Overflow,
    /// Wait as long as each recorded tool took before sending its results. Not part of any latency.
    #[arg(long)]
    pub inject_delays: bool,
    /// Put the reference's salt around the system prompt, so that no two conversations share a prefix.
    #[arg(long)]
    pub salt: bool,
    /// Let a conversation start from the state that another one left of their common beginning.
    #[arg(long)]
    pub reuse_across_conversations: bool,
    /// Turns of the embedded sample to run first, kept apart and never counted.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warmup: u32,
    /// Passes over the conversations; those of later passes are called `<id>__repeat_<pass>`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Check that the mean output length lies within LO,HI tokens.
    #[arg(long, value_name = "LO,HI")]
    pub osl_window: Option<OslWindow>,
    /// Count the output lengths (OSL) of `endpoints/` anew with this tokenizer.json.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Repeat every K-th turn from an empty cache and compare its tokens. Costs a full prefill each; not timed.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub self_check: Option<u32>,
    /// Where decode calls end: lean (as few as possible), cut (one more per turn; docs/performance.md says when that is
    /// faster) or server (as llama-server b11434, for comparing tokens).
    #[arg(long, value_enum, default_value = "lean")]
    pub boundaries: Boundaries,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub synthetic: SyntheticArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Replies that are not the model's, for profiling a device before the real weights are there. Such a run is
/// labelled synthetic and never valid.
#[derive(Debug, Args)]
#[command(next_help_heading = "Synthetic runs (never valid)")]
pub struct SyntheticArgs {
    /// Keep drafts by chance: for each position of --mtp N, the share of steps that keep it and all before it, as
    /// llama-server's --spec-synth-rates.
    #[arg(
        long,
        value_name = "R1,R2,…",
        requires = "performance_only",
        conflicts_with = "self_check"
    )]
    pub synthetic_acceptance: Option<AcceptanceRates>,
    /// Let each turn generate as many tokens as its recorded reply has, whatever ends the reply before.
    #[arg(long, requires = "performance_only", conflicts_with = "self_check")]
    pub recorded_lengths: bool,
}

/// Which phases a run has, and how the accuracy phase asks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Phases")]
pub struct PhaseArgs {
    /// Only replay the conversations; no BFCL samples.
    #[arg(long, conflicts_with_all = ["accuracy_only", "data", "categories", "full_subsets", "bfcl_samples", "stop_when_decided"])]
    pub performance_only: bool,
    /// Only ask the BFCL samples; no replay.
    #[arg(long, conflicts_with_all = [
        "dataset", "sample", "conversations", "turns", "time_cap", "overflow", "inject_delays", "salt",
        "reuse_across_conversations", "warmup", "repeat", "osl_window", "self_check",
    ])]
    pub accuracy_only: bool,
    /// Directory of the BFCL files; where `scripts/fetch-data` puts them if not given.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// BFCL categories or subsets to ask, separated by commas, instead of the gate's: non_live, live, hallucination, or
    /// names of subsets such as simple_java, live_relevance. No gate can pass then.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub categories: Vec<String>,
    /// Ask every sample of each subset instead of the gate's first 62 or 10 percent. No gate can pass then.
    #[arg(long)]
    pub full_subsets: bool,
    /// Ask only N of the samples, spread evenly over them, or all where there are no more: a first look. No gate can pass
    /// with fewer than all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub bfcl_samples: Option<u32>,
    /// End the accuracy phase as soon as the gates can no longer be reached, or no longer be missed; only with the gate's
    /// own samples. Such a run never passes: that takes all 995 of them.
    #[arg(long)]
    pub stop_when_decided: bool,
    /// Whether the model may reason before it answers, in both phases.
    #[arg(long, value_enum, default_value = "off")]
    pub reasoning: Reasoning,
}

/// Whether prompts let the model reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// The prompt closes the reasoning block, as in the reference.
    Off,
    /// The prompt opens it.
    On,
}

/// Where the results of a run go.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ResultsArgs {
    /// Directory for the results; must not exist or be empty.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Directory of an interrupted run to go on with, at the beginning of the conversation that it was in. Give
    /// everything else as it was given then. Such a run is labelled, and can never be submitted.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
}

impl ResultsArgs {
    /// The directory, and whether a run in it is to be resumed.
    ///
    /// # Panics
    /// Never: clap demands one of the two.
    #[must_use]
    pub fn directory(&self) -> (&PathBuf, bool) {
        match (&self.out, &self.resume) {
            (Some(dir), _) => (dir, false),
            (None, resume) => (
                resume.as_ref().expect("clap demands --out or --resume"),
                true,
            ),
        }
    }
}
