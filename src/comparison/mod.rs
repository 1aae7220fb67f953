//! Two runs against each other: whether they can be compared, what was generated otherwise, which was faster.
//!
//! Pure functions of what the two directories hold.

mod bootstrap;
mod finding;
mod outputs;
mod pairs;
mod settings;
mod speed;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use self::finding::{Finding, Kind, Lengths};
pub use self::outputs::{FirstDifference, Outputs};
pub use self::pairs::Coverage;
use self::pairs::Pair;
pub use self::settings::Difference;
pub use self::speed::{Drawn, Figures, OfConversation, Ratio};
use crate::machine::Machine;
use crate::metrics::{ProblemKind, Summary, degenerate};
use crate::plan::Plan;
use crate::record::TurnRecord;

/// The version of the comparison's layout.
pub const COMPARISON_SCHEMA: u32 = 1;

/// What is known of one run.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its directory, as given.
    pub directory: &'a str,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its machine.
    pub machine: &'a Machine,
    /// The rows of its turns.
    pub rows: &'a [TurnRecord],
    /// What they add up to.
    pub summary: &'a Summary,
}

/// One run by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFigures {
    /// Its directory, as given.
    pub directory: String,
    /// `--mtp`.
    pub mtp: String,
    /// Turns with a row.
    pub rows: usize,
    /// Turns selected.
    pub selected: usize,
    /// Whether it went through its whole plan.
    pub complete: bool,
    /// Whether it is valid.
    pub valid: bool,
    /// Why it is not, besides what `synthetic` says.
    pub problems: Vec<String>,
    /// How often it was continued with `--resume`.
    pub resumed: usize,
    /// What of its replies is not the model's, if anything.
    pub synthetic: Option<String>,
    /// Draft tokens verified.
    pub drafted: usize,
    /// Of these, kept.
    pub acceptance: Option<f64>,
    /// Tokens per step after each turn's first; null without drafts.
    pub tokens_per_step: Option<f64>,
    /// Completed turns whose reply ends in a loop.
    pub degenerate: usize,
    /// Of the compared turns' tokens, the share in such replies.
    pub loop_share: Option<f64>,
    /// BFCL samples answered by it, where it has an accuracy phase of its own.
    pub accuracy: Option<usize>,
    /// Its warnings.
    pub warnings: Vec<String>,
}

/// Two runs against each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Layout version, [`COMPARISON_SCHEMA`].
    pub schema: u32,
    /// The first run and the second.
    pub runs: [RunFigures; 2],
    /// Whether at most one thing differs.
    pub comparable: bool,
    /// What differs, of what can change a turn.
    pub compared: Vec<String>,
    /// Every difference of plans and machines.
    pub differences: Vec<Difference>,
    /// Turns by what both have of them.
    pub coverage: Coverage,
    /// What was generated.
    pub outputs: Outputs,
    /// How much was generated.
    pub lengths: Lengths,
    /// Figures over all compared turns.
    pub overall: Figures,
    /// Figures per conversation.
    pub conversations: Vec<OfConversation>,
    /// What it amounts to.
    pub finding: Finding,
}

impl Comparison {
    /// Compares `second` with `first`.
    #[must_use]
    pub fn of(first: &Side<'_>, second: &Side<'_>) -> Self {
        let differences = settings::differences(first, second);
        let compared = settings::subjects(&differences);
        let (pairs, coverage) = pairs::pair(first.rows, second.rows);
        let runs = [
            RunFigures::of(first, &pairs, |pair| pair.0),
            RunFigures::of(second, &pairs, |pair| pair.1),
        ];
        let (overall, lengths) = (Figures::of(&pairs), Lengths::of(&pairs));
        Self {
            schema: COMPARISON_SCHEMA,
            finding: Finding::of(&runs, &overall, &lengths, &compared),
            runs,
            comparable: compared.len() < 2,
            compared,
            differences,
            coverage,
            outputs: Outputs::of(&pairs),
            lengths,
            overall,
            conversations: speed::conversations(&pairs),
        }
    }

    /// Whether the runs can be compared, in words.
    #[must_use]
    pub fn comparable_sentence(&self) -> String {
        match self.compared.as_slice() {
            [] => "comparable: nothing differs that can change a turn".to_owned(),
            [one] => format!("comparable: of what can change a turn only this differs: {one}"),
            some => format!(
                "NOT comparable as one thing against another: {} things differ that can change a turn: {}",
                some.len(),
                some.join(", ")
            ),
        }
    }
}

impl RunFigures {
    fn of(
        side: &Side<'_>,
        pairs: &[Pair<'_>],
        own: for<'a> fn(&Pair<'a>) -> &'a TurnRecord,
    ) -> Self {
        let summary = side.summary;
        let (mut looping, mut all) = (0, 0);
        for row in pairs.iter().map(own) {
            let tokens = row.output_ids.len();
            all += tokens;
            looping += if degenerate(row) { tokens } else { 0 };
        }
        Self {
            directory: side.directory.to_owned(),
            mtp: side.plan.engine.mtp.to_string(),
            rows: side.rows.len(),
            selected: summary.turns.selected(),
            complete: summary.complete,
            valid: summary.valid,
            problems: summary
                .problems
                .iter()
                .filter(|p| p.kind != ProblemKind::Synthetic)
                .map(|p| p.message.clone())
                .collect(),
            resumed: summary.resumed,
            synthetic: side.plan.synthetic(),
            drafted: summary.speculation.drafted,
            acceptance: summary.speculation.acceptance,
            tokens_per_step: summary.speculation.tokens_per_step,
            degenerate: summary.degenerate,
            loop_share: (all > 0).then(|| looping as f64 / all as f64),
            accuracy: summary.samples.map(|s| s.answered),
            warnings: summary.warnings.iter().map(|w| w.message.clone()).collect(),
        }
    }
}
