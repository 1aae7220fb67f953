//! Graphics processors: NVIDIA's as `nvidia-smi` describes them, AMD's as the kernel does.
//!
//! `nvidia-smi` reads NVML for us, runs only between turns, and what it prints can be tested without a device.

use serde::{Deserialize, Serialize};

use crate::machine::Known;
use crate::machine::source::{Platform, Source, into_known};

const DRM: &str = "sys/class/drm";

/// A graphics processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its name.
    pub name: Known<String>,
    /// Version of its driver.
    pub driver: Known<String>,
    /// Its power state or mode: `P0` to `P15` (NVIDIA), `auto`, `high`, … (AMD).
    pub power_mode: Known<String>,
    /// Its memory, MiB.
    pub memory_mib: Known<u64>,
    /// Memory in use by all programs, MiB.
    pub memory_used_mib: Known<u64>,
    /// Clock of the shaders now, MHz.
    pub clock_mhz: Known<u32>,
    /// Their highest clock, MHz.
    pub clock_max_mhz: Known<u32>,
    /// Clock of the memory now, MHz.
    pub memory_clock_mhz: Known<u32>,
    /// Power, W.
    pub power_watts: Known<f64>,
    /// Limit of the power, W.
    pub power_limit_watts: Known<f64>,
    /// Temperature, °C.
    pub celsius: Known<f64>,
}

/// What is asked of `nvidia-smi`, in the order of the columns. All are known to drivers since 2015: one unknown field
/// would make it refuse the whole question.
const FIELDS: [&str; 11] = [
    "name",
    "driver_version",
    "pstate",
    "memory.total",
    "memory.used",
    "clocks.current.sm",
    "clocks.max.sm",
    "clocks.current.memory",
    "power.draw",
    "power.limit",
    "temperature.gpu",
];

/// All that can be read.
pub(super) fn read(source: &Source) -> Known<Vec<Gpu>> {
    if source.platform != Platform::Linux {
        return Known::unknown("only read on Linux");
    }
    let amd = amd(source);
    let nvidia = nvidia(source);
    let reason = match &nvidia {
        Err(reason) => reason.clone(),
        Ok(_) => String::new(),
    };
    let mut all = nvidia.unwrap_or_default();
    all.extend(amd);
    Known::or_reason((!all.is_empty()).then_some(all), &reason)
}

/// The program is not started where its driver is not loaded. On a Jetson the driver is another, and the program, where
/// it is there, knows the device's name and little more.
fn nvidia(source: &Source) -> Result<Vec<Gpu>, String> {
    source
        .text("proc/driver/nvidia/version")
        .map_err(|reason| format!("no NVIDIA driver ({reason}), and no amdgpu"))?;
    let query = format!("--query-gpu={}", FIELDS.join(","));
    let text = source.output("nvidia-smi", &[&query, "--format=csv,noheader,nounits"])?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(row)
        .collect()
}

/// A line of comma-separated values.
fn row(line: &str) -> Result<Gpu, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    // Names have no comma, but a column that is missing or one too many would shift all others.
    let Ok(cells) = <[&str; FIELDS.len()]>::try_from(cells) else {
        return Err(format!(
            "nvidia-smi: found {line:?}, expected {} values",
            FIELDS.len()
        ));
    };
    let [
        name,
        driver,
        state,
        memory,
        used,
        clock,
        clock_max,
        memory_clock,
        power,
        limit,
        celsius,
    ] = cells;
    Ok(Gpu {
        name: value(name),
        driver: value(driver),
        power_mode: value(state),
        memory_mib: value(memory),
        memory_used_mib: value(used),
        clock_mhz: value(clock),
        clock_max_mhz: value(clock_max),
        memory_clock_mhz: value(memory_clock),
        power_watts: value(power),
        power_limit_watts: value(limit),
        celsius: value(celsius),
    })
}

/// A cell; `[N/A]`, `[Not Supported]` and the like stand for nothing.
fn value<T: std::str::FromStr>(cell: &str) -> Known<T> {
    let none = cell.is_empty() || cell.starts_with('[') || cell == "N/A";
    match (none, cell.parse()) {
        (false, Ok(value)) => Known::new(value),
        _ => Known::unknown(format!("nvidia-smi says {cell:?}")),
    }
}

/// Cards that the kernel drives with `amdgpu`: those of Strix Halo use the host's memory as GTT.
fn amd(source: &Source) -> Vec<Gpu> {
    let cards = source.names(DRM, "card").into_iter();
    // Connectors are named like card0-DP-1.
    cards
        .filter(|card| !card.contains('-'))
        .filter(|card| {
            source
                .text(&format!("{DRM}/{card}/device/vendor"))
                .as_deref()
                == Ok("0x1002")
        })
        .map(|card| amd_card(source, &format!("{DRM}/{card}/device")))
        .collect()
}

fn amd_card(source: &Source, dir: &str) -> Gpu {
    let hwmon = source.names(&format!("{dir}/hwmon"), "hwmon");
    let hwmon = hwmon
        .first()
        .map_or_else(String::new, |chip| format!("{dir}/hwmon/{chip}"));
    let sensor = |file: &str, unit: f64| {
        into_known(
            source
                .number::<f64>(&format!("{hwmon}/{file}"))
                .map(|n| n / unit),
        )
    };
    let mib = |file: &str| {
        into_known(
            source
                .number::<u64>(&format!("{dir}/{file}"))
                .map(|n| n >> 20),
        )
    };
    let clocks = |file: &str, pick: fn(&str) -> Option<u32>| {
        let text = source.text(&format!("{dir}/{file}"));
        into_known(text.and_then(|text| {
            pick(&text).ok_or_else(|| format!("/{dir}/{file}: no clock is marked"))
        }))
    };
    Gpu {
        name: source.known(&format!("{dir}/product_name")),
        driver: source.known("sys/module/amdgpu/version"),
        power_mode: source.known(&format!("{dir}/power_dpm_force_performance_level")),
        memory_mib: mib("mem_info_vram_total"),
        memory_used_mib: mib("mem_info_vram_used"),
        clock_mhz: clocks("pp_dpm_sclk", active_clock),
        clock_max_mhz: clocks("pp_dpm_sclk", |text| text.lines().filter_map(clock).max()),
        memory_clock_mhz: clocks("pp_dpm_mclk", active_clock),
        power_watts: sensor("power1_average", 1e6),
        power_limit_watts: sensor("power1_cap", 1e6),
        celsius: sensor("temp1_input", 1e3),
    }
}

/// The line that ends in `*` of a table like `1: 1100Mhz *`.
fn active_clock(table: &str) -> Option<u32> {
    table
        .lines()
        .find(|line| line.ends_with('*'))
        .and_then(clock)
}

fn clock(line: &str) -> Option<u32> {
    let text = line.split_whitespace().nth(1)?.to_ascii_lowercase();
    text.strip_suffix("mhz")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_nvidia_smi_is_read() {
        let line = "NVIDIA GeForce RTX 4090 Laptop GPU, 550.54.14, P8, 16376, 12, 210, 3105, 405, 5.12, 175.00, 41";
        let gpu = row(line).expect("a row");
        assert_eq!(gpu.clock_max_mhz.get(), Some(&3105));
        assert_eq!(gpu.power_limit_watts.get(), Some(&175.0));
        assert_eq!(gpu.power_mode.get().map(String::as_str), Some("P8"));
    }

    #[test]
    fn what_is_not_supported_is_null_with_the_reason() {
        let line =
            "NVIDIA GB10, 580.95.05, P8, [N/A], [N/A], 208, 3003, [N/A], 4.61, [Not Supported], 38";
        let gpu = row(line).expect("a row");
        assert_eq!(gpu.memory_mib.get(), None);
        assert_eq!(gpu.memory_mib.reason(), Some("nvidia-smi says \"[N/A]\""));
        assert_eq!(gpu.power_limit_watts.get(), None);
        assert_eq!(gpu.celsius.get(), Some(&38.0));
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            "a, b",
            "Failed to initialize NVML: Driver/library version mismatch",
        ] {
            assert!(
                row(line)
                    .expect_err("no row")
                    .contains("expected 11 values")
            );
        }
    }

    #[test]
    fn the_active_clock_is_marked() {
        let table = "0: 600Mhz\n1: 1100Mhz *\n2: 2900Mhz";
        assert_eq!(active_clock(table), Some(1100));
        assert_eq!(table.lines().filter_map(clock).max(), Some(2900));
        assert_eq!(active_clock("S: 19Mhz"), None);
    }
}
