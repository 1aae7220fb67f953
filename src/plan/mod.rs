//! The plan of a run: the command line, validated, resolved and complete. Nothing reads flags after it, and it is
//! written whole into every result.

mod accuracy;
mod deviations;
mod error;
mod leaves;
mod select;
mod settings;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::accuracy::OslWindow;
use crate::cli::{EngineArgs, Overflow, Profile, Reasoning, RunArgs};
use crate::clock::Nanos;
use crate::conversation::{Dataset, SAMPLE_NAME};
use crate::engine::acceptance::AcceptanceRates;
use crate::engine::cuts::{Boundaries, rollback_tokens};
use crate::engine::llama::{
    ContextSettings, EngineSettings, FlashAttention, LLAMA_BUILD, LLAMA_CRATES,
};
use crate::engine::speculation::Mtp;
use crate::machine::identity::FileIdentity;
use crate::machine::{Device, offload_targets};
use crate::metrics::{ConversationFacts, Deviation};
use select::select;

pub use accuracy::AccuracyPlan;
pub use error::PlanError;
pub use leaves::{Leaf, differing_leaves};

/// The locked settings of MLPerf Inference v6.1, Edge, agentic (`../shared/RULES.md`, "Fixed").
pub mod locked {
    /// Context, tokens.
    pub const CTX_SIZE: u32 = 32_768;
    /// Seed.
    pub const SEED: u64 = 42;
    /// Most tokens per turn.
    pub const MAX_NEW_TOKENS: u32 = 1024;
    /// Turn timeout, seconds.
    pub const TURN_TIMEOUT_S: f64 = 600.0;
    /// SHA-256 of `agentic_coding_2.5h.jsonl`.
    pub const DATASET_SHA256: &str =
        "b7da8c4ffbe1cabd79c4d8169e5201541e006364b4bfc016d01d893e20ee6f70";
    /// Model architecture.
    pub const ARCHITECTURE: &str = "qwen35";
    /// Blocks and embedding width of Qwen3.6-27B, the MTP block not counted.
    pub const MODEL_SHAPE: &str = "64 blocks of width 5120";
}

/// Contexts come in steps of this many tokens (llama.cpp pads others).
const CTX_STEP: u32 = 256;

/// The version of `plan.json`'s layout.
pub const PLAN_SCHEMA: u32 = 1;

/// A run's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Layout version, [`PLAN_SCHEMA`].
    pub schema: u32,
    /// The program.
    pub program: Program,
    /// `mlperf-v6.1-edge` or `none`.
    pub profile: String,
    /// Sampler seed. At temperature 0, which is not a setting, it decides nothing; stored because the rules name it.
    pub seed: u64,
    /// The model.
    pub model: ModelPlan,
    /// The conversations of the performance phase; `None` without one.
    pub dataset: Option<DatasetPlan>,
    /// The samples of the accuracy phase; `None` without one.
    pub accuracy: Option<AccuracyPlan>,
    /// How turns run, in both phases.
    pub replay: ReplayPlan,
    /// How llama.cpp runs.
    pub engine: EnginePlan,
    /// What differs from the locked profile.
    pub deviations: Vec<Deviation>,
}

/// Which program made the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// `edge-agentic run`: never an official load generator.
    pub load_generator: String,
    /// Version.
    pub version: String,
    /// llama.cpp build.
    pub llama_cpp: String,
    /// The crates that carry it.
    pub llama_cpp_crates: String,
}

/// The model of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPlan {
    /// All parts in order, with their digests.
    pub files: Vec<FileIdentity>,
    /// `general.architecture`.
    pub architecture: String,
    /// `general.name`, where given.
    pub name: Option<String>,
    /// Blocks and embedding width.
    pub shape: String,
    /// SHA-256 of the chat template.
    pub template_sha256: Option<String>,
    /// Whether the chat template renders tools.
    pub template_tools: bool,
    /// Prediction (MTP) blocks in the file, loaded only where they draft.
    pub mtp_blocks: u64,
}

/// The data set of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetPlan {
    /// File name, or the embedded sample's name.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Client turns of each conversation and how many of them are selected, in file order.
    pub conversations: Vec<SelectedConversation>,
}

/// A conversation and how much of it is replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectedConversation {
    /// Id.
    pub id: String,
    /// Client turns.
    pub turns: u32,
    /// Of which selected, from the first.
    pub selected: u32,
}

/// The replay's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayPlan {
    /// Most tokens per turn.
    pub max_new_tokens: u32,
    /// Whether each turn generates as many tokens as its recorded reply has; if so, the run is synthetic.
    pub recorded_lengths: bool,
    /// Seconds per turn.
    pub turn_timeout_s: f64,
    /// Seconds after which no turn is issued.
    pub time_cap_s: Option<f64>,
    /// What happens to a prompt that does not fit.
    pub overflow: Overflow,
    /// Whether the recorded time of tools is waited.
    pub inject_delays: bool,
    /// Whether system prompts are salted.
    pub salt: bool,
    /// Whether conversations start from state that others left.
    pub reuse_across_conversations: bool,
    /// Turns before the measured ones.
    pub warmup: u32,
    /// Passes over the conversations.
    pub repeat: u32,
    /// Bounds of the mean output length, tokens, where they are checked.
    pub osl_window: Option<OslWindow>,
    /// The tokenizer that counts tokens for `endpoints/`.
    pub tokenizer: Option<FileIdentity>,
    /// Every how many turns one is repeated.
    pub self_check: Option<u32>,
}

/// The engine's settings. Temperature 0 is not a setting: nothing else is built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnginePlan {
    /// Context and batch.
    pub context: ContextSettings,
    /// Where decode calls end.
    pub boundaries: Boundaries,
    /// Whether prompts let the model reason.
    pub reasoning: Reasoning,
    /// Whether the model's prediction block drafts. The rules allow it, so it is no deviation.
    pub mtp: Mtp,
    /// Rates at which drafts are kept by chance; with them the run is synthetic.
    pub synthetic_acceptance: Option<AcceptanceRates>,
    /// Layers to offload.
    pub n_gpu_layers: u32,
    /// Devices by name; empty: llama.cpp's choice.
    pub devices: Vec<String>,
}

impl Plan {
    /// Validates and resolves `args`. `data` and `samples` are what the phases work on, where they are asked for;
    /// `threads` is used where none are given; `tokenizer` is the file that `args` name.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(
        args: &RunArgs,
        data: Option<&Dataset>,
        samples: Option<&bfcl::dataset::Dataset>,
        model: ModelPlan,
        tokenizer: Option<FileIdentity>,
        threads: u32,
    ) -> Result<Self, PlanError> {
        if args.profile == Profile::MlperfV61Edge && model.architecture != locked::ARCHITECTURE {
            return Err(PlanError::Architecture {
                found: model.architecture,
                expected: locked::ARCHITECTURE,
            });
        }
        let mut engine = EnginePlan::new(
            &args.engine,
            args.boundaries,
            args.phases.reasoning,
            threads,
        )?;
        engine
            .synthetic_acceptance
            .clone_from(&args.synthetic.synthetic_acceptance);
        check_mtp(&engine, &model)?;
        let mut plan = Self {
            schema: PLAN_SCHEMA,
            program: Program {
                load_generator: "edge-agentic run".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                llama_cpp: LLAMA_BUILD.to_owned(),
                llama_cpp_crates: LLAMA_CRATES.to_owned(),
            },
            profile: match args.profile {
                Profile::MlperfV61Edge => "mlperf-v6.1-edge".to_owned(),
                Profile::None => "none".to_owned(),
            },
            seed: locked::SEED,
            model,
            dataset: data
                .map(|data| {
                    Ok::<_, PlanError>(DatasetPlan {
                        name: name(args.dataset.dataset.as_deref()),
                        sha256: data.sha256.clone(),
                        conversations: select(args, data)?,
                    })
                })
                .transpose()?,
            accuracy: samples
                .map(|samples| AccuracyPlan::new(&args.phases, samples))
                .transpose()?,
            replay: replay(args, tokenizer)?,
            engine,
            deviations: Vec::new(),
        };
        plan.deviations = plan.deviations();
        Ok(plan)
    }

    /// The conversations of the performance phase and how much of each is replayed.
    #[must_use]
    pub fn conversations(&self) -> &[SelectedConversation] {
        self.dataset.as_ref().map_or(&[], |d| &d.conversations)
    }

    /// The selection as the replay and the summary take it.
    #[must_use]
    pub fn selection(&self) -> Vec<ConversationFacts> {
        self.conversations()
            .iter()
            .map(|c| ConversationFacts {
                conversation_id: c.id.clone(),
                turns: c.turns,
                selected: c.selected,
            })
            .collect()
    }

    /// What in a plan that was read back does not follow from its own settings, if anything: a file that was edited
    /// must not say less than the run did.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        if self.schema != PLAN_SCHEMA {
            return Some(format!(
                "found schema {}, expected {PLAN_SCHEMA}",
                self.schema
            ));
        }
        (self.deviations != self.deviations())
            .then(|| "its deviations are not those of its settings: the file was edited".to_owned())
    }
}

impl EnginePlan {
    /// Validates and resolves `e`; `threads` is used where none are given.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(
        e: &EngineArgs,
        boundaries: Boundaries,
        reasoning: Reasoning,
        threads: u32,
    ) -> Result<Self, PlanError> {
        if e.ubatch_size > e.batch_size {
            return Err(PlanError::Batch {
                ubatch: e.ubatch_size,
                batch: e.batch_size,
            });
        }
        if e.flash_attn == FlashAttention::Off && e.cache_type_v.is_quantized() {
            return Err(PlanError::QuantizedV {
                found: e.cache_type_v,
            });
        }
        if !e.ctx_size.is_multiple_of(CTX_STEP) {
            return Err(PlanError::CtxSize {
                found: e.ctx_size,
                step: CTX_STEP,
            });
        }
        Ok(Self {
            context: ContextSettings {
                ctx_size: e.ctx_size,
                batch_size: e.batch_size,
                ubatch_size: e.ubatch_size,
                threads: e.threads.unwrap_or(threads),
                flash_attn: e.flash_attn,
                cache_type_k: e.cache_type_k,
                cache_type_v: e.cache_type_v,
            },
            boundaries,
            mtp: e.mtp,
            synthetic_acceptance: None,
            reasoning,
            n_gpu_layers: e.n_gpu_layers,
            devices: e.device.clone(),
        })
    }

    /// Tokens whose recurrent states the context holds, with a template that holds back `held_back` tokens.
    #[must_use]
    pub fn rollback_tokens(&self, held_back: usize) -> u32 {
        let tokens = rollback_tokens(self.boundaries, held_back, self.context.call_size());
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// The engine of this plan, with a template that holds back `held_back` tokens, on a machine with `devices`.
    #[must_use]
    pub fn settings(&self, held_back: usize, devices: &[Device]) -> EngineSettings {
        EngineSettings {
            context: self.context,
            boundaries: self.boundaries,
            held_back,
            mtp: self.mtp,
            synthetic: self.synthetic_acceptance.clone(),
            device_snapshots: self.offloads(devices),
        }
    }

    /// Those of `devices` that layers go to; none where the processor computes all of them.
    #[must_use]
    pub fn targets<'a>(&self, devices: &'a [Device]) -> Vec<&'a Device> {
        match self.n_gpu_layers {
            0 => Vec::new(),
            _ => offload_targets(devices, &self.devices),
        }
    }

    /// Whether layers are computed on one of `devices`.
    #[must_use]
    fn offloads(&self, devices: &[Device]) -> bool {
        !self.targets(devices).is_empty()
    }
}

impl ReplayPlan {
    /// Copies of the recurrent state that the engine keeps.
    #[must_use]
    pub fn snapshots(&self) -> u32 {
        let shared = self.reuse_across_conversations || self.overflow == Overflow::DropOldest;
        1 + u32::from(shared)
    }
}

fn name(path: Option<&Path>) -> String {
    path.map_or_else(
        || SAMPLE_NAME.to_owned(),
        |p| {
            p.file_name()
                .unwrap_or(p.as_os_str())
                .to_string_lossy()
                .into_owned()
        },
    )
}

fn seconds(flag: &'static str, value: f64) -> Result<f64, PlanError> {
    if value.is_finite() && value > 0.0 && value < 1e9 {
        Ok(value)
    } else {
        Err(PlanError::Duration { flag, found: value })
    }
}

/// Seconds as nanoseconds on the run's clock.
#[must_use]
pub fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

fn replay(args: &RunArgs, tokenizer: Option<FileIdentity>) -> Result<ReplayPlan, PlanError> {
    Ok(ReplayPlan {
        max_new_tokens: args.max_new_tokens,
        recorded_lengths: args.synthetic.recorded_lengths,
        turn_timeout_s: seconds("--turn-timeout", args.turn_timeout)?,
        time_cap_s: args
            .time_cap
            .map(|s| seconds("--time-cap", s))
            .transpose()?,
        overflow: args.overflow,
        inject_delays: args.inject_delays,
        salt: args.salt,
        reuse_across_conversations: args.reuse_across_conversations,
        warmup: args.warmup,
        repeat: args.repeat,
        osl_window: args.osl_window,
        tokenizer,
        self_check: args.self_check,
    })
}

/// Architectures whose recurrent states llama.cpp can give back one by one (`llm_arch_supports_rs_rollback`, b11434),
/// which rejected drafts need.
const MTP_ARCHITECTURES: [&str; 2] = ["qwen35", "qwen35moe"];

/// Refuses drafts that the model or the context cannot give: llama.cpp aborts the process on some of these.
fn check_mtp(engine: &EnginePlan, model: &ModelPlan) -> Result<(), PlanError> {
    let mtp = engine.mtp;
    if let Some(rates) = &engine.synthetic_acceptance
        && !matches!(mtp, Mtp::Depth(n) if n as usize == rates.positions())
    {
        return Err(PlanError::Acceptance {
            rates: rates.positions(),
            mtp,
        });
    }
    if mtp == Mtp::Off {
        return Ok(());
    }
    if model.mtp_blocks == 0 {
        return Err(PlanError::NoMtp { asked: mtp });
    }
    if !MTP_ARCHITECTURES.contains(&model.architecture.as_str()) {
        return Err(PlanError::MtpArchitecture {
            asked: mtp,
            found: model.architecture.clone(),
        });
    }
    let least = mtp.depth() + 2;
    let call = engine.context.ubatch_size;
    if call < least {
        return Err(PlanError::MtpBatch {
            asked: mtp,
            found: call,
            least,
        });
    }
    Ok(())
}
