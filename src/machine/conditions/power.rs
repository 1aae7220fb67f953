//! Modes that trade speed for power, and where the power comes from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machine::Known;
use crate::machine::source::{Platform, Source, into_known};

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
/// Why Linux has no mode of Apple's.
const OF_MACOS: &str = "macOS has it";
const SUPPLIES: &str = "sys/class/power_supply";

/// Power settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// ACPI platform profile, e.g. `low-power`, `balanced`, `performance`.
    pub platform_profile: Known<String>,
    /// NVIDIA Jetson's power model, e.g. `MAXN`.
    pub nvpmodel: Known<String>,
    /// Apple's low power mode.
    pub low_power_mode: Known<bool>,
    /// How the kernel chooses the processor's frequency; several where its cores differ.
    pub governor: Known<String>,
    /// What the processor is asked to prefer, e.g. `balance_performance`.
    pub energy_performance_preference: Known<String>,
    /// Where the power comes from.
    pub source: Known<PowerSource>,
    /// Charge of the battery, percent.
    pub battery_percent: Known<u32>,
}

/// Where the power comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerSource {
    /// The mains, or a charger.
    Ac,
    /// The battery.
    Battery,
}

impl PowerSource {
    /// For people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ac => "AC",
            Self::Battery => "battery",
        }
    }
}

impl Power {
    /// Reads them.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        match source.platform {
            Platform::Linux => Self::of_linux(source),
            Platform::Mac => Self::of_mac(source),
            Platform::Other => Self::unknown("only read on Linux and macOS"),
        }
    }

    fn unknown(reason: &str) -> Self {
        let none = || Known::unknown(reason);
        Self {
            platform_profile: none(),
            nvpmodel: none(),
            low_power_mode: Known::unknown(reason),
            governor: none(),
            energy_performance_preference: none(),
            source: Known::unknown(reason),
            battery_percent: Known::unknown(reason),
        }
    }

    fn of_linux(source: &Source) -> Self {
        let supplies = Supplies::read(source);
        Self {
            platform_profile: source.known("sys/firmware/acpi/platform_profile"),
            nvpmodel: into_known(nvpmodel(source)),
            low_power_mode: Known::unknown(OF_MACOS),
            governor: of_policies(source, "scaling_governor"),
            energy_performance_preference: of_policies(source, "energy_performance_preference"),
            source: supplies.power_source(),
            battery_percent: Known::or_reason(supplies.battery_percent, "no battery"),
        }
    }

    fn of_mac(source: &Source) -> Self {
        let settings = source.output("pmset", &["-g"]);
        let battery = source.output("pmset", &["-g", "batt"]);
        Self {
            low_power_mode: into_known(settings.and_then(|text| low_power_mode(&text))),
            source: into_known(battery.clone().and_then(|text| mac_source(&text))),
            battery_percent: into_known(battery.and_then(|text| mac_charge(&text))),
            ..Self::unknown("Linux has it")
        }
    }

    /// The machine's power mode in one word: Jetson's model, else the platform profile, else Apple's mode.
    #[must_use]
    pub fn mode(&self) -> Known<String> {
        let apple = self.low_power_mode.get();
        let apple = apple.map(|on| if *on { "low power" } else { "normal" }.to_owned());
        let named = self.nvpmodel.get().or(self.platform_profile.get()).cloned();
        let reason = match self.low_power_mode.reason() {
            Some(OF_MACOS) | None => self.platform_profile.reason(),
            asked => asked,
        };
        Known::or_reason(named.or(apple), reason.unwrap_or_default())
    }
}

/// The distinct values of a file over all frequency policies.
fn of_policies(source: &Source, file: &str) -> Known<String> {
    let policies = source.names(CPUFREQ, "policy");
    let Some(first) = policies.first() else {
        return Known::unknown(format!("/{CPUFREQ}: the kernel manages no frequencies"));
    };
    let values: BTreeSet<String> = policies
        .iter()
        .filter_map(|policy| source.text(&format!("{CPUFREQ}/{policy}/{file}")).ok())
        .collect();
    let joined = values.into_iter().collect::<Vec<_>>().join(", ");
    let reason = format!("/{CPUFREQ}/{first}/{file}: not there");
    Known::or_reason((!joined.is_empty()).then_some(joined), &reason)
}

/// The name of the active power model: `/var/lib/nvpmodel/status` has its number, `/etc/nvpmodel.conf` the names.
fn nvpmodel(source: &Source) -> Result<String, String> {
    let status = source.text("var/lib/nvpmodel/status")?;
    let number = status
        .split_whitespace()
        .find_map(|word| word.strip_prefix("pmode:")?.parse::<u32>().ok())
        .ok_or_else(|| {
            format!("/var/lib/nvpmodel/status: found {status:?}, expected pmode:NUMBER")
        })?;
    let names = source.text("etc/nvpmodel.conf").unwrap_or_default();
    Ok(power_model(&names, number).unwrap_or_else(|| format!("mode {number}")))
}

/// Looks for a line like `< POWER_MODEL ID=0 NAME=MAXN >`.
fn power_model(conf: &str, number: u32) -> Option<String> {
    let lines = conf.lines().map(str::trim);
    let models =
        lines.filter_map(|line| line.strip_prefix('<')?.trim().strip_prefix("POWER_MODEL"));
    let value = |line: &str, key: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(key).map(str::to_owned))
    };
    models
        .filter(|line| value(line, "ID=").is_some_and(|id| id.parse() == Ok(number)))
        .find_map(|line| value(line, "NAME="))
}

/// What `/sys/class/power_supply` lists.
#[derive(Debug, Default)]
struct Supplies {
    mains: Option<bool>,
    discharging: Option<bool>,
    battery_percent: Option<u32>,
}

impl Supplies {
    fn read(source: &Source) -> Self {
        let mut found = Self::default();
        for name in source.names(SUPPLIES, "") {
            let text = |file: &str| source.text(&format!("{SUPPLIES}/{name}/{file}"));
            match text("type").as_deref() {
                // A battery of scope "Device" is a mouse's.
                Ok("Battery") if text("scope").as_deref() != Ok("Device") => {
                    let discharging = text("status").map(|status| status == "Discharging");
                    found.discharging = found.discharging.max(discharging.ok());
                    let charge = text("capacity").ok().and_then(|n| n.parse().ok());
                    found.battery_percent = found.battery_percent.or(charge);
                }
                Ok("Mains" | "USB") => {
                    let online = text("online").map(|online| online != "0");
                    found.mains = found.mains.max(online.ok());
                }
                _ => {}
            }
        }
        found
    }

    /// A charger that is plugged in counts even while the battery helps it out.
    fn power_source(&self) -> Known<PowerSource> {
        match (self.mains, self.discharging) {
            (Some(true), _) | (_, Some(false)) => Known::new(PowerSource::Ac),
            (_, Some(true)) => Known::new(PowerSource::Battery),
            (_, None) => Known::unknown(format!(
                "/{SUPPLIES}: no battery and no charger in use are listed, as on machines that have only a mains supply"
            )),
        }
    }
}

/// `pmset -g`: ` lowpowermode  1`, or on later systems ` powermode  1`.
fn low_power_mode(text: &str) -> Result<bool, String> {
    let value = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        ["lowpowermode", "powermode"]
            .contains(&name)
            .then(|| words.next())?
    });
    match value {
        Some(value) => Ok(value == "1"),
        None => Err("pmset names no power mode".to_owned()),
    }
}

/// `pmset -g batt`: `Now drawing from 'AC Power'`.
fn mac_source(text: &str) -> Result<PowerSource, String> {
    let name = text.split('\'').nth(1).unwrap_or_default();
    match name {
        "AC Power" => Ok(PowerSource::Ac),
        "Battery Power" => Ok(PowerSource::Battery),
        other => Err(format!(
            "pmset: found {other:?}, expected AC Power or Battery Power"
        )),
    }
}

/// `pmset -g batt`: `-InternalBattery-0 (id=1) 86%; discharging; …`.
fn mac_charge(text: &str) -> Result<u32, String> {
    text.split_whitespace()
        .find_map(|word| word.trim_end_matches(';').strip_suffix('%')?.parse().ok())
        .ok_or_else(|| "no battery".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_models_have_names() {
        let conf = "# comment\n< PM_CONFIG DEFAULT=2 >\n< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n\
                    <POWER_MODEL ID=12 NAME=MODE_30W>\n";
        assert_eq!(power_model(conf, 0).as_deref(), Some("MAXN"));
        assert_eq!(power_model(conf, 1), None);
        assert_eq!(power_model("", 0), None);
    }

    #[test]
    fn apple_says_its_mode_and_its_source() {
        let settings = "Currently in use:\n standby              1\n lowpowermode         1\n";
        assert_eq!(low_power_mode(settings), Ok(true));
        assert_eq!(low_power_mode(" powermode            0\n"), Ok(false));
        assert!(low_power_mode(" sleep 1\n").is_err());
        let battery = "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=99)\t86%; discharging; 4:02\n";
        assert_eq!(mac_source(battery), Ok(PowerSource::Battery));
        assert_eq!(mac_charge(battery), Ok(86));
        assert_eq!(
            mac_source("Now drawing from 'AC Power'\n"),
            Ok(PowerSource::Ac)
        );
        assert!(mac_charge("Now drawing from 'AC Power'\n").is_err());
        assert!(mac_source("").is_err());
    }
}
