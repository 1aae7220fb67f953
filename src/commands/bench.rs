//! `bench`: this benchmark's own shape without its data: turns that add tokens to a context of some depth, and prompt
//! evaluation and generation there, as llama-bench measures them.
//!
//! Every figure comes from [`Engine::turn`](crate::engine::Engine::turn), the function that `run` calls; what a turn
//! spends on text (rendering, tokenizing, parsing) is not in it.

mod data;
mod measure;
mod page;
mod plan;
mod random;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use gguf::Gguf;
use indicatif::{ProgressBar, ProgressStyle};

use super::{model, print};
use crate::cli::BenchArgs;
use crate::clock::{Clock, MonotonicClock};
use crate::engine::llama::{
    LLAMA_BUILD, LLAMA_CRATES, LlamaEngine, ModelSettings, backends, devices, show_log,
};
use crate::engine::speculation::Mtp;
use crate::exit::{Classify, Exit, Failure};
use crate::machine::{Machine, Software, describe};
use crate::output::render_page;
use data::{BenchReport, ModelFacts};
use measure::{Bench, Measured};
use plan::BenchPlan;

/// Copies of the recurrent state that are kept: the context's, and one from which that is made again.
const SNAPSHOTS: u32 = 2;

/// Runs the command.
///
/// # Errors
/// Where an input is wrong, the machine cannot do it, or a test does not measure what it is to measure.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    if args.engine.verbose {
        show_log();
    }
    if args.engine.mtp != Mtp::Off {
        return Err(anyhow!(
            "--mtp {}: bench measures without drafts, because how many of them are kept on random tokens says nothing; \
             leave --mtp out, and measure drafts with run",
            args.engine.mtp
        ))
        .bad_input();
    }
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::start());
    let started_at = clock.wall();
    let gguf = model::open(&args.model)?;
    let devices = devices().setup()?;
    let software = Software::this_program(LLAMA_BUILD, LLAMA_CRATES, backends::loaded());
    let machine = describe(Path::new("."), devices, software);
    let cores = machine.cpu.physical_cores.get().copied().unwrap_or(1);
    let held_back = held_back(&args.model)?;
    let plan = BenchPlan::new(args, cores, held_back).bad_input()?;
    let facts = ModelFacts::of(&gguf).bad_input()?;
    let measured = measure(args, &plan, held_back, &gguf, &machine, clock)?;
    let report = BenchReport::new(facts, &plan, machine, started_at, &measured);
    let document = page::document(&report);
    print::stdout(&render_page(args.format.format, &document, &report).run_failed()?)?;
    Ok(Exit::Pass)
}

/// Loads the model and measures at every depth.
fn measure(
    args: &BenchArgs,
    plan: &BenchPlan,
    held_back: usize,
    gguf: &Gguf,
    machine: &Machine,
    clock: Arc<dyn Clock>,
) -> Result<Vec<Measured>, Failure> {
    let needs = model::Needs::new(gguf, &plan.engine, SNAPSHOTS, held_back, &machine.devices);
    needs.check(args.engine.ignore_memory)?;
    let loaded = model::load_planned(&args.model, &plan.engine)?;
    let settings = plan.engine.settings(held_back, &machine.devices);
    let mut engine =
        LlamaEngine::new(&loaded, &settings, Arc::clone(&clock)).map_err(|e| needs.refused(e))?;
    let bar = bar(plan.measurements());
    let mut bench = Bench {
        engine: &mut engine,
        clock: &*clock,
        plan,
        held_back,
        tokens: random::Tokens::new(loaded.vocabulary_size()),
        context: Vec::new(),
        started: &mut |test| bar.set_message(test.to_owned()),
        ended: &mut || bar.inc(1),
    };
    let measured = bench.run().run_failed();
    bar.finish_and_clear();
    measured
}

/// Tokens at a prompt's end that its continuation may change; 0 for a model that has no chat template.
fn held_back(path: &Path) -> Result<usize, Failure> {
    let vocabulary = model::load(path, &ModelSettings::vocabulary())?;
    match vocabulary.chat_template() {
        Some(_) => Ok(model::template(&vocabulary, path, false, false)?.1),
        None => Ok(0),
    }
}

fn bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} (ETA {eta})  {msg}")
        .expect("a valid template");
    ProgressBar::new(length).with_style(style)
}
