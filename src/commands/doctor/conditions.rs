//! Power, clocks and heat: as they are, and what to change before measuring.

use super::findings::{Finding, Standing};
use super::page::{pair, text};
use crate::machine::{Clocks, Conditions, Gpu, Known, Power, PowerSource};
use crate::output::decimal;

/// A machine that is this hot before it works will not hold its clocks, °C.
const HOT: f64 = 80.0;

/// What stands in the page.
pub(super) fn pairs(conditions: &Conditions) -> Vec<(String, String)> {
    let power = &conditions.power;
    let mut pairs = vec![
        pair("power mode", text(&power.mode())),
        pair("frequency governor", text(&power.governor)),
        pair("power source", source(power)),
        pair("processor clock", clock(&conditions.clocks)),
        pair("hottest sensor", hottest(conditions)),
    ];
    let gpus = conditions.gpus.get().into_iter().flatten();
    pairs.extend(gpus.map(|gpu| pair("GPU", self::gpu(gpu))));
    if let Some(reason) = conditions.gpus.reason() {
        pairs.push(pair("GPU", format!("unknown ({reason})")));
    }
    pairs
}

fn source(power: &Power) -> String {
    let name = match power.source.get() {
        Some(source) => source.label().to_owned(),
        None => return text::<String>(&Known::unknown(power.source.reason().unwrap_or_default())),
    };
    match power.battery_percent.get() {
        Some(percent) => format!("{name} ({percent} %)"),
        None => name,
    }
}

fn clock(clocks: &Clocks) -> String {
    let Some(now) = clocks.cpu_fastest_mhz.get() else {
        return text(&clocks.cpu_fastest_mhz);
    };
    match (clocks.cpu_max_mhz.get(), clocks.cpu_hardware_max_mhz.get()) {
        (Some(max), Some(hardware)) if max < hardware => {
            format!("{now} MHz now, limited to {max} of {hardware} MHz")
        }
        (Some(max), _) => format!("{now} MHz now, up to {max} MHz"),
        (None, _) => format!("{now} MHz now"),
    }
}

fn hottest(conditions: &Conditions) -> String {
    let hottest = conditions.hottest();
    match hottest.get() {
        Some(t) => format!("{} °C ({})", decimal(Some(t.celsius), 1), t.sensor),
        None => format!("unknown ({})", hottest.reason().unwrap_or_default()),
    }
}

fn gpu(gpu: &Gpu) -> String {
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let number = |value: &Known<f64>| known(value.get().map(f64::to_string));
    format!(
        "{}, driver {}, {}, {} of {} MHz, {} of {} W, {} °C",
        known(gpu.name.get().cloned()),
        known(gpu.driver.get().cloned()),
        known(gpu.power_mode.get().cloned()),
        known(gpu.clock_mhz.get().map(u32::to_string)),
        known(gpu.clock_max_mhz.get().map(u32::to_string)),
        number(&gpu.power_watts),
        number(&gpu.power_limit_watts),
        number(&gpu.celsius),
    )
}

/// What to change before measuring; nothing about what is unknown, as most of it is in virtual machines.
pub(super) fn findings(conditions: &Conditions) -> Vec<Finding> {
    let power = &conditions.power;
    let found = [
        power_mode(power),
        governor(power),
        power_source(power),
        temperature(conditions),
    ];
    found.into_iter().flatten().collect()
}

fn power_mode(power: &Power) -> Option<Finding> {
    const NAME: &str = "power mode";
    let slow = |mode: &str, command: &str| {
        Finding::new(
            NAME,
            Standing::Note,
            format!("{mode}: slower than this machine can be"),
        )
        .command(command)
    };
    if let Some(model) = power.nvpmodel.get() {
        return Some(match model.starts_with("MAXN") {
            true => Finding::new(NAME, Standing::Ok, model.as_str()),
            false => slow(
                &format!("{model} (/etc/nvpmodel.conf has the number N of MAXN)"),
                "sudo nvpmodel -m N && sudo jetson_clocks",
            ),
        });
    }
    if let Some(profile) = power.platform_profile.get() {
        return Some(match profile == "performance" {
            true => Finding::new(NAME, Standing::Ok, profile.as_str()),
            false => slow(profile, "powerprofilesctl set performance"),
        });
    }
    Some(match power.low_power_mode.get()? {
        false => Finding::new(NAME, Standing::Ok, "normal"),
        true => slow("low power", "sudo pmset -a lowpowermode 0"),
    })
}

fn governor(power: &Power) -> Option<Finding> {
    const NAME: &str = "frequency governor";
    let governor = power.governor.get()?;
    Some(match governor == "performance" {
        true => Finding::new(NAME, Standing::Ok, governor.as_str()),
        false => Finding::new(
            NAME,
            Standing::Note,
            format!("{governor}: turns may start slow"),
        )
        .command("cpupower frequency-set -g performance"),
    })
}

fn power_source(power: &Power) -> Option<Finding> {
    const NAME: &str = "power source";
    Some(match power.source.get()? {
        PowerSource::Ac => Finding::new(NAME, Standing::Ok, source(power)),
        PowerSource::Battery => Finding::new(
            NAME,
            Standing::Note,
            format!(
                "{}: most machines lower their clocks; plug it in",
                source(power)
            ),
        ),
    })
}

fn temperature(conditions: &Conditions) -> Option<Finding> {
    const NAME: &str = "temperature";
    let celsius = conditions.hottest().get()?.celsius;
    let text = hottest(conditions);
    Some(match celsius < HOT {
        true => Finding::new(NAME, Standing::Ok, text),
        false => Finding::new(
            NAME,
            Standing::Note,
            format!("{text}: hot before it works; let it cool, and see what else runs"),
        ),
    })
}
