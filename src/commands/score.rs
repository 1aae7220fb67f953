//! `score`: outputs from anywhere, scored as the reference scores them. No model is needed.

use std::path::Path;

use anyhow::anyhow;
use bfcl::outputs::Outputs;
use bfcl::report::{Report, Verdict};
use bfcl::sampling::Selection;
use bfcl::score::score;

use super::{dataset, print};
use crate::cli::ScoreArgs;
use crate::exit::{Classify, Exit, Failure};
use crate::output::{accuracy_page, render_page, write_atomic};

/// Runs the command.
///
/// # Errors
/// Where data or outputs cannot be used; a gate that fails is exit 1, not an error.
pub fn run(args: &ScoreArgs) -> Result<Exit, Failure> {
    if let Some(path) = args.verdicts.as_ref().filter(|p| p.exists()) {
        return Err(anyhow!(
            "{}: already exists; choose another --verdicts or remove it",
            path.display()
        ))
        .bad_input();
    }
    let dataset = dataset::samples(args.data.as_deref())?;
    let outputs = Outputs::read(&args.outputs, &dataset, &Selection::gate(&dataset)).bad_input()?;
    let scored = score(&dataset, &outputs);
    if let Some(path) = &args.verdicts {
        write_verdicts(path, &scored.verdicts)?;
    }
    print(&scored.report, args)?;
    Ok(if scored.report.passed() {
        Exit::Pass
    } else {
        Exit::GateFailed
    })
}

fn write_verdicts(path: &Path, verdicts: &[Verdict]) -> Result<(), Failure> {
    write_atomic(path, |out| {
        for verdict in verdicts {
            serde_json::to_writer(&mut *out, verdict)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })
    .setup()
}

fn print(report: &Report, args: &ScoreArgs) -> Result<(), Failure> {
    let text = render_page(args.format.format, &accuracy_page(report), report).run_failed()?;
    print::stdout(&text)
}
