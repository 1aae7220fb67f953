//! What the data set recorded, as the checker compares it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::Call;
use super::command::executables;
use crate::conversation::{Dataset, ToolCall};

/// The recorded reply to one client turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The data set's id of the conversation.
    pub conversation_id: String,
    /// The client row's number: 1, 3, 5, …
    pub turn: u32,
    /// The assistant row's number, which the reference's file uses: 2, 4, 6, …
    pub assistant_turn: u32,
    /// What counts as right.
    pub truth: Truth,
}

/// What a turn is compared with. An empty list or set: the turn is not scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// Coding conversations: the executables of the recorded bash calls.
    Actions(Vec<&'static str>),
    /// Workflow conversations: the intent codes, any of which is right; upper-case.
    Intents(BTreeSet<String>),
}

impl Truth {
    /// Whether there is nothing to compare with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Actions(actions) => actions.is_empty(),
            Self::Intents(intents) => intents.is_empty(),
        }
    }
}

/// The recorded replies of a data set, in file order.
///
/// Rows of this data set carry no intent codes, so a workflow conversation (`sim_<n>`) has an empty
/// truth and is excluded, as the reference excludes it.
#[must_use]
pub fn expected(data: &Dataset) -> Vec<Expected> {
    let of_conversation = data.conversations.iter().flat_map(|conversation| {
        conversation.turns.iter().map(|turn| Expected {
            conversation_id: conversation.id.clone(),
            turn: turn.turn,
            assistant_turn: turn.recorded.turn,
            truth: if is_workflow(&conversation.id) {
                Truth::Intents(BTreeSet::new())
            } else {
                Truth::Actions(recorded_actions(&turn.recorded.tool_calls))
            },
        })
    });
    of_conversation.collect()
}

/// Whether a conversation is scored by intent code: `sim_<n>`.
fn is_workflow(conversation_id: &str) -> bool {
    conversation_id
        .strip_prefix("sim_")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn recorded_actions(calls: &[ToolCall]) -> Vec<&'static str> {
    let calls = calls.iter();
    calls
        .flat_map(|call| actions(&call.name, &call.arguments))
        .collect()
}

/// The executables of a reply's calls, in order.
pub(super) fn generated_actions(calls: &[Call]) -> Vec<&'static str> {
    let calls = calls.iter();
    calls
        .flat_map(|call| actions(&call.name, &call.arguments))
        .collect()
}

/// The executables of one call: those of its `command`, or of its `cmd` where that is empty.
/// Calls of another function, and arguments that are no JSON object, have none.
fn actions(name: &str, arguments: &str) -> Vec<&'static str> {
    if name != "bash" {
        return Vec::new();
    }
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return Vec::new();
    };
    let command = ["command", "cmd"]
        .iter()
        .filter_map(|key| arguments.get(*key))
        .find(|value| !is_empty(value));
    match command {
        Some(Value::String(command)) => executables(command),
        _ => Vec::new(),
    }
}

/// What the reference passes over in favour of the next key: all that is false in Python.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_in_either_key() {
        assert_eq!(actions("bash", r#"{"command": "ls"}"#), ["ls"]);
        assert_eq!(actions("bash", r#"{"cmd": "ls"}"#), ["ls"]);
        assert_eq!(actions("bash", r#"{"command": "", "cmd": "ls"}"#), ["ls"]);
        assert_eq!(actions("bash", r#"{"command": 0, "cmd": "ls"}"#), ["ls"]);
        assert_eq!(
            actions("bash", r#"{"cmd": "cat", "command": "ls"}"#),
            ["ls"]
        );
    }

    #[test]
    fn what_is_no_bash_call_has_no_actions() {
        let none = Vec::<&str>::new();
        assert_eq!(actions("Bash", r#"{"command": "ls"}"#), none);
        for arguments in [
            "",
            "ls",
            "[]",
            "\"ls\"",
            r#"{"command": ["ls"]}"#,
            r#"{"command": "#,
        ] {
            assert_eq!(actions("bash", arguments), none, "{arguments}");
        }
    }

    #[test]
    fn workflow_conversations_are_named_sim() {
        assert!(is_workflow("sim_0") && is_workflow("sim_12"));
        for id in ["sim_", "sim_1a", "xsim_1", "sim1", "django__django-1"] {
            assert!(!is_workflow(id), "{id}");
        }
    }
}
