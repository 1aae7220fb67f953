//! Results on stdout. A reader that goes away (`| head`) is not an error.

use std::io::{self, ErrorKind, Write};

use crate::exit::{Classify, Failure};

/// Writes `text` to stdout.
pub fn stdout(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other
            .map_err(|e| anyhow::Error::new(e).context("writing to stdout"))
            .setup(),
    }
}
