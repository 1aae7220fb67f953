//! A parsed reply.

use serde::Deserialize;

use super::ChatError;

/// One tool call of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Function name.
    pub name: String,
    /// Arguments as JSON text, exactly as llama.cpp's parser gives them.
    pub arguments: String,
}

/// What the model said: prose, reasoning and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Visible text.
    pub content: String,
    /// Text inside the reasoning block.
    pub reasoning: String,
    /// Tool calls in order.
    pub tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct RawReply {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<RawCall>,
}

#[derive(Deserialize)]
struct RawCall {
    function: RawFunction,
}

#[derive(Deserialize)]
struct RawFunction {
    name: String,
    arguments: String,
}

impl Reply {
    pub(super) fn from_json(text: &str) -> Result<Self, ChatError> {
        let raw: RawReply = serde_json::from_str(text)?;
        Ok(Self {
            content: raw.content.unwrap_or_default(),
            reasoning: raw.reasoning_content.unwrap_or_default(),
            tool_calls: raw
                .tool_calls
                .into_iter()
                .map(|c| ToolCall {
                    name: c.function.name,
                    arguments: c.function.arguments,
                })
                .collect(),
        })
    }

    /// Whether a client would have been sent anything yet.
    #[must_use]
    pub fn has_delta(&self) -> bool {
        !self.content.is_empty() || !self.reasoning.is_empty() || !self.tool_calls.is_empty()
    }
}
