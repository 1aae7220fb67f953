//! The settings block of reports.

use serde_json::{Map, Value, json};

use super::Plan;

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

    /// The settings block of reports, by name.
    #[must_use]
    pub fn settings(&self) -> Map<String, Value> {
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
            ("layers offloaded", json!(self.engine.n_gpu_layers)),
            (
                "devices",
                json!(if self.engine.devices.is_empty() {
                    "llama.cpp's choice".to_owned()
                } else {
                    self.engine.devices.join(", ")
                }),
            ),
        ];
        rows.into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
