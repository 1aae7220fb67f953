//! What a run was set to, in the reference's terms: `run_config` of the summary, and `config.yaml`.

use bfcl::sampling::Sampling;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::BFCL;
use super::summary::Origin;
use super::yaml;

/// The reference's name for one conversation after the other, turn by turn.
const LOAD_PATTERN: &str = "agentic_inference";

/// Everything about a run that its rows do not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Whose figures these are.
    pub origin: Origin,
    /// The model's name.
    pub model: String,
    /// Name of the `tokenizer.json` that counts tokens, where one was given.
    pub tokenizer: Option<String>,
    /// File name of the conversations; `None` without a performance phase.
    pub dataset: Option<String>,
    /// What of BFCL is asked; `None` without an accuracy phase, or where the reference's settings cannot say it.
    pub bfcl: Option<Sampling>,
    /// Conversations that the plan issues.
    pub conversations: usize,
    /// Passes over them.
    pub repeats: u32,
    /// Most tokens per turn.
    pub max_new_tokens: u32,
    /// Sampler seed; at temperature 0 it decides nothing.
    pub seed: u64,
    /// Seconds after which a turn fails.
    pub turn_timeout_s: f64,
    /// Seconds after which no turn is issued.
    pub time_cap_s: Option<f64>,
    /// Whether prompts are salted.
    pub salt: bool,
    /// Whether recorded tool delays are injected.
    pub inject_delays: bool,
    /// Turns replayed before the measured ones.
    pub warmup: u32,
    /// The performance phase went through its whole plan.
    pub finished: bool,
    /// So did the run.
    pub ended: bool,
    /// Index of the first row of each continuation of a resumed run.
    pub continued_at: Vec<usize>,
}

/// `run_config` of the summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunConfig {
    /// How samples are issued.
    pub load_pattern: LoadPattern,
    /// Turns before the measured ones.
    pub warmup: Warmup,
    /// Null where nothing is drawn at random.
    pub scheduler_random_seed: Option<u64>,
    /// Null where nothing is drawn at random.
    pub dataloader_random_seed: Option<u64>,
}

/// How samples are issued.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadPattern {
    /// The pattern's name.
    #[serde(rename = "type")]
    pub kind: String,
    /// Null in this scenario.
    pub target_qps: Option<f64>,
    /// Conversations at a time.
    pub target_concurrency: u32,
}

/// Turns before the measured ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warmup {
    /// Whether there are any.
    pub enabled: bool,
    /// How many; null where there are none.
    pub n_requests: Option<u32>,
    /// Whether they are salted.
    pub salt: bool,
    /// Whether the measured ones wait for them.
    pub drain: bool,
    /// Null where nothing is drawn at random.
    pub warmup_random_seed: Option<u64>,
}

/// `run_config` of our runs: file order, so there are no seeds to report.
#[must_use]
pub fn run_config(setup: &Setup) -> RunConfig {
    let warm = setup.warmup > 0;
    RunConfig {
        load_pattern: LoadPattern {
            kind: LOAD_PATTERN.to_owned(),
            target_qps: None,
            target_concurrency: 1,
        },
        warmup: Warmup {
            enabled: warm,
            n_requests: warm.then_some(setup.warmup),
            salt: false,
            drain: warm,
            warmup_random_seed: None,
        },
        scheduler_random_seed: None,
        dataloader_random_seed: None,
    }
}

/// `config.yaml`: the reference's keys that mean something here, in its order. What only an HTTP
/// client has (endpoints, transport, drains) is left out, except that one turn is in flight at a
/// time, which readers look up as workers and connections.
#[must_use]
pub fn config_yaml(setup: &Setup) -> String {
    let mut config = Map::new();
    let mut put = |key: &str, value: Value| config.insert(key.to_owned(), value);
    put("name", json!("edge-agentic-run"));
    put("version", json!(setup.origin.version));
    put("type", json!("online"));
    put("load_generator", json!(setup.origin.load_generator));
    put("model_params", model_params(setup));
    let performance = setup
        .dataset
        .as_ref()
        .map(|path| conversations(setup, path));
    let datasets: Vec<Value> = performance
        .into_iter()
        .chain(setup.bfcl.as_ref().map(bfcl))
        .collect();
    put("datasets", json!(datasets));
    put("settings", settings(setup));
    yaml::document(&Value::Object(config))
}

fn model_params(setup: &Setup) -> Value {
    let mut params = json!({
        "name": setup.model,
        "temperature": 0.0,
        "seed": setup.seed,
        "max_new_tokens": setup.max_new_tokens,
        "streaming": "on",
    });
    if let Some(tokenizer) = &setup.tokenizer {
        params["tokenizer_name"] = json!(tokenizer);
    }
    params
}

fn bfcl(sampling: &Sampling) -> Value {
    let subsets: Vec<&str> = sampling.subsets.iter().map(|s| s.name()).collect();
    let percent = sampling.percent.iter();
    let percent: Map<String, Value> = percent
        .map(|(category, percent)| (category.name().to_owned(), json!(percent)))
        .collect();
    let mut params = json!({ "subsets": subsets, "category_sample_pct": percent });
    if let Some(floor) = sampling.whole_up_to {
        params["subset_floor"] = json!(floor);
    }
    json!({
        "name": BFCL,
        "type": "accuracy",
        "generate_params": params,
        "accuracy_config": {
            "eval_method": "bfcl_v4",
            "ground_truth": "ground_truth",
            "extractor": "function_call_extractor",
            "num_repeats": 1,
        },
    })
}

fn conversations(setup: &Setup, path: &str) -> Value {
    json!({
        "name": "agentic_coding",
        "type": "performance",
        "path": path,
        "accuracy_config": {
            "eval_method": "agentic_inference_inline",
            "num_repeats": setup.repeats,
        },
        "agentic_inference": {
            "turn_timeout_s": setup.turn_timeout_s,
            "enable_salt": setup.salt,
            "inject_tool_delay": setup.inject_delays,
            "num_trajectories_to_issue": setup.conversations,
            "stop_issuing_on_first_user_complete": false,
        },
    })
}

fn settings(setup: &Setup) -> Value {
    let mut runtime = json!({ "min_duration_ms": 0 });
    if let Some(cap) = setup.time_cap_s {
        runtime["max_duration_ms"] = json!((cap * 1e3).round() as u64);
    }
    json!({
        "runtime": runtime,
        "load_pattern": { "type": LOAD_PATTERN, "target_concurrency": 1 },
        "client": { "num_workers": 1, "warmup_connections": 0, "max_connections": 1 },
        "warmup": { "enabled": setup.warmup > 0, "salt": false, "drain": setup.warmup > 0 },
        "early_stopping": { "enabled": true },
    })
}
