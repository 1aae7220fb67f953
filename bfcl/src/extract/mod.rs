//! Finding the function calls in what a model wrote, as the reference does.
//!
//! Three forms are tried in order: the OpenAI `tool_calls` JSON that the reference serializes
//! structured calls to, a JSON array of `{"name", "arguments"}`, and, as the last resort, text that
//! looks like Python calls (`get_weather(city='Rome')`). The outcome is the model's answer as the
//! checker sees it, so every quirk counts: what the reference takes for a call, we take for one,
//! and where its code raises, [`extract`] says so with a [`Raised`].
//!
//! ```
//! let calls = bfcl::extract::extract("Sure: get_weather(city='Rome', days=2)")?.expect("a call");
//! assert_eq!(calls[0].name.as_str(), Some("get_weather"));
//! assert_eq!(bfcl::extract::extract("I cannot help with that.")?, None);
//! # Ok::<(), bfcl::raised::Raised>(())
//! ```

mod arguments;
mod depth;
mod fstring;
mod json;
mod literal;
mod output_text;
mod parens;
mod precedence;
mod repr;
mod surrogate;
mod syntax;
mod text;
mod unparse;

pub use output_text::output_text;
pub use text::is_signature;

use crate::pyjson::{self, DumpError, LoadError};
use crate::pytext::strip;
use crate::raised::{Exception, Raised};
use crate::value::{Dict, Value};

/// A call as the model made it: any JSON values, for nothing has been checked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function's name, if it is a string.
    pub name: Value,
    /// The arguments: a dictionary, if the model did it right; a string that was not JSON after one
    /// decoding, or anything else the model put there.
    pub arguments: Value,
}

impl Call {
    /// The arguments as the checker gets them: a string is decoded once more, and is `{}` when it
    /// is not JSON.
    ///
    /// # Errors
    /// Where the reference's JSON reader recurses too deeply.
    pub fn into_arguments(self) -> Result<Value, Raised> {
        match self.arguments {
            Value::Str(text) => match pyjson::loads(&json::source(&text)) {
                Ok(value) => Ok(value),
                Err(error @ LoadError::TooDeep { .. }) => Err(raised_by_loads(&error)),
                Err(_) => Ok(Value::Dict(Dict::new())),
            },
            arguments => Ok(arguments),
        }
    }
}

/// The calls in a model's output, or `None` when there are none.
///
/// # Errors
/// Where the reference's extraction raises: a set, bytes, complex number or `...` as an argument,
/// an unhashable key, integers too long to print, nesting beyond Python's recursion limit.
pub fn extract(output: &str) -> Result<Option<Vec<Call>>, Raised> {
    let Some(calls) = find(output)? else {
        return Ok(None);
    };
    match calls {
        Found::Json(calls) => {
            // JSON values come back from `json.dumps` and `json.loads` as they went in.
            check_depth(&calls, output.len())?;
            Ok(Some(calls))
        }
        Found::Text(calls) => {
            let text = dump(&calls)?;
            let round = pyjson::loads(&text).map_err(|error| raised_by_loads(&error))?;
            Ok(Some(calls_of(round)))
        }
    }
}

/// The calls in the reference's own JSON form, `[{"name": …, "arguments": …}]`, character by
/// character as its extractor returns them.
///
/// # Errors
/// As [`extract`].
pub fn extract_json(output: &str) -> Result<Option<String>, Raised> {
    match find(output)? {
        Some(Found::Json(calls) | Found::Text(calls)) => dump(&calls).map(Some),
        None => Ok(None),
    }
}

/// Whether the output, as it is, is a serialized list of native tool calls. This alone decides the
/// irrelevance and relevance subsets. Unlike [`extract`], nothing but JSON's own white space is
/// tolerated around the list.
///
/// # Errors
/// Where the reference's JSON reader or writer recurses too deeply.
pub fn has_native_tool_calls(output: &str) -> Result<bool, Raised> {
    let items = json::read_list(output)?.unwrap_or_default();
    if !json::are_native(&items) {
        return Ok(false);
    }
    let calls = json::native_calls(items)?;
    check_depth(&calls, output.len())?;
    Ok(true)
}

enum Found {
    Json(Vec<Call>),
    Text(Vec<Call>),
}

fn find(output: &str) -> Result<Option<Found>, Raised> {
    let output = strip(output);
    let items = json::read_list(output)?.unwrap_or_default();
    if json::are_native(&items) {
        return json::native_calls(items).map(|calls| Some(Found::Json(calls)));
    }
    if json::have_names(&items) {
        return Ok(Some(Found::Json(json::named_calls(items))));
    }
    Ok(text::calls(output)?.map(Found::Text))
}

/// The calls' levels in the extractor's output: the list and the call's dictionary.
const OUTER_LEVELS: usize = 2;

/// `json.dumps` of calls that came from JSON can only fail by depth. `length` is the text's, in
/// bytes: a level takes two of them, so most texts need no look.
fn check_depth(calls: &[Call], length: usize) -> Result<(), Raised> {
    let limit = pyjson::MAX_WRITE_DEPTH - OUTER_LEVELS;
    let too_deep = |value: &Value| value.is_deeper_than(limit);
    if length >= 2 * limit
        && calls
            .iter()
            .any(|call| too_deep(&call.name) || too_deep(&call.arguments))
    {
        return Err(raised_by_dumps(DumpError::TooDeep));
    }
    Ok(())
}

fn dump(calls: &[Call]) -> Result<String, Raised> {
    let call = |call: &Call| {
        let entries = [("name", &call.name), ("arguments", &call.arguments)];
        Value::Dict(
            entries
                .into_iter()
                .map(|(k, v)| (Value::str(k), v.clone()))
                .collect(),
        )
    };
    let list = Value::List(calls.iter().map(call).collect());
    pyjson::dumps(&list).map_err(raised_by_dumps)
}

/// Reads the extractor's own output back.
fn calls_of(list: Value) -> Vec<Call> {
    let Value::List(items) = list else {
        return Vec::new();
    };
    let call = |item| match item {
        Value::Dict(mut dict) => Some(Call {
            arguments: dict.remove("arguments")?,
            name: dict.remove("name")?,
        }),
        _ => None,
    };
    items.into_iter().filter_map(call).collect()
}

fn raised_by_loads(error: &LoadError) -> Raised {
    let exception = match error {
        LoadError::TooDeep { .. } => Exception::RecursionError,
        LoadError::Syntax { .. } | LoadError::IntTooLong { .. } => Exception::ValueError,
    };
    Raised::new(exception, format!("json.loads: {error}"))
}

fn raised_by_dumps(error: DumpError) -> Raised {
    let exception = match error {
        DumpError::Type(_) => Exception::TypeError,
        DumpError::IntTooLong => Exception::ValueError,
        DumpError::TooDeep => Exception::RecursionError,
    };
    Raised::new(exception, format!("json.dumps: {error}"))
}
