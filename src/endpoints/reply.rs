//! What a row's text says, taken apart: reasoning, visible text, calls.

use super::output::{FunctionDelta, Text, TextOutput, ToolCallDelta, ToolCalls};
use crate::record::{StopReason, TurnRecord};

/// Where the calls start in the text, in the formats of the models that are run here.
const CALL_MARKS: [&str; 4] = [
    "<tool_call>",
    "[TOOL_CALLS]",
    "<function=",
    "<|python_tag|>",
];
const THINK: &str = "<think>";
const THOUGHT: &str = "</think>";

/// The output of a completed turn, as a client would have put it together.
///
/// Rows hold the text and the parsed calls; the visible text is what stands before the first call.
/// Where one chunk ended and the next began is known in tokens but not in text, so text is one
/// chunk: a reader that wants the text *after* the first chunk finds none, instead of a wrong one.
pub(super) fn output(record: &TurnRecord) -> TextOutput {
    let (reasoning, content) = split(generated(record), !record.tool_calls.is_empty());
    let chunk = |text: &str| Text::Chunks(vec![text.to_owned()]);
    TextOutput {
        output: if content.is_empty() {
            Text::default()
        } else {
            chunk(content)
        },
        reasoning: reasoning.map(chunk),
        tool_calls: calls(record),
    }
}

/// The generated text without the token that ended it.
pub(super) fn generated(record: &TurnRecord) -> &str {
    let text = record.text.as_deref().unwrap_or_default();
    if record.stop_reason != Some(StopReason::EndOfGeneration) {
        return text;
    }
    let end = text.rfind('<').filter(|at| is_special(&text[*at..]));
    end.map_or(text, |at| &text[..at])
}

/// A token such as `<|im_end|>`, `</s>` or `<eos>`.
fn is_special(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
    inner.is_some_and(|t| {
        (t.len() > 2 && t.starts_with('|') && t.ends_with('|')) || matches!(t, "/s" | "eos")
    })
}

/// Reasoning, where there is some, and visible text.
fn split(text: &str, has_calls: bool) -> (Option<&str>, &str) {
    let (reasoning, rest) = match text.split_once(THOUGHT) {
        Some((before, after)) => (Some(before), after),
        // Cut off while thinking.
        None if text.trim_start().starts_with(THINK) => (Some(text), ""),
        None => (None, text),
    };
    let reasoning = reasoning
        .map(|r| r.trim_start().strip_prefix(THINK).unwrap_or(r).trim())
        .filter(|r| !r.is_empty());
    let rest = if text.contains(THOUGHT) {
        rest.trim_start()
    } else {
        rest
    };
    if !has_calls {
        return (reasoning, rest);
    }
    let calls = CALL_MARKS.iter().filter_map(|mark| rest.find(mark)).min();
    // Calls in a format without a mark are the text.
    (reasoning, calls.map_or("", |at| rest[..at].trim_end()))
}

/// Each call as two chunks, as servers stream it: its name, then its arguments.
fn calls(record: &TurnRecord) -> Option<ToolCalls> {
    let calls = record.tool_calls.iter().zip(0u32..);
    let chunks: Vec<Vec<ToolCallDelta>> = calls
        .flat_map(|(call, index)| {
            let part = |name: Option<&String>, arguments: &str| FunctionDelta {
                name: name.cloned(),
                arguments: Some(arguments.to_owned()),
            };
            let open = ToolCallDelta {
                index: Some(index),
                id: call.id.clone(),
                kind: Some("function".to_owned()),
                function: Some(part(Some(&call.name), "")),
            };
            let rest = ToolCallDelta {
                index: Some(index),
                function: Some(part(None, &call.arguments)),
                ..ToolCallDelta::default()
            };
            [vec![open], vec![rest]]
        })
        .collect();
    (!chunks.is_empty()).then_some(ToolCalls::Chunks(chunks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_before_the_first_call_is_visible() {
        let call = "Look.\n\n<tool_call>\n<function=bash>";
        assert_eq!(split(call, true), (None, "Look."));
        assert_eq!(split(call, false), (None, call), "nobody parsed a call");
        assert_eq!(split("{\"name\": \"bash\"}", true), (None, ""));
        assert_eq!(split("", false), (None, ""));
    }

    #[test]
    fn t4_02_reasoning_is_kept_apart_even_when_cut_off() {
        assert_eq!(split("<think>\na\n</think>\n\nb", false), (Some("a"), "b"));
        assert_eq!(
            split("a\n</think>\n\nb", false),
            (Some("a"), "b"),
            "opened by the prompt"
        );
        assert_eq!(split("<think>\na", false), (Some("a"), ""));
        assert_eq!(split("<think>\n\n</think>\n\nb", false), (None, "b"));
    }

    #[test]
    fn special_tokens() {
        for token in ["<|im_end|>", "</s>", "<eos>", "<|endoftext|>"] {
            assert!(is_special(token), "{token}");
        }
        for text in ["</tool_call>", "<||>", "<x>", "<", "<|a|> "] {
            assert!(!is_special(text), "{text}");
        }
    }
}
