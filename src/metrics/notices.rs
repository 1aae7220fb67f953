//! What a summary says beyond its figures: problems and warnings.

use serde::{Deserialize, Serialize};

use super::accounting::TurnCounts;
use super::conditions::MemoryUse;
use super::consistency::inconsistencies;
use super::drift::Drift;
use super::facts::{Deviation, RunFacts, SYNTHETIC};
use super::gaps::{self, Gap};
use super::repetition;
use super::speculation::Speculation;
use super::tokens::{PromptTokens, SelfCheckCounts};
use crate::record::TurnRecord;

/// Common prefixes at least this long should have been reused, tokens.
const LONG_PREFIX: usize = 64;
/// Evaluated ÷ ideal above which prefix reuse is poor.
const POOR_REUSE: f64 = 1.05;
/// Acceptance below which drafting is pointless, and the drafts it takes to say so.
const LOW_ACCEPTANCE: f64 = 0.05;
const ENOUGH_DRAFTS: usize = 100;

/// Why a run is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The plan selects no turn.
    NothingSelected,
    /// The run ended before its plan did.
    Incomplete,
    /// Turns failed, or were skipped because of that.
    FailedTurns,
    /// Rows contradict themselves: the measurement is broken.
    Inconsistent,
    /// Reuse or speculation changed what was generated.
    SelfCheck,
    /// BFCL samples came back without a reply.
    FailedSamples,
    /// The machine slept during the run, or its clock was set.
    Asleep,
    /// Replies were not the model's own.
    Synthetic,
}

/// A reason why a run is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Which reason.
    pub kind: ProblemKind,
    /// The reason with its figures, and what to do.
    pub message: String,
}

/// What a valid run may still have to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// Turns reused nothing although they share a long prefix.
    NoReuse,
    /// Many more prompt tokens were evaluated than needed.
    PoorReuse,
    /// The chat template rewrites earlier messages, so that less can be reused.
    RewrittenHistory,
    /// A conversation's first turn reused tokens.
    WarmStart,
    /// Outputs were cut off by the context's end.
    ShortOutputs,
    /// Almost no draft token was kept.
    LowAcceptance,
    /// By the run's own steps, its tokens would have come sooner without drafts.
    SlowDrafts,
    /// Replies end in a loop.
    Degenerate,
    /// The machine became slower within the run.
    Drift,
    /// Memory grew with every conversation.
    MemoryGrowth,
    /// The wall clock was set while the machine was awake.
    ClockSet,
}

/// Something a reader of the figures must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// Which warning.
    pub kind: WarningKind,
    /// The warning with its figures, and what to do.
    pub message: String,
}

/// What is known of the machine during the run.
pub(super) struct Measured {
    /// Gaps between the clocks.
    pub gaps: Vec<Gap>,
    /// Speed at the end against speed at the beginning.
    pub drift: Drift,
    /// Memory of this process.
    pub memory: MemoryUse,
}

/// Every reason why the run is not valid; empty for a valid one.
pub(super) fn problems(
    records: &[TurnRecord],
    turns: &TurnCounts,
    facts: &RunFacts,
    checks: SelfCheckCounts,
    measured: &Measured,
) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut add = |kind, message| found.push(Problem { kind, message });
    let samples = facts.samples;
    let synthetic = |d: &&Deviation| SYNTHETIC.contains(&d.name.as_str());
    let named = facts.deviations.iter().filter(synthetic);
    let named: Vec<String> = named.map(|d| format!("--{}", d.name)).collect();
    if !named.is_empty() {
        let message = format!(
            "synthetic ({}): the replies are not the model's own; the times tell about the device and nothing else",
            named.join(", ")
        );
        add(ProblemKind::Synthetic, message);
    }
    if turns.selected() == 0 && samples.is_none_or(|s| s.planned == 0) {
        let message = "no turn is selected; widen --conversations or --turns".to_owned();
        add(ProblemKind::NothingSelected, message);
    }
    if turns.not_issued > 0 {
        let (missing, of) = (turns.not_issued, turns.selected());
        let message = format!(
            "{missing} of {of} selected turns were not issued; continue the run with --resume"
        );
        add(ProblemKind::Incomplete, message);
    }
    if let Some(s) = samples.filter(|s| s.answered < s.planned) {
        let (missing, of) = (s.planned - s.answered, s.planned);
        let message = match s.decided {
            true => format!(
                "{missing} of {of} BFCL samples were not asked, as --stop-when-decided has it; a verdict takes a new \
                 run without it"
            ),
            false => format!(
                "{missing} of {of} BFCL samples were not asked; continue the run with --resume"
            ),
        };
        add(ProblemKind::Incomplete, message);
    } else if turns.not_issued == 0 && !facts.finished {
        let message = "the run ended before its plan did; repeat it".to_owned();
        add(ProblemKind::Incomplete, message);
    }
    if turns.failed_all() + turns.skipped > 0 {
        add(ProblemKind::FailedTurns, failed_message(records, turns));
    }
    if let Some(s) = samples.filter(|s| s.failed > 0) {
        let message = format!(
            "{} of {} BFCL samples have no reply; samples.jsonl has the reasons",
            s.failed, s.answered
        );
        add(ProblemKind::FailedSamples, message);
    }
    if let Some(message) = inconsistent_message(records) {
        add(ProblemKind::Inconsistent, message);
    }
    if checks.equal < checks.checked {
        add(ProblemKind::SelfCheck, self_check_message(records, checks));
    }
    if let Some(message) = gaps::problem(&measured.gaps) {
        add(ProblemKind::Asleep, message);
    }
    found
}

/// Everything that a reader of the figures must know.
pub(super) fn warnings(
    records: &[TurnRecord],
    turns: &TurnCounts,
    prompts: &PromptTokens,
    drafts: &Speculation,
    measured: &Measured,
) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut add = |kind, message| found.push(Warning { kind, message });
    if let Some(message) = no_reuse(records) {
        add(WarningKind::NoReuse, message);
    }
    if let Some(ratio) = prompts.evaluated_to_ideal().filter(|r| *r > POOR_REUSE) {
        let message = format!(
            "{ratio:.2} times the needed prompt tokens were evaluated; run with --self-check to see whether snapshots are restored"
        );
        add(WarningKind::PoorReuse, message);
    }
    if let Some(message) = rewritten(records) {
        add(WarningKind::RewrittenHistory, message);
    }
    if let Some(message) = warm_start(records) {
        add(WarningKind::WarmStart, message);
    }
    if turns.completed_context > 0 {
        let message = format!(
            "{} outputs end early because the context was full; raise --ctx-size",
            turns.completed_context
        );
        add(WarningKind::ShortOutputs, message);
    }
    if let Some(message) = repetition::message(records) {
        add(WarningKind::Degenerate, message);
    }
    if drafts.drafted >= ENOUGH_DRAFTS
        && let Some(acceptance) = drafts.acceptance.filter(|a| *a < LOW_ACCEPTANCE)
    {
        let message = format!(
            "{:.1} % of {} draft tokens were kept; check that the MTP head belongs to the model, or use --mtp off",
            acceptance * 100.0,
            drafts.drafted
        );
        add(WarningKind::LowAcceptance, message);
    }
    if let Some(message) = drafts.notice() {
        add(WarningKind::SlowDrafts, message);
    }
    let of_machine = [
        (WarningKind::Drift, measured.drift.notice()),
        (WarningKind::MemoryGrowth, measured.memory.notice()),
        (WarningKind::ClockSet, gaps::warning(&measured.gaps)),
    ];
    for (kind, message) in of_machine {
        if let Some(message) = message {
            add(kind, message);
        }
    }
    found
}

fn place(record: &TurnRecord) -> String {
    format!(
        "conversation {:?} turn {}",
        record.conversation_id, record.turn
    )
}

fn failed_message(records: &[TurnRecord], turns: &TurnCounts) -> String {
    let mut message = format!(
        "{} turns failed and {} were skipped after them",
        turns.failed_all(),
        turns.skipped
    );
    if let Some(first) = records.iter().find(|r| r.state.is_failed()) {
        let reason = first.reason.as_deref().unwrap_or("no reason recorded");
        message += &format!("; first: {}: {}: {reason}", place(first), first.state);
    }
    message
}

fn inconsistent_message(records: &[TurnRecord]) -> Option<String> {
    let mut broken = records.iter().filter_map(|r| {
        let first = inconsistencies(r).into_iter().next()?;
        Some((r, first))
    });
    let (record, what) = broken.next()?;
    let count = 1 + broken.count();
    Some(format!(
        "{count} rows contradict themselves, so the measurement cannot be trusted; first: {}: {what}",
        place(record)
    ))
}

fn self_check_message(records: &[TurnRecord], checks: SelfCheckCounts) -> String {
    let mut message = format!(
        "{} of {} repeated turns generated other tokens from an empty cache",
        checks.checked - checks.equal,
        checks.checked
    );
    let first = records
        .iter()
        .find_map(|r| Some((r, r.self_check.filter(|c| !c.equal)?)));
    if let Some((record, check)) = first {
        message += &format!("; first: {}", place(record));
        if let Some(token) = check.first_difference {
            message += &format!(", output token {token}");
        }
    }
    message
}

/// Turns that reused nothing although the previous prompt of their conversation
/// begins like theirs.
fn no_reuse(records: &[TurnRecord]) -> Option<String> {
    let wasted: Vec<usize> = records
        .iter()
        .filter(|r| r.reused_tokens == Some(0))
        .filter_map(|r| r.prompt_tokens?.checked_sub(r.ideal_tokens?))
        .filter(|common| *common >= LONG_PREFIX)
        .collect();
    let longest = wasted.iter().max()?;
    Some(format!(
        "{} turns reused nothing although up to {longest} tokens of their prompt were known; every one re-read its whole history",
        wasted.len()
    ))
}

/// Turns whose prompt leaves the previous one of their conversation before its end (T2-13).
fn rewritten(records: &[TurnRecord]) -> Option<String> {
    let mut all = records.iter().filter_map(|r| Some((r, r.rewritten?)));
    let (first, place_in_prompt) = all.next()?;
    Some(format!(
        "the chat template rewrites earlier messages in {} turns, so that no cache can reuse what follows; first: {}: \
         at token {}, in message {} of its prompt",
        1 + all.count(),
        place(first),
        place_in_prompt.token,
        place_in_prompt.message
    ))
}

/// Conversations whose first turn found something to reuse: state of an earlier
/// conversation, of a warm-up or of an earlier run.
fn warm_start(records: &[TurnRecord]) -> Option<String> {
    let warm = records
        .iter()
        .filter(|r| r.turn == 1 && r.reused_tokens.is_some_and(|n| n > 0))
        .count();
    (warm > 0).then(|| {
        format!(
            "{warm} conversations started warm (their first turn reused tokens), which flatters TTFT; run without --reuse-across-conversations"
        )
    })
}
