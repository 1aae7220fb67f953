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
use crate::results::RunDir;

/// Runs the command.
///
/// # Errors
/// Where the directory, the data set or the tokenizer is not the run's.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let dir = RunDir::existing(&args.dir).map_err(failure)?;
    let plan = dir.plan().map_err(failure)?;
    dir.machine().map_err(failure)?;
    let data = data(args.dataset.as_deref(), &plan)?;
    let recount = tokenizer::load(args.tokenizer.as_deref(), plan.replay.tokenizer.as_ref())?;
    if let Some(torn) = dir.rows().map_err(failure)?.torn {
        eprintln!(
            "warning: turns.jsonl ends with a torn line {} of {} bytes, left out",
            torn.line, torn.bytes
        );
    }
    let derived = dir
        .derive(&plan, &data, tokenizer::recount(&recount))
        .map_err(failure)?;
    print::stdout(&render(args.format.format, &plan.settings(), &derived.summary).run_failed()?)?;
    eprintln!("{}", verdict_line(&derived.summary));
    Ok(if derived.gates_pass() {
        Exit::Pass
    } else {
        Exit::GateFailed
    })
}

/// The run's data set: as given, else the embedded sample, else where `scripts/fetch-data` puts it.
fn data(given: Option<&Path>, plan: &Plan) -> Result<Dataset, Failure> {
    if let Some(path) = given {
        return dataset::file(path);
    }
    let sample = dataset::sample()?;
    if sample.sha256 == plan.dataset.sha256 {
        return Ok(sample);
    }
    let fetched: Option<PathBuf> =
        bfcl::dataset::data_root().map(|root| root.join(&plan.dataset.name));
    match fetched.filter(|path| path.exists()) {
        Some(path) => dataset::file(&path),
        None => Err(anyhow!(
            "the run replayed {}, which is not where scripts/fetch-data puts it; give it with --dataset FILE",
            plan.dataset.name
        ))
        .bad_input(),
    }
}
