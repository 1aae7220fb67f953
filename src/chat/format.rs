//! What llama.cpp says about the reply it expects: grammar, triggers, markers and parser.

use std::fmt;

use serde::Deserialize;

use super::{ChatError, Reply, ffi::Parser};

/// When a lazy grammar begins to bind (llama.cpp's `common_grammar_trigger_type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// A given token.
    Token(i32),
    /// A word anywhere in the output; a single token where the vocabulary has it as one.
    Word(String),
    /// A regular expression anywhere in the output.
    Pattern(String),
    /// A regular expression for the whole output.
    PatternFull(String),
}

/// The parts of a request's answer that outlive its prompt: one per tool set, shared by all its turns.
pub struct ReplyFormat {
    /// llama.cpp's name of the reply format, e.g. `peg-native`.
    pub name: String,
    /// GBNF grammar; empty where replies are free.
    pub grammar: String,
    /// Whether the grammar binds only after a trigger.
    pub lazy: bool,
    /// What triggers it.
    pub triggers: Vec<Trigger>,
    /// Special tokens that stay visible in the reply's text.
    pub preserved: Vec<String>,
    /// The start of the assistant's turn that ends every prompt.
    pub generation_prompt: String,
    /// Opens a reasoning block; empty where the template knows none.
    pub thinking_start: String,
    /// Any of these ends it.
    pub thinking_ends: Vec<String>,
    /// Texts that start a message, with the role that each announces, in the order in which they are tried.
    pub delimiters: Vec<Delimiter>,
    parser: Parser,
}

/// The text that starts a message of a role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Delimiter {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The text, e.g. `<|im_start|>user`.
    pub delimiter: String,
}

#[derive(Deserialize)]
struct Raw {
    format: String,
    format_id: i32,
    grammar: String,
    grammar_lazy: bool,
    grammar_triggers: Vec<RawTrigger>,
    preserved_tokens: Vec<String>,
    additional_stops: Vec<String>,
    generation_prompt: String,
    thinking_start_tag: String,
    thinking_end_tags: Vec<String>,
    message_delimiters: Vec<Delimiter>,
    parser: String,
}

#[derive(Deserialize)]
struct RawTrigger {
    #[serde(rename = "type")]
    kind: i32,
    value: String,
    token: i32,
}

impl TryFrom<RawTrigger> for Trigger {
    type Error = ChatError;

    fn try_from(t: RawTrigger) -> Result<Self, ChatError> {
        match t.kind {
            0 => Ok(Self::Token(t.token)),
            1 => Ok(Self::Word(t.value)),
            2 => Ok(Self::Pattern(t.value)),
            3 => Ok(Self::PatternFull(t.value)),
            other => Err(ChatError::Unsupported(format!(
                "a grammar trigger of type {other}"
            ))),
        }
    }
}

impl ReplyFormat {
    pub(super) fn from_json(text: &str) -> Result<Self, ChatError> {
        let raw: Raw = serde_json::from_str(text)?;
        if !raw.additional_stops.is_empty() {
            return Err(ChatError::Unsupported(format!(
                "stop strings {:?}",
                raw.additional_stops
            )));
        }
        Ok(Self {
            parser: Parser::new(raw.format_id, &raw.generation_prompt, &raw.parser)?,
            name: raw.format,
            grammar: raw.grammar,
            lazy: raw.grammar_lazy,
            triggers: raw
                .grammar_triggers
                .into_iter()
                .map(Trigger::try_from)
                .collect::<Result<_, _>>()?,
            preserved: raw.preserved_tokens,
            generation_prompt: raw.generation_prompt,
            thinking_start: raw.thinking_start_tag,
            thinking_ends: raw.thinking_end_tags,
            delimiters: raw.message_delimiters,
        })
    }

    /// Parses a whole reply as llama-server does.
    ///
    /// # Errors
    /// Where llama.cpp's parser refuses the text.
    pub fn parse(&self, text: &str) -> Result<Reply, ChatError> {
        Reply::from_json(&self.parser.parse(text, false)?)
    }

    /// Parses the beginning of a reply, as llama-server does for each streamed chunk.
    ///
    /// # Errors
    /// Where llama.cpp's parser refuses the text.
    pub fn parse_partial(&self, text: &str) -> Result<Reply, ChatError> {
        Reply::from_json(&self.parser.parse(text, true)?)
    }
}

impl fmt::Debug for ReplyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyFormat")
            .field("name", &self.name)
            .field("lazy", &self.lazy)
            .field("triggers", &self.triggers)
            .finish_non_exhaustive()
    }
}
