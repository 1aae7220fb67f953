//! The data set as loaded: conversations, client turns, and the recorded reply to each.

use serde_json::value::RawValue;

/// All conversations of one file, in file order.
#[derive(Debug)]
pub struct Dataset {
    /// SHA-256 of the file's bytes, in lower-case hexadecimal: the data set's identity in every
    /// result.
    pub sha256: String,
    /// The conversations, in file order.
    pub conversations: Vec<Conversation>,
}

impl Dataset {
    /// Number of client turns: the sum that every accounting of turns must reach (T2-08).
    pub fn client_turns(&self) -> usize {
        self.conversations.iter().map(|c| c.turns.len()).sum()
    }

    /// The conversation with this id.
    pub fn conversation(&self, id: &str) -> Option<&Conversation> {
        self.conversations.iter().find(|c| c.id == id)
    }
}

/// One recorded conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// `conversation_id`: non-empty printable ASCII, unique in the data set.
    pub id: String,
    /// System prompt, carried to every turn.
    pub system: Option<String>,
    /// Tool definitions, carried to every turn. The file's own text, because key order and the
    /// spelling of numbers reach the prompt (T1-02).
    pub tools: Option<Box<RawValue>>,
    /// The client turns in order; never empty.
    pub turns: Vec<ClientTurn>,
}

impl Conversation {
    /// Index in [`turns`](Self::turns) of the client turn with this row number.
    pub fn index_of(&self, turn: u32) -> Option<usize> {
        self.turns.binary_search_by_key(&turn, |t| t.turn).ok()
    }
}

/// One turn of the client: what it sends, and the reply that was recorded.
#[derive(Debug, Clone)]
pub struct ClientTurn {
    /// The client row's number in its conversation: 1, 3, 5, …
    pub turn: u32,
    /// What the client sends.
    pub input: TurnInput,
    /// Recorded duration of the tool, in seconds, before the client sends. Not injected by
    /// default.
    pub delay_seconds: Option<f64>,
    /// The recorded reply: history for the next turn, and what the inline checker compares with.
    pub recorded: Recorded,
}

/// What the client sends in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// A message of the user; not empty.
    User(String),
    /// The results of all calls of the recorded reply before; not empty.
    Tool(Vec<ToolResult>),
}

/// The output of one tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Id of the call this answers.
    pub tool_call_id: String,
    /// Output as text; may be empty.
    pub content: String,
}

/// The assistant row recorded after a client turn. It has content, calls, or both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    /// The assistant row's number: 2, 4, 6, …
    pub turn: u32,
    /// Recorded reasoning.
    pub reasoning_content: Option<String>,
    /// Recorded text. `None` for null, absent, `""` and `[]` alike (T1-10).
    pub content: Option<String>,
    /// Recorded calls, in order.
    pub tool_calls: Vec<ToolCall>,
}

/// One recorded function call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Call id.
    pub id: String,
    /// Function name.
    pub name: String,
    /// Arguments as JSON text of an object, exactly as recorded: the file's string, or the text of
    /// the file's object (T1-01).
    pub arguments: String,
}
