//! The messages of a client turn as the reference client sends them, from recorded history only.
//!
//! Each message is its JSON text, with the keys in the reference's order. Because rendering is
//! incremental, the messages are given by what each turn *adds*; a turn's full list is the
//! opening and everything added since.

use super::dataset::{ClientTurn, Conversation, Recorded, ToolCall, TurnInput};
use serde::{Serialize, Serializer};

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "calls")]
        tool_calls: &'a [ToolCall],
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
    },
    Tool {
        content: &'a str,
        tool_call_id: &'a str,
    },
}

/// A function call as chat APIs write it.
#[derive(Serialize)]
pub struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Call<'a> {
    /// A call of `name`; `arguments` is JSON text.
    pub fn new(id: Option<&'a str>, name: &'a str, arguments: &'a str) -> Self {
        Self {
            id,
            r#type: "function",
            function: Function { name, arguments },
        }
    }
}

fn calls<S: Serializer>(calls: &&[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        calls
            .iter()
            .map(|call| Call::new(Some(&call.id), &call.name, &call.arguments)),
    )
}

impl Message<'_> {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("messages hold only strings, which are always JSON")
    }
}

impl Conversation {
    /// The messages of the first client turn: the system prompt, if there is one, and the user's
    /// task.
    pub fn opening(&self) -> Vec<String> {
        let system = self.system.as_deref();
        let mut messages: Vec<String> = system
            .map(|content| Message::System { content }.json())
            .into_iter()
            .collect();
        if let Some(first) = self.turns.first() {
            push_input(&mut messages, first);
        }
        messages
    }

    /// The messages that the client turn at `index` adds to those of the turn before: the recorded
    /// reply to that turn, then the client's own. `None` for the first turn, which is the
    /// [`opening`](Self::opening), and past the end.
    pub fn appended(&self, index: usize) -> Option<Vec<String>> {
        let before = self.turns.get(index.checked_sub(1)?)?;
        let this = self.turns.get(index)?;
        let mut messages = vec![reply(&before.recorded).json()];
        push_input(&mut messages, this);
        Some(messages)
    }

    /// The recorded reply to the client turn at `index`; `None` past the end.
    pub fn reply(&self, index: usize) -> Option<String> {
        Some(reply(&self.turns.get(index)?.recorded).json())
    }

    /// All messages of the client turn at `index`, oldest first; `None` past the end.
    pub fn messages(&self, index: usize) -> Option<Vec<String>> {
        self.turns.get(index)?;
        let mut messages = self.opening();
        messages.extend((1..=index).filter_map(|i| self.appended(i)).flatten());
        Some(messages)
    }

    /// Number of messages of the client turn at `index`, counted from the rows and not from what
    /// was rendered, so that a dropped message shows (T1-10); `None` past the end.
    pub fn message_count(&self, index: usize) -> Option<usize> {
        let turns = self.turns.get(..=index)?;
        let sent: usize = turns.iter().map(|turn| turn.input.messages()).sum();
        Some(usize::from(self.system.is_some()) + sent + index)
    }
}

impl TurnInput {
    /// Number of messages this is: one, or one for each tool result.
    pub fn messages(&self) -> usize {
        match self {
            Self::User(_) => 1,
            Self::Tool(results) => results.len(),
        }
    }
}

fn push_input(messages: &mut Vec<String>, turn: &ClientTurn) {
    match &turn.input {
        TurnInput::User(content) => messages.push(Message::User { content }.json()),
        TurnInput::Tool(results) => messages.extend(results.iter().map(|result| {
            let (content, tool_call_id) = (&result.content, &result.tool_call_id);
            Message::Tool {
                content,
                tool_call_id,
            }
            .json()
        })),
    }
}

fn reply(recorded: &Recorded) -> Message<'_> {
    Message::Assistant {
        content: recorded.content.as_deref(),
        tool_calls: &recorded.tool_calls,
        reasoning_content: recorded.reasoning_content.as_deref(),
    }
}

/// Messages as the text of one JSON array.
pub fn json_array(messages: &[String]) -> String {
    format!("[{}]", messages.join(","))
}
