//! Which samples are asked: the deterministic sampling of the reference, and the gate's 995.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Sample, hex_sha256};
use crate::subset::{Category, Subset};

/// The number of samples in the gate.
pub const GATE_SAMPLES: usize = 995;
/// The sha256 of the gate's ids in order, each followed by a newline.
pub const GATE_IDS_SHA256: &str =
    "31225ad1c4ee7087aee9cbf5245e53710d1f2bf20074f3310a985d868dd96d28";

/// Rates of sampling. Nothing is random: the first samples of each file are taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// The subsets that are asked at all.
    pub subsets: Vec<Subset>,
    /// Percent of each subset by category, above 0 and at most 100.
    pub percent: BTreeMap<Category, f64>,
    /// Percent of the subsets whose category has no rate of its own; whole where absent.
    pub other_percent: Option<f64>,
    /// Subsets of at most this many samples are taken whole.
    pub whole_up_to: Option<usize>,
    /// At most this many samples in all.
    pub max_samples: Option<usize>,
}

impl Sampling {
    /// The sampling of the benchmark: 62 % of non_live, 10 % of live and hallucination, subsets of
    /// up to 25 samples whole.
    pub fn gate() -> Sampling {
        Sampling {
            subsets: Category::ALL
                .into_iter()
                .flat_map(Category::subsets)
                .collect(),
            percent: BTreeMap::from([
                (Category::NonLive, 62.0),
                (Category::Live, 10.0),
                (Category::Hallucination, 10.0),
            ]),
            other_percent: None,
            whole_up_to: Some(25),
            max_samples: None,
        }
    }

    /// Every sample of every subset.
    pub fn everything() -> Sampling {
        Sampling {
            subsets: Subset::ALL.to_vec(),
            percent: BTreeMap::new(),
            other_percent: None,
            whole_up_to: None,
            max_samples: None,
        }
    }

    /// Whether any rate applies. Without one the reference keeps the order of its data frame.
    fn applies(&self) -> bool {
        !self.percent.is_empty() || self.other_percent.is_some() || self.whole_up_to.is_some()
    }

    /// How many of a subset's samples are taken: ⌊total · percent / 100⌋, at least one.
    fn count(&self, subset: Subset, total: usize) -> usize {
        if self.whole_up_to.is_some_and(|limit| total <= limit) {
            return total;
        }
        let own = subset
            .category()
            .and_then(|it| self.percent.get(&it).copied());
        match own.or(self.other_percent) {
            Some(percent) => ((total as f64 * percent / 100.0) as usize).clamp(1, total),
            None => total,
        }
    }
}

/// The samples of a run, in the order in which they are asked; places in [`Dataset::samples`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Vec<usize>);

impl Selection {
    /// The gate's 995 samples.
    pub fn gate(dataset: &Dataset) -> Selection {
        Selection::sampled(dataset, &Sampling::gate())
    }

    /// Every sample, in the reference's order.
    pub fn all(dataset: &Dataset) -> Selection {
        Selection::sampled(dataset, &Sampling::everything())
    }

    /// The samples that a sampling takes. As in the reference, a rate puts the subsets in
    /// alphabetical order.
    pub fn sampled(dataset: &Dataset, sampling: &Sampling) -> Selection {
        let mut subsets = Subset::ALL.to_vec();
        subsets.retain(|subset| sampling.subsets.contains(subset));
        if sampling.applies() {
            subsets.sort_by_key(|subset| subset.name());
        }
        let mut by_subset: BTreeMap<Subset, Vec<usize>> = BTreeMap::new();
        for (index, sample) in dataset.samples().iter().enumerate() {
            by_subset.entry(sample.subset()).or_default().push(index);
        }
        let mut taken = Vec::new();
        for subset in subsets {
            let indexes = by_subset.remove(&subset).unwrap_or_default();
            let count = match indexes.len() {
                0 => 0,
                total => sampling.count(subset, total),
            };
            taken.extend(indexes.into_iter().take(count));
        }
        taken.truncate(sampling.max_samples.unwrap_or(usize::MAX));
        Selection(taken)
    }

    /// At most `samples` of these, spread evenly, the first among them.
    #[must_use]
    pub fn spread(self, samples: usize) -> Selection {
        let all = self.0.len();
        if samples >= all {
            return self;
        }
        Selection((0..samples).map(|n| self.0[n * all / samples]).collect())
    }

    /// The sha256 of the ids in order, each followed by a newline.
    pub fn ids_sha256(&self, dataset: &Dataset) -> String {
        let listing: String = self
            .samples(dataset)
            .flat_map(|sample| [sample.id(), "\n"])
            .collect();
        hex_sha256(listing.as_bytes())
    }

    /// The places of the samples in [`Dataset::samples`].
    pub fn indexes(&self) -> &[usize] {
        &self.0
    }

    /// The samples, in order.
    pub fn samples<'d>(&self, dataset: &'d Dataset) -> impl Iterator<Item = &'d Sample> {
        self.0
            .iter()
            .filter_map(|&index| dataset.samples().get(index))
    }
}

/// Compares the ids of a run, in any order, with the gate's pinned list.
///
/// # Errors
/// Says how many ids are missing or too many: a run of other ids is not for the gate.
pub fn check_gate_ids<'i>(
    dataset: &Dataset,
    ids: impl IntoIterator<Item = &'i str>,
) -> Result<(), String> {
    let gate = Selection::gate(dataset);
    if gate.ids_sha256(dataset) != GATE_IDS_SHA256 {
        return Err("the data set does not hold the pinned list of gate ids".to_owned());
    }
    let mut open: HashSet<&str> = gate.samples(dataset).map(Sample::id).collect();
    let mut surplus = 0;
    for id in ids {
        surplus += usize::from(!open.remove(id));
    }
    match (open.len(), surplus) {
        (0, 0) => Ok(()),
        (missing, surplus) => Err(format!(
            "{} of the {GATE_SAMPLES} gate ids issued, {missing} missing, {surplus} beyond them",
            GATE_SAMPLES - missing
        )),
    }
}
