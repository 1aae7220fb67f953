//! The closed set of rules a conversation file must obey.

/// A rule that a row can break. Every [`Fault`](super::Fault) names exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The file is UTF-8.
    Utf8,
    /// The file does not begin with a byte order mark.
    ByteOrderMark,
    /// Every line holds a row.
    BlankLine,
    /// The last line is complete.
    TornLastLine,
    /// Every line is valid JSON.
    Json,
    /// A row, call or result is an object with known fields, each given once.
    Shape,
    /// A required field is present.
    MissingField,
    /// A field has the right JSON type.
    FieldType,
    /// A field belongs to the row's role.
    FieldNotForRole,
    /// `conversation_id` is non-empty printable ASCII.
    ConversationId,
    /// The rows of a conversation are consecutive.
    Consecutive,
    /// Turns are counted 1, 2, … n without a gap.
    TurnNumber,
    /// No turn occurs twice.
    DuplicateTurn,
    /// `role` is one of user, assistant, tool.
    Role,
    /// Roles alternate: user → assistant → (tool → assistant)*, and a further user row only after
    /// an assistant row without calls.
    RoleOrder,
    /// A conversation ends with an assistant row, so that every client turn has its recorded reply.
    Reply,
    /// `system` and `tools` stand on the first row only.
    FirstRowOnly,
    /// A user row says something; an assistant row says or calls something.
    EmptyContent,
    /// Tool calls are a non-empty list of `{id, type: "function", function: {name, arguments}}`.
    ToolCalls,
    /// A call's arguments are a JSON object, as text or as an object.
    Arguments,
    /// Tool results are a non-empty list of `{tool_call_id, content}`.
    ToolResults,
    /// Every call of the assistant row before is answered exactly once.
    CallAnswered,
    /// `delay_seconds` is a number of seconds, zero or more.
    Delay,
    /// `tools` is a non-empty list of function tools with names.
    Tools,
}

impl Rule {
    /// What the user can do about a breach.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Utf8 => "save the file as UTF-8, or fetch it again",
            Self::ByteOrderMark => "remove the file's first 3 bytes",
            Self::BlankLine => "delete the blank line, or restore the row that stood there",
            Self::TornLastLine => "the file was cut off: fetch or copy it again",
            Self::Json => "restore the line from the original file",
            Self::Shape => "write an object with the known fields only, each of them once",
            Self::MissingField => "add the field",
            Self::FieldType => "correct the value",
            Self::FieldNotForRole => "remove the field, or correct the row's role",
            Self::ConversationId => "use letters, digits, spaces and ASCII punctuation only",
            Self::Consecutive => "move all rows of the conversation together",
            Self::TurnNumber => "restore the missing rows, or renumber from 1",
            Self::DuplicateTurn => "remove the repeated row, or renumber from 1",
            Self::Role => "use user, assistant or tool",
            Self::RoleOrder => "restore the missing row, or correct the role",
            Self::Reply => "add the recorded assistant row, or remove the last row",
            Self::FirstRowOnly => "move it to the conversation's first row",
            Self::EmptyContent => "give the recorded text, or remove the exchange",
            Self::ToolCalls => "correct the call, or omit tool_calls when there is none",
            Self::Arguments => "restore the recorded arguments",
            Self::ToolResults => "give one {tool_call_id, content} for each call",
            Self::CallAnswered => "make the ids of tool_results those of the row before",
            Self::Delay => "give the delay in seconds, or omit the field",
            Self::Tools => "give OpenAI-style function tools, or omit the field",
        }
    }
}
