//! Which BFCL samples a run asks.

use bfcl::dataset::{Dataset, RELEASE};
use bfcl::sampling::{GATE_IDS_SHA256, Sampling, Selection};
use bfcl::subset::{Category, Subset};
use serde::{Deserialize, Serialize};

use super::PlanError;
use crate::cli::PhaseArgs;

/// The accuracy phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccuracyPlan {
    /// Release of `bfcl-eval` that the files are of; their digests are pinned.
    pub release: String,
    /// Samples asked.
    pub samples: usize,
    /// SHA-256 of their ids in order, each followed by a newline.
    pub ids_sha256: String,
    /// Subsets asked, in the order of the data set.
    pub subsets: Vec<Subset>,
    /// Whether every sample of these subsets is asked.
    pub full_subsets: bool,
    /// How many of all these are asked, spread evenly; `None`: all.
    pub spread_over: Option<u32>,
    /// Whether the phase ends once the gates are decided.
    pub stop_when_decided: bool,
}

impl AccuracyPlan {
    /// Resolves the arguments.
    ///
    /// # Errors
    /// [`PlanError::Category`], [`PlanError::NeverDecided`].
    pub fn new(args: &PhaseArgs, data: &Dataset) -> Result<Self, PlanError> {
        let subsets = match args.categories.as_slice() {
            [] => Sampling::gate().subsets,
            names => {
                let mut asked = Vec::new();
                for name in names {
                    asked.extend(named(name)?);
                }
                Subset::ALL
                    .into_iter()
                    .filter(|subset| asked.contains(subset))
                    .collect()
            }
        };
        let mut plan = Self {
            release: RELEASE.to_owned(),
            samples: 0,
            ids_sha256: String::new(),
            subsets,
            full_subsets: args.full_subsets,
            spread_over: args.bfcl_samples,
            stop_when_decided: args.stop_when_decided,
        };
        let selection = plan.selection(data);
        plan.samples = selection.indexes().len();
        plan.ids_sha256 = selection.ids_sha256(data);
        if plan.stop_when_decided && !plan.is_gate() {
            return Err(PlanError::NeverDecided {
                samples: plan.described(),
            });
        }
        Ok(plan)
    }

    /// The samples, in the order in which they are asked.
    #[must_use]
    pub fn selection(&self, data: &Dataset) -> Selection {
        let all = Selection::sampled(data, &self.rates());
        match self.spread_over {
            Some(samples) => all.spread(samples as usize),
            None => all,
        }
    }

    /// The samples in the reference's terms; `None` where it has no words for them.
    #[must_use]
    pub fn sampling(&self) -> Option<Sampling> {
        self.spread_over.is_none().then(|| self.rates())
    }

    fn rates(&self) -> Sampling {
        let mut sampling = Sampling {
            subsets: self.subsets.clone(),
            ..Sampling::gate()
        };
        if self.full_subsets {
            for percent in sampling.percent.values_mut() {
                *percent = 100.0;
            }
        }
        sampling
    }

    /// Whether the samples are those of the gate.
    #[must_use]
    pub fn is_gate(&self) -> bool {
        self.ids_sha256 == GATE_IDS_SHA256
    }

    /// What is asked, in words.
    #[must_use]
    pub fn described(&self) -> String {
        if self.is_gate() {
            return format!("the gate's {} samples", self.samples);
        }
        let whole = match self.full_subsets {
            true => "whole ",
            false => "",
        };
        let of = match self.subsets == Sampling::gate().subsets {
            true => format!("the gate's {whole}subsets"),
            false => {
                let names: Vec<&str> = self.subsets.iter().map(|s| s.name()).collect();
                format!("{whole}{}", names.join(", "))
            }
        };
        let how = match self.spread_over {
            Some(_) => "spread over",
            None => "of",
        };
        format!("{} samples {how} {of}", self.samples)
    }
}

/// The subsets of that name: a category's, or the one.
fn named(name: &str) -> Result<Vec<Subset>, PlanError> {
    let name = name.trim();
    if let Some(category) = Category::from_name(name) {
        return Ok(category.subsets().collect());
    }
    match Subset::from_name(name) {
        Some(subset) => Ok(vec![subset]),
        None => Err(PlanError::Category {
            found: name.to_owned(),
        }),
    }
}
