//! The accuracy gates: 97 % of the published reference, on exactly the pinned samples.

use serde::{Deserialize, Serialize};

use crate::sampling::GATE_SAMPLES;
use crate::stats::round2;
use crate::subset::Category;

/// The published reference's overall accuracy, percent.
pub const REFERENCE_OVERALL: f64 = 86.23;
/// The published reference's normalized single-turn score, percent.
pub const REFERENCE_NORMALIZED: f64 = 87.96;
/// The least overall accuracy, percent: 0.97 × 86.23.
pub const OVERALL_THRESHOLD: f64 = 83.6431;
/// The least normalized score, percent: 0.97 × 87.96.
pub const NORMALIZED_THRESHOLD: f64 = 85.3212;

/// The published reference's score of a category, percent.
pub fn reference_score(category: Category) -> f64 {
    match category {
        Category::NonLive => 82.59,
        Category::Live => 84.12,
        Category::Hallucination => 97.16,
    }
}

/// What the gates look at. Absent numbers fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Overall accuracy, percent, unrounded.
    pub overall: Option<f64>,
    /// Normalized score, percent, unrounded.
    pub normalized: Option<f64>,
    /// Issued samples that have an output.
    pub completed: usize,
    /// Whether the ids issued are the gate's, or why not.
    pub ids: Result<(), String>,
}

/// The outcome of one gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// `gate_samples`, `overall` or `normalized`.
    pub name: String,
    /// The value measured, unrounded; percent, or samples for `gate_samples`. `None`: not measured.
    pub value: Option<f64>,
    /// The value rounded to two places, which the official check compares.
    pub rounded: Option<f64>,
    /// What both values must reach.
    pub threshold: f64,
    /// Whether the gate passed.
    pub passed: bool,
    /// Why it failed; absent when it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Applies the gates. All must pass.
pub fn gates(measured: &Measured) -> Vec<Gate> {
    vec![
        samples(measured),
        percentage("overall", measured.overall, OVERALL_THRESHOLD),
        percentage("normalized", measured.normalized, NORMALIZED_THRESHOLD),
    ]
}

fn samples(measured: &Measured) -> Gate {
    let detail = match &measured.ids {
        Err(problem) => Some(problem.clone()),
        Ok(()) if measured.completed != GATE_SAMPLES => Some(format!(
            "{} of {GATE_SAMPLES} samples have an output",
            measured.completed
        )),
        Ok(()) => None,
    };
    let value = measured.completed as f64;
    Gate {
        name: "gate_samples".to_owned(),
        value: Some(value),
        rounded: Some(value),
        threshold: GATE_SAMPLES as f64,
        passed: detail.is_none(),
        detail,
    }
}

/// Both the unrounded and the rounded value must reach the threshold: the official check rounds
/// first, so 85.3243 shows as 85.32 and fails there.
fn percentage(name: &str, value: Option<f64>, threshold: f64) -> Gate {
    let rounded = value.map(round2);
    let reached = |value: Option<f64>| value.is_some_and(|value| value >= threshold);
    let detail = match value {
        None => Some("not measured".to_owned()),
        Some(_) if !reached(value) => Some("below the threshold".to_owned()),
        Some(_) if !reached(rounded) => {
            Some("the value rounded to two places is below the threshold".to_owned())
        }
        Some(_) => None,
    };
    Gate {
        name: name.to_owned(),
        value,
        rounded,
        threshold,
        passed: detail.is_none(),
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            overall: Some(83.718_592_964_824_12),
            normalized: Some(85.33),
            completed: GATE_SAMPLES,
            ids: Ok(()),
        }
    }

    fn passed(measured: &Measured) -> [bool; 3] {
        let gates = gates(measured);
        [gates[0].passed, gates[1].passed, gates[2].passed]
    }

    #[test]
    fn thresholds_are_97_percent_of_the_reference() {
        assert!((REFERENCE_OVERALL * 0.97 - OVERALL_THRESHOLD).abs() < 1e-9);
        assert!((REFERENCE_NORMALIZED * 0.97 - NORMALIZED_THRESHOLD).abs() < 1e-9);
        let percent = |correct: f64| correct / GATE_SAMPLES as f64 * 100.0;
        assert!(percent(833.0) >= OVERALL_THRESHOLD && percent(832.0) < OVERALL_THRESHOLD);
    }

    #[test]
    fn both_the_rounded_and_the_unrounded_value_must_reach() {
        assert_eq!(passed(&measured()), [true; 3]);
        let rounds_down = Measured {
            normalized: Some(85.3243),
            ..measured()
        };
        assert_eq!(passed(&rounds_down), [true, true, false]);
        let rounds_up = Measured {
            overall: Some(83.643),
            normalized: Some(85.321),
            ..measured()
        };
        assert_eq!(passed(&rounds_up), [true, false, false]);
    }

    #[test]
    fn t5_02_gates_never_pass_silently() {
        let unmeasured = Measured {
            overall: None,
            normalized: None,
            ..measured()
        };
        assert_eq!(passed(&unmeasured), [true, false, false]);
        assert_eq!(
            gates(&unmeasured)[1].detail.as_deref(),
            Some("not measured")
        );
        let incomplete = Measured {
            completed: 994,
            ..measured()
        };
        assert_eq!(passed(&incomplete), [false, true, true]);
        let strangers = Measured {
            ids: Err("1 beyond them".into()),
            ..measured()
        };
        assert_eq!(passed(&strangers), [false, true, true]);
        let nan = Measured {
            overall: Some(f64::NAN),
            ..measured()
        };
        assert_eq!(passed(&nan), [true, false, true]);
    }

    #[test]
    fn t5_02_a_report_with_an_unknown_key_is_not_read() {
        let text = serde_json::to_string(&gates(&measured())[1]).expect("plain data");
        assert!(serde_json::from_str::<Gate>(&text).is_ok());
        let tampered = text.replacen('{', "{\"waived\":true,", 1);
        assert!(serde_json::from_str::<Gate>(&tampered).is_err());
    }
}
