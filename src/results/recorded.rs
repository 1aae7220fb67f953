//! What a run recorded, without the data that it worked on: enough to compare it, too little to judge its replies.

use super::{ResultsError, Rows, RunDir, SAMPLES, TURNS, derived};
use crate::metrics::Summary;
use crate::plan::Plan;

/// The rows of a run's phases.
#[derive(Debug)]
pub struct Recorded {
    /// The rows.
    pub rows: Rows,
    /// Whether a file of them ends with a torn line, which is left out.
    pub torn: bool,
}

impl RunDir {
    /// Reads the rows of the planned phases. A file that a killed run did not come to has none.
    ///
    /// # Errors
    /// Where one is damaged, or its rows are not the plan's.
    pub fn recorded(&self, plan: &Plan) -> Result<Recorded, ResultsError> {
        let mut torn = false;
        let mut rows = Rows {
            moments: self.moments()?,
            ..Rows::default()
        };
        if plan.dataset.is_some() && self.file(TURNS).exists() {
            let back = self.rows()?;
            self.whole(plan, &back.records)?;
            torn |= back.torn.is_some();
            rows.turns = back.records;
        }
        if plan.accuracy.is_some() && self.file(SAMPLES).exists() {
            let back = self.samples()?;
            torn |= back.torn.is_some();
            rows.samples = back.records;
        }
        self.same_settings(plan, &rows)?;
        Ok(Recorded { rows, torn })
    }
}

impl Recorded {
    /// What the rows add up to, as far as it follows from them: not the inline score, and no judgement of samples.
    ///
    /// # Errors
    /// Where rows and plan contradict each other.
    pub fn summary(&self, plan: &Plan) -> Result<Summary, ResultsError> {
        let facts = derived::facts(plan, &self.rows, None);
        Summary::compute(&self.rows.turns, &facts).map_err(ResultsError::Accounting)
    }
}
