//! Memory of this process, and what the machine has left.

use serde::{Deserialize, Serialize};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

use crate::machine::Known;
use crate::machine::source::{Platform, Source, into_known};

/// Memory at one moment, bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessMemory {
    /// Memory of the process, mapped weights that were touched included.
    pub rss_bytes: Known<u64>,
    /// Of this, what was allocated: it grows only when something is kept.
    pub anonymous_bytes: Known<u64>,
    /// The most that `rss_bytes` has been.
    pub peak_rss_bytes: Known<u64>,
    /// What the process has in swap space.
    pub swapped_bytes: Known<u64>,
    /// What the machine could still allocate without swapping.
    pub available_bytes: Known<u64>,
}

impl ProcessMemory {
    /// Reads it.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        match source.platform {
            Platform::Linux => Self::of_linux(source),
            Platform::Mac | Platform::Other => Self::of_sysinfo(source.here),
        }
    }

    fn of_linux(source: &Source) -> Self {
        let (status, memory) = (source.text("proc/self/status"), source.text("proc/meminfo"));
        let own = |name| into_known(kib(&status, "/proc/self/status", name));
        Self {
            rss_bytes: own("VmRSS:"),
            anonymous_bytes: own("RssAnon:"),
            peak_rss_bytes: own("VmHWM:"),
            swapped_bytes: own("VmSwap:"),
            available_bytes: into_known(kib(&memory, "/proc/meminfo", "MemAvailable:")),
        }
    }

    fn of_sysinfo(here: bool) -> Self {
        const REASON: &str = "only read on Linux";
        let pid = sysinfo::get_current_pid().ok().filter(|_| here);
        let mut system = System::new();
        if let Some(pid) = pid {
            let memory = ProcessRefreshKind::nothing().with_memory();
            system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, memory);
            system.refresh_memory();
        }
        let rss = pid.and_then(|pid| Some(system.process(pid)?.memory()));
        let available = Some(system.available_memory()).filter(|&bytes| bytes > 0);
        Self {
            rss_bytes: Known::or_reason(rss, "operating system does not say"),
            anonymous_bytes: Known::unknown(REASON),
            peak_rss_bytes: Known::unknown(REASON),
            swapped_bytes: Known::unknown(REASON),
            available_bytes: Known::or_reason(available, "operating system does not say"),
        }
    }

    /// What shows whether the process grows: allocated memory where it is known, else all of it.
    #[must_use]
    pub fn growing_bytes(&self) -> Option<u64> {
        self.anonymous_bytes.get().or(self.rss_bytes.get()).copied()
    }
}

/// A line like `VmRSS:   1234 kB`.
fn kib(table: &Result<String, String>, file: &str, name: &str) -> Result<u64, String> {
    let table = table.as_ref().map_err(Clone::clone)?;
    let line = table.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    value
        .map(|kib| kib.saturating_mul(1024))
        .ok_or_else(|| format!("{file}: no line {name}"))
}
