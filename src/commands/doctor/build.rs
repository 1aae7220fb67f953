//! What was compiled in.

use serde::Serialize;

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
}

impl BuildFacts {
    /// This program's.
    #[must_use]
    pub fn of_this_program() -> Self {
        let features = [
            ("cuda", cfg!(feature = "cuda")),
            ("metal", cfg!(feature = "metal")),
            ("vulkan", cfg!(feature = "vulkan")),
            ("rocm", cfg!(feature = "rocm")),
            ("dynamic-backends", cfg!(feature = "dynamic-backends")),
        ];
        Self {
            features: features
                .into_iter()
                .filter_map(|(name, on)| on.then_some(name))
                .collect(),
            optimized: !cfg!(debug_assertions),
            repack: Repack::of_this_program(),
        }
    }
}
