//! Answers to BFCL samples without a model: a chat that says what it is told to, and the right things to say.

use std::collections::BTreeMap;
use std::rc::Rc;

use bfcl::dataset::Sample;
use bfcl::pyjson::encode_compact;
use bfcl::value::{Dict, Value};

use crate::accuracy::judged;
use crate::chat::{ChatError, Reply, ReplyFormat, Token, ToolCall};
use crate::conversation::Conversation;
use crate::record::{self, TurnRecord, TurnState};
use crate::replay::{Chat, Dropped};

/// Says of each sample what it is told to.
pub struct Answers {
    replies: BTreeMap<String, Reply>,
    asked: String,
    ids: Vec<Token>,
}

impl Answers {
    /// These replies by sample; every prompt has 100 tokens.
    pub fn new(replies: BTreeMap<String, Reply>) -> Self {
        Self {
            replies,
            asked: String::new(),
            ids: vec![1; 100],
        }
    }
}

impl Chat for Answers {
    fn messages(&mut self, _: &Conversation, _: usize) -> String {
        String::new()
    }

    fn render(&mut self, asked: &Conversation, _: usize, _: &str) -> Result<(), ChatError> {
        asked.id.clone_into(&mut self.asked);
        Ok(())
    }

    fn encode(&mut self) {}

    fn assemble(&mut self) -> Result<usize, ChatError> {
        Ok(self.ids.len())
    }

    fn drop_oldest(
        &mut self,
        _: &Conversation,
        _: usize,
        _: usize,
    ) -> Result<Option<usize>, ChatError> {
        Ok(None)
    }

    fn dropped(&self) -> Dropped {
        Dropped {
            tokens: 0,
            messages: 0,
        }
    }

    fn opening(&self) -> usize {
        0
    }

    fn ids(&self) -> &[Token] {
        &self.ids
    }

    fn reusable(&self) -> usize {
        self.ids.len()
    }

    fn user_starts(&self) -> Vec<usize> {
        Vec::new()
    }

    fn format(&self) -> Option<Rc<ReplyFormat>> {
        None
    }

    fn seal(&mut self) -> String {
        "0".repeat(64)
    }

    fn text(&self, _: &[Token]) -> String {
        self.asked.clone()
    }

    fn parse(&self, text: &str) -> Result<Reply, ChatError> {
        let reply = self.replies.get(text).cloned();
        reply.ok_or_else(|| ChatError::Llama("no such reply".to_owned()))
    }

    fn first_delta(&self, _: &[Token]) -> Option<usize> {
        Some(0)
    }
}

/// The expected calls of a sample as a reply: of every parameter its first value, of optional ones none.
pub fn right(sample: &Sample) -> Reply {
    let calls = sample.answer().and_then(Value::as_list).unwrap_or_default();
    let tool_calls = calls.iter().filter_map(Value::as_dict).flat_map(|call| {
        call.iter().map(|(name, parameters)| ToolCall {
            name: name.as_str().unwrap_or_default().replace('.', "_"),
            arguments: encode_compact(&first_values(parameters)).expect("plain values"),
        })
    });
    Reply {
        tool_calls: tool_calls.collect(),
        ..Reply::default()
    }
}

fn first_values(parameters: &Value) -> Value {
    let mut out = Dict::new();
    for (name, allowed) in parameters.as_dict().into_iter().flat_map(Dict::iter) {
        let allowed = allowed.as_list().unwrap_or_default();
        if allowed.iter().any(|v| v.as_str() == Some("")) {
            continue;
        }
        if let Some(first) = allowed.first() {
            out.insert(name.clone(), plain(first));
        }
    }
    Value::Dict(out)
}

/// Dictionaries among the allowed values list what is allowed for each of their keys.
fn plain(value: &Value) -> Value {
    match value {
        Value::Dict(_) => first_values(value),
        Value::List(items) => Value::List(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

pub fn is_right(sample: &Sample, reply: &Reply) -> bool {
    let turn = TurnRecord {
        content: Some(reply.content.clone()),
        tool_calls: reply
            .tool_calls
            .iter()
            .map(|call| record::ToolCall {
                id: None,
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            })
            .collect(),
        ..TurnRecord::new(sample.id(), 1, TurnState::Completed)
    };
    judged(sample, turn).score == 1
}
