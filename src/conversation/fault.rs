//! What is wrong with a conversation file, and where.

use super::rule::Rule;
use std::fmt;

/// How many faults are described one by one; the rest are counted.
pub const MAX_LISTED: usize = 20;

/// Longest excerpt of the file shown in a message, in characters.
const EXCERPT_CHARS: usize = 60;

/// Longest reason of a parser shown in a message, in characters: room for its list of known fields.
const REASON_CHARS: usize = 240;

/// Where in the file something stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Line number, from 1.
    pub line: usize,
    /// Byte offset from the start of the file, from 0.
    pub offset: usize,
    /// Conversation id, once it is known.
    pub conversation: Option<String>,
    /// Row number in the conversation, once it is known.
    pub turn: Option<u32>,
}

/// One breach of one [`Rule`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// Where it is broken.
    pub place: Place,
    /// The field, as a path (`tool_calls[1].function.arguments`); empty for the row as a whole.
    pub field: String,
    /// What the file holds.
    pub found: String,
    /// What it should hold.
    pub expected: String,
}

/// A system message in the middle of a conversation. Templates raise on one, so all the
/// conversations that have one are listed, however many (T1-15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateSystem {
    /// Position of the conversation in the file, from 1.
    pub position: usize,
    /// The first such row of that conversation.
    pub place: Place,
}

/// Everything found wrong in one pass over a file: the first [`MAX_LISTED`] faults in full.
#[derive(Debug, Default)]
pub struct Faults {
    listed: Vec<Fault>,
    unlisted: usize,
    late_system: Vec<LateSystem>,
}

impl Faults {
    /// The faults described in full, in file order.
    pub fn listed(&self) -> &[Fault] {
        &self.listed
    }

    /// Every conversation with a late system message, in file order.
    pub fn late_system(&self) -> &[LateSystem] {
        &self.late_system
    }

    /// Number of faults, listed or not; each conversation with a late system message is one.
    pub fn total(&self) -> usize {
        self.listed.len() + self.unlisted + self.late_system.len()
    }

    pub(super) fn push(&mut self, fault: Fault) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(fault);
        } else {
            self.unlisted += 1;
        }
    }

    pub(super) fn push_late_system(&mut self, position: usize, place: Place) {
        if self
            .late_system
            .last()
            .is_none_or(|last| last.position != position)
        {
            self.late_system.push(LateSystem { position, place });
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (byte {})", self.line, self.offset)?;
        if let Some(id) = &self.conversation {
            write!(f, ", conversation {}", excerpt(id))?;
        }
        if let Some(turn) = self.turn {
            write!(f, ", turn {turn}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if !self.field.is_empty() {
            write!(f, ", field {}", self.field)?;
        }
        write!(f, ": found {}; expected {}; ", self.found, self.expected)?;
        f.write_str(self.rule.remedy())
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        write!(f, "{total} fault{}", if total == 1 { "" } else { "s" })?;
        for fault in &self.listed {
            write!(f, "\n  {fault}")?;
        }
        if self.unlisted > 0 {
            write!(f, "\n  … and {} more", self.unlisted)?;
        }
        if !self.late_system.is_empty() {
            let n = self.late_system.len();
            write!(
                f,
                "\n  system message after the first row in {n} conversation"
            )?;
            write!(f, "{}; ", if n == 1 { "" } else { "s" })?;
            f.write_str(Rule::FirstRowOnly.remedy())?;
            for late in &self.late_system {
                write!(
                    f,
                    "\n    conversation #{} of the file: {}",
                    late.position, late.place
                )?;
            }
        }
        Ok(())
    }
}

/// A short, quoted piece of `text` that is safe to print: control characters are escaped, so that
/// a hostile file cannot drive the terminal.
pub(super) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// `text` cut short and made safe to print, without quotes.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(REASON_CHARS) {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if text.chars().nth(REASON_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: usize) -> Fault {
        Fault {
            rule: Rule::Role,
            place: Place {
                line,
                offset: 10,
                conversation: Some("c".into()),
                turn: Some(3),
            },
            field: "role".into(),
            found: "\"bot\"".into(),
            expected: "user".into(),
        }
    }

    #[test]
    fn a_fault_says_place_field_found_expected_and_remedy() {
        assert_eq!(
            fault(7).to_string(),
            "line 7 (byte 10), conversation \"c\", turn 3, field role: found \"bot\"; \
             expected user; use user, assistant or tool"
        );
    }

    #[test]
    fn only_the_first_faults_are_listed_and_the_rest_counted() {
        let mut faults = Faults::default();
        (0..MAX_LISTED + 5).for_each(|line| faults.push(fault(line)));
        assert_eq!(faults.listed().len(), MAX_LISTED);
        assert_eq!(faults.total(), MAX_LISTED + 5);
        assert!(faults.to_string().ends_with("… and 5 more"));
    }

    #[test]
    fn excerpts_are_short_and_cannot_drive_a_terminal() {
        let shown = excerpt(&format!("\u{1b}[2J{}", "é".repeat(500)));
        assert!(shown.starts_with("\"\\u{1b}[2J"), "{shown}");
        assert!(shown.chars().count() < 80);
    }
}
