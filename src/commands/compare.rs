//! `compare`: two runs' directories against each other; reads them and writes nothing.

mod page;

use std::path::Path;

use super::print;
use super::results::failure;
use crate::cli::CompareArgs;
use crate::comparison::{Comparison, Side};
use crate::exit::{Classify, Exit, Failure};
use crate::machine::Machine;
use crate::metrics::Summary;
use crate::output::render_page;
use crate::plan::Plan;
use crate::results::{Recorded, RunDir};
use crate::say::say;

/// Runs the command.
///
/// # Errors
/// Where a directory is not a run's, or its rows are not its plan's.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let first = Run::read(&args.first)?;
    let second = Run::read(&args.second)?;
    if same(&args.first, &args.second) {
        say(format_args!(
            "warning: {} and {} are one directory: a run is compared with itself",
            first.directory, second.directory
        ));
    }
    let comparison = Comparison::of(&first.side(), &second.side());
    let document = page::document(&comparison);
    print::stdout(&render_page(args.format.format, &document, &comparison).run_failed()?)?;
    say(comparison.finding.statement);
    Ok(Exit::Pass)
}

fn same(first: &Path, second: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    whole(first).is_some_and(|first| whole(second) == Some(first))
}

/// What a directory holds of its run.
struct Run {
    directory: String,
    plan: Plan,
    machine: Machine,
    recorded: Recorded,
    summary: Summary,
}

impl Run {
    fn read(path: &Path) -> Result<Self, Failure> {
        let dir = RunDir::to_read(path).map_err(failure)?;
        let plan = dir.plan().map_err(failure)?;
        let machine = dir.machine().map_err(failure)?;
        let recorded = dir.recorded(&plan).map_err(failure)?;
        if recorded.torn {
            say(format_args!(
                "warning: {}: a file of rows ends with a torn line, left out",
                path.display()
            ));
        }
        Ok(Self {
            directory: path.display().to_string(),
            summary: recorded.summary(&plan).map_err(failure)?,
            plan,
            machine,
            recorded,
        })
    }

    fn side(&self) -> Side<'_> {
        Side {
            directory: &self.directory,
            plan: &self.plan,
            machine: &self.machine,
            rows: &self.recorded.rows.turns,
            summary: &self.summary,
        }
    }
}
