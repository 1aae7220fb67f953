//! `docs/cli.md`: the whole help of every verb, as the program prints it.

use std::fmt::Write;

use clap::{Command, CommandFactory};
use edge_agentic::cli::Cli;

/// Columns of the help, whatever terminal the test runs in.
const WIDTH: usize = 110;

/// The page.
pub fn page() -> String {
    let mut program = Cli::command()
        .term_width(WIDTH)
        .disable_help_subcommand(true);
    program.build();
    let mut page = String::from(
        "# The command line\n\nEvery option of every verb, as `--help` prints it. Generated from the program by a \
         test;\n`UPDATE_GOLDEN=1 cargo test --release --test cli docs` writes this file anew.\n",
    );
    section(&mut page, &program);
    for verb in program.get_subcommands() {
        section(&mut page, verb);
    }
    page
}

fn section(page: &mut String, command: &Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut command = command.clone().term_width(WIDTH);
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n")).expect("a String");
}
