//! The command line, as clap sees it. Nothing else: [`crate::plan`] turns it into validated settings, and no code
//! reads these types after that.

mod run;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use self::run::{Overflow, PhaseArgs, Profile, Reasoning, ResultsArgs, RunArgs, SyntheticArgs};
use crate::engine::cuts::Boundaries;
use crate::engine::llama::{FlashAttention, KvType, LLAMA_BUILD, LLAMA_CRATES};
use crate::engine::speculation::Mtp;
use crate::output::Format;

/// Single-stream runner, profiler and validator for MLPerf Inference v6.1 Edge Agentic.
///
/// Exit codes: 0 pass, 1 a gate or validity check failed, 2 bad input, 3 set-up (model, device, memory), 4 the run
/// failed, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "edge-agentic", version, long_version = long_version(), max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

fn long_version() -> String {
    format!(
        "{}\nllama.cpp {LLAMA_BUILD} ({LLAMA_CRATES})",
        env!("CARGO_PKG_VERSION")
    )
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay the recorded conversations on a model in this process and measure every turn.
    Run(Box<RunArgs>),
    /// Show the prompts that a data set leads to, or check them against known digests.
    Prompts(PromptsArgs),
    /// Read a GGUF's header: what is in it, what it needs, whether it fits.
    Inspect(InspectArgs),
    /// Measure turns, prompt evaluation and generation at given context depths, without data.
    #[command(mut_arg("mtp", |mtp| mtp.hide(true)))] // refused, with the reason
    Bench(BenchArgs),
    /// Write a synthetic model with the benchmark model's architecture.
    Synth(SynthArgs),
    /// Rebuild every derived file of a run from its records, and show the result.
    Report(ReportArgs),
    /// Put two runs side by side: what was set up otherwise, which replies differ, which run is faster.
    Compare(CompareArgs),
    /// Score BFCL v4 outputs from anywhere as the reference does, and apply the accuracy gates.
    Score(ScoreArgs),
    /// Say what this machine has, what `run` would use of it, and what is missing, with the command that brings it.
    Doctor(DoctorArgs),
    /// Print the completions for a shell.
    Completions(CompletionsArgs),
    /// Print a manual page (roff).
    Man(ManArgs),
}

/// Options of every command that prints a result.
#[derive(Debug, Clone, Copy, Args)]
pub struct FormatArgs {
    /// How the result is printed on stdout: table, md, json or csv.
    #[arg(long, default_value_t = Format::Table)]
    pub format: Format,
}

/// Options of every command that reads the conversations.
#[derive(Debug, Clone, Args)]
pub struct DatasetArgs {
    /// Recorded conversations (agentic_coding_2.5h.jsonl). Needed wherever conversations are, unless --sample is given.
    #[arg(long, value_name = "FILE")]
    pub dataset: Option<PathBuf>,
    /// Use the two short conversations that this program carries, instead of a data set. For a first look only.
    #[arg(long, conflicts_with = "dataset")]
    pub sample: bool,
}

/// How llama.cpp runs the model; llama.cpp's own names.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// Context size in tokens.
    #[arg(short, long, value_name = "N", default_value_t = 32_768, value_parser = clap::value_parser!(u32).range(256..=1_048_576))]
    pub ctx_size: u32,
    /// Threads; the number of physical cores if not given.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Layers to offload to a device; more than the model has means all.
    #[arg(
        long = "n-gpu-layers",
        visible_alias = "ngl",
        value_name = "N",
        default_value_t = 999
    )]
    pub n_gpu_layers: u32,
    /// Devices to use, by name, separated by commas; llama.cpp's choice if not given.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub device: Vec<String>,
    /// Fused attention.
    #[arg(long, visible_alias = "fa", value_enum, default_value = "on")]
    pub flash_attn: FlashAttention,
    /// Element type of the K cache.
    #[arg(long, value_enum, default_value = "f16")]
    pub cache_type_k: KvType,
    /// Element type of the V cache.
    #[arg(long, value_enum, default_value = "f16")]
    pub cache_type_v: KvType,
    /// llama.cpp's batch: at least the micro-batch. Changes no call, since none of ours is larger than a micro-batch.
    #[arg(short, long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub batch_size: u32,
    /// Most tokens per pass over the weights, and per decode call.
    #[arg(long, visible_alias = "ub", value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub ubatch_size: u32,
    /// Let the model's own prediction block (MTP) draft tokens that the model then verifies in one pass: off, auto (up
    /// to 4 per step, as many as were worth it so far), or how many per step (1 to 8).
    #[arg(long, value_name = "off|auto|N", default_value_t = Mtp::Off)]
    pub mtp: Mtp,
    /// Load even where the memory plan says that it does not fit.
    #[arg(long)]
    pub ignore_memory: bool,
    /// Print llama.cpp's log on stderr.
    #[arg(short, long)]
    pub verbose: bool,
}

/// Options of `prompts`.
#[derive(Debug, Args)]
pub struct PromptsArgs {
    /// Model file: its vocabulary and chat template are used, its tensors are not loaded.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub dataset: DatasetArgs,
    /// Directory of the BFCL files: the prompts of the gate's samples instead of those of conversations.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dataset", "sample", "turn"])]
    pub data: Option<PathBuf>,
    /// Print the text of one turn's prompt; TURN is the client row's number in the data set (1, 3, 5, …).
    #[arg(long, value_name = "CONVERSATION:TURN", conflicts_with = "check")]
    pub turn: Option<String>,
    /// Compare every prompt with this file of digests (JSON lines, plain or gzip), one row per turn.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
}

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Model file (GGUF; of a split model the first part).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Check that the file's vocabulary cuts a fixed probe text into the same tokens as this tokenizer.json. A
    /// difference is exit 1.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Options of `bench`; llama-bench's names.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Model file (GGUF; of a split model the first part).
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Tokens in the context before a test starts, separated by commas.
    #[arg(
        short = 'd',
        long = "depth",
        visible_alias = "n-depth",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0,4096,8192,16384,24576"
    )]
    pub depths: Vec<u32>,
    /// New prompt tokens of a turn and of the pp test; 0 leaves both tests out.
    #[arg(short = 'p', long, value_name = "N", default_value_t = 512)]
    pub n_prompt: u32,
    /// Tokens that a turn and the tg test generate; 0 leaves both tests out.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 128)]
    pub n_gen: u32,
    /// How often each test is measured.
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repetitions: u32,
    /// Where decode calls end: lean or cut, as in run.
    #[arg(long, value_name = "lean|cut", default_value = "lean", value_parser = without_messages())]
    pub boundaries: Boundaries,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Boundaries of prompts that have no messages: llama-server's lie at those of users.
fn without_messages() -> impl TypedValueParser<Value = Boundaries> {
    PossibleValuesParser::new(["lean", "cut"]).try_map(|name| Boundaries::from_str(&name, false))
}

/// Shapes that `synth` can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// Four blocks, fast on one core; weights planted so that it calls a tool and stops.
    Tiny,
    /// The benchmark model's exact shapes and types (16.5 GB), random weights.
    #[value(name = "qwen3.6-27b")]
    Qwen36_27b,
}

/// Tensor types that `synth` can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SynthType {
    /// llama.cpp's Q4_K_M mix.
    #[value(name = "q4_k_m")]
    Q4KM,
    /// Half precision.
    #[value(name = "f16")]
    F16,
}

/// Options of `synth`.
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// Shape to write.
    #[arg(long, value_enum)]
    pub shape: Shape,
    /// Tensor types; the 27B shape has only q4_k_m.
    #[arg(long = "type", value_enum, default_value = "q4_k_m")]
    pub tensor_type: SynthType,
    /// Add the MTP (next-token prediction) block.
    #[arg(long)]
    pub mtp: bool,
    /// Vocabulary to use instead of the built-in one (gzipped JSON: tokens, types, merges).
    #[arg(long, value_name = "FILE")]
    pub vocab_from: Option<PathBuf>,
    /// Chat template to use instead of the built-in one (Jinja).
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,
    /// Seed of the weights.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// File to write; must not exist.
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Directory of the run that is compared with, for instance one without drafts.
    #[arg(value_name = "FIRST")]
    pub first: PathBuf,
    /// Directory of the run whose speed is stated, for instance one with drafts.
    #[arg(value_name = "SECOND")]
    pub second: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Options of `score`.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Directory of the BFCL files; where `scripts/fetch-data` puts them if not given.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// What to score: JSON lines of `{id, output}` or `{id, tool_calls, content, reasoning_content}`, or a report
    /// directory of the reference.
    #[arg(long, value_name = "FILE|DIR")]
    pub outputs: PathBuf,
    /// Write the verdict on every sample to this file, JSON lines.
    #[arg(long, value_name = "FILE")]
    pub verdicts: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Directory of a run, finished or not.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The data set that the run replayed; found by itself where `scripts/fetch-data` put it, or for the sample.
    #[arg(long, value_name = "FILE")]
    pub dataset: Option<PathBuf>,
    /// Directory of the BFCL files, where the run asked their samples; where `scripts/fetch-data` puts them if not
    /// given.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The tokenizer.json that the run was given, if it was.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Model file that `run` is to be given: adds its memory plan, and checks its header.
    #[arg(short, long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to complete in.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Options of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Verb whose page to print; the program's own if not given.
    #[arg(value_name = "VERB")]
    pub verb: Option<String>,
}
