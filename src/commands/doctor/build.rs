//! What was compiled in.

use serde::Serialize;

use crate::engine::llama::backends;
use crate::machine::memory::Repack;

/// How this program was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BuildFacts {
    /// Cargo features for devices, of `cuda`, `metal`, `vulkan`, `rocm` and `dynamic-backends`.
    pub features: Vec<&'static str>,
    /// Whether it is optimized: figures of a debug build mean nothing.
    pub optimized: bool,
    /// Instructions that the processor's kernels use for repacked weights.
    pub repack: Repack,
    /// Why a `dynamic-backends` build has no backend to compute on.
    pub backend_fault: Option<String>,
}

impl BuildFacts {
    /// This program's, with what loading its backend libraries ended in.
    #[must_use]
    pub fn of_this_program(backend_fault: Option<String>) -> Self {
        Self {
            features: backends::features(),
            optimized: !cfg!(debug_assertions),
            repack: Repack::of_this_program(),
            backend_fault,
        }
    }
}
