//! The devices that llama.cpp sees.

use llama_cpp_2::{LlamaBackendDevice, LlamaBackendDeviceType, list_llama_ggml_backend_devices};

use super::backends::BackendError;
use super::model::{LoadError, backend};
use crate::machine::Device;

/// All devices, in llama.cpp's order. Initialises the backends.
///
/// # Errors
/// Where a `dynamic-backends` build cannot load its libraries.
pub fn devices() -> Result<Vec<Device>, BackendError> {
    backend()?;
    Ok(list_llama_ggml_backend_devices()
        .iter()
        .map(described)
        .collect())
}

fn described(d: &LlamaBackendDevice) -> Device {
    let kind = match d.device_type {
        LlamaBackendDeviceType::Cpu => "cpu",
        LlamaBackendDeviceType::Gpu => "gpu",
        LlamaBackendDeviceType::IntegratedGpu => "integrated_gpu",
        LlamaBackendDeviceType::Accelerator => "accelerator",
        LlamaBackendDeviceType::Unknown => "unknown",
    };
    let (total, free) = (d.memory_total as u64, d.memory_free as u64);
    Device::new(&d.name, &d.description, &d.backend, kind, total, free)
}

/// llama.cpp's numbers of the devices with these names.
pub(super) fn choose(names: &[String]) -> Result<Vec<usize>, LoadError> {
    let known = list_llama_ggml_backend_devices();
    names
        .iter()
        .map(|name| {
            known
                .iter()
                .find(|d| d.name.eq_ignore_ascii_case(name))
                .map(|d| d.index)
                .ok_or_else(|| LoadError::Device {
                    name: name.clone(),
                    known: known.iter().map(|d| d.name.clone()).collect(),
                })
        })
        .collect()
}
