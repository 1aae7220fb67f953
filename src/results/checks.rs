//! `self-checks.jsonl`: the outcome of each repeated turn, written once its row is safe.

use serde::{Deserialize, Serialize};

use super::lines;
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

/// Puts the checks of `text` on their records. Of a turn that was replayed after a resumption the last one counts; a
/// line that a kill cut short is left out.
///
/// # Errors
/// Where a whole line is no check; with its number.
pub fn attach(text: &str, records: &mut [TurnRecord]) -> Result<(), String> {
    for row in lines::read::<SelfCheckRow>(text)? {
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
