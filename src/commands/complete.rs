//! `completions` and `man`: the command line, as shells and `man` read it.

use clap::CommandFactory;

use super::print;
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::exit::{Classify, Exit, Failure};

/// Prints the completions for a shell.
///
/// # Errors
/// Where stdout cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    print::stdout(&String::from_utf8(script).run_failed()?)?;
    Ok(Exit::Pass)
}

/// Prints a manual page.
///
/// # Errors
/// Where there is no such verb, or stdout cannot be written.
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    // Gives every verb its whole name, `edge-agentic run`.
    command.build();
    let page = match &args.verb {
        None => command,
        Some(verb) => named(&command, verb)?,
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff).run_failed()?;
    print::stdout(&String::from_utf8(roff).run_failed()?)?;
    Ok(Exit::Pass)
}

fn named(command: &clap::Command, verb: &str) -> Result<clap::Command, Failure> {
    let verbs = || command.get_subcommands().filter(|c| c.get_name() != "help");
    let found = verbs().find(|c| c.get_name() == verb).ok_or_else(|| {
        let known: Vec<&str> = verbs().map(clap::Command::get_name).collect();
        let text = format!("no verb {verb:?}; there are {}", known.join(", "));
        Failure::message(Exit::BadInput, text)
    })?;
    // The page's title cannot hold a space.
    let title = format!("{}-{verb}", command.get_name());
    Ok(found.clone().name(title))
}
