//! Loading a model: devices, memory mapping, progress, and an explanation where it fails.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use llama_cpp_2::LlamaModelLoadError;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use thiserror::Error;

use super::backends::{self, BackendError};
use super::device::{choose, devices};
use super::log;
use crate::chat::{Token, Vocab};

/// How a model is loaded.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Only the vocabulary: no tensors, a fraction of a second.
    pub vocab_only: bool,
    /// Layers to offload; more than the model has means all.
    pub gpu_layers: u32,
    /// Devices by name; empty leaves the choice to llama.cpp.
    pub devices: Vec<String>,
    /// Load the MTP block, if the file has one.
    pub mtp: bool,
}

impl ModelSettings {
    /// For the vocabulary alone.
    #[must_use]
    pub const fn vocabulary() -> Self {
        Self {
            vocab_only: true,
            gpu_layers: 0,
            devices: Vec::new(),
            mtp: false,
        }
    }
}

/// Why a model did not load.
#[derive(Debug, Error)]
pub enum LoadError {
    /// No backend, or none of its devices.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// llama.cpp refused the file.
    #[error("llama.cpp could not load {}: {cause}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// llama.cpp's words.
        cause: String,
    },
    /// A `--device` that is not there.
    #[error("no device named {name:?}; llama.cpp sees {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Device {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// llama.cpp refused the context.
    #[error(
        "llama.cpp could not create a context of {context} tokens: {cause}; a smaller --ctx-size or smaller \
         --cache-type-k/-v need less memory"
    )]
    Context {
        /// Tokens asked for.
        context: u32,
        /// llama.cpp's words.
        cause: String,
    },
    /// A micro-batch whose graph there is no room for; llama.cpp would end the process.
    #[error(
        "--ubatch-size {ubatch}: llama.cpp sets {gib} GiB of address space aside for the graph of so large a \
         micro-batch, and the system does not give that much; use a smaller --ubatch-size"
    )]
    Graph {
        /// Tokens of the micro-batch.
        ubatch: u32,
        /// What it would take, GiB.
        gib: u64,
    },
    /// The context is not the one asked for.
    #[error(
        "asked llama.cpp for a context of {asked} tokens and got {got}; use --ctx-size {got} or a multiple of 256"
    )]
    ContextSize {
        /// Tokens asked for.
        asked: u32,
        /// Tokens the context has.
        got: u32,
    },
}

/// The process-wide llama.cpp backend; the first call loads the backend libraries, where there are such, and
/// initialises it.
pub(super) fn backend() -> Result<&'static LlamaBackend, BackendError> {
    static BACKEND: OnceLock<Result<LlamaBackend, BackendError>> = OnceLock::new();
    let initialised = BACKEND.get_or_init(|| {
        log::install();
        #[cfg(feature = "dynamic-backends")]
        backends::load()?;
        Ok(LlamaBackend::init().expect("only this function initialises the backend"))
    });
    initialised.as_ref().map_err(Clone::clone)
}

/// llama.cpp's last warnings and errors in one line, or `otherwise`.
pub(super) fn explanation(otherwise: &str) -> String {
    let lines = log::take_tail();
    if lines.is_empty() {
        otherwise.to_owned()
    } else {
        lines.join("; ")
    }
}

/// A loaded model and its vocabulary.
#[derive(Debug)]
pub struct LoadedModel {
    pub(super) model: LlamaModel,
}

impl LoadedModel {
    /// Loads `path`. `progress` receives the loaded fraction, 0 to 1. The caller has validated the file with the
    /// `gguf` crate, since llama.cpp aborts the process on some malformed ones.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(
        path: &Path,
        settings: &ModelSettings,
        mut progress: impl FnMut(f32) + 'static,
    ) -> Result<Self, LoadError> {
        let backend = backend()?;
        if settings.gpu_layers > 0 && settings.devices.is_empty() && !settings.vocab_only {
            let built_with = backends::for_gpus(&backends::features(), &backends::loaded());
            backends::demand_device(&built_with, &devices()?)?;
        }
        log::take_tail();
        let mut params = LlamaModelParams::default()
            .with_vocab_only(settings.vocab_only)
            .with_n_gpu_layers(settings.gpu_layers)
            .with_load_mtp(settings.mtp)
            .with_progress_callback(move |fraction| {
                progress(fraction);
                true
            });
        if !settings.devices.is_empty() {
            let chosen = choose(&settings.devices)?;
            params = params.with_devices(&chosen).map_err(|e| LoadError::Model {
                path: path.to_owned(),
                cause: e.to_string(),
            })?;
        }
        LlamaModel::load_from_file(backend, path, &params)
            .map(|model| Self { model })
            .map_err(|e| LoadError::Model {
                path: path.to_owned(),
                cause: match e {
                    LlamaModelLoadError::NullResult => explanation("it gave no reason"),
                    other => other.to_string(),
                },
            })
    }

    /// Most tokens by which a sequence's end can be moved back in a context that holds the recurrent states of
    /// `states` tokens besides the current one. Of the architectures that are not named some could do it; what they
    /// would need is not known here.
    pub(super) fn rollback(&self, states: usize) -> usize {
        let architecture = self.model.meta_val_str("general.architecture");
        match architecture.as_deref() {
            // A state per token, as `llm_arch_supports_rs_rollback` says (llama.cpp b11434).
            Ok("qwen35" | "qwen35moe") => states,
            // Attention over everything: cells alone, which can be cut anywhere.
            Ok("llama" | "qwen2" | "qwen2moe" | "qwen3" | "qwen3moe") => usize::MAX,
            _ => 0,
        }
    }

    /// Tokens of the vocabulary.
    #[must_use]
    pub fn vocabulary_size(&self) -> usize {
        usize::try_from(self.model.n_vocab()).unwrap_or(0)
    }

    /// The chat template stored in the file, if any.
    #[must_use]
    pub fn chat_template(&self) -> Option<String> {
        self.model.chat_template(None).ok()?.to_string().ok()
    }

    /// Texts of the BOS and EOS tokens, empty where the vocabulary has none: the template may print them.
    #[must_use]
    pub fn bos_eos(&self) -> (String, String) {
        let vocab = self.model.vocab();
        let text = |token: LlamaToken| {
            let mut bytes = Vec::new();
            if token.0 >= 0 {
                self.piece(token.0, true, &mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        (text(vocab.bos()), text(vocab.eos()))
    }
}

impl Vocab for LoadedModel {
    fn tokenize(&self, text: &str) -> Vec<Token> {
        self.model
            .vocab()
            .tokenize(text.as_bytes(), false, true)
            .into_iter()
            .map(|t| t.0)
            .collect()
    }

    fn piece(&self, token: Token, special: bool, out: &mut Vec<u8>) {
        self.model
            .vocab()
            .token_to_piece_into(LlamaToken(token), out, special, None);
    }

    fn is_end_of_generation(&self, token: Token) -> bool {
        self.model.vocab().is_eog(LlamaToken(token))
    }
}
