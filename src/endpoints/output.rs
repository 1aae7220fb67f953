//! The model's output as the reference holds it: text, reasoning and tool calls, whole or as the
//! chunks in which they were streamed.

use std::collections::BTreeMap;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::accuracy::Call;

/// Text that came whole, or in chunks of which the first is the first delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// Not streamed.
    Whole(String),
    /// Streamed; the reference keeps the first chunk apart and joins the others.
    Chunks(Vec<String>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Chunks(Vec::new())
    }
}

impl Text {
    /// The whole text.
    #[must_use]
    pub fn joined(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Chunks(chunks) => chunks.concat(),
        }
    }
}

/// Tool calls, whole or streamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolCalls {
    /// Chunks in the order received; a chunk may carry parts of several calls.
    Chunks(Vec<Vec<ToolCallDelta>>),
    /// Not streamed.
    Whole(Vec<ToolCallDelta>),
}

/// A part of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallDelta {
    /// Which call it belongs to; absent means 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The call's id, in its first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function`, in its first part.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDelta>,
}

/// A part of a call's function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionDelta {
    /// The name, in the call's first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the arguments' text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// The data of a `sample.complete` event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOutput {
    /// Visible text.
    pub output: Text,
    /// Reasoning, where there was some.
    pub reasoning: Option<Text>,
    /// Tool calls, where there were some.
    pub tool_calls: Option<ToolCalls>,
}

impl TextOutput {
    /// The tool calls, put together from their parts, by index.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        let mut calls: BTreeMap<u32, Call> = BTreeMap::new();
        match &self.tool_calls {
            None => return Vec::new(),
            Some(ToolCalls::Whole(whole)) => {
                return whole
                    .iter()
                    .map(|part| with(Call::default(), part))
                    .collect();
            }
            Some(ToolCalls::Chunks(chunks)) => {
                for part in chunks.iter().flatten() {
                    let call = calls.entry(part.index.unwrap_or(0)).or_default();
                    *call = with(std::mem::take(call), part);
                }
            }
        }
        calls.into_values().collect()
    }

    /// Number of fields after the tag; an absent field at the end is not written.
    pub(super) fn fields(&self) -> usize {
        3
    }

    /// Writes the fields after the tag.
    pub(super) fn serialize_into<S: SerializeSeq>(&self, seq: &mut S) -> Result<(), S::Error> {
        seq.serialize_element(&self.output)?;
        seq.serialize_element(&self.reasoning)?;
        seq.serialize_element(&self.tool_calls)
    }

    /// Reads the fields after the tag; those missing at the end are absent.
    pub(super) fn from_fields(fields: &[&RawValue]) -> serde_json::Result<Self> {
        fn read<'a, T: Deserialize<'a>>(
            field: Option<&&'a RawValue>,
        ) -> serde_json::Result<Option<T>> {
            field.map_or(Ok(None), |raw| serde_json::from_str(raw.get()))
        }
        Ok(Self {
            output: read(fields.first())?.unwrap_or_default(),
            reasoning: read(fields.get(1))?,
            tool_calls: read(fields.get(2))?,
        })
    }
}

/// `call` with one more part: a name replaces, arguments are appended.
fn with(mut call: Call, part: &ToolCallDelta) -> Call {
    if let Some(function) = &part.function {
        if let Some(name) = function.name.as_ref().filter(|name| !name.is_empty()) {
            call.name.clone_from(name);
        }
        call.arguments
            .push_str(function.arguments.as_deref().unwrap_or_default());
    }
    call
}
