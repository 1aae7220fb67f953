//! The result of scoring: plain data, a pure function of data set and outputs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aggregate::Tally;
use crate::dataset::FileDigest;
use crate::disputed::Disputed;
use crate::gate::Gate;
use crate::subset::{Category, Subset};

/// A percentage with what one needs to judge it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentage {
    /// Percent, unrounded.
    pub value: f64,
    /// Percent, rounded to two places as the reference prints it.
    pub rounded: f64,
    /// The 95 % interval in percent: Wilson's where samples are pooled, combined from the subsets'
    /// Wilson intervals where they are averaged. `None` without samples.
    pub interval: Option<(f64, f64)>,
}

/// The score of a subset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubsetScore {
    /// Right answers and issued samples.
    pub tally: Tally,
    /// The share of right answers.
    pub score: Percentage,
}

/// The score of a category.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryScore {
    /// Right answers and issued samples.
    pub tally: Tally,
    /// The category's score by the reference's rule.
    pub score: Percentage,
    /// The published reference's score, percent.
    pub reference: f64,
    /// Samples with an output.
    pub scored: usize,
    /// Samples with a call whose name was not on offer. Above 20 % of the category the names offered
    /// and the names expected are likely not the same.
    pub unknown_names: usize,
    /// Samples whose output looks like a tool call although none could be read.
    pub unparsed_attempts: usize,
}

/// Everything about a scored run but the verdicts of its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The data files and their digests.
    pub files: Vec<FileDigest>,
    /// Samples issued.
    pub issued: usize,
    /// Issued samples that have an output.
    pub scored: usize,
    /// Outputs beyond the first of a sample; the reference scores the first.
    pub duplicates: usize,
    /// Outputs of samples that were not issued; ignored, as by the reference.
    pub unknown: usize,
    /// Right answers among all issued samples.
    pub overall: Percentage,
    /// The mean of the categories.
    pub normalized: Percentage,
    /// The categories present.
    pub categories: BTreeMap<Category, CategoryScore>,
    /// The subsets present.
    pub subsets: BTreeMap<Subset, SubsetScore>,
    /// The three `simple_*` subsets pooled, percent. The category counts their mean instead.
    pub simple_pooled: Option<Percentage>,
    /// Wrong answers by error type.
    pub error_types: BTreeMap<String, usize>,
    /// Samples on which the reference would raise and lose its whole scoring pass; scored 0 here.
    pub reference_raises: usize,
    /// Samples whose output looks like a tool call although none could be read. In the
    /// hallucination category such an output scores 1, as in the reference.
    pub unparsed_attempts: usize,
    /// Samples whose expected answer is publicly disputed.
    pub disputed: Disputed,
    /// What deserves a look before the numbers are believed.
    pub warnings: Vec<String>,
    /// The accuracy gates.
    pub gates: Vec<Gate>,
}

impl Report {
    /// Whether every gate passed.
    pub fn passed(&self) -> bool {
        !self.gates.is_empty() && self.gates.iter().all(|gate| gate.passed)
    }
}

/// The verdict on one issued sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The sample.
    pub id: String,
    /// Its subset.
    pub subset: Subset,
    /// 1 or 0.
    pub score: u8,
    /// The checker's error type; `reference_raises` where the reference's code would raise;
    /// `missing` without an output; none where right is to call nothing, or to call anything.
    pub error_type: Option<String>,
    /// Why the score is 0.
    pub reason: Option<String>,
}
