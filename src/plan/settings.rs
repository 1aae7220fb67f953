//! The settings block of reports.

use serde_json::{Map, Value, json};

use super::{EnginePlan, Plan};
use crate::machine::{Device, DeviceKind};

impl Plan {
    /// What of the replies is not the model's, if anything.
    #[must_use]
    pub fn synthetic(&self) -> Option<String> {
        let rates = self.engine.synthetic_acceptance.as_ref();
        let parts = [
            rates.map(|rates| format!("drafts kept by chance, rates {rates}")),
            self.replay
                .recorded_lengths
                .then(|| "recorded lengths".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The settings block of reports, by name; `devices` are those that llama.cpp saw, none where that is unknown.
    #[must_use]
    pub fn settings(&self, devices: &[Device]) -> Map<String, Value> {
        let context = &self.engine.context;
        let file = self.model.files.first();
        let rows = [
            ("load generator", json!(self.program.load_generator)),
            ("version", json!(self.program.version)),
            ("llama.cpp", json!(self.program.llama_cpp)),
            ("profile", json!(self.profile)),
            ("model", json!(file.map(|f| f.name.clone()))),
            ("model sha256", json!(file.map(|f| f.sha256.clone()))),
            (
                "architecture",
                json!(format!("{}, {}", self.model.architecture, self.model.shape)),
            ),
            (
                "data set",
                json!(self.dataset.as_ref().map(|d| d.name.as_str())),
            ),
            (
                "BFCL samples",
                json!(self.accuracy.as_ref().map(super::AccuracyPlan::described)),
            ),
            ("reasoning", json!(self.engine.reasoning)),
            ("max new tokens", json!(self.replay.max_new_tokens)),
            ("context", json!(context.ctx_size)),
            ("MTP", json!(self.engine.mtp)),
            ("synthetic", json!(self.synthetic())),
            ("boundaries", json!(self.engine.boundaries.to_string())),
            ("threads", json!(context.threads)),
            (
                "batch / micro-batch",
                json!(format!("{} / {}", context.batch_size, context.ubatch_size)),
            ),
            (
                "KV cache",
                json!(format!(
                    "{} / {}",
                    context.cache_type_k, context.cache_type_v
                )),
            ),
            ("flash attention", json!(context.flash_attn)),
            ("layers to offload", json!(self.engine.n_gpu_layers)),
            ("layers go to", json!(layers_go_to(&self.engine, devices))),
        ];
        rows.into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

/// The devices that layers go to, or the processor: without them a report cannot be told from another machine's.
fn layers_go_to(engine: &EnginePlan, devices: &[Device]) -> Option<String> {
    let mut targets = engine.targets(devices);
    if targets.is_empty() {
        targets.extend(devices.iter().find(|d| d.kind == DeviceKind::Cpu));
    }
    let shown = |d: &Device| format!("{} ({})", d.name, d.description);
    let all: Vec<String> = targets.into_iter().map(shown).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{EngineArgs, Reasoning};
    use crate::engine::cuts::Boundaries;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        engine: EngineArgs,
    }

    fn engine() -> EnginePlan {
        let options = Options::parse_from(["run"]).engine;
        EnginePlan::new(&options, Boundaries::Lean, Reasoning::Off, 1).expect("the defaults")
    }

    #[test]
    fn reports_name_where_layers_went() {
        let device = |name, kind| Device::new(name, "described", name, kind, 1, 1);
        let all = [
            device("Vulkan0", "gpu"),
            device("Vulkan1", "gpu"),
            device("CPU", "cpu"),
        ];
        let computed = |layers: u32, names: &[&str], devices| {
            let mut engine = engine();
            engine.n_gpu_layers = layers;
            engine.devices = names.iter().map(ToString::to_string).collect();
            layers_go_to(&engine, devices)
        };
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(
            computed(999, &[], &all),
            is("Vulkan0 (described), Vulkan1 (described)")
        );
        assert_eq!(computed(999, &["Vulkan1"], &all), is("Vulkan1 (described)"));
        assert_eq!(computed(0, &[], &all), is("CPU (described)"));
        assert_eq!(computed(999, &["none"], &all), is("CPU (described)"));
        assert_eq!(computed(999, &[], &all[2..]), is("CPU (described)"));
        assert_eq!(computed(999, &[], &[]), None);
    }
}
