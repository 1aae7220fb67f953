//! The machine: what it is, whether a model fits it, and which model it is given.

mod cgroup;
mod device;
pub mod identity;
mod known;
pub mod memory;
mod system;

pub use self::device::{Device, DeviceKind, offload_targets};
pub use self::known::Known;
pub use self::system::{
    Cpu, Disk, MACHINE_SCHEMA, Machine, Memory, Os, ProcessLimits, Software, describe,
    host_memory_available,
};
