//! In what two runs were set up otherwise: every difference of their plans and machines, and which of them can change
//! a turn.

use serde::Serialize;
use serde_json::{Value, json};

use super::Side;
use crate::machine::{Machine, Phase};
use crate::metrics::Reading;
use crate::plan::{Plan, differing_leaves};

/// One setting, or fact about the machine, that the runs do not have in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Where it stands: a path in `plan.json`, or `machine.` and a path in `machine.json`.
    pub setting: String,
    /// What it is about; differences about one subject are one thing compared.
    pub subject: String,
    /// Whether it can change the tokens or the times of a turn that both runs completed.
    pub counts: bool,
    /// In the first run; null where it has none.
    pub first: Value,
    /// In the second run.
    pub second: Value,
}

/// Parts of `machine.json` that are readings of a moment, or said by the plan.
const OF_THE_MOMENT: [&str; 9] = [
    "schema",
    "disk",
    "conditions",
    "software.edge_agentic",
    "software.llama_cpp",
    "software.crates",
    "memory.available_bytes",
    "memory.swap_free_bytes",
    "limits.memory_free_bytes",
];

/// Every difference, plans first.
pub(super) fn differences(first: &Side<'_>, second: &Side<'_>) -> Vec<Difference> {
    let mut found = of_plans(first.plan, second.plan);
    found.extend(of_selections(first.plan, second.plan));
    found.extend(of_machines(first.machine, second.machine));
    found.extend(of_power(first, second));
    found
}

/// The subjects of the differences that count, each once.
pub(super) fn subjects(differences: &[Difference]) -> Vec<String> {
    let mut subjects: Vec<String> = Vec::new();
    for difference in differences.iter().filter(|d| d.counts) {
        if !subjects.contains(&difference.subject) {
            subjects.push(difference.subject.clone());
        }
    }
    subjects
}

fn of_plans(first: &Plan, second: &Plan) -> Vec<Difference> {
    differing_leaves(&document(first), &document(second))
        .into_iter()
        .map(|leaf| {
            let (subject, counts) = subject(&leaf.path);
            let [first, second] = leaf.values;
            Difference {
                setting: leaf.path,
                subject,
                counts,
                first,
                second,
            }
        })
        .collect()
}

/// The plan without what follows from the rest of it, and with the selection left to [`of_selections`].
fn document(plan: &Plan) -> Value {
    let mut value = serde_json::to_value(plan).unwrap_or_default();
    if let Some(plan) = value.as_object_mut() {
        plan.shift_remove("deviations");
        plan.shift_remove("schema");
        // A phase that one of them lacks is one difference, not one for each of its settings.
        for phase in ["dataset", "accuracy"] {
            if let Some(planned) = plan.get_mut(phase).and_then(Value::as_object_mut) {
                planned.shift_remove("conversations");
            }
        }
    }
    value
}

/// What a setting of `plan.json` is about, and whether it can change a turn.
fn subject(path: &str) -> (String, bool) {
    let last = path.rsplit('.').next().unwrap_or(path).replace('_', "-");
    match path {
        "program.llama_cpp" | "program.llama_cpp_crates" => ("llama.cpp".to_owned(), true),
        // Which turns there are, or what is counted of them, changes none that both have.
        "profile" | "seed" | "dataset" | "dataset.name" | "model.name" => (last, false),
        "replay.osl_window" | "replay.time_cap_s" | "replay.turn_timeout_s" | "replay.repeat" => {
            (last, false)
        }
        "dataset.sha256" => ("data set".to_owned(), true),
        "model.template_sha256" | "model.template_tools" => ("chat template".to_owned(), true),
        "engine.mtp" | "engine.synthetic_acceptance" => ("drafts (--mtp)".to_owned(), true),
        _ if path.starts_with("accuracy") => ("accuracy phase".to_owned(), false),
        _ if path.starts_with("replay.tokenizer") => ("tokenizer".to_owned(), false),
        _ if path.starts_with("program.") => ("edge-agentic".to_owned(), true),
        _ if path.starts_with("model.files[") && path.ends_with(".name") => (last, false),
        _ if path.starts_with("model.") => ("model".to_owned(), true),
        _ => (last, true),
    }
}

fn of_selections(first: &Plan, second: &Plan) -> Option<Difference> {
    let (a, b) = (first.dataset.as_ref()?, second.dataset.as_ref()?);
    let described = |plan: &Plan| {
        let chosen = plan.conversations().iter().filter(|c| c.selected > 0);
        let turns: u32 = chosen.clone().map(|c| c.selected).sum();
        json!(format!("{turns} turns of {} conversations", chosen.count()))
    };
    (a.conversations != b.conversations).then(|| Difference {
        setting: "dataset.conversations".to_owned(),
        subject: "selection".to_owned(),
        counts: false,
        first: described(first),
        second: described(second),
    })
}

fn of_machines(first: &Machine, second: &Machine) -> Vec<Difference> {
    let json = |machine: &Machine| serde_json::to_value(machine).unwrap_or_default();
    let of_the_moment = |path: &str| {
        let below = |part: &&str| {
            let rest = path.strip_prefix(*part);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        OF_THE_MOMENT.iter().any(below)
            || path.contains(".memory_free_bytes")
            || path.ends_with(".reason")
    };
    differing_leaves(&json(first), &json(second))
        .into_iter()
        .filter(|leaf| !of_the_moment(&leaf.path))
        .map(|leaf| {
            let [first, second] = leaf.values;
            // Which library computes is chosen by what lies beside the program, on the same machine too.
            let subject = match leaf.path.starts_with("software.backend_libraries") {
                true => "backend libraries",
                false => "machine",
            };
            Difference {
                setting: format!("machine.{}", leaf.path.trim_end_matches(".value")),
                subject: subject.to_owned(),
                counts: true,
                first,
                second,
            }
        })
        .collect()
}

/// Power settings at the start of the replay, where both are known.
fn of_power(first: &Side<'_>, second: &Side<'_>) -> Vec<Difference> {
    let (Some(a), Some(b)) = (start(first), start(second)) else {
        return Vec::new();
    };
    let settings = [
        ("power_mode", [json!(a.power_mode), json!(b.power_mode)]),
        ("governor", [json!(a.governor), json!(b.governor)]),
        (
            "power_source",
            [json!(a.power_source), json!(b.power_source)],
        ),
    ];
    settings
        .into_iter()
        .filter_map(|(name, pair)| {
            let [first, second] = pair.map(|known| known["value"].clone());
            let differ = first != second && !first.is_null() && !second.is_null();
            differ.then(|| Difference {
                setting: format!("conditions.{name}"),
                subject: "power settings".to_owned(),
                counts: true,
                first,
                second,
            })
        })
        .collect()
}

fn start<'a>(side: &Side<'a>) -> Option<&'a Reading> {
    let replays = |c: &&crate::metrics::AttemptConditions| c.phase == Phase::Performance;
    side.summary.conditions.iter().find(replays)?.start.get()
}
