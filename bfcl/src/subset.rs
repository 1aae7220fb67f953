//! The 13 single-turn subsets of BFCL v4, their categories and languages: closed sets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A single-turn subset of BFCL v4.
///
/// The order is the reference's own (`SINGLE_TURN_SUBSETS`), which is the order of its unsampled
/// data frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subset {
    /// One Python call.
    SimplePython,
    /// One Java call; arguments are Java source text.
    SimpleJava,
    /// One JavaScript call; arguments are JavaScript source text.
    SimpleJavascript,
    /// One call, several functions on offer.
    Multiple,
    /// Several calls of one function.
    Parallel,
    /// Several calls, several functions.
    ParallelMultiple,
    /// One call, written by users.
    LiveSimple,
    /// One call, several functions on offer, written by users.
    LiveMultiple,
    /// Several calls of one function, written by users.
    LiveParallel,
    /// Several calls, several functions, written by users.
    LiveParallelMultiple,
    /// No function on offer fits: right is not to call.
    Irrelevance,
    /// No function on offer fits, written by users: right is not to call.
    LiveIrrelevance,
    /// A function fits: right is to call anything. In no category, so not part of the gate.
    LiveRelevance,
}

/// A category of the reference's breakdown. The three weigh the same in the normalized score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Expert-written samples; the three `simple_*` subsets count as one.
    NonLive,
    /// User-written samples, weighted by sample.
    Live,
    /// Samples where not calling is right; the mean of two subsets.
    Hallucination,
}

/// The language in which a subset's arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// JSON values with Python types.
    Python,
    /// Java source text in strings.
    Java,
    /// JavaScript source text in strings.
    JavaScript,
}

/// What makes an answer right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Exactly one call that fits the one expected call.
    Simple,
    /// Exactly one call that fits, chosen among several functions.
    Multiple,
    /// As many calls as expected, in any order.
    Parallel,
    /// No structured call at all.
    NoCall,
    /// At least one structured call.
    AnyCall,
}

impl Subset {
    /// Every subset, in the reference's order.
    pub const ALL: [Subset; 13] = [
        Subset::SimplePython,
        Subset::SimpleJava,
        Subset::SimpleJavascript,
        Subset::Multiple,
        Subset::Parallel,
        Subset::ParallelMultiple,
        Subset::LiveSimple,
        Subset::LiveMultiple,
        Subset::LiveParallel,
        Subset::LiveParallelMultiple,
        Subset::Irrelevance,
        Subset::LiveIrrelevance,
        Subset::LiveRelevance,
    ];

    /// The name in file names and ids, e.g. `live_parallel`.
    pub fn name(self) -> &'static str {
        match self {
            Subset::SimplePython => "simple_python",
            Subset::SimpleJava => "simple_java",
            Subset::SimpleJavascript => "simple_javascript",
            Subset::Multiple => "multiple",
            Subset::Parallel => "parallel",
            Subset::ParallelMultiple => "parallel_multiple",
            Subset::LiveSimple => "live_simple",
            Subset::LiveMultiple => "live_multiple",
            Subset::LiveParallel => "live_parallel",
            Subset::LiveParallelMultiple => "live_parallel_multiple",
            Subset::Irrelevance => "irrelevance",
            Subset::LiveIrrelevance => "live_irrelevance",
            Subset::LiveRelevance => "live_relevance",
        }
    }

    /// The subset of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Subset> {
        Subset::ALL.into_iter().find(|subset| subset.name() == name)
    }

    /// The category whose score the subset enters; `None` for `live_relevance`, which the
    /// reference scores but puts in no category.
    pub fn category(self) -> Option<Category> {
        match self {
            Subset::SimplePython
            | Subset::SimpleJava
            | Subset::SimpleJavascript
            | Subset::Multiple
            | Subset::Parallel
            | Subset::ParallelMultiple => Some(Category::NonLive),
            Subset::LiveSimple
            | Subset::LiveMultiple
            | Subset::LiveParallel
            | Subset::LiveParallelMultiple => Some(Category::Live),
            Subset::Irrelevance | Subset::LiveIrrelevance => Some(Category::Hallucination),
            Subset::LiveRelevance => None,
        }
    }

    /// The language of the arguments.
    pub fn language(self) -> Language {
        match self {
            Subset::SimpleJava => Language::Java,
            Subset::SimpleJavascript => Language::JavaScript,
            _ => Language::Python,
        }
    }

    /// What makes an answer right.
    pub fn rule(self) -> Rule {
        match self {
            Subset::SimplePython
            | Subset::SimpleJava
            | Subset::SimpleJavascript
            | Subset::LiveSimple => Rule::Simple,
            Subset::Multiple | Subset::LiveMultiple => Rule::Multiple,
            Subset::Parallel
            | Subset::ParallelMultiple
            | Subset::LiveParallel
            | Subset::LiveParallelMultiple => Rule::Parallel,
            Subset::Irrelevance | Subset::LiveIrrelevance => Rule::NoCall,
            Subset::LiveRelevance => Rule::AnyCall,
        }
    }

    /// Whether the subset has a file of possible answers.
    pub fn has_answers(self) -> bool {
        !matches!(self.rule(), Rule::NoCall | Rule::AnyCall)
    }

    /// Whether the subset is one of the three that count as one in `non_live`.
    pub fn is_simple_group(self) -> bool {
        matches!(
            self,
            Subset::SimplePython | Subset::SimpleJava | Subset::SimpleJavascript
        )
    }
}

impl Category {
    /// Every category, in the reference's order.
    pub const ALL: [Category; 3] = [Category::NonLive, Category::Live, Category::Hallucination];

    /// The name in the reference's breakdown, e.g. `non_live`.
    pub fn name(self) -> &'static str {
        match self {
            Category::NonLive => "non_live",
            Category::Live => "live",
            Category::Hallucination => "hallucination",
        }
    }

    /// The category of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Category> {
        Category::ALL
            .into_iter()
            .find(|category| category.name() == name)
    }

    /// The subsets of the category, in the reference's order.
    pub fn subsets(self) -> impl Iterator<Item = Subset> {
        Subset::ALL
            .into_iter()
            .filter(move |subset| subset.category() == Some(self))
    }
}

impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_serialize_as_themselves() {
        for subset in Subset::ALL {
            assert_eq!(Subset::from_name(subset.name()), Some(subset));
            let json = serde_json::to_string(&subset).expect("a unit variant");
            assert_eq!(json, format!("\"{subset}\""));
        }
        assert_eq!(Subset::from_name("multi_turn_base"), None);
        for category in Category::ALL {
            assert_eq!(Category::from_name(category.name()), Some(category));
        }
    }

    #[test]
    fn twelve_subsets_are_in_a_category() {
        let counts = Category::ALL.map(|category| category.subsets().count());
        assert_eq!(counts, [6, 4, 2]);
        assert_eq!(Subset::LiveRelevance.category(), None);
    }
}
