//! The memory plan: what loading and running a model takes, in which pool, mapped or allocated, before it is loaded.
//!
//! Weights, caches and recurrent states follow from shapes and are exact; compute buffers come out of llama.cpp's
//! graph allocator and are estimated (see `compute.rs`). The plan is a pure function: whoever calls it says what is free.

mod compute;
mod part;
mod plan;
mod pool;
mod refused;
mod remedy;
mod repack;
mod settings;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod weights;

pub use self::part::{MemoryKind, Part, Share};
pub use self::plan::{Host, MemoryPlan, Request};
pub use self::pool::{Fit, Pool};
pub use self::remedy::Remedy;
pub use self::repack::Repack;
pub use self::settings::Settings;
