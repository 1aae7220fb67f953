//! One line of the file → one typed row. Rules that need only the row itself are checked here;
//! those that need its neighbours, in `assemble`.

use super::call;
use super::dataset::{Recorded, TurnInput};
use super::fault::{Faults, Place};
use super::lines::Line;
use super::reader::{Object, Reader, describe, is_empty_array};
use super::rule::Rule;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The fields of a row, unread. A field that is null counts as absent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow<'a> {
    #[serde(borrow)]
    conversation_id: Option<&'a RawValue>,
    #[serde(borrow)]
    turn: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_results: Option<&'a RawValue>,
    #[serde(borrow)]
    delay_seconds: Option<&'a RawValue>,
}

/// Who speaks in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The client, with a message of the user.
    User,
    /// The recorded reply.
    Assistant,
    /// The client, with tool results.
    Tool,
    /// No role of a row: the system prompt is a field of the first row. Known in order to say so.
    System,
}

impl Role {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool" => Some(Self::Tool),
            "system" => Some(Self::System),
            _ => None,
        }
    }
}

/// What a row says.
#[derive(Debug)]
pub(super) enum Body {
    Client {
        input: TurnInput,
        delay_seconds: Option<f64>,
    },
    Assistant(Recorded),
}

/// A row whose place in its conversation is known.
#[derive(Debug)]
pub(super) struct Row {
    pub place: Place,
    pub id: String,
    pub turn: u32,
    pub role: Role,
    pub system: Option<String>,
    pub tools: Option<Box<RawValue>>,
    /// `None` when the row broke a rule of its own, which is then already recorded.
    pub body: Option<Body>,
}

/// Reads a line. `None` when not even its place in a conversation could be read.
pub(super) fn read(line: Line<'_>, faults: &mut Faults) -> Option<Row> {
    let mut reader = Reader::new(line, faults);
    let Object(raw) = reader.parse::<Object<RawRow<'_>>>(line.text, "", "a row of the data set")?;
    let id = conversation_id(&mut reader, &raw)?;
    let turn = turn(&mut reader, &raw)?;
    let role = role(&mut reader, &raw)?;
    let before = reader.faults();
    let system = match raw.system {
        Some(value) => reader
            .text(Rule::FieldType, "system", value)
            .filter(|s| !s.is_empty()),
        None => None,
    };
    let tools = raw.tools.and_then(|value| call::tools(&mut reader, value));
    let body = body(&mut reader, &raw, role, turn);
    let sound = reader.faults() == before;
    let place = reader.place().clone();
    Some(Row {
        place,
        id,
        turn,
        role,
        system,
        tools,
        body: body.filter(|_| sound),
    })
}

fn conversation_id<'a>(reader: &mut Reader<'a, '_>, raw: &RawRow<'a>) -> Option<String> {
    const FIELD: &str = "conversation_id";
    let value = reader.required(FIELD, raw.conversation_id)?;
    let id = reader.text(Rule::ConversationId, FIELD, value)?;
    if id.is_empty() || !id.bytes().all(|b| matches!(b, b' '..=b'~')) {
        let expected = "non-empty printable ASCII";
        reader.fault(
            Rule::ConversationId,
            value.get(),
            FIELD,
            describe(value),
            expected,
        );
        return None;
    }
    reader.place().conversation = Some(id.clone());
    Some(id)
}

fn turn<'a>(reader: &mut Reader<'a, '_>, raw: &RawRow<'a>) -> Option<u32> {
    let value = reader.required("turn", raw.turn)?;
    match serde_json::from_str::<u32>(value.get()) {
        Ok(turn) if turn > 0 => {
            reader.place().turn = Some(turn);
            Some(turn)
        }
        _ => {
            let expected = "a whole number from 1";
            reader.fault(
                Rule::TurnNumber,
                value.get(),
                "turn",
                describe(value),
                expected,
            );
            None
        }
    }
}

fn role<'a>(reader: &mut Reader<'a, '_>, raw: &RawRow<'a>) -> Option<Role> {
    let value = reader.required("role", raw.role)?;
    let role = Role::parse(&reader.text(Rule::Role, "role", value)?);
    if role.is_none() {
        let expected = "user, assistant or tool";
        reader.fault(Rule::Role, value.get(), "role", describe(value), expected);
    }
    role
}

fn body<'a>(reader: &mut Reader<'a, '_>, raw: &RawRow<'a>, role: Role, turn: u32) -> Option<Body> {
    let reasoning = ("reasoning_content", raw.reasoning_content);
    let calls = ("tool_calls", raw.tool_calls);
    let results = ("tool_results", raw.tool_results);
    match role {
        Role::User => {
            foreign(reader, &[reasoning, calls, results]);
            let value = reader.required("content", raw.content)?;
            let text = reader.name(Rule::EmptyContent, "content", value)?;
            let delay_seconds = delay(reader, raw);
            Some(Body::Client {
                input: TurnInput::User(text),
                delay_seconds,
            })
        }
        Role::Tool => {
            foreign(reader, &[("content", raw.content), reasoning, calls]);
            let value = reader.required("tool_results", raw.tool_results)?;
            let results = call::tool_results(reader, value)?;
            let delay_seconds = delay(reader, raw);
            Some(Body::Client {
                input: TurnInput::Tool(results),
                delay_seconds,
            })
        }
        Role::Assistant => {
            foreign(reader, &[results, ("delay_seconds", raw.delay_seconds)]);
            recorded(reader, raw, turn).map(Body::Assistant)
        }
        Role::System => None,
    }
}

/// Fields that the row's role does not have. Ignoring one would drop recorded data silently.
fn foreign<'a>(reader: &mut Reader<'a, '_>, fields: &[(&str, Option<&'a RawValue>)]) {
    for (field, value) in fields {
        if let Some(value) = value {
            let expected = "no such field in a row of this role";
            reader.fault(
                Rule::FieldNotForRole,
                value.get(),
                field,
                describe(value),
                expected,
            );
        }
    }
}

fn recorded<'a>(reader: &mut Reader<'a, '_>, raw: &RawRow<'a>, turn: u32) -> Option<Recorded> {
    let reasoning_content = match raw.reasoning_content {
        Some(value) => Some(reader.text(Rule::FieldType, "reasoning_content", value)?),
        None => None,
    };
    let content = match raw.content {
        Some(value) if !is_empty_array(value) => {
            Some(reader.text(Rule::FieldType, "content", value)?).filter(|text| !text.is_empty())
        }
        _ => None,
    };
    let tool_calls = match raw.tool_calls {
        Some(value) => call::tool_calls(reader, value)?,
        None => Vec::new(),
    };
    if content.is_none() && tool_calls.is_empty() {
        let (found, expected) = ("neither".to_owned(), "content, tool_calls or both");
        let part = raw.role.map_or("", RawValue::get);
        reader.fault(
            Rule::EmptyContent,
            part,
            "content, tool_calls",
            found,
            expected,
        );
        return None;
    }
    Some(Recorded {
        turn,
        reasoning_content,
        content,
        tool_calls,
    })
}

fn delay<'a>(reader: &mut Reader<'a, '_>, raw: &RawRow<'a>) -> Option<f64> {
    let value = raw.delay_seconds?;
    match serde_json::from_str::<f64>(value.get()) {
        Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Some(seconds),
        _ => {
            let expected = "seconds, zero or more";
            reader.fault(
                Rule::Delay,
                value.get(),
                "delay_seconds",
                describe(value),
                expected,
            );
            None
        }
    }
}
