//! Samples whose expected answer is publicly disputed. Information only: the data is never edited
//! and the score never changed, because the published reference was scored on the same answers.

use serde::{Deserialize, Serialize};

/// A disputed sample and where the dispute stands, as `gorilla#<issue>` of the benchmark's own
/// repository; `reference` marks what the reference's checker can never score 1.
const DISPUTED: [(&str, &str); 16] = [
    ("live_multiple_17-4-9", "gorilla#1169"),
    ("live_multiple_8-4-0", "gorilla#1169"),
    ("live_simple_11-3-7", "gorilla#661"),
    ("live_simple_137-90-0", "gorilla#1133"),
    ("live_simple_138-91-0", "gorilla#1133"),
    ("live_simple_144-95-1", "gorilla#661"),
    ("live_simple_160-95-17", "gorilla#661"),
    ("live_simple_184-109-0", "gorilla#661"),
    ("live_simple_191-115-1", "gorilla#661"),
    ("parallel_155", "gorilla#1133"),
    ("parallel_158", "gorilla#1133"),
    ("parallel_170", "gorilla#1133"),
    ("parallel_84", "gorilla#1133"),
    ("parallel_multiple_83", "gorilla#661"),
    ("parallel_multiple_94", "gorilla#661"),
    ("simple_java_36", "reference"),
];

/// The disputed samples of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disputed {
    /// How many of the run's samples are disputed.
    pub issued: usize,
    /// Those among them with score 0, as `id (source)`.
    pub failed: Vec<String>,
}

impl Disputed {
    /// Takes note of a sample's score.
    pub(crate) fn note(&mut self, id: &str, score: u8) {
        if let Ok(at) = DISPUTED.binary_search_by_key(&id, |&(id, _)| id) {
            self.issued += 1;
            if score == 0 {
                self.failed.push(format!("{id} ({})", DISPUTED[at].1));
            }
        }
    }
}

/// The disputed ids with their sources, sorted.
pub fn disputed_ids() -> &'static [(&'static str, &'static str)] {
    &DISPUTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t5_05_disputed_answers_are_counted_and_change_nothing() {
        assert!(DISPUTED.is_sorted_by_key(|(id, _)| *id));
        let mut disputed = Disputed::default();
        disputed.note("parallel_84", 0);
        disputed.note("parallel_155", 1);
        disputed.note("parallel_1", 0);
        assert_eq!(disputed.issued, 2);
        assert_eq!(disputed.failed, ["parallel_84 (gorilla#1133)"]);
    }
}
