//! Everything that follows from a run's records: a pure function, so that `run` and `report` cannot disagree.

use serde::{Deserialize, Serialize};

use super::ResultsError;
use crate::accuracy::{
    self, AccuracyFacts, AccuracyFigures, Check, Conditions, OSL_WINDOW, Scores,
};
use crate::cli::Reasoning;
use crate::conversation::Dataset;
use crate::endpoints::{self, Asked, Input, Origin, Recount, Setup};
use crate::machine::{Device, Moment};
use crate::metrics::{Deviation, RunFacts, SampleCounts, Summary, continued_at};
use crate::output::{Format, RunResult, render};
use crate::plan::{AccuracyPlan, Plan};
use crate::record::{SampleRecord, TurnRecord};

/// A run's verdict: `verdict.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Whose figures these are: never an official load generator's.
    pub load_generator: String,
    /// Whether the run went through its whole plan.
    pub complete: bool,
    /// Whether every check passed.
    pub passed: bool,
    /// The checks.
    pub checks: Vec<Check>,
}

/// The derived files of a run.
#[derive(Debug)]
pub struct Derived {
    /// What is reported: `summary.json` and `accuracy.json`, under the plan's settings.
    pub result: RunResult,
    /// `verdict.json`.
    pub verdict: Verdict,
    /// All files with their bytes; paths relative to the run's directory. The summary, which says whether the run is
    /// complete, comes last.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Derived {
    /// Whether the run is valid and every gate that was asked for passed. (The verdict's other checks are the
    /// official checker's, which a run of part of the data set cannot pass.)
    #[must_use]
    pub fn gates_pass(&self) -> bool {
        let gate = |c: &&Check| {
            c.name == "valid" || c.name == OSL_WINDOW || c.name.starts_with("accuracy_")
        };
        self.verdict.checks.iter().filter(gate).all(|c| c.passed)
    }
}

/// The rows of a run, phase by phase.
#[derive(Debug, Default)]
pub struct Rows {
    /// Of the performance phase.
    pub turns: Vec<TurnRecord>,
    /// Of the accuracy phase.
    pub samples: Vec<SampleRecord>,
    /// Readings of the machine in both.
    pub moments: Vec<Moment>,
    /// What llama.cpp saw; none where that is unknown.
    pub devices: Vec<Device>,
}

/// The data that a run's phases worked on.
#[derive(Clone, Copy, Default)]
pub struct Sources<'a> {
    /// The conversations, as in their file.
    pub conversations: Option<&'a Dataset>,
    /// The BFCL samples.
    pub samples: Option<&'a bfcl::dataset::Dataset>,
    /// Counts tokens anew where the plan has a tokenizer.
    pub recount: Option<&'a dyn Recount>,
}

impl<'a> Sources<'a> {
    pub(super) fn conversations(&self) -> Result<&'a Dataset, ResultsError> {
        self.conversations.ok_or(ResultsError::DataMissing {
            what: "conversations",
            flag: "--dataset",
        })
    }

    pub(super) fn samples(&self) -> Result<&'a bfcl::dataset::Dataset, ResultsError> {
        self.samples.ok_or(ResultsError::DataMissing {
            what: "BFCL samples",
            flag: "--data",
        })
    }
}

/// Derives everything from rows that the plan and the data agree with.
pub fn derive(plan: &Plan, rows: &Rows, sources: &Sources<'_>) -> Result<Derived, ResultsError> {
    let figures = plan
        .accuracy
        .as_ref()
        .map(|planned| {
            let data = sources.samples()?;
            let facts = accuracy_facts(plan, planned);
            let selection = planned.selection(data);
            Ok::<_, ResultsError>(AccuracyFigures::of(&rows.samples, data, &selection, facts))
        })
        .transpose()?;
    let mut facts = facts(plan, rows, figures.as_ref());
    let setup = setup(plan, rows, facts.finished);
    let performance = match plan.dataset {
        Some(_) => Some((rows.turns.as_slice(), sources.conversations()?)),
        None => None,
    };
    let asked = plan.accuracy.as_ref().zip(figures.as_ref());
    let made = endpoints::files(&Input {
        performance,
        accuracy: asked.map(|(planned, figures)| Asked {
            rows: &rows.samples,
            ids_sha256: &planned.ids_sha256,
            figures,
        }),
        setup: &setup,
        recount: sources.recount,
    })
    .map_err(ResultsError::Endpoints)?;
    facts.inline_score = made
        .scores
        .as_ref()
        .filter(|_| rows.turns.iter().any(|r| r.state.is_completed()))
        .and_then(|scores| scores.score);
    let summary = Summary::compute(&rows.turns, &facts).map_err(ResultsError::Accounting)?;
    let checks = checks(plan, &summary, made.scores.as_ref(), figures.as_ref());
    let mut files: Vec<(String, Vec<u8>)> = made
        .files
        .into_iter()
        .map(|(name, bytes)| (format!("endpoints/{name}"), bytes))
        .collect();
    if let Some(figures) = &figures {
        files.push(("outputs.jsonl".to_owned(), outputs(&rows.samples)?));
        files.push(("accuracy.json".to_owned(), json(figures)?));
    }
    let result = RunResult {
        settings: plan.settings(&rows.devices),
        summary,
        accuracy: figures,
        osl_window: checks.iter().find(|c| c.name == OSL_WINDOW).cloned(),
    };
    let verdict = Verdict {
        load_generator: plan.program.load_generator.clone(),
        complete: result.summary.complete,
        passed: checks.iter().all(|c| c.passed),
        checks,
    };
    let report = render(Format::Md, &result).map_err(ResultsError::Render)?;
    files.push(("report.md".to_owned(), report.into_bytes()));
    files.push(("verdict.json".to_owned(), json(&verdict)?));
    files.push(("summary.json".to_owned(), json(&result.summary)?));
    Ok(Derived {
        result,
        verdict,
        files,
    })
}

/// What is scored, one `{id, output}` a line: `score --outputs` reads it.
fn outputs(samples: &[SampleRecord]) -> Result<Vec<u8>, ResultsError> {
    let mut lines = Vec::new();
    let scored = samples
        .iter()
        .filter_map(|row| Some((&row.id, row.output.as_ref()?)));
    for (id, output) in scored {
        let line = serde_json::json!({ "id": id, "output": output });
        serde_json::to_writer(&mut lines, &line).map_err(|e| ResultsError::Render(e.into()))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn accuracy_facts(plan: &Plan, planned: &AccuracyPlan) -> AccuracyFacts {
    AccuracyFacts {
        load_generator: plan.program.load_generator.clone(),
        gate: planned.is_gate(),
        conditions: Conditions {
            bfcl_release: planned.release.clone(),
            temperature: 0.0,
            tool_choice: "auto",
            reasoning: plan.engine.reasoning == Reasoning::On,
            max_new_tokens: plan.replay.max_new_tokens,
            engine: plan.engine.clone(),
            template_sha256: plan.model.template_sha256.clone(),
            model_sha256: plan.model.files.iter().map(|f| f.sha256.clone()).collect(),
            llama_cpp: plan.program.llama_cpp.clone(),
        },
    }
}

/// What is known of a run before its first turn.
pub fn initial(plan: &Plan) -> Result<Summary, ResultsError> {
    Summary::compute(&[], &facts(plan, &Rows::default(), None)).map_err(ResultsError::Accounting)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, ResultsError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| ResultsError::Render(e.into()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn checks(
    plan: &Plan,
    summary: &Summary,
    scores: Option<&Scores>,
    figures: Option<&AccuracyFigures>,
) -> Vec<Check> {
    let problems: Vec<&str> = summary
        .problems
        .iter()
        .map(|p| p.message.as_str())
        .collect();
    let mut checks = vec![Check {
        name: "valid".to_owned(),
        passed: summary.valid,
        detail: match problems.as_slice() {
            [] => "every selected turn and sample completed".to_owned(),
            some => some.join("; "),
        },
    }];
    checks.push(phases(plan));
    if let Some(scores) = scores {
        let all: u32 = plan.conversations().iter().map(|c| c.turns).sum();
        checks.extend(accuracy::replay_checks(
            scores,
            all as usize,
            summary.osl.mean,
            plan.replay.osl_window,
        ));
    }
    checks.extend(figures.map(AccuracyFigures::checks).into_iter().flatten());
    checks
}

/// A result is that of both phases of one run. Scores of other settings, drafts among them, are another result's.
fn phases(plan: &Plan) -> Check {
    let settings = format!("--mtp {}", plan.engine.mtp);
    let alone = |phase: &str, other: &str| {
        format!(
            "{phase} only: there is no {other} result of these settings ({settings}), and one of another run does not \
             count"
        )
    };
    let (passed, detail) = match (&plan.dataset, &plan.accuracy) {
        (Some(_), Some(_)) => (
            true,
            format!("performance and accuracy, both with {settings}"),
        ),
        (_, None) => (false, alone("performance", "accuracy")),
        (None, _) => (false, alone("accuracy", "performance")),
    };
    Check {
        name: "phases".to_owned(),
        passed,
        detail,
    }
}

/// What the summary needs besides the rows: all of it follows from the plan, the rows and the readings.
pub(super) fn facts(plan: &Plan, rows: &Rows, figures: Option<&AccuracyFigures>) -> RunFacts {
    let mut deviations = plan.deviations.clone();
    let of_samples = rows.samples.iter().map(|s| s.turn.attempt);
    let attempts = rows.turns.iter().map(|r| r.attempt).chain(of_samples).max();
    if let Some(attempts) = attempts.filter(|attempts| *attempts > 0) {
        deviations.push(Deviation {
            name: "resumed".to_owned(),
            expected: 0.into(),
            actual: attempts.into(),
        });
    }
    let conversations = plan.selection();
    let selected: usize = conversations.iter().map(|c| c.selected as usize).sum();
    RunFacts {
        deviations,
        finished: rows.turns.len() == selected,
        context_tokens: plan.engine.context.ctx_size as usize,
        conversations,
        inline_score: None,
        resumed: attempts.unwrap_or(0) as usize,
        samples: plan.accuracy.as_ref().map(|planned| SampleCounts {
            planned: planned.samples,
            answered: rows.samples.len(),
            // Not from the figures, which a comparison has not: it must not call such a run valid.
            failed: rows.samples.iter().filter(|s| s.output.is_none()).count(),
            decided: planned.stop_when_decided
                && figures.is_some_and(|f| {
                    !matches!(f.certainty, None | Some(accuracy::Certainty::Open))
                }),
        }),
        moments: rows.moments.clone(),
    }
}

fn setup(plan: &Plan, rows: &Rows, finished: bool) -> Setup {
    let planned = plan.accuracy.as_ref();
    let replay = &plan.replay;
    Setup {
        origin: Origin {
            version: plan.program.version.clone(),
            git_sha: None,
            load_generator: Some(plan.program.load_generator.clone()),
        },
        model: plan
            .model
            .name
            .clone()
            .unwrap_or_else(|| "unnamed".to_owned()),
        tokenizer: replay.tokenizer.as_ref().map(|t| t.name.clone()),
        dataset: plan.dataset.as_ref().map(|d| d.name.clone()),
        bfcl: planned.and_then(AccuracyPlan::sampling),
        conversations: plan.conversations().len() / replay.repeat.max(1) as usize,
        repeats: replay.repeat,
        max_new_tokens: replay.max_new_tokens,
        seed: plan.seed,
        turn_timeout_s: replay.turn_timeout_s,
        time_cap_s: replay.time_cap_s,
        salt: replay.salt,
        inject_delays: replay.inject_delays,
        warmup: replay.warmup,
        finished,
        ended: finished && planned.is_none_or(|p| p.samples == rows.samples.len()),
        continued_at: continued_at(&rows.turns),
    }
}
