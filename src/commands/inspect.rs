//! `inspect`: what a model file is and what it needs, from its header alone.

mod data;
mod page;
mod report;
#[cfg(test)]
mod tests;
mod tokens;

use anyhow::anyhow;

use super::print;
use crate::cli::InspectArgs;
use crate::engine::llama::devices;
use crate::exit::{Classify, Exit, Failure};
use crate::machine::memory::Host;
use crate::output::render_page;

pub use data::Inspection;
pub use report::{InspectError, report};
pub use tokens::{Difference, TokenizerCheck};

/// Runs the command. The report is printed even where it ends in exit 2, so that one sees what else is in the file.
///
/// # Errors
/// Where the file is no sound model.
pub fn run(args: &InspectArgs) -> Result<Exit, Failure> {
    let mut inspection = report(&args.file, &devices().setup()?, Host::here()).bad_input()?;
    if let Some(tokenizer) = &args.tokenizer
        && inspection.problems.is_empty()
    {
        inspection.tokenizer = Some(tokens::check(&args.file, tokenizer)?);
    }
    let document = page::document(&inspection);
    print::stdout(&render_page(args.format.format, &document, &inspection).run_failed()?)?;
    if inspection.problems.is_empty() {
        let differs = inspection.tokenizer.is_some_and(|check| !check.equal);
        return Ok(if differs {
            Exit::GateFailed
        } else {
            Exit::Pass
        });
    }
    let problems = inspection.problems.join("; ");
    Err(anyhow!("{}: {problems}", args.file.display())).bad_input()
}
