//! From a model path to a loaded model with its chat template, each step refusing with a reason.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, anyhow};
use gguf::{Facts, Gguf, Mtp};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use crate::chat::dialogue::hex;
use crate::chat::{ChatError, ChatTemplate, prefix};
use crate::engine::llama::{FlashAttention, LoadError, LoadedModel, ModelSettings};
use crate::engine::speculation;
use crate::exit::{Classify, Exit, Failure};
use crate::machine::Device;
use crate::machine::identity::identify;
use crate::machine::memory::{self, MemoryPlan};
use crate::plan::{EnginePlan, ModelPlan};
use crate::say::say;

/// Validates the file's header, all parts included. Metadata and tensors that disagree about a prediction head are
/// refused here, because llama.cpp would fail on them later, with the name of some tensor.
pub fn open(path: &Path) -> Result<Gguf, Failure> {
    let gguf = Gguf::open(path).bad_input()?;
    let facts = Facts::of(&gguf)
        .with_context(|| format!("{}", path.display()))
        .bad_input()?;
    gguf::sanity::check(&gguf, &facts)
        .with_context(|| format!("{}", path.display()))
        .bad_input()?;
    match Mtp::of(&gguf, &facts) {
        Mtp::Inconsistent(fault) => Err(fault)
            .with_context(|| format!("{}", path.display()))
            .bad_input(),
        Mtp::Yes { .. } | Mtp::No => Ok(gguf),
    }
}

/// Loads a model that [`open`] has validated.
pub fn load(path: &Path, settings: &ModelSettings) -> Result<LoadedModel, Failure> {
    let bar = if settings.vocab_only {
        ProgressBar::hidden()
    } else {
        bar("loading model {bar:40} {percent}%", 100)
    };
    let shown = Arc::new(Mutex::new(bar.clone()));
    let progress = move |fraction: f32| {
        if let Ok(bar) = shown.lock() {
            bar.set_position((f64::from(fraction) * 100.0) as u64);
        }
    };
    let model = LoadedModel::load(path, settings, progress).setup()?;
    bar.finish_and_clear();
    Ok(model)
}

/// Loads it as a plan has it.
pub fn load_planned(path: &Path, plan: &EnginePlan) -> Result<LoadedModel, Failure> {
    let settings = ModelSettings {
        vocab_only: false,
        gpu_layers: plan.n_gpu_layers,
        devices: plan.devices.clone(),
        mtp: plan.mtp != speculation::Mtp::Off,
    };
    load(path, &settings)
}

/// A progress bar on a terminal, nothing elsewhere.
fn bar(template: &str, length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    ProgressBar::new(length)
        .with_style(ProgressStyle::with_template(template).expect("a valid template"))
}

/// The chat template of a model, refused where it has none or renders no tools, and the number of tokens at a
/// prompt's end that its continuation may change. `reasoning`: whether prompts let the model reason.
pub fn template(
    model: &LoadedModel,
    path: &Path,
    tools_required: bool,
    reasoning: bool,
) -> Result<(ChatTemplate, usize), Failure> {
    let at = |e: ChatError| {
        Failure::new(
            Exit::BadInput,
            anyhow!(e).context(format!("{}", path.display())),
        )
    };
    let source = model
        .chat_template()
        .filter(|source| !source.trim().is_empty())
        .ok_or(ChatError::NoTemplate)
        .map_err(at)?;
    let (bos, eos) = model.bos_eos();
    let template = ChatTemplate::new(&source, &bos, &eos, reasoning).map_err(at)?;
    // First a real rendering: llama.cpp takes a template that raises for one that renders no tools.
    let held_back = prefix::held_back(&template, model).map_err(at)?;
    if !template.supports_tools().map_err(at)? {
        if tools_required {
            return Err(at(ChatError::NoTools));
        }
        say(format_args!(
            "warning: {}: {}",
            path.display(),
            ChatError::NoTools
        ));
    }
    Ok((template, held_back))
}

/// What the plan says about the model; hashes its files, unless that was done before.
pub fn describe(gguf: &Gguf) -> Result<ModelPlan, Failure> {
    let facts = Facts::of(gguf).bad_input()?;
    let parts: Vec<PathBuf> = gguf.parts().iter().map(|p| p.path.clone()).collect();
    let bar = bar("hashing model {bar:40} {bytes}/{total_bytes} {eta}", 0);
    let files = identify(&parts, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .bad_input()?;
    bar.finish_and_clear();
    let template = gguf::template::chat_template(gguf.metadata()).bad_input()?;
    Ok(ModelPlan {
        files,
        mtp_blocks: match Mtp::of(gguf, &facts) {
            Mtp::Yes { layers } => layers,
            Mtp::No | Mtp::Inconsistent(_) => 0,
        },
        shape: format!(
            "{} blocks of width {}",
            facts.trunk(),
            facts
                .embedding_length
                .map_or_else(|| "unknown".to_owned(), |n| n.to_string())
        ),
        architecture: facts.architecture,
        name: facts.name,
        template_tools: template.is_some_and(gguf::template::mentions_tools),
        template_sha256: template.map(|t| hex(&Sha256::digest(t.as_bytes()))),
    })
}

/// What a memory plan depends on, for one run.
pub struct Needs<'a> {
    /// The model.
    gguf: &'a Gguf,
    /// How it is run.
    plan: &'a EnginePlan,
    /// How many snapshots of its recurrent state are kept.
    snapshots: u32,
    /// Tokens of the last call that can be rolled back, a recurrent state each.
    rollback_tokens: u32,
    /// All devices.
    devices: &'a [Device],
    /// The host, before anything is loaded.
    host: memory::Host,
}

impl<'a> Needs<'a> {
    /// Of a run that keeps `snapshots`, with a template that holds back `held_back` tokens, on this host as it is now.
    pub fn new(
        gguf: &'a Gguf,
        plan: &'a EnginePlan,
        snapshots: u32,
        held_back: usize,
        devices: &'a [Device],
    ) -> Self {
        Self {
            gguf,
            plan,
            snapshots,
            rollback_tokens: plan.rollback_tokens(held_back),
            devices,
            host: memory::Host::here(),
        }
    }
}

impl Needs<'_> {
    fn request<'r>(&'r self, facts: &'r Facts) -> memory::Request<'r> {
        let (plan, context) = (self.plan, &self.plan.context);
        memory::Request {
            facts,
            tensors: self.gguf.tensors(),
            settings: memory::Settings {
                ctx_size: context.ctx_size,
                ubatch_size: context.ubatch_size,
                cache_type_k: context.cache_type_k.tensor_type(),
                cache_type_v: context.cache_type_v.tensor_type(),
                flash_attention: context.flash_attn != FlashAttention::Off,
                n_gpu_layers: plan.n_gpu_layers,
                mtp_depth: plan.mtp.depth(),
                rollback_tokens: self.rollback_tokens,
                snapshots: self.snapshots,
            },
            host: self.host,
            devices: self.devices,
            device_names: &plan.devices,
        }
    }

    /// Refuses a model that does not fit, with the numbers, before anything is loaded. `override_it`: warn instead.
    pub fn check(&self, override_it: bool) -> Result<(), Failure> {
        let facts = Facts::of(self.gguf).bad_input()?;
        let contexts = 1 + u32::from(self.plan.mtp != speculation::Mtp::Off);
        self.plan
            .context
            .check_graphs(&facts.architecture, contexts)
            .setup()?;
        let memory = MemoryPlan::new(&self.request(&facts)).bad_input()?;
        for warning in memory.warnings() {
            say(format_args!("warning: {warning}"));
        }
        match memory.refusal() {
            Some(refusal) if override_it => {
                say(format_args!("warning: {refusal} (--ignore-memory)"))
            }
            Some(refusal) => {
                let text = format!(
                    "{}{refusal}; --ignore-memory loads it all the same",
                    memory.to_text()
                );
                return Err(Failure::message(Exit::Setup, text));
            }
            None => {}
        }
        Ok(())
    }

    /// A context that llama.cpp refused, with what it needs and what was free.
    pub fn refused(&self, error: LoadError) -> Failure {
        let explained = Facts::of(self.gguf)
            .ok()
            .filter(|_| matches!(error, LoadError::Context { .. }))
            .and_then(|facts| MemoryPlan::refused(&self.request(&facts)).ok());
        match explained {
            Some(text) => {
                Failure::message(Exit::Setup, format!("{error}. If memory is short: {text}"))
            }
            None => Failure::new(Exit::Setup, error),
        }
    }
}
