//! `self-checks.jsonl`: the outcome of each repeated turn, written once its row is safe.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::record::{SelfCheck, TurnRecord};

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfCheckRow {
    /// The conversation.
    pub conversation_id: String,
    /// The turn.
    pub turn: u32,
    /// How its repeats came out.
    pub check: SelfCheck,
}

/// The file's append-only writer.
#[derive(Debug)]
pub struct SelfChecks {
    file: File,
}

impl SelfChecks {
    /// Opens the file, which may hold the checks of an earlier start.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file })
    }

    /// Appends one line and makes it durable.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn append(&mut self, row: &SelfCheckRow) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

/// Puts the checks of `text` on their records. Of a turn that was replayed after a resumption the last one counts; a
/// line that a kill cut short is left out.
///
/// # Errors
/// Where a whole line is no check; with its number.
pub fn attach(text: &str, records: &mut [TurnRecord]) -> Result<(), String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (i, line) in whole.lines().enumerate() {
        let row: SelfCheckRow =
            serde_json::from_str(line).map_err(|e| format!("line {}: {e}", i + 1))?;
        let at =
            |r: &&mut TurnRecord| r.conversation_id == row.conversation_id && r.turn == row.turn;
        if let Some(record) = records.iter_mut().find(at) {
            record.self_check = Some(row.check);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TurnState;

    #[test]
    fn the_last_check_of_a_turn_counts_and_a_torn_line_does_not() {
        let line = |turn, equal| {
            let row = SelfCheckRow {
                conversation_id: "a".to_owned(),
                turn,
                check: SelfCheck {
                    equal,
                    first_difference: None,
                    unsplit_equal: None,
                },
            };
            serde_json::to_string(&row).expect("a row is JSON")
        };
        let text = format!("{}\n{}\n{}", line(1, false), line(1, true), line(3, true));
        let mut records = [1, 3].map(|turn| TurnRecord::new("a", turn, TurnState::Completed));
        attach(&text, &mut records).expect("the lines are checks");
        assert_eq!(records[0].self_check.map(|c| c.equal), Some(true));
        assert_eq!(records[1].self_check, None);
        assert!(attach("{}\n", &mut records).is_err());
    }
}
