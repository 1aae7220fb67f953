//! Tool definitions, recorded calls and recorded results inside a row.

use super::dataset::{ToolCall, ToolResult};
use super::reader::{Object, Reader, describe, reason};
use super::rule::Rule;
use super::wellformed;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow, rename = "type")]
    kind: &'a RawValue,
    #[serde(borrow)]
    function: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFunction<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResult<'a> {
    #[serde(borrow)]
    tool_call_id: &'a RawValue,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// A tool definition, as far as this module reads it: the rest is the template's business.
#[derive(Deserialize)]
struct RawTool<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a RawValue,
    function: Object<RawToolFunction<'a>>,
}

#[derive(Deserialize)]
struct RawToolFunction<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
}

/// The recorded calls of an assistant row.
pub(super) fn tool_calls<'a>(
    reader: &mut Reader<'a, '_>,
    raw: &'a RawValue,
) -> Option<Vec<ToolCall>> {
    let list = list::<RawCall<'a>>(reader, Rule::ToolCalls, "tool_calls", raw, CALL)?;
    let calls = list.into_iter().enumerate().map(|(i, Object(call))| {
        let field = |name: &str| format!("tool_calls[{i}].{name}");
        let id = reader.name(Rule::ToolCalls, &field("id"), call.id)?;
        is_function(reader, Rule::ToolCalls, &field("type"), call.kind)?;
        let text = call.function.get();
        let expected = "an object with name and arguments";
        let Object(function) =
            reader.parse::<Object<RawFunction<'a>>>(text, &field("function"), expected)?;
        let name = reader.name(Rule::ToolCalls, &field("function.name"), function.name)?;
        let arguments = arguments(reader, &field("function.arguments"), function.arguments)?;
        Some(ToolCall {
            id,
            name,
            arguments,
        })
    });
    calls.collect()
}

/// The results of a tool row.
pub(super) fn tool_results<'a>(
    reader: &mut Reader<'a, '_>,
    raw: &'a RawValue,
) -> Option<Vec<ToolResult>> {
    let list = list::<RawResult<'a>>(reader, Rule::ToolResults, "tool_results", raw, RESULT)?;
    let results = list.into_iter().enumerate().map(|(i, Object(result))| {
        let field = |name: &str| format!("tool_results[{i}].{name}");
        let id = field("tool_call_id");
        let tool_call_id = reader.name(Rule::ToolResults, &id, result.tool_call_id)?;
        let content = reader.text(Rule::ToolResults, &field("content"), result.content)?;
        Some(ToolResult {
            tool_call_id,
            content,
        })
    });
    results.collect()
}

/// The tool definitions of a first row: checked as far as every template needs, kept as text.
pub(super) fn tools<'a>(reader: &mut Reader<'a, '_>, raw: &'a RawValue) -> Option<Box<RawValue>> {
    let list = list::<RawTool<'a>>(reader, Rule::Tools, "tools", raw, TOOL)?;
    for (i, Object(tool)) in list.iter().enumerate() {
        is_function(reader, Rule::Tools, &format!("tools[{i}].type"), tool.kind)?;
        let field = format!("tools[{i}].function.name");
        reader.name(Rule::Tools, &field, tool.function.0.name)?;
    }
    if let Err(e) = wellformed::check(raw.get()) {
        reader.fault(Rule::Tools, raw.get(), "tools", reason(&e), "valid JSON");
        return None;
    }
    Some(raw.to_owned())
}

const CALL: &str = "a non-empty array of {id, type, function}";
const RESULT: &str = "a non-empty array of {tool_call_id, content}";
const TOOL: &str = "a non-empty array of {type, function}";

/// A non-empty array of objects. Every element must have its required fields, so the array cannot
/// take much more memory than its text.
fn list<'a, T: Deserialize<'a>>(
    reader: &mut Reader<'a, '_>,
    rule: Rule,
    field: &str,
    raw: &'a RawValue,
    expected: &str,
) -> Option<Vec<Object<T>>> {
    if !raw.get().starts_with('[') {
        reader.fault(rule, raw.get(), field, describe(raw), expected);
        return None;
    }
    let list = reader.parse::<Vec<Object<T>>>(raw.get(), field, expected)?;
    if list.is_empty() {
        reader.fault(rule, raw.get(), field, describe(raw), expected);
        return None;
    }
    Some(list)
}

fn is_function<'a>(
    reader: &mut Reader<'a, '_>,
    rule: Rule,
    field: &str,
    raw: &'a RawValue,
) -> Option<()> {
    if raw.get() != "\"function\"" {
        reader.fault(rule, raw.get(), field, describe(raw), "\"function\"");
        return None;
    }
    Some(())
}

/// Arguments as JSON text: the string's content, or the object as it is written in the file. Both
/// forms of one call give the same text when they are spelled alike (T1-01), and neither is
/// written anew, so key order and the spelling of numbers survive (T1-02).
fn arguments<'a>(reader: &mut Reader<'a, '_>, field: &str, raw: &'a RawValue) -> Option<String> {
    const EXPECTED: &str = "a JSON object, or a string that holds one";
    let text = match raw.get().as_bytes().first() {
        Some(b'"') => reader.text(Rule::Arguments, field, raw)?,
        Some(b'{') => raw.get().to_owned(),
        _ => {
            reader.fault(Rule::Arguments, raw.get(), field, describe(raw), EXPECTED);
            return None;
        }
    };
    if let Err(e) = wellformed::check(&text) {
        let found = format!("{} ({})", describe(raw), reason(&e));
        reader.fault(Rule::Arguments, raw.get(), field, found, EXPECTED);
        return None;
    }
    if !text.trim_ascii_start().starts_with('{') {
        let found = format!("{}, which is no object", describe(raw));
        reader.fault(Rule::Arguments, raw.get(), field, found, EXPECTED);
        return None;
    }
    Some(text)
}
