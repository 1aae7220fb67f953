//! Words on stderr. Where nobody reads them any more (a pipe's reader that ended, a terminal that went away) they are
//! lost, and nothing else is: `eprintln!` would panic, in the middle of a run or of a signal's handler.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a line to stderr.
pub fn say(line: impl Display) {
    let line = format!("{line}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}
