//! Temperatures.

use serde::{Deserialize, Serialize};
use sysinfo::Components;

use crate::machine::Known;
use crate::machine::source::{Platform, Source};

const HWMON: &str = "sys/class/hwmon";
const THERMAL: &str = "sys/class/thermal";

/// What a sensor can mean; a Jetson's zone without power says −256 °C, and some firmware says thousands.
const PLAUSIBLE: std::ops::Range<f64> = -40.0..150.0;

/// A sensor's reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Temperature {
    /// The sensor, e.g. `k10temp Tctl`.
    pub sensor: String,
    /// Its temperature, °C.
    pub celsius: f64,
}

/// Every sensor that can be read.
pub(super) fn read(source: &Source) -> Known<Vec<Temperature>> {
    let (found, reason) = match source.platform {
        Platform::Linux => {
            let mut found = chips(source);
            found.extend(zones(source));
            (
                found,
                "no sensor in /sys/class/hwmon and /sys/class/thermal",
            )
        }
        Platform::Mac | Platform::Other if source.here => {
            (components(), "the system shows no sensor")
        }
        Platform::Mac | Platform::Other => (Vec::new(), "the system shows no sensor"),
    };
    Known::or_reason((!found.is_empty()).then_some(found), reason)
}

fn chips(source: &Source) -> Vec<Temperature> {
    let mut found = Vec::new();
    for chip in source.names(HWMON, "hwmon") {
        let dir = format!("{HWMON}/{chip}");
        let name = source.text(&format!("{dir}/name")).unwrap_or(chip);
        for file in source.names(&dir, "temp") {
            let Some(sensor) = file.strip_suffix("_input") else {
                continue;
            };
            let label = source.text(&format!("{dir}/{sensor}_label"));
            let label = format!("{name} {}", label.as_deref().unwrap_or(sensor));
            found.extend(reading(source, label, &format!("{dir}/{file}")));
        }
    }
    found
}

fn zones(source: &Source) -> Vec<Temperature> {
    let zones = source.names(THERMAL, "thermal_zone").into_iter();
    zones
        .filter_map(|zone| {
            let dir = format!("{THERMAL}/{zone}");
            let label = source.text(&format!("{dir}/type")).unwrap_or(zone);
            reading(source, label, &format!("{dir}/temp"))
        })
        .collect()
}

/// A file in thousandths of a degree.
fn reading(source: &Source, sensor: String, file: &str) -> Option<Temperature> {
    let celsius = source.number::<f64>(file).ok()? / 1000.0;
    PLAUSIBLE
        .contains(&celsius)
        .then_some(Temperature { sensor, celsius })
}

/// What other systems show.
fn components() -> Vec<Temperature> {
    let components = Components::new_with_refreshed_list();
    components
        .iter()
        .filter_map(|component| {
            let celsius = f64::from(component.temperature()?);
            PLAUSIBLE.contains(&celsius).then(|| Temperature {
                sensor: component.label().to_owned(),
                celsius,
            })
        })
        .collect()
}
