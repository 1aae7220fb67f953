//! Clocks, and what held them down.

use serde::{Deserialize, Serialize};

use crate::machine::Known;
use crate::machine::source::{Platform, Source, into_known};

const CPU: &str = "sys/devices/system/cpu";
const DEVFREQ: &str = "sys/class/devfreq";
const HWMON: &str = "sys/class/hwmon";

/// Clocks of the processor over all its cores, and of devices that the kernel scales.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Lowest frequency that the settings allow, MHz.
    pub cpu_min_mhz: Known<u32>,
    /// Highest frequency that the settings allow, MHz.
    pub cpu_max_mhz: Known<u32>,
    /// Highest frequency that the processor has, MHz.
    pub cpu_hardware_max_mhz: Known<u32>,
    /// The slowest core now, MHz.
    pub cpu_slowest_mhz: Known<u32>,
    /// The fastest core now, MHz.
    pub cpu_fastest_mhz: Known<u32>,
    /// Devices that the kernel scales (a Jetson's GPU among them).
    pub devices: Vec<DeviceClock>,
}

/// A device that the kernel scales.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceClock {
    /// Its name, e.g. `17000000.gpu`.
    pub name: String,
    /// Lowest frequency that the settings allow, MHz.
    pub min_mhz: Known<u32>,
    /// Highest frequency that the settings allow, MHz.
    pub max_mhz: Known<u32>,
    /// Its frequency now, MHz.
    pub now_mhz: Known<u32>,
}

/// Events that held clocks down, counted since the machine started: their difference within a run is what matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttling {
    /// Thermal events of cores, added up over logical cores (Intel).
    pub core_events: Known<u64>,
    /// Thermal events of the package with most of them (Intel).
    pub package_events: Known<u64>,
    /// Over-current events (Jetson).
    pub over_current_events: Known<u64>,
}

impl Clocks {
    /// Reads them.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        if source.platform != Platform::Linux {
            let none = || Known::unknown("only read on Linux");
            return Self {
                cpu_min_mhz: none(),
                cpu_max_mhz: none(),
                cpu_hardware_max_mhz: none(),
                cpu_slowest_mhz: none(),
                cpu_fastest_mhz: none(),
                devices: Vec::new(),
            };
        }
        let now = current(source);
        let now = |pick: fn(&[u32]) -> Option<u32>| {
            into_known(
                now.clone()
                    .and_then(|all| pick(&all).ok_or_else(no_cpufreq)),
            )
        };
        let least = |all: &[u32]| all.iter().min().copied();
        let most = |all: &[u32]| all.iter().max().copied();
        let of = |file, pick: fn(&[u32]) -> Option<u32>| {
            Known::or_reason(pick(&policies(source, file)), &no_cpufreq())
        };
        Self {
            cpu_min_mhz: of("scaling_min_freq", least),
            cpu_max_mhz: of("scaling_max_freq", most),
            cpu_hardware_max_mhz: of("cpuinfo_max_freq", most),
            cpu_slowest_mhz: now(least),
            cpu_fastest_mhz: now(most),
            devices: devices(source),
        }
    }
}

fn no_cpufreq() -> String {
    format!("/{CPU}/cpufreq: the kernel manages no frequencies")
}

/// A file's kHz over all frequency policies, as MHz.
fn policies(source: &Source, file: &str) -> Vec<u32> {
    let dir = format!("{CPU}/cpufreq");
    let policies = source.names(&dir, "policy").into_iter();
    policies
        .filter_map(|policy| source.number::<u32>(&format!("{dir}/{policy}/{file}")).ok())
        .map(|khz| khz / 1000)
        .collect()
}

/// What cores run at now; from `/proc/cpuinfo` where the kernel manages no frequencies (virtual machines).
fn current(source: &Source) -> Result<Vec<u32>, String> {
    let scaled = policies(source, "scaling_cur_freq");
    if !scaled.is_empty() {
        return Ok(scaled);
    }
    let table = source.text("proc/cpuinfo")?;
    let lines = table.lines().filter(|line| line.starts_with("cpu MHz"));
    let values = lines.filter_map(|line| line.split(':').nth(1)?.trim().parse::<f64>().ok());
    Ok(values.map(|mhz| mhz.round() as u32).collect())
}

fn devices(source: &Source) -> Vec<DeviceClock> {
    let names = source.names(DEVFREQ, "").into_iter();
    names
        .map(|name| {
            let mhz = |file: &str| {
                let hertz = source.number::<u64>(&format!("{DEVFREQ}/{name}/{file}"));
                into_known(hertz.map(|hz| u32::try_from(hz / 1_000_000).unwrap_or(u32::MAX)))
            };
            DeviceClock {
                min_mhz: mhz("min_freq"),
                max_mhz: mhz("max_freq"),
                now_mhz: mhz("cur_freq"),
                name,
            }
        })
        .collect()
}

impl Throttling {
    /// Reads them.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        let of_cores = |file: &str| -> Vec<u64> {
            let cores = source.names(CPU, "cpu").into_iter();
            cores
                .filter_map(|core| {
                    source
                        .number(&format!("{CPU}/{core}/thermal_throttle/{file}"))
                        .ok()
                })
                .collect()
        };
        let (core, package) = (
            of_cores("core_throttle_count"),
            of_cores("package_throttle_count"),
        );
        let reason = match source.platform {
            Platform::Linux => "the kernel counts none for this processor",
            Platform::Mac | Platform::Other => "only read on Linux",
        };
        let known = |value: Option<u64>| Known::or_reason(value, reason);
        Self {
            core_events: known((!core.is_empty()).then(|| sum(&core))),
            package_events: known(package.iter().max().copied()),
            over_current_events: known(over_current(source)),
        }
    }

    /// All events together; unknown where none is counted.
    #[must_use]
    pub fn events(&self) -> Known<u64> {
        let kinds = [
            &self.core_events,
            &self.package_events,
            &self.over_current_events,
        ];
        let counts: Vec<u64> = kinds.iter().filter_map(|k| k.get().copied()).collect();
        let reason = self.core_events.reason().unwrap_or_default();
        Known::or_reason((!counts.is_empty()).then(|| sum(&counts)), reason)
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
}

/// Counters like `oc1_event_cnt` of a Jetson's over-current monitor.
fn over_current(source: &Source) -> Option<u64> {
    let mut counts = Vec::new();
    for chip in source.names(HWMON, "hwmon") {
        for file in source.names(&format!("{HWMON}/{chip}"), "oc") {
            if file.ends_with("_event_cnt") {
                counts.extend(source.number::<u64>(&format!("{HWMON}/{chip}/{file}")));
            }
        }
    }
    (!counts.is_empty()).then(|| sum(&counts))
}
