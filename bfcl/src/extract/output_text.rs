//! The text that is scored, from the parts of a reply.

use crate::pyjson::{DumpError, encode_compact};
use crate::raised::{Exception, Raised};
use crate::value::{Dict, Value};

/// The text the reference scores: the merged tool calls as JSON, if there are any, else reasoning
/// and content with nothing between.
///
/// `output` and `reasoning` are strings or lists of streamed pieces; `tool_calls` is a list of
/// calls, or a list of lists of streamed fragments.
///
/// # Errors
/// Where the reference raises on parts that have other types.
pub fn output_text(
    output: &Value,
    reasoning: &Value,
    tool_calls: &Value,
) -> Result<String, Raised> {
    if let Some(calls) = merge_tool_calls(tool_calls)? {
        return encode_compact(&Value::List(calls)).map_err(|error| match error {
            DumpError::TooDeep => {
                Raised::new(Exception::RecursionError, format!("msgspec: {error}"))
            }
            _ => Raised::new(Exception::TypeError, format!("msgspec: {error}")),
        });
    }
    let mut text = String::new();
    for part in [reasoning, output] {
        push_pieces(&mut text, part)?;
    }
    Ok(text)
}

fn push_pieces(text: &mut String, part: &Value) -> Result<(), Raised> {
    match part {
        Value::Str(piece) => text.push_str(&piece.to_lossy()),
        Value::List(pieces) => {
            for piece in pieces {
                let Value::Str(piece) = piece else {
                    return Err(unexpected("a piece of text", piece));
                };
                text.push_str(&piece.to_lossy());
            }
        }
        _ => {}
    }
    Ok(())
}

/// Puts streamed fragments together by their index; whole calls pass through. `None` when there are
/// no calls.
fn merge_tool_calls(tool_calls: &Value) -> Result<Option<Vec<Value>>, Raised> {
    let Value::List(chunks) = tool_calls else {
        return Ok(None);
    };
    if !matches!(chunks.first(), Some(Value::List(_))) {
        return Ok((!chunks.is_empty()).then(|| chunks.clone()));
    }
    let mut merged: Vec<(i64, Merged)> = Vec::new();
    for chunk in chunks {
        let Value::List(fragments) = chunk else {
            return Err(unexpected("a list of fragments", chunk));
        };
        for fragment in fragments {
            let Value::Dict(fragment) = fragment else {
                return Err(unexpected("a fragment", fragment));
            };
            let index = match fragment.get("index") {
                None => 0,
                Some(Value::Int(index)) if index.as_i64().is_some() => {
                    index.as_i64().unwrap_or_default()
                }
                Some(other) => return Err(unexpected("an index", other)),
            };
            let position = match merged.binary_search_by_key(&index, |(index, _)| *index) {
                Ok(position) => position,
                Err(position) => {
                    merged.insert(position, (index, Merged::default()));
                    position
                }
            };
            merged[position].1.add(fragment)?;
        }
    }
    let calls: Vec<Value> = merged
        .into_iter()
        .map(|(_, call)| call.into_value())
        .collect();
    Ok((!calls.is_empty()).then_some(calls))
}

/// One call while its fragments come in. Keys keep the order in which they first got a value.
#[derive(Default)]
struct Merged {
    /// `id`, and `type` where a fragment gives one.
    head: Dict,
    name: Option<Value>,
    arguments: String,
}

impl Merged {
    fn add(&mut self, fragment: &Dict) -> Result<(), Raised> {
        for key in ["id", "type"] {
            if let Some(value) = truthy(fragment.get(key)) {
                self.head.insert(Value::str(key), value.clone());
            }
        }
        let Some(function) = truthy(fragment.get("function")) else {
            return Ok(());
        };
        let Value::Dict(function) = function else {
            return Err(unexpected("a function", function));
        };
        if let Some(name) = truthy(function.get("name")) {
            self.name = Some(name.clone());
        }
        match truthy(function.get("arguments")) {
            Some(Value::Str(piece)) => self.arguments.push_str(&piece.to_lossy()),
            Some(other) => return Err(unexpected("a piece of arguments", other)),
            None => {}
        }
        Ok(())
    }

    /// `{"type", "function": {"arguments", "name"?}, "id"?}`, in the reference's order of keys.
    fn into_value(mut self) -> Value {
        let mut function = Dict::new();
        function.insert(Value::str("arguments"), Value::str(self.arguments));
        if let Some(name) = self.name {
            function.insert(Value::str("name"), name);
        }
        let kind = self
            .head
            .remove("type")
            .unwrap_or_else(|| Value::str("function"));
        let entries = [("type", kind), ("function", Value::Dict(function))];
        let call = entries
            .into_iter()
            .map(|(key, value)| (Value::str(key), value));
        Value::Dict(call.chain(self.head).collect())
    }
}

fn truthy(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| value.is_truthy())
}

fn unexpected(expected: &str, found: &Value) -> Raised {
    let detail = format!(
        "tool calls: expected {expected}, found {}",
        found.py_type().name()
    );
    Raised::new(Exception::TypeError, detail)
}
