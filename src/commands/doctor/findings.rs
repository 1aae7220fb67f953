//! What is there, what one should know, and what is missing.

use serde::Serialize;

use super::conditions;
use super::data::{Item, Presence};
use super::diagnosis::Diagnosis;
use crate::commands::inspect::Inspection;
use crate::engine::llama::backends;
use crate::machine::Known;
use crate::machine::memory::MemoryPlan;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was found.
    pub detail: String,
    /// The command that brings or mends it.
    pub command: Option<String>,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Good.
    Ok,
    /// `run` works without it, or slower, or without its accuracy phase.
    Note,
    /// `run` needs it.
    Missing,
}

impl Standing {
    /// As it stands before a line.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "[OK]",
            Self::Note => "[NOTE]",
            Self::Missing => "[MISSING]",
        }
    }
}

impl Finding {
    pub(super) fn new(name: &'static str, standing: Standing, detail: impl Into<String>) -> Self {
        Self {
            name,
            standing,
            detail: detail.into(),
            command: None,
        }
    }

    pub(super) fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

/// Everything that was looked at, in the order in which one mends it.
pub(super) fn of(diagnosis: &Diagnosis) -> Vec<Finding> {
    let mut findings = vec![build(diagnosis), devices(diagnosis), threads(diagnosis)];
    findings.extend(conditions::findings(&diagnosis.machine.conditions));
    findings.push(replay(&diagnosis.data.replay));
    findings.push(bfcl(&diagnosis.data.bfcl));
    match &diagnosis.model {
        None => findings.push(no_model()),
        Some(inspection) => findings.extend([model(inspection), memory(inspection)]),
    }
    findings
}

fn build(diagnosis: &Diagnosis) -> Finding {
    let software = &diagnosis.machine.software;
    let text = format!(
        "edge-agentic {}, llama.cpp {}",
        software.edge_agentic, software.llama_cpp
    );
    if diagnosis.build.optimized {
        return Finding::new("build", Standing::Ok, text);
    }
    Finding::new(
        "build",
        Standing::Note,
        format!("{text}: a debug build, whose figures mean nothing"),
    )
    .command("cargo build --release --locked")
}

fn devices(diagnosis: &Diagnosis) -> Finding {
    const NAME: &str = "devices";
    let chosen = &diagnosis.run.devices;
    if !chosen.is_empty() {
        return Finding::new(
            NAME,
            Standing::Ok,
            format!("layers go to {}", chosen.join(", ")),
        );
    }
    if let Some(fault) = &diagnosis.build.backend_fault {
        return Finding::new(NAME, Standing::Missing, fault.as_str());
    }
    let built_with = backends::for_gpus(
        &diagnosis.build.features,
        &diagnosis.machine.software.backend_libraries,
    );
    if built_with.is_empty() {
        let text = "the processor alone; no backend for another device is built in or loaded";
        return Finding::new(NAME, Standing::Note, text).command("scripts/build-device --help");
    }
    let mut text = format!(
        "built with {}, but llama.cpp sees no device that takes layers, and run refuses to compute them on the \
         processor without --n-gpu-layers 0: is its driver there, and the device given to this container?",
        built_with.join(", ")
    );
    if built_with.iter().any(|name| name.contains("vulkan")) {
        // llama.cpp takes GPUs only, unless the variable numbers devices.
        text += " Of Vulkan's software devices, only those count that GGML_VK_VISIBLE_DEVICES names, 0 the first";
    }
    let finding = Finding::new(NAME, Standing::Missing, text);
    match driver_tool(&built_with) {
        Some(command) => finding.command(command),
        None => finding,
    }
}

/// What lists the devices that a backend's driver offers.
fn driver_tool(built_with: &[String]) -> Option<&'static str> {
    let has = |backend: &str| built_with.iter().any(|name| name.contains(backend));
    if has("cuda") {
        Some("nvidia-smi")
    } else if has("rocm") || has("hip") {
        Some("rocminfo")
    } else if has("vulkan") {
        Some("vulkaninfo --summary")
    } else {
        None
    }
}

/// `run` counts physical cores; an affinity mask or a quota may leave fewer.
fn threads(diagnosis: &Diagnosis) -> Finding {
    const NAME: &str = "threads";
    let threads = diagnosis.run.threads;
    let cpu = &diagnosis.machine.cpu;
    if cpu.physical_cores.get().is_none() {
        let text = "the number of physical cores is unknown; run would use 1";
        return Finding::new(NAME, Standing::Note, text).command("edge-agentic run --threads N …");
    }
    match cpu.available_cores.get() {
        Some(&allowed) if allowed < threads => {
            let text = format!("{threads} physical cores, but this process may use {allowed}");
            Finding::new(NAME, Standing::Note, text)
                .command(format!("edge-agentic run --threads {allowed} …"))
        }
        _ => Finding::new(
            NAME,
            Standing::Ok,
            format!("{threads}, one per physical core"),
        ),
    }
}

fn replay(item: &Item) -> Finding {
    match item.state {
        Presence::Right => Finding::new("replay data set", Standing::Ok, item.detail.as_str()),
        Presence::Absent | Presence::Wrong => {
            Finding::new("replay data set", Standing::Missing, item.detail.as_str())
                .command("scripts/fetch-data --replay")
        }
    }
}

/// The accuracy phase asks them and `score` judges by them; `run --performance-only` does without.
fn bfcl(item: &Item) -> Finding {
    match item.state {
        Presence::Right => Finding::new("BFCL data", Standing::Ok, item.detail.as_str()),
        Presence::Absent | Presence::Wrong => {
            let text = format!(
                "{} (score needs them, and run without --performance-only)",
                item.detail
            );
            Finding::new("BFCL data", Standing::Note, text).command("scripts/fetch-data --bfcl")
        }
    }
}

fn no_model() -> Finding {
    let text =
        "none given, so no memory plan; --model FILE adds it. Without weights, a synthetic model:";
    Finding::new("model", Standing::Note, text)
        .command("edge-agentic synth --shape tiny --out tiny.gguf")
}

fn model(inspection: &Inspection) -> Finding {
    const NAME: &str = "model";
    let path = inspection.path.display();
    let inspect = format!("edge-agentic inspect {path}");
    if !inspection.problems.is_empty() {
        let text = format!("{path}: {}", inspection.problems.join("; "));
        return Finding::new(NAME, Standing::Missing, text).command(inspect);
    }
    let architecture = &inspection.model.architecture;
    if !inspection.model.supported {
        let text = format!("{path}: {architecture}, which only --profile none runs");
        return Finding::new(NAME, Standing::Note, text)
            .command(format!("edge-agentic run --profile none --model {path} …"));
    }
    Finding::new(NAME, Standing::Ok, format!("{path}: {architecture}"))
}

fn memory(inspection: &Inspection) -> Finding {
    const NAME: &str = "memory";
    let plan: &Known<MemoryPlan> = &inspection.memory;
    let Some(plan) = plan.get() else {
        let reason = plan.reason().unwrap_or("unknown");
        return Finding::new(NAME, Standing::Note, format!("no plan: {reason}"));
    };
    let warnings = plan.warnings();
    match plan.refusal() {
        Some(refusal) => Finding::new(NAME, Standing::Missing, refusal),
        None if warnings.is_empty() => Finding::new(NAME, Standing::Ok, "the model fits"),
        None => Finding::new(NAME, Standing::Note, warnings.join("; ")),
    }
}
