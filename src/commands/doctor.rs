//! `doctor`: what this machine has, what `run` would use of it, and what is missing, with the command that brings it.

mod build;
mod conditions;
mod data;
mod diagnosis;
mod findings;
mod page;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::inspect::{self, Inspection};
use super::print;
use crate::cli::DoctorArgs;
use crate::engine::llama::{LLAMA_BUILD, LLAMA_CRATES, backends, devices};
use crate::exit::{Classify, Exit, Failure};
use crate::machine::memory::Host;
use crate::machine::{Software, describe};
use crate::output::render_page;

pub use build::BuildFacts;
pub use data::{DataFacts, Item, Presence};
pub use diagnosis::{Diagnosis, RunChoice};
pub use findings::{Finding, Standing};

/// Runs the command. Nothing is loaded and nothing is written.
///
/// # Errors
/// Where `--model` names no GGUF. Something that is missing is exit 3, not an error.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let found = devices();
    let backend_fault = found.as_ref().err().map(ToString::to_string);
    let devices = found.unwrap_or_default();
    let model = match &args.model {
        Some(path) => Some(inspected(path, &devices)?),
        None => None,
    };
    let machine = describe(
        Path::new("."),
        devices,
        Software::this_program(LLAMA_BUILD, LLAMA_CRATES, backends::loaded()),
    );
    let diagnosis = Diagnosis::new(
        BuildFacts::of_this_program(backend_fault),
        machine,
        DataFacts::of(bfcl::dataset::data_root()),
        model,
    );
    let document = page::document(&diagnosis);
    print::stdout(&render_page(args.format.format, &document, &diagnosis).run_failed()?)?;
    Ok(if diagnosis.ready {
        Exit::Pass
    } else {
        Exit::Setup
    })
}

fn inspected(path: &Path, devices: &[crate::machine::Device]) -> Result<Inspection, Failure> {
    inspect::report(path, devices, Host::here()).bad_input()
}
