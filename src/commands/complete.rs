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
    clap_complete::generate(args.shell, &mut command, name.as_str(), &mut script);
    let script = String::from_utf8(script).run_failed()?;
    print::stdout(&consistent(script, &name))?;
    Ok(Exit::Pass)
}

/// Makes a script's two spellings of the program's name one. clap_complete 4.6 sets bash's state to
/// `edge__agentic__…` and looks for `edge__subcmd__agentic__…` (clap-rs/clap#6421): with a hyphen in the name nothing
/// would be completed after a verb. Scripts without the second spelling stay as they are.
fn consistent(script: String, program: &str) -> String {
    let looked_for = program.replace('-', "__subcmd__");
    script.replace(&looked_for, &program.replace('-', "__"))
}

/// Prints a manual page.
///
/// # Errors
/// Where there is no such verb, or stdout cannot be written.
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Gives every verb its whole name, `edge-agentic run`.
    command.build();
    let program = command.get_name().to_owned();
    let page = match &args.verb {
        None => clap_mangen::Man::new(command),
        // A page's title cannot hold a space.
        Some(verb) => {
            clap_mangen::Man::new(named(&command, verb)?.name(format!("{program}-{verb}")))
        }
    };
    let source = format!("{program} {}", env!("CARGO_PKG_VERSION"));
    let mut roff = Vec::new();
    page.source(source).render(&mut roff).run_failed()?;
    print::stdout(&String::from_utf8(roff).run_failed()?)?;
    Ok(Exit::Pass)
}

fn named(command: &clap::Command, verb: &str) -> Result<clap::Command, Failure> {
    command.find_subcommand(verb).cloned().ok_or_else(|| {
        let known: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let text = format!("no verb {verb:?}; there are {}", known.join(", "));
        Failure::message(Exit::BadInput, text)
    })
}
