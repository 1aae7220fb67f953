//! What slows the processor down by choice.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::machine::Known;

/// Where Linux says how it chooses the first core's frequency.
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// Power settings of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Power {
    /// How the operating system chooses the processor's frequency, e.g. `performance`.
    pub governor: Known<String>,
}

impl Power {
    /// Reads them.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self {
            governor: governor(Path::new(GOVERNOR)),
        }
    }

    /// Whether frequencies are held low, or rise only after the work has begun.
    #[must_use]
    pub fn saves(&self) -> bool {
        self.governor.get().is_some_and(|g| g != "performance")
    }
}

pub(super) fn governor(path: &Path) -> Known<String> {
    if !cfg!(target_os = "linux") {
        return Known::unknown("only read on Linux");
    }
    match fs::read_to_string(path) {
        Ok(text) => Known::new(text.trim().to_owned()),
        Err(e) => Known::unknown(format!("{}: {e}", path.display())),
    }
}
