//! What the samples answered so far already decide.
//!
//! The gates look at all 995 samples, so the final values lie between those with every open sample wrong and those with
//! every open sample right. When both ends fail, or both pass, the rest cannot change the outcome.

use std::collections::BTreeMap;

use bfcl::aggregate::{Tally, breakdown};
use bfcl::dataset::{Dataset, Sample};
use bfcl::gate::{Measured, gates};
use bfcl::sampling::{GATE_SAMPLES, Selection};
use bfcl::subset::Subset;
use serde::{Deserialize, Serialize};

/// Whether the open samples can still change the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// They can.
    Open,
    /// Even if all of them are right, a gate is missed.
    WillMiss,
    /// Even if all of them are wrong, the gates are reached.
    WillReach,
}

/// Running scores of the gate's samples.
#[derive(Debug, Clone)]
pub struct Running {
    /// Right answers so far; the totals are those of the whole gate.
    right: BTreeMap<Subset, Tally>,
    /// Samples without a verdict.
    open: BTreeMap<Subset, usize>,
    /// A sample came back without an output: then no gate passes.
    missing: bool,
}

impl Running {
    /// Before the first sample.
    #[must_use]
    pub fn new(samples: &Dataset, selection: &Selection) -> Self {
        let mut right: BTreeMap<Subset, Tally> = BTreeMap::new();
        let mut open: BTreeMap<Subset, usize> = BTreeMap::new();
        for subset in selection.samples(samples).map(Sample::subset) {
            right.entry(subset).or_default().add(0);
            *open.entry(subset).or_default() += 1;
        }
        Self {
            right,
            open,
            missing: false,
        }
    }

    /// A sample has its verdict; `None`: it came back without an output.
    pub fn add(&mut self, subset: Subset, score: Option<u8>) {
        self.missing |= score.is_none();
        if let Some(tally) = self.right.get_mut(&subset) {
            tally.correct += usize::from(score.unwrap_or(0));
        }
        if let Some(open) = self.open.get_mut(&subset) {
            *open = open.saturating_sub(1);
        }
    }

    /// Right answers and samples answered.
    #[must_use]
    pub fn so_far(&self) -> (usize, usize) {
        let right = self.right.values().map(|t| t.correct).sum();
        let all: usize = self.right.values().map(|t| t.total).sum();
        (right, all - self.open.values().sum::<usize>())
    }

    /// What is decided. Only of samples that are the gate's; of others nothing ever is.
    #[must_use]
    pub fn certainty(&self) -> Certainty {
        let mut best = self.right.clone();
        for (subset, tally) in &mut best {
            tally.correct += self.open.get(subset).copied().unwrap_or(0);
        }
        if self.missing {
            return Certainty::WillMiss;
        }
        match (passes(&self.right), passes(&best)) {
            (true, _) => Certainty::WillReach,
            (false, true) => Certainty::Open,
            (false, false) => Certainty::WillMiss,
        }
    }
}

/// Whether the gates pass at these scores of all samples.
fn passes(tallies: &BTreeMap<Subset, Tally>) -> bool {
    let scores = breakdown(tallies, GATE_SAMPLES);
    gates(&Measured {
        overall: Some(scores.overall * 100.0),
        normalized: Some(scores.normalized * 100.0),
        completed: GATE_SAMPLES,
        ids: Ok(()),
    })
    .iter()
    .all(|gate| gate.passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gate's subsets with their sizes (`../shared/BFCL.md`).
    fn gate() -> Running {
        let sizes = [
            (Subset::SimplePython, 248),
            (Subset::SimpleJava, 62),
            (Subset::SimpleJavascript, 31),
            (Subset::Multiple, 124),
            (Subset::Parallel, 124),
            (Subset::ParallelMultiple, 124),
            (Subset::LiveSimple, 25),
            (Subset::LiveMultiple, 105),
            (Subset::LiveParallel, 16),
            (Subset::LiveParallelMultiple, 24),
            (Subset::Irrelevance, 24),
            (Subset::LiveIrrelevance, 88),
        ];
        Running {
            right: sizes
                .iter()
                .map(|&(subset, total)| (subset, Tally { correct: 0, total }))
                .collect(),
            open: sizes.into_iter().collect(),
            missing: false,
        }
    }

    fn answer(running: &mut Running, subset: Subset, right: usize, wrong: usize) {
        for score in std::iter::repeat_n(1, right).chain(std::iter::repeat_n(0, wrong)) {
            running.add(subset, Some(score));
        }
    }

    #[test]
    fn nothing_is_decided_at_first() {
        let running = gate();
        assert_eq!(running.so_far(), (0, 0));
        assert_eq!(running.certainty(), Certainty::Open);
    }

    #[test]
    fn the_163rd_wrong_answer_decides_a_miss() {
        // 995 − 833 = 162 may be wrong; spread so that the normalized score alone does not decide.
        let mut running = gate();
        answer(&mut running, Subset::SimplePython, 0, 162);
        assert_eq!(running.certainty(), Certainty::Open);
        running.add(Subset::SimplePython, Some(0));
        assert_eq!(running.certainty(), Certainty::WillMiss);
        assert_eq!(running.so_far(), (0, 163));
    }

    #[test]
    fn the_normalized_score_decides_by_itself() {
        // Irrelevance is half of a third of it: all of its 24 wrong costs 16.67 points.
        let mut running = gate();
        answer(&mut running, Subset::Irrelevance, 0, 21);
        assert_eq!(running.certainty(), Certainty::Open);
        answer(&mut running, Subset::Irrelevance, 0, 1);
        assert_eq!(running.certainty(), Certainty::WillMiss);
    }

    #[test]
    fn a_sample_without_an_output_decides_too() {
        let mut running = gate();
        running.add(Subset::Multiple, None);
        assert_eq!(running.certainty(), Certainty::WillMiss);
    }

    #[test]
    fn enough_right_answers_decide_a_hit_before_the_end() {
        let mut running = gate();
        let sizes: Vec<(Subset, usize)> = running.open.clone().into_iter().collect();
        for (subset, size) in sizes {
            let asked = if subset == Subset::SimplePython {
                size - 100
            } else {
                size
            };
            answer(&mut running, subset, asked, 0);
        }
        assert_eq!(running.so_far(), (895, 895));
        assert_eq!(running.certainty(), Certainty::WillReach);
        answer(&mut running, Subset::SimplePython, 0, 100);
        assert_eq!(running.certainty(), Certainty::WillReach);
    }
}
