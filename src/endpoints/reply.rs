//! What a row's reply is to a client: reasoning, visible text, calls.

use super::output::{FunctionDelta, Text, TextOutput, ToolCallDelta, ToolCalls};
use crate::record::{StopReason, TurnRecord};

/// The output of a completed turn, as a client would have put it together; where nobody could parse the reply, the
/// generated text.
///
/// Where one chunk ended and the next began is known in tokens but not in text, so text is one
/// chunk: a reader that wants the text *after* the first chunk finds none, instead of a wrong one.
pub(super) fn output(record: &TurnRecord) -> TextOutput {
    let chunk = |text: &str| Text::Chunks(vec![text.to_owned()]);
    let content = record
        .content
        .as_deref()
        .unwrap_or_else(|| generated(record));
    let reasoning = record.reasoning_content.as_deref();
    TextOutput {
        output: if content.is_empty() {
            Text::default()
        } else {
            chunk(content)
        },
        reasoning: reasoning.filter(|r| !r.is_empty()).map(chunk),
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
    fn what_nobody_parsed_is_the_generated_text() {
        let mut record = TurnRecord::new("a", 1, crate::record::TurnState::Completed);
        record.stop_reason = Some(StopReason::EndOfGeneration);
        record.text = Some("<tool_call>x<|im_end|>".to_owned());
        let chunks = |text: &str| Text::Chunks(vec![text.to_owned()]);
        assert_eq!(output(&record).output, chunks("<tool_call>x"));
        record.content = Some("Look.".to_owned());
        record.reasoning_content = Some(String::new());
        let said = output(&record);
        assert_eq!((said.output, said.reasoning), (chunks("Look."), None));
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
