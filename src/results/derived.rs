//! Everything that follows from a run's records: a pure function, so that `run` and `report` cannot disagree.

use serde::{Deserialize, Serialize};

use super::ResultsError;
use crate::accuracy::{self, Check};
use crate::conversation::Dataset;
use crate::endpoints::{self, Origin, Recount, Setup};
use crate::metrics::{Deviation, RunFacts, Summary, continued_at};
use crate::output::{Format, render};
use crate::plan::Plan;
use crate::record::TurnRecord;

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
    /// `summary.json`.
    pub summary: Summary,
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
        let gate = |c: &&Check| c.name == "valid" || c.name == "osl_window";
        self.verdict.checks.iter().filter(gate).all(|c| c.passed)
    }
}

/// Derives. `data` is the data set as it is in its file; `recount` counts tokens anew where the plan has a tokenizer.
pub fn derive(
    plan: &Plan,
    records: &[TurnRecord],
    data: &Dataset,
    recount: Option<&dyn Recount>,
) -> Result<Derived, ResultsError> {
    let mut facts = facts(plan, records);
    let setup = setup(plan, records, data, facts.finished);
    let endpoints =
        endpoints::files(records, data, &setup, recount).map_err(ResultsError::Endpoints)?;
    let events = endpoints::events(records, &data.sha256, &setup.continued_at, facts.finished);
    let scores = accuracy::score(&accuracy::expected(data), &endpoints::answers(&events));
    facts.inline_score = records
        .iter()
        .any(|r| r.state.is_completed())
        .then_some(scores.score)
        .flatten();
    let summary = Summary::compute(records, &facts).map_err(ResultsError::Accounting)?;
    let all: u32 = plan.dataset.conversations.iter().map(|c| c.turns).sum();
    let checks = checks(plan, &summary, &scores, all as usize);
    let verdict = Verdict {
        load_generator: plan.program.load_generator.clone(),
        complete: summary.complete,
        passed: checks.iter().all(|c| c.passed),
        checks,
    };
    let mut files: Vec<(String, Vec<u8>)> = endpoints
        .into_iter()
        .map(|(name, bytes)| (format!("endpoints/{name}"), bytes))
        .collect();
    let report = render(Format::Md, &plan.settings(), &summary).map_err(ResultsError::Render)?;
    files.push(("report.md".to_owned(), report.into_bytes()));
    files.push(("verdict.json".to_owned(), json(&verdict)?));
    files.push(("summary.json".to_owned(), json(&summary)?));
    Ok(Derived {
        summary,
        verdict,
        files,
    })
}

/// What is known of a run before its first turn.
pub fn initial(plan: &Plan) -> Result<Summary, ResultsError> {
    Summary::compute(&[], &facts(plan, &[])).map_err(ResultsError::Accounting)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, ResultsError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| ResultsError::Render(e.into()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn checks(
    plan: &Plan,
    summary: &Summary,
    scores: &accuracy::Scores,
    client_turns: usize,
) -> Vec<Check> {
    let mut checks = vec![Check {
        name: "valid".to_owned(),
        passed: summary.valid,
        detail: if summary.problems.is_empty() {
            "every selected turn completed".to_owned()
        } else {
            let problems: Vec<&str> = summary
                .problems
                .iter()
                .map(|p| p.message.as_str())
                .collect();
            problems.join("; ")
        },
    }];
    checks.extend(accuracy::replay_checks(
        scores,
        client_turns,
        summary.osl.mean,
        plan.replay.osl_window,
    ));
    checks
}

/// What the summary needs besides the rows: all of it follows from the plan and the rows.
fn facts(plan: &Plan, records: &[TurnRecord]) -> RunFacts {
    let mut deviations = plan.deviations.clone();
    let attempts = records.iter().map(|r| r.attempt).max().unwrap_or(0);
    if attempts > 0 {
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
        finished: records.len() == selected,
        context_tokens: plan.engine.context.ctx_size as usize,
        conversations,
        inline_score: None,
    }
}

fn setup(plan: &Plan, records: &[TurnRecord], data: &Dataset, finished: bool) -> Setup {
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
        dataset: plan.dataset.name.clone(),
        conversations: data.conversations.len(),
        repeats: replay.repeat,
        max_new_tokens: replay.max_new_tokens,
        seed: plan.seed,
        turn_timeout_s: replay.turn_timeout_s,
        time_cap_s: replay.time_cap_s,
        salt: replay.salt,
        inject_delays: replay.inject_delays,
        warmup: replay.warmup,
        finished,
        continued_at: continued_at(records),
        accuracy: Vec::new(),
    }
}
