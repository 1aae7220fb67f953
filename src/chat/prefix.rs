//! The reusable prefix: how many tokens at a prompt's end a continuation may change.
//!
//! A prompt ends with the start of the assistant's turn (for Qwen3.6 an empty reasoning block). In the next prompt
//! the same place holds the *recorded* reply, so the two differ from some token on. That place is a property of the
//! template and is found here once, from probe replies, never from a future prompt: state kept up to it can be
//! reused whatever the reply turns out to be.

use serde_json::{Value, json};

use super::{ChatError, ChatTemplate, Token, Vocab};

/// Tokens at the end of every prompt that its continuation may change.
///
/// # Errors
/// Where the template cannot render the probe conversations.
pub fn held_back(template: &ChatTemplate, vocab: &dyn Vocab) -> Result<usize, ChatError> {
    let tools = json!([{"type": "function", "function": {"name": "probe", "description": "p", "parameters": {
        "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}])
    .to_string();
    let opening = [
        json!({"role": "system", "content": "s"}),
        json!({"role": "user", "content": "u"}),
    ];
    let prompt = vocab.tokenize(&template.render(&array(&opening), Some(&tools))?);
    let mut shared = prompt.len();
    for (reply, follow_up) in probes() {
        let continued: Vec<Value> = opening.iter().cloned().chain([reply, follow_up]).collect();
        let next = vocab.tokenize(&template.render(&array(&continued), Some(&tools))?);
        shared = shared.min(common_prefix(&prompt, &next));
    }
    Ok(prompt.len() - shared)
}

/// Length of the longest common prefix, in tokens.
#[must_use]
pub fn common_prefix(a: &[Token], b: &[Token]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn array(messages: &[Value]) -> String {
    Value::Array(messages.to_vec()).to_string()
}

/// Replies of every shape that a history can hold, each with what may follow it.
fn probes() -> Vec<(Value, Value)> {
    let call = json!([{"id": "c", "type": "function", "function": {"name": "probe", "arguments": "{\"a\": \"b\"}"}}]);
    let tool = json!({"role": "tool", "tool_call_id": "c", "content": "r"});
    let user = json!({"role": "user", "content": "v"});
    let mut out = Vec::new();
    for reasoning in [None, Some("r"), Some("1"), Some("<b>"), Some("**B**")] {
        let mut called = json!({"role": "assistant", "tool_calls": call});
        let mut spoken = json!({"role": "assistant", "content": "t"});
        if let Some(text) = reasoning {
            called["reasoning_content"] = text.into();
            spoken["reasoning_content"] = text.into();
        }
        out.push((called, tool.clone()));
        out.push((spoken, user.clone()));
    }
    out
}
