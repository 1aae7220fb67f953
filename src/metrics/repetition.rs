//! Replies that end in a loop: fast, and worthless.

use crate::record::TurnRecord;

/// Tokens at a reply's end that are looked at.
const END: usize = 64;

/// Longest cycle that counts as a loop, tokens.
const CYCLE: usize = 8;

/// Whether a reply's last tokens are one token, or a short cycle of tokens, over and over.
#[must_use]
pub fn degenerate(record: &TurnRecord) -> bool {
    let Some(start) = record.output_ids.len().checked_sub(END) else {
        return false;
    };
    let end = &record.output_ids[start..];
    (1..=CYCLE).any(|n| end.iter().zip(&end[n..]).all(|(a, b)| a == b))
}

/// Replies of completed turns that are.
pub(super) fn count(records: &[TurnRecord]) -> usize {
    all(records).count()
}

fn all(records: &[TurnRecord]) -> impl Iterator<Item = &TurnRecord> {
    records
        .iter()
        .filter(|r| r.state.is_completed() && degenerate(r))
}

/// The warning, where some replies are.
pub(super) fn message(records: &[TurnRecord]) -> Option<String> {
    let first = all(records).next()?;
    Some(format!(
        "{} of {} replies end in a loop of at most {CYCLE} tokens (first: {}:{}); their speed says nothing, and the model, \
         its template or its backend is broken",
        count(records),
        records.iter().filter(|r| r.state.is_completed()).count(),
        first.conversation_id,
        first.turn
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TurnState;

    fn reply(ids: impl Iterator<Item = i32>) -> TurnRecord {
        let mut record = TurnRecord::new("a".to_owned(), 1, TurnState::Completed);
        record.output_ids = ids.collect();
        record
    }

    #[test]
    fn t3_08_a_reply_that_ends_in_a_loop_is_named() {
        let slashes = reply((0..100).chain([7; 64]));
        let cycle = reply((0..100).chain((0..64).map(|i| i % 8)));
        let short = reply([7; 63].into_iter());
        let sound = reply(0..200);
        let late = reply([7; 64].into_iter().chain([8]));
        for (record, expected) in [
            (&slashes, true),
            (&cycle, true),
            (&short, false),
            (&sound, false),
            (&late, false),
        ] {
            assert_eq!(degenerate(record), expected, "{:?}", record.output_ids);
        }
        assert_eq!(message(&[short, sound.clone()]), None);
        assert_eq!(count(&[sound.clone(), slashes.clone(), cycle.clone()]), 2);
        let said = message(&[sound, slashes, cycle]).expect("a warning");
        assert!(said.starts_with("2 of 3 replies end in a loop"), "{said}");
    }
}
