//! What the machine draws: a Jetson's rails, a battery's discharge, the processor's energy counters.

use serde::{Deserialize, Serialize};

use crate::machine::Known;
use crate::machine::board;
use crate::machine::source::{Platform, Source, into_known};

const HWMON: &str = "sys/class/hwmon";
const POWERCAP: &str = "sys/class/powercap";
const SUPPLIES: &str = "sys/class/power_supply";

/// Power and energy at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumption {
    /// Supply rails that have a monitor (Jetson), each by itself: on some boards one of them contains the others.
    pub rails: Known<Vec<Rail>>,
    /// The whole board by its documented rails, mW.
    pub total_milliwatts: Known<u64>,
    /// What the battery gives, mW.
    pub battery_milliwatts: Known<u64>,
    /// The processor's energy counters.
    pub energy: Known<Vec<EnergyCounter>>,
}

/// A supply rail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rail {
    /// Its name on the board, e.g. `VDD_GPU_SOC`.
    pub name: String,
    /// Power, mW.
    pub milliwatts: u64,
}

/// A counter of energy that only grows, and begins again at 0 above its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyCounter {
    /// What it counts, e.g. `package-0`.
    pub name: String,
    /// Energy, µJ.
    pub microjoules: u64,
    /// The largest value before it begins again, µJ.
    pub range_microjoules: Known<u64>,
}

/// Boards, by a part of a name in the device tree's `compatible`, and the rails whose sum is the whole.
///
/// AGX Orin (P3701): the three inputs of the module; `VDDQ_VDD2_1V8AO` is contained in `VIN_SYS_5V0`. Orin NX and Nano
/// (P3767), Xavier NX (P3668): `VDD_IN` contains the others. (Jetson Linux Developer Guide, "Power and Performance".)
/// Thor (T264): `VIN`, the carrier board's input (jetson_stats, pull request 900).
const BOARDS: [(&str, &[&str]); 4] = [
    ("p3701", &["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"]),
    ("p3767", &["VDD_IN"]),
    ("p3668", &["VDD_IN"]),
    ("tegra264", &["VIN"]),
];

impl Consumption {
    /// Reads it.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        if source.platform != Platform::Linux {
            const REASON: &str = "only read on Linux";
            return Self {
                rails: Known::unknown(REASON),
                total_milliwatts: Known::unknown(REASON),
                battery_milliwatts: Known::unknown(REASON),
                energy: Known::unknown(REASON),
            };
        }
        let rails = rails(source);
        Self {
            total_milliwatts: into_known(total(source, &rails)),
            rails: Known::or_reason(
                (!rails.is_empty()).then_some(rails),
                "no INA3221 or INA238 monitor in /sys/class/hwmon",
            ),
            battery_milliwatts: into_known(battery(source)),
            energy: into_known(energy(source)),
        }
    }
}

/// Sums the rails that the board's documentation names; of an unknown board nobody knows which contain which.
fn total(source: &Source, rails: &[Rail]) -> Result<u64, String> {
    if rails.is_empty() {
        return Err("no rail has a monitor".to_owned());
    }
    let names = board::compatible(source)?;
    let documented = |(part, _): &&(&str, &[&str])| names.iter().any(|name| name.contains(part));
    let Some((_, parts)) = BOARDS.iter().find(documented) else {
        return Err(format!(
            "board {}: which rails contain which is not documented here",
            names.first().map_or("unknown", String::as_str)
        ));
    };
    parts.iter().try_fold(0u64, |sum, name| {
        let rail = rails.iter().find(|rail| rail.name == *name);
        let rail = rail.ok_or_else(|| format!("rail {name} has no reading"))?;
        Ok(sum.saturating_add(rail.milliwatts))
    })
}

fn rails(source: &Source) -> Vec<Rail> {
    let mut rails = Vec::new();
    for chip in source.names(HWMON, "hwmon") {
        let dir = format!("{HWMON}/{chip}");
        match source.text(&format!("{dir}/name")).as_deref() {
            Ok("ina3221") => rails.extend((1..=3).filter_map(|n| ina3221(source, &dir, n))),
            Ok("ina238") => rails.extend(ina238(source, &dir)),
            _ => {}
        }
    }
    rails
}

/// A channel of an INA3221: the driver gives mV and mA.
fn ina3221(source: &Source, dir: &str, channel: u32) -> Option<Rail> {
    let name = source.text(&format!("{dir}/in{channel}_label")).ok()?;
    let millivolts: u64 = source.number(&format!("{dir}/in{channel}_input")).ok()?;
    let milliamperes: u64 = source.number(&format!("{dir}/curr{channel}_input")).ok()?;
    (name != "NC").then(|| Rail {
        name,
        milliwatts: millivolts.saturating_mul(milliamperes) / 1000,
    })
}

/// An INA238, of which a Thor has one, at the board's input: the driver gives µW.
fn ina238(source: &Source, dir: &str) -> Option<Rail> {
    let microwatts: u64 = source.number(&format!("{dir}/power1_input")).ok()?;
    let label = source.text(&format!("{dir}/in1_label"));
    Some(Rail {
        name: label.unwrap_or_else(|_| "VIN".to_owned()),
        milliwatts: microwatts / 1000,
    })
}

/// What the batteries give together while they discharge.
fn battery(source: &Source) -> Result<u64, String> {
    let mut sum = None;
    for name in source.names(SUPPLIES, "") {
        let dir = format!("{SUPPLIES}/{name}");
        let text = |file: &str| source.text(&format!("{dir}/{file}"));
        let its_own = text("scope").as_deref() != Ok("Device");
        if text("type").as_deref() != Ok("Battery") || !its_own {
            continue;
        }
        if text("status").as_deref() != Ok("Discharging") {
            continue;
        }
        // Batteries report µW, or µA and µV. Some drivers give a current that leaves a negative sign.
        let number = |file: &str| source.number::<i64>(&format!("{dir}/{file}")).ok();
        let product = || {
            let (current, voltage) = (number("current_now")?, number("voltage_now")?);
            Some(i128::from(current) * i128::from(voltage) / 1_000_000)
        };
        let microwatts = number("power_now").map(i128::from).or_else(product);
        if let Some(microwatts) = microwatts {
            let milliwatts = u64::try_from(microwatts.unsigned_abs() / 1000).unwrap_or(u64::MAX);
            sum = Some(sum.unwrap_or(0u64).saturating_add(milliwatts));
        }
    }
    sum.ok_or_else(|| format!("/{SUPPLIES}: no battery discharges"))
}

/// RAPL's counters of whole packages; their parts are contained in them. Most systems show them to root only.
fn energy(source: &Source) -> Result<Vec<EnergyCounter>, String> {
    let zones = source.names(POWERCAP, "intel-rapl:").into_iter();
    let zones: Vec<String> = zones
        .filter(|zone| zone.matches(':').count() == 1)
        .collect();
    let counter = |zone: &String| {
        let dir = format!("{POWERCAP}/{zone}");
        let name = source.text(&format!("{dir}/name"));
        Ok(EnergyCounter {
            name: name.unwrap_or_else(|_| zone.clone()),
            microjoules: source.number(&format!("{dir}/energy_uj"))?,
            range_microjoules: into_known(source.number(&format!("{dir}/max_energy_range_uj"))),
        })
    };
    match zones.is_empty() {
        true => Err(format!("/{POWERCAP}: no RAPL package")),
        false => zones.iter().map(counter).collect(),
    }
}
