//! What is judged: the turns that were issued and what the model said in them.

/// One issued turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The data set's id of the conversation, without a `__repeat_<n>` suffix.
    pub conversation_id: String,
    /// Which pass over the conversation, from 1.
    pub repeat: u32,
    /// The client row's number: 1, 3, 5, …
    pub turn: u32,
    /// What the model said; `None` when the turn failed or was skipped.
    pub said: Option<Said>,
}

/// A reply, as far as the checker looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Visible text.
    pub content: String,
    /// Text inside the reasoning block.
    pub reasoning: String,
    /// Tool calls, in order.
    pub calls: Vec<Call>,
}

/// One call of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The function's name.
    pub name: String,
    /// The arguments as generated: JSON text, well-formed or not.
    pub arguments: String,
}

impl Answer {
    /// An answer to `turn` of the conversation that the reference's load generator calls
    /// `issued_id`: repeats carry a suffix there (`conv__repeat_2`).
    #[must_use]
    pub fn issued(issued_id: &str, turn: u32, said: Option<Said>) -> Self {
        let (conversation_id, repeat) = split_repeat(issued_id);
        Self {
            conversation_id: conversation_id.to_owned(),
            repeat,
            turn,
            said,
        }
    }
}

/// A conversation's id in the data set and the pass over it, from 1: `a__repeat_2` → `a`, 2.
#[must_use]
pub fn split_repeat(issued_id: &str) -> (&str, u32) {
    issued_id
        .rsplit_once("__repeat_")
        .filter(|(_, digits)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|(id, digits)| Some((id, digits.parse().ok()?)))
        .unwrap_or((issued_id, 1))
}

#[cfg(test)]
mod tests {
    use super::split_repeat;

    #[test]
    fn a_repeat_suffix_is_split_off() {
        assert_eq!(split_repeat("a"), ("a", 1));
        assert_eq!(split_repeat("a__repeat_3"), ("a", 3));
        assert_eq!(split_repeat("a__repeat_"), ("a__repeat_", 1));
        assert_eq!(split_repeat("a__repeat_x"), ("a__repeat_x", 1));
        assert_eq!(split_repeat("a__repeat_2__repeat_3"), ("a__repeat_2", 3));
    }
}
