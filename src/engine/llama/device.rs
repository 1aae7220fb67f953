//! The devices that llama.cpp sees.

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};
use serde::Serialize;

/// A device of a ggml backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Name as `--device` takes it, e.g. `CUDA0`.
    pub name: String,
    /// The vendor's description.
    pub description: String,
    /// Backend, e.g. `CUDA`.
    pub backend: String,
    /// `cpu`, `gpu`, `integrated_gpu`, `accelerator` or `unknown`.
    pub kind: &'static str,
    /// Memory in bytes as the backend reports it.
    pub memory_total: u64,
    /// Free memory in bytes as the backend reports it.
    pub memory_free: u64,
    #[serde(skip)]
    pub(super) index: usize,
}

/// All devices, in llama.cpp's order. Initialises the backends.
#[must_use]
pub fn devices() -> Vec<Device> {
    super::model::backend();
    list_llama_ggml_backend_devices()
        .into_iter()
        .map(|d| Device {
            name: d.name,
            description: d.description,
            backend: d.backend,
            kind: match d.device_type {
                LlamaBackendDeviceType::Cpu => "cpu",
                LlamaBackendDeviceType::Gpu => "gpu",
                LlamaBackendDeviceType::IntegratedGpu => "integrated_gpu",
                LlamaBackendDeviceType::Accelerator => "accelerator",
                LlamaBackendDeviceType::Unknown => "unknown",
            },
            memory_total: d.memory_total as u64,
            memory_free: d.memory_free as u64,
            index: d.index,
        })
        .collect()
}
