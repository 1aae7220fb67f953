//! `report`: every derived file of a run, rebuilt from its records; works on killed runs too.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::results::failure;
use super::{dataset, print, tokenizer};
use crate::cli::ReportArgs;
use crate::conversation::Dataset;
use crate::exit::{Classify, Exit, Failure};
use crate::output::{render, verdict_line};
use crate::plan::Plan;
use crate::results::{RunDir, Sources};
use crate::say::say;

/// Runs the command.
///
/// # Errors
/// Where the directory, the data set or the tokenizer is not the run's.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let dir = RunDir::existing(&args.dir).map_err(failure)?;
    let plan = dir.plan().map_err(failure)?;
    dir.machine().map_err(failure)?;
    let data = data(args.dataset.as_deref(), &plan)?;
    let samples = match plan.accuracy {
        Some(_) => Some(dataset::samples(args.data.as_deref())?),
        None => None,
    };
    let recount = tokenizer::load(args.tokenizer.as_deref(), plan.replay.tokenizer.as_ref())?;
    warn_of_torn_lines(&dir, &plan)?;
    let sources = Sources {
        conversations: data.as_ref(),
        samples: samples.as_ref(),
        recount: tokenizer::recount(&recount),
    };
    let derived = dir.derive(&plan, &sources).map_err(failure)?;
    print::stdout(&render(args.format.format, &derived.result).run_failed()?)?;
    say(verdict_line(&derived.result));
    Ok(if derived.gates_pass() {
        Exit::Pass
    } else {
        Exit::GateFailed
    })
}

fn warn_of_torn_lines(dir: &RunDir, plan: &Plan) -> Result<(), Failure> {
    let mut torn = Vec::new();
    if plan.dataset.is_some() {
        torn.push(("turns.jsonl", dir.rows().map_err(failure)?.torn));
    }
    if plan.accuracy.is_some() {
        torn.push(("samples.jsonl", dir.samples().map_err(failure)?.torn));
    }
    for (name, torn) in torn {
        if let Some(torn) = torn {
            say(format_args!(
                "warning: {name} ends with a torn line {} of {} bytes, left out",
                torn.line, torn.bytes
            ));
        }
    }
    Ok(())
}

/// The run's conversations: as given, else the embedded sample, else where `scripts/fetch-data` puts them.
fn data(given: Option<&Path>, plan: &Plan) -> Result<Option<Dataset>, Failure> {
    let Some(planned) = &plan.dataset else {
        return Ok(None);
    };
    if let Some(path) = given {
        return dataset::file(path).map(Some);
    }
    let sample = dataset::sample()?;
    if sample.sha256 == planned.sha256 {
        return Ok(Some(sample));
    }
    let fetched: Option<PathBuf> = bfcl::dataset::data_root().map(|root| root.join(&planned.name));
    match fetched.filter(|path| path.exists()) {
        Some(path) => dataset::file(&path).map(Some),
        None => Err(anyhow!(
            "the run replayed {}, which is not where scripts/fetch-data puts it; give it with --dataset FILE",
            planned.name
        ))
        .bad_input(),
    }
}
