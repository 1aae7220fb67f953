//! A device that llama.cpp can use, as its backend reports it.

use serde::{Deserialize, Serialize};

use super::Known;

/// Kind of a device, by ggml's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The processor itself.
    Cpu,
    /// Has memory of its own. (Metal reports itself so too.)
    Gpu,
    /// Shares the host's memory.
    IntegratedGpu,
    /// Helps the processor with single operations (BLAS, AMX); holds no layers.
    Accelerator,
    /// None of these.
    Unknown,
}

impl DeviceKind {
    /// The kind of that name; every other name is [`DeviceKind::Unknown`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            "integrated_gpu" => Self::IntegratedGpu,
            "accelerator" => Self::Accelerator,
            _ => Self::Unknown,
        }
    }

    /// For people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Cpu => "processor",
            Self::Gpu => "GPU",
            Self::IntegratedGpu => "integrated GPU",
            Self::Accelerator => "accelerator",
            Self::Unknown => "unknown",
        }
    }
}

/// A device of a ggml backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Name as `--device` takes it, e.g. `CUDA0`.
    pub name: String,
    /// The vendor's description.
    pub description: String,
    /// Backend, e.g. `CUDA`.
    pub backend: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Memory, bytes.
    pub memory_total_bytes: Known<u64>,
    /// Free memory at the time of asking, bytes.
    pub memory_free_bytes: Known<u64>,
}

impl Device {
    /// A device whose backend reports these memory sizes, in bytes; a total of 0 means that it reports none.
    #[must_use]
    pub fn new(
        name: &str,
        description: &str,
        backend: &str,
        kind: &str,
        total: u64,
        free: u64,
    ) -> Self {
        let known = |bytes| Known::or_reason((total > 0).then_some(bytes), "backend reports none");
        let kind = DeviceKind::named(kind);
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            backend: backend.to_owned(),
            kind,
            memory_total_bytes: known(total),
            // Of the processor llama.cpp reports all memory as free (`ggml_backend_cpu_device_get_memory`, b11434).
            memory_free_bytes: match kind {
                DeviceKind::Cpu => Known::unknown("llama.cpp does not measure it; `memory` does"),
                _ => known(free),
            },
        }
    }

    /// Whether layers can be offloaded to it.
    #[must_use]
    pub const fn takes_layers(&self) -> bool {
        matches!(self.kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu)
    }

    /// Whether its memory is the host's.
    #[must_use]
    pub fn shares_host(&self) -> bool {
        self.kind == DeviceKind::IntegratedGpu || self.is_metal()
    }

    /// Whether it uses weights where they are mapped, without a copy.
    #[must_use]
    pub fn maps_weights(&self) -> bool {
        self.is_metal()
    }

    /// Whether llama.cpp's `auto` load mode maps the file when this device is used: CUDA and Vulkan on integrated
    /// GPUs, and OpenCL and Hexagon, ask for copies (`mmap_support` of the backends, build b11434).
    #[must_use]
    pub fn allows_mapping(&self) -> bool {
        self.kind != DeviceKind::IntegratedGpu && !self.backend_is(&["OpenCL", "HTP", "Hexagon"])
    }

    /// Whether its backend offers pinned host buffers. llama.cpp then keeps weights that stay on the host out of
    /// `CPU_REPACK` (`make_cpu_buft_list`, build b11434).
    #[must_use]
    pub fn has_host_buffers(&self) -> bool {
        !self.is_metal() && !self.backend_is(&["OpenCL", "RPC", "WebGPU"])
    }

    fn is_metal(&self) -> bool {
        self.backend_is(&["Metal", "MTL"])
    }

    fn backend_is(&self, names: &[&str]) -> bool {
        names
            .iter()
            .any(|name| self.backend.eq_ignore_ascii_case(name))
    }
}

/// The devices that llama.cpp offloads to: those named, else all GPUs, else all integrated ones of the first
/// one's backend (`llama_prepare_model_devices`, build b11434). `none` is its name for no device.
#[must_use]
pub fn offload_targets<'a>(devices: &'a [Device], names: &[String]) -> Vec<&'a Device> {
    if !names.is_empty() {
        let named = |name: &String| {
            devices
                .iter()
                .find(|d| d.name.eq_ignore_ascii_case(name) && d.takes_layers())
        };
        return names.iter().filter_map(named).collect();
    }
    let of_kind = |kind| devices.iter().filter(move |d| d.kind == kind);
    let discrete: Vec<_> = of_kind(DeviceKind::Gpu).collect();
    if !discrete.is_empty() {
        return discrete;
    }
    let mut integrated: Vec<_> = of_kind(DeviceKind::IntegratedGpu).collect();
    if let Some(backend) = integrated.first().map(|d| d.backend.clone()) {
        integrated.retain(|d| d.backend == backend);
    }
    integrated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, backend: &str, kind: &str) -> Device {
        Device::new(name, "", backend, kind, 1 << 30, 1 << 29)
    }

    #[test]
    fn discrete_devices_come_before_integrated_ones() {
        let devices = [
            device("CPU", "CPU", "cpu"),
            device("Vulkan0", "Vulkan", "integrated_gpu"),
            device("CUDA0", "CUDA", "gpu"),
            device("CUDA1", "CUDA", "gpu"),
        ];
        let names = |chosen: Vec<&Device>| -> Vec<String> {
            chosen.into_iter().map(|d| d.name.clone()).collect()
        };
        assert_eq!(names(offload_targets(&devices, &[])), ["CUDA0", "CUDA1"]);
        assert_eq!(names(offload_targets(&devices[..2], &[])), ["Vulkan0"]);
        assert_eq!(names(offload_targets(&devices[..1], &[])), [""; 0]);
        let named = offload_targets(&devices, &["cuda1".to_owned()]);
        assert_eq!(names(named), ["CUDA1"]);
        assert!(offload_targets(&devices, &["none".to_owned()]).is_empty());
    }

    #[test]
    fn a_backend_without_memory_figures_is_unknown() {
        let device = Device::new("X0", "", "X", "gpu", 0, 0);
        assert_eq!(device.memory_free_bytes.get(), None);
        assert_eq!(
            device.memory_free_bytes.reason(),
            Some("backend reports none")
        );
    }

    #[test]
    fn llama_cpp_does_not_know_the_processors_free_memory() {
        let processor = device("CPU", "CPU", "cpu");
        assert_eq!(processor.memory_total_bytes.get(), Some(&(1 << 30)));
        assert_eq!(processor.memory_free_bytes.get(), None);
    }

    #[test]
    fn metal_shares_memory_and_maps_weights() {
        let metal = device("Metal", "Metal", "gpu");
        assert!(metal.shares_host() && metal.maps_weights() && metal.allows_mapping());
        let tegra = device("CUDA0", "CUDA", "integrated_gpu");
        assert!(tegra.shares_host() && !tegra.maps_weights() && !tegra.allows_mapping());
    }
}
