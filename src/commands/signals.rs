//! Ctrl-C, and what else asks a run to end.

use std::io;

use anyhow::anyhow;

use crate::exit::{Classify, Failure};
use crate::replay::Interrupt;
use crate::say::say;

/// Ctrl-C: once, the current turn finishes; twice, it does not count. SIGTERM does the same.
///
/// A hang-up keeps its meaning: it ends the process, as the loss of a terminal does elsewhere, unless `nohup` has told
/// the system to ignore it, and then the run goes on.
pub fn listen(interrupt: &Interrupt) -> Result<(), Failure> {
    let wish = interrupt.clone();
    let handler = move || {
        let again = wish.requested();
        wish.request();
        say(match again {
            true => "interrupted again: ending the current turn",
            false => "interrupted: finishing the current turn (Ctrl-C again to drop it)",
        });
    };
    on_request(handler)
        .map_err(|e| anyhow!("cannot listen for Ctrl-C: {e}"))
        .setup()
}

#[cfg(unix)]
fn on_request(handler: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let wait = move || signals.forever().for_each(|_| handler());
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)
        .map(drop)
}

#[cfg(not(unix))]
fn on_request(handler: impl Fn() + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(handler).map_err(io::Error::other)
}
