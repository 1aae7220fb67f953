//! The machine: what it is, whether a model fits it, and which model it is given.

mod board;
mod cgroup;
mod conditions;
mod device;
pub mod identity;
mod known;
pub mod memory;
mod source;
mod system;

pub use self::board::Board;
pub use self::conditions::{
    Clocks, Conditions, Consumption, DeviceClock, EnergyCounter, Gpu, MOMENT_SCHEMA, Moment,
    Occasion, Phase, Power, PowerSource, ProcessMemory, Rail, Temperature, Throttling,
};
pub use self::device::{Device, DeviceKind, offload_targets};
pub use self::known::Known;
pub use self::source::{Platform, Source};
pub use self::system::{
    Cpu, Disk, MACHINE_SCHEMA, Machine, Memory, Os, ProcessLimits, Software, describe,
    host_memory_available,
};
