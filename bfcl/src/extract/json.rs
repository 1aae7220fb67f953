//! The two JSON forms of calls.

use std::borrow::Cow;

use super::{Call, raised_by_loads};
use crate::pyjson::{LoadError, loads};
use crate::raised::Raised;
use crate::value::{Dict, PyStr, Value};

/// The output as a JSON list, or `None` when it is anything else.
pub(super) fn read_list(output: &str) -> Result<Option<Vec<Value>>, Raised> {
    match loads(output) {
        Ok(Value::List(items)) => Ok(Some(items)),
        Ok(_) | Err(LoadError::Syntax { .. } | LoadError::IntTooLong { .. }) => Ok(None),
        Err(error @ LoadError::TooDeep { .. }) => Err(raised_by_loads(&error)),
    }
}

/// Whether the items are OpenAI's tool calls: every item has a `function` dictionary. One item that
/// has not, or no item at all, and they are not.
pub(super) fn are_native(items: &[Value]) -> bool {
    let function = |item: &Value| item.as_dict()?.get("function")?.as_dict().map(|_| ());
    !items.is_empty() && items.iter().all(|item| function(item).is_some())
}

/// The calls of items that [`are_native`].
pub(super) fn native_calls(items: Vec<Value>) -> Result<Vec<Call>, Raised> {
    let call = |mut function: Dict| {
        let arguments = function.remove("arguments");
        Ok(Call {
            name: function.remove("name").unwrap_or_else(|| Value::str("")),
            arguments: decode_once(arguments.unwrap_or_else(empty))?,
        })
    };
    let functions =
        items
            .into_iter()
            .filter_map(|item| match into_dict(item)?.remove("function")? {
                Value::Dict(function) => Some(function),
                _ => None,
            });
    functions.map(call).collect()
}

/// A string is decoded as JSON, and stays the string it is when it is not.
fn decode_once(arguments: Value) -> Result<Value, Raised> {
    let Value::Str(text) = &arguments else {
        return Ok(arguments);
    };
    match loads(&source(text)) {
        Ok(value) => Ok(value),
        Err(error @ LoadError::TooDeep { .. }) => Err(raised_by_loads(&error)),
        Err(_) => Ok(arguments),
    }
}

/// Whether the items have the short form: every item is a dictionary with a name.
pub(super) fn have_names(items: &[Value]) -> bool {
    let named = |item: &Value| item.as_dict().is_some_and(|item| item.contains_key("name"));
    !items.is_empty() && items.iter().all(named)
}

/// The calls of items that [`have_names`]. Their arguments stay as they are.
pub(super) fn named_calls(items: Vec<Value>) -> Vec<Call> {
    let call = |item| {
        let mut item = into_dict(item)?;
        Some(Call {
            arguments: item.remove("arguments").unwrap_or_else(empty),
            name: item.remove("name")?,
        })
    };
    items.into_iter().filter_map(call).collect()
}

/// A string as JSON source. A lone surrogate is legal in Python's source text, but only inside a
/// JSON string, where its escape means the same.
pub(super) fn source(text: &PyStr) -> Cow<'_, str> {
    if let Some(text) = text.as_str() {
        return text.into();
    }
    let piece =
        |point: u32| char::from_u32(point).map_or_else(|| format!("\\u{point:04x}"), String::from);
    text.code_points().map(piece).collect::<String>().into()
}

fn into_dict(value: Value) -> Option<Dict> {
    match value {
        Value::Dict(dict) => Some(dict),
        _ => None,
    }
}

fn empty() -> Value {
    Value::Dict(Dict::new())
}
