//! What a machine's speed depends on besides what it is, at one moment: power, clocks, heat. Measuring reads files
//! between turns, never beside one.

mod clocks;
mod consumption;
mod gpu;
mod heat;
mod moment;
mod power;
mod process;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::clocks::{Clocks, DeviceClock, Throttling};
pub use self::consumption::{Consumption, EnergyCounter, Rail};
pub use self::gpu::Gpu;
pub use self::heat::Temperature;
pub use self::moment::{MOMENT_SCHEMA, Moment, Occasion, Phase};
pub use self::power::{Power, PowerSource};
pub use self::process::ProcessMemory;
use super::Known;
use super::source::Source;

/// The conditions at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Modes that trade speed for power, and where the power comes from.
    pub power: Power,
    /// Clocks of processor and devices.
    pub clocks: Clocks,
    /// Events that held clocks down since the machine started.
    pub throttling: Throttling,
    /// Every sensor that can be read.
    pub temperatures: Known<Vec<Temperature>>,
    /// What is drawn.
    pub consumption: Consumption,
    /// Graphics processors, as their drivers describe them.
    pub gpus: Known<Vec<Gpu>>,
}

impl Conditions {
    /// Reads them.
    #[must_use]
    pub fn read(source: &Source) -> Self {
        Self {
            power: Power::read(source),
            clocks: Clocks::read(source),
            throttling: Throttling::read(source),
            temperatures: heat::read(source),
            consumption: Consumption::read(source),
            gpus: gpu::read(source),
        }
    }

    /// The hottest sensor.
    #[must_use]
    pub fn hottest(&self) -> Known<Temperature> {
        let all = self.temperatures.get();
        let hottest = all.and_then(|all| {
            all.iter()
                .max_by(|a, b| a.celsius.total_cmp(&b.celsius))
                .cloned()
        });
        Known::or_reason(hottest, self.temperatures.reason().unwrap_or("no sensor"))
    }
}
