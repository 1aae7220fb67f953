//! Parses the command line, runs the command, turns its end into an exit code.

use std::process::ExitCode;

use clap::Parser;
use edge_agentic::cli::{Cli, Command};
use edge_agentic::commands;
use edge_agentic::say::say;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => commands::run::run(&args),
        Command::Prompts(args) => commands::prompts::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Synth(args) => commands::synth::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Score(args) => commands::score::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Completions(args) => commands::complete::completions(&args),
        Command::Man(args) => commands::complete::man(&args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say(format_args!("error: {failure}"));
            failure.exit.into()
        }
    }
}
