//! The machine a result was measured on: `machine.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, Disks, MemoryRefreshKind, System};

use super::cgroup::Limits;
use super::{Board, Conditions, Device, Known, Source};

/// Layout version of [`Machine`].
pub const MACHINE_SCHEMA: u32 = 1;

const SILENT: &str = "operating system does not say";

/// What a result was measured on. The host's name is left out: results are published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Layout version, [`MACHINE_SCHEMA`].
    pub schema: u32,
    /// The operating system.
    pub os: Os,
    /// The board.
    pub board: Board,
    /// The processor.
    pub cpu: Cpu,
    /// Memory of the host.
    pub memory: Memory,
    /// What a control group (container) leaves of it.
    pub limits: ProcessLimits,
    /// The file system that the results go to.
    pub disk: Known<Disk>,
    /// Devices that llama.cpp sees, the processor among them.
    pub devices: Vec<Device>,
    /// Power, clocks and heat when this was written.
    pub conditions: Conditions,
    /// What ran.
    pub software: Software,
}

/// The operating system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Os {
    /// Name, e.g. `Ubuntu`.
    pub name: Known<String>,
    /// Version, e.g. `24.04`.
    pub version: Known<String>,
    /// Version of the kernel.
    pub kernel: Known<String>,
}

/// The processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Brand, as the processor names itself.
    pub brand: Known<String>,
    /// Instruction set, e.g. `x86_64`.
    pub arch: String,
    /// Physical cores of the machine.
    pub physical_cores: Known<u32>,
    /// Logical cores of the machine.
    pub logical_cores: Known<u32>,
    /// Logical cores that this process may use (affinity and quota).
    pub available_cores: Known<u32>,
}

/// Memory of the host at the time of asking, bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// All of it.
    pub total_bytes: Known<u64>,
    /// What can be allocated without swapping: free, plus caches that the kernel gives up.
    pub available_bytes: Known<u64>,
    /// Swap space.
    pub swap_total_bytes: u64,
    /// Unused swap space.
    pub swap_free_bytes: u64,
}

/// Limits of the control group, null where it does not restrict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessLimits {
    /// `memory.max`, bytes.
    pub memory_bytes: Known<u64>,
    /// What is left of it, bytes.
    pub memory_free_bytes: Known<u64>,
    /// `cpu.max`, processors.
    pub cpus: Known<f64>,
}

/// A file system, bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its type, e.g. `ext4`.
    pub file_system: String,
    /// Its size.
    pub total_bytes: u64,
    /// What an ordinary user can still write.
    pub free_bytes: u64,
}

/// What ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// This program's version.
    pub edge_agentic: String,
    /// The llama.cpp build, e.g. `b11434`.
    pub llama_cpp: String,
    /// Versions of the crates that carry it.
    pub crates: String,
    /// Backend libraries loaded at run time, by file name.
    #[serde(default = "compiled_in")]
    pub backend_libraries: Known<Vec<String>>,
}

/// Of results from before libraries could be loaded, and of tests.
fn compiled_in() -> Known<Vec<String>> {
    Known::unknown("the backends are compiled in")
}

impl Software {
    /// This program with the llama.cpp build and the crate versions that the caller links, and the libraries that it
    /// has loaded.
    #[must_use]
    pub fn this_program(
        llama_cpp: &str,
        crates: &str,
        backend_libraries: Known<Vec<String>>,
    ) -> Self {
        Self {
            edge_agentic: env!("CARGO_PKG_VERSION").to_owned(),
            llama_cpp: llama_cpp.to_owned(),
            crates: crates.to_owned(),
            backend_libraries,
        }
    }
}

/// Describes this machine, for results that go to `out` (which need not exist yet).
#[must_use]
pub fn describe(out: &Path, devices: Vec<Device>, software: Software) -> Machine {
    let limits = Limits::of_this_process();
    let source = Source::this_machine();
    Machine {
        schema: MACHINE_SCHEMA,
        os: Os {
            name: Known::or_reason(System::name(), SILENT),
            version: Known::or_reason(System::os_version(), SILENT),
            kernel: Known::or_reason(System::kernel_version(), SILENT),
        },
        board: Board::read(&source),
        cpu: cpu(),
        memory: memory(),
        limits: process_limits(limits),
        disk: Known::or_reason(disk(out), "no mounted file system holds the path"),
        devices,
        conditions: Conditions::read(&source),
        software,
    }
}

/// Host memory that this process can still allocate, bytes: what the machine has available, or less where a
/// control group leaves less. `None` where the operating system does not say.
#[must_use]
pub fn host_memory_available() -> Option<u64> {
    let machine = memory().available_bytes.get().copied();
    let group = Limits::of_this_process().and_then(|l| l.memory_free_bytes);
    match (machine, group) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

fn cpu() -> Cpu {
    let mut system = System::new();
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    let brand = system
        .cpus()
        .first()
        .map(|cpu| cpu.brand().trim().to_owned());
    let cores = |n: Option<usize>| n.and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0);
    let available = std::thread::available_parallelism().ok().map(usize::from);
    Cpu {
        brand: Known::or_reason(brand.filter(|b| !b.is_empty()), SILENT),
        arch: System::cpu_arch(),
        physical_cores: Known::or_reason(cores(System::physical_core_count()), SILENT),
        logical_cores: Known::or_reason(cores(Some(system.cpus().len())), SILENT),
        available_cores: Known::or_reason(cores(available), SILENT),
    }
}

fn memory() -> Memory {
    let mut system = System::new();
    system.refresh_memory_specifics(MemoryRefreshKind::everything());
    let total = system.total_memory();
    // Where nothing is known everything is 0.
    let known = |bytes| Known::or_reason((total > 0).then_some(bytes), SILENT);
    Memory {
        total_bytes: known(total),
        available_bytes: known(system.available_memory()),
        swap_total_bytes: system.total_swap(),
        swap_free_bytes: system.free_swap(),
    }
}

fn process_limits(limits: Option<Limits>) -> ProcessLimits {
    let reason = match limits {
        Some(_) => "not restricted",
        None => "no control groups",
    };
    let limits = limits.unwrap_or_default();
    ProcessLimits {
        memory_bytes: Known::or_reason(limits.memory_bytes, reason),
        memory_free_bytes: Known::or_reason(limits.memory_free_bytes, reason),
        cpus: Known::or_reason(limits.cpus, reason),
    }
}

/// The file system of `path`, or of its nearest ancestor that exists: the one mounted deepest above it.
fn disk(path: &Path) -> Option<Disk> {
    let absolute = std::path::absolute(path).ok()?;
    let real: PathBuf = absolute.ancestors().find_map(|p| p.canonicalize().ok())?;
    let disks = Disks::new_with_refreshed_list();
    let holding = disks.iter().filter(|d| real.starts_with(d.mount_point()));
    let disk = holding.max_by_key(|d| d.mount_point().components().count())?;
    Some(Disk {
        file_system: disk.file_system().to_string_lossy().into_owned(),
        total_bytes: disk.total_space(),
        free_bytes: disk.available_space(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described_and_read_back() {
        let devices = vec![Device::new(
            "CPU",
            "a processor",
            "CPU",
            "cpu",
            1 << 30,
            1 << 29,
        )];
        let software = Software::this_program("b1", "llama-cpp-2 0", compiled_in());
        let machine = describe(Path::new("not/there/yet"), devices, software);
        let json = serde_json::to_string(&machine).expect("plain data");
        let back: Machine = serde_json::from_str(&json).expect("our own JSON");
        assert_eq!(back, machine);
        assert!(back.cpu.logical_cores.get().is_some_and(|&n| n > 0));
        assert!(host_memory_available().is_some_and(|n| n > 0));
        // Results are published.
        if let Some(name) = System::host_name().filter(|n| n.len() > 8) {
            assert!(!json.contains(&name));
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        let json = r#"{"name":{"value":"x"},"version":{"value":"1"},"kernel":{"value":"2"},"x":1}"#;
        assert!(serde_json::from_str::<Os>(json).is_err());
    }
}
