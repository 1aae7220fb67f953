//! Prompts and replies: llama.cpp's own template engine, tool grammar and parser behind a safe API.
//!
//! There is no second implementation of any of them. What is ours is the *incremental* use: only what a turn adds
//! is rendered and tokenized ([`dialogue`]), and the prefix that any continuation shares is derived from the
//! template once ([`prefix`]).

pub mod dialogue;
mod ffi;
pub mod format;
pub mod prefix;
pub mod reply;
pub mod vocab;

use thiserror::Error;

pub use dialogue::{Dialogue, Prompt};
pub use ffi::Request;
pub use format::ReplyFormat;
pub use reply::{Reply, ToolCall};
pub use vocab::Vocab;

use ffi::Templates;

/// A token id of the model's vocabulary.
pub type Token = i32;

/// What can go wrong between messages, prompt and reply.
#[derive(Debug, Error)]
pub enum ChatError {
    /// llama.cpp refused: bad template, bad messages, or a reply its parser cannot read.
    #[error("llama.cpp's chat code: {0}")]
    Llama(String),
    /// A text for llama.cpp holds a NUL byte.
    #[error("{what} holds a NUL byte at {position}")]
    NulByte {
        /// Which text.
        what: &'static str,
        /// Byte offset.
        position: usize,
    },
    /// llama.cpp's answer is not what its interface promises.
    #[error("unexpected answer of llama.cpp's chat code: {0}")]
    Interface(#[from] serde_json::Error),
    /// The model has no chat template.
    #[error("the model has no chat template; give one with --template FILE or use another GGUF")]
    NoTemplate,
    /// The template does not list tools.
    #[error(
        "the model's chat template does not render tools, so the model never learns of them; use another GGUF"
    )]
    NoTools,
    /// Something the engine does not do, and must not skip silently.
    #[error("the chat template needs {0}, which this program does not support")]
    Unsupported(String),
}

/// The chat template of a model, and the one reasoning setting of a run.
#[derive(Debug)]
pub struct ChatTemplate {
    templates: Templates,
    enable_thinking: bool,
}

impl ChatTemplate {
    /// Parses `source`. `bos` and `eos` are the texts of the model's tokens (empty where it has none).
    ///
    /// # Errors
    /// Where llama.cpp cannot parse the template.
    pub fn new(
        source: &str,
        bos: &str,
        eos: &str,
        enable_thinking: bool,
    ) -> Result<Self, ChatError> {
        Ok(Self {
            templates: Templates::new(source, bos, eos)?,
            enable_thinking,
        })
    }

    /// Whether the template renders tools: without that, no accuracy figure means anything.
    ///
    /// # Errors
    /// Where llama.cpp cannot analyse the template.
    pub fn supports_tools(&self) -> Result<bool, ChatError> {
        let caps: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&self.templates.capabilities()?)?;
        Ok(caps
            .get("supports_tools")
            .and_then(serde_json::Value::as_bool)
            == Some(true))
    }

    fn request<'a>(&self, messages: &'a str, tools: Option<&'a str>, open: bool) -> Request<'a> {
        Request {
            messages,
            tools,
            enable_thinking: self.enable_thinking,
            add_generation_prompt: open,
        }
    }

    /// The whole prompt for `messages` (JSON array), ending with the start of the assistant's turn.
    ///
    /// # Errors
    /// Where the template raises.
    pub fn render(&self, messages: &str, tools: Option<&str>) -> Result<String, ChatError> {
        self.templates.render(&self.request(messages, tools, true))
    }

    /// The history alone: as [`Self::render`] without the start of the assistant's turn.
    ///
    /// # Errors
    /// Where the template raises.
    pub fn render_history(&self, messages: &str, tools: Option<&str>) -> Result<String, ChatError> {
        self.templates.render(&self.request(messages, tools, false))
    }

    /// How a reply to such a request is constrained and parsed.
    ///
    /// # Errors
    /// Where the template raises, or needs what the engine does not do.
    pub fn format(&self, messages: &str, tools: Option<&str>) -> Result<ReplyFormat, ChatError> {
        ReplyFormat::from_json(
            &self
                .templates
                .format(&self.request(messages, tools, true))?,
        )
    }
}
