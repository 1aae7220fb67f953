//! What in a plan differs from the locked profile.

use serde_json::{Value, json};

use super::{Plan, locked};
use crate::cli::{Overflow, Reasoning};
use crate::metrics::{Deviation, SYNTHETIC};

/// A setting: its name, what the profile expects, what the plan has.
type Setting = (&'static str, Value, Value);

impl Plan {
    /// Every setting that is not the profile's.
    pub(super) fn deviations(&self) -> Vec<Deviation> {
        let settings = [
            self.phases(),
            self.model_settings(),
            self.performance_settings(),
            self.accuracy_settings(),
            self.common_settings(),
            self.replay_settings(),
        ];
        settings
            .into_iter()
            .flatten()
            .filter(|(_, expected, actual)| expected != actual)
            .map(|(name, expected, actual)| Deviation {
                name: name.to_owned(),
                expected,
                actual,
            })
            .collect()
    }

    fn phases(&self) -> Vec<Setting> {
        let phases = [
            self.dataset.as_ref().map(|_| "performance"),
            self.accuracy.as_ref().map(|_| "accuracy"),
        ];
        let planned: Vec<&str> = phases.into_iter().flatten().collect();
        vec![(
            "phases",
            json!("performance, accuracy"),
            json!(planned.join(", ")),
        )]
    }

    fn model_settings(&self) -> Vec<Setting> {
        let model = &self.model;
        vec![
            (
                "model-architecture",
                json!(locked::ARCHITECTURE),
                json!(model.architecture),
            ),
            (
                "model-shape",
                json!(locked::MODEL_SHAPE),
                json!(model.shape),
            ),
            ("template-tools", json!(true), json!(model.template_tools)),
        ]
    }

    fn performance_settings(&self) -> Vec<Setting> {
        let Some(data) = &self.dataset else {
            return Vec::new();
        };
        let all: u32 = data.conversations.iter().map(|c| c.turns).sum();
        let selected: u32 = data.conversations.iter().map(|c| c.selected).sum();
        vec![
            (
                "dataset-sha256",
                json!(locked::DATASET_SHA256),
                json!(data.sha256),
            ),
            ("turns", json!(all), json!(selected)),
        ]
    }

    fn accuracy_settings(&self) -> Vec<Setting> {
        let Some(accuracy) = &self.accuracy else {
            return Vec::new();
        };
        let gate = format!("the gate's {} samples", bfcl::sampling::GATE_SAMPLES);
        vec![
            ("bfcl-samples", json!(gate), json!(accuracy.described())),
            (
                "stop-when-decided",
                json!(false),
                json!(accuracy.stop_when_decided),
            ),
        ]
    }

    fn common_settings(&self) -> Vec<Setting> {
        vec![
            (
                "ctx-size",
                json!(locked::CTX_SIZE),
                json!(self.engine.context.ctx_size),
            ),
            (
                "max-new-tokens",
                json!(locked::MAX_NEW_TOKENS),
                json!(self.replay.max_new_tokens),
            ),
            (
                "turn-timeout",
                json!(locked::TURN_TIMEOUT_S),
                json!(self.replay.turn_timeout_s),
            ),
            (
                "reasoning",
                json!(Reasoning::Off),
                json!(self.engine.reasoning),
            ),
        ]
    }

    fn replay_settings(&self) -> Vec<Setting> {
        let replay = &self.replay;
        vec![
            ("time-cap", Value::Null, json!(replay.time_cap_s)),
            ("overflow", json!(Overflow::Fail), json!(replay.overflow)),
            ("inject-delays", json!(false), json!(replay.inject_delays)),
            ("salt", json!(false), json!(replay.salt)),
            (
                "reuse-across-conversations",
                json!(false),
                json!(replay.reuse_across_conversations),
            ),
            ("warmup", json!(0), json!(replay.warmup)),
            ("repeat", json!(1), json!(replay.repeat)),
            (
                SYNTHETIC[0],
                Value::Null,
                json!(self.engine.synthetic_acceptance),
            ),
            (SYNTHETIC[1], json!(false), json!(replay.recorded_lengths)),
        ]
    }
}
