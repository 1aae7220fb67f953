//! The accuracy phase in the reference's shapes: its index, and its entry of `accuracy_results.json`.

use serde_json::{Map, Value, json};

use super::BFCL;
use super::block::Block;
use super::files::milliseconds;
use super::tokens::{Recount, count_tokens};
use super::turns::sample_id;
use crate::accuracy::{AccuracyFigures, by_name};
use crate::record::{SampleRecord, TurnRecord};

/// The samples that were asked, in order.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Their rows.
    pub rows: &'a [SampleRecord],
    /// SHA-256 of the planned ids.
    pub ids_sha256: &'a str,
    /// What they came to.
    pub figures: &'a AccuracyFigures,
}

impl<'a> Asked<'a> {
    /// What was measured of each.
    pub(super) fn turns(&self) -> impl Iterator<Item = &'a TurnRecord> + use<'a> {
        self.rows.iter().map(|row| &row.turn)
    }

    /// Sample id → place among the planned samples, from 0.
    pub(super) fn index(&self) -> Map<String, Value> {
        let places = self.rows.iter().zip(0usize..);
        places
            .map(|(row, place)| (sample_id(self.ids_sha256, &row.id, 1), json!(place)))
            .collect()
    }

    /// The entry of `accuracy_results.json`. Its output lengths are counted with `recount`, else absent.
    pub(super) fn entry(&self, recount: Option<&dyn Recount>) -> Value {
        let report = &self.figures.report;
        let categories: Map<String, Value> = report
            .categories
            .iter()
            .map(|(category, score)| (category.name().to_owned(), json!(score.score.rounded)))
            .collect();
        let empty = |row: &&SampleRecord| row.output.as_ref().is_some_and(String::is_empty);
        let mut entry = json!({
            "dataset_name": BFCL,
            "extractor": "FunctionCallExtractor",
            "ground_truth_column": "ground_truth",
            "score": report.overall.value / 100.0,
            "unit_samples": report.issued,
            "num_repeats": 1,
            "total_samples": report.issued,
            "duration_s": self.duration_s(),
            "complete": self.figures.complete,
            "dataset_type": "accuracy",
            "breakdown": {
                "overall_accuracy": report.overall.rounded,
                "normalized_single_turn_score": report.normalized.rounded,
                "category_scores": categories,
                "subset_scores": by_name(report),
                "unscored_subsets": {},
                "total_samples": report.issued,
                "issued_samples": self.rows.len(),
            },
            "response_counts": {
                "issued": self.rows.len(),
                "scored": report.scored,
                "empty": self.rows.iter().filter(empty).count(),
                "missing": self.rows.len() - report.scored,
            },
        });
        if let Some(recount) = recount {
            entry["output_sequence_lengths"] = json!(self.output_lengths(recount));
        }
        entry
    }

    fn output_lengths(&self, recount: &dyn Recount) -> Block {
        let turns: Vec<TurnRecord> = self.turns().cloned().collect();
        let counted = count_tokens(&turns, self.ids_sha256, Some(recount));
        let lengths: Vec<u64> = self
            .rows
            .iter()
            .filter_map(|row| counted.get(&sample_id(self.ids_sha256, &row.id, 1))?.output)
            .collect();
        Block::of_integers(&lengths, false)
    }

    /// First sample issued → last one ended, s, the parts of a resumed run added up.
    fn duration_s(&self) -> f64 {
        let parts = self
            .rows
            .chunk_by(|a, b| a.turn.attempt == b.turn.attempt)
            .filter_map(|part| {
                let start = part.first()?.turn.started_ns?;
                let last = &part.last()?.turn;
                let end = last.started_ns?.saturating_add(last.latency_ns?);
                end.checked_sub(start)
            });
        milliseconds(parts.sum::<u64>() as f64 / 1e9)
    }
}
