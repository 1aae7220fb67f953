//! The accuracy phase: BFCL samples as conversations of one turn, each judged as soon as its reply is there.

use std::ops::ControlFlow;

use anyhow::Context;
use bfcl::dataset::{Dataset as Samples, Sample};
use bfcl::sampling::Selection;

use super::progress::Progress;
use super::run::Session;
use super::watch::Watch;
use crate::accuracy::{Certainty, Running, conversations, judged};
use crate::engine::Engine;
use crate::exit::{Classify, Failure};
use crate::machine::{Occasion, Phase};
use crate::metrics::ConversationFacts;
use crate::record::{RecordLog, SampleRecord, SelfCheck, TurnRecord};
use crate::replay::{Ending, Observer, Shared};
use crate::results::{Going, RunDir};

/// Judges rows, keeps them, and says what they decide.
struct Judge<'a> {
    samples: &'a Samples,
    log: RecordLog<SampleRecord>,
    progress: Progress<'a>,
    running: Running,
    /// Whether the samples are the gate's, so that something can be decided.
    gate: bool,
    stop_when_decided: bool,
    /// Whether the user was told that they are decided.
    said: bool,
}

impl Judge<'_> {
    fn note(&self) -> String {
        let (right, answered) = self.running.so_far();
        let percent = right as f64 * 100.0 / answered.max(1) as f64;
        format!(", {right}/{answered} right ({percent:.2} %)")
    }

    /// Whether to end here: the gates are decided, and the plan ends then.
    fn decided(&mut self) -> bool {
        let what = match self.gate.then(|| self.running.certainty()) {
            None | Some(Certainty::Open) => return false,
            Some(Certainty::WillMiss) => "a gate is missed",
            Some(Certainty::WillReach) => "the gates are reached",
        };
        if !std::mem::replace(&mut self.said, true) {
            let note = self.note();
            self.progress.say(&format!(
                "decided: {what}, whatever the remaining samples give{note}"
            ));
        }
        self.stop_when_decided
    }
}

impl Observer for Judge<'_> {
    fn started(&mut self, id: &str, _: u32) {
        self.progress.started(&format!("{id}{}", self.note()));
    }

    fn ended(&mut self, record: &TurnRecord) -> anyhow::Result<ControlFlow<()>> {
        let sample = self
            .samples
            .sample(&record.conversation_id)
            .with_context(|| format!("sample {:?} is not in the data", record.conversation_id))?;
        let row = judged(sample, record.clone());
        self.log.append(&row)?;
        self.running
            .add(row.subset, row.output.as_ref().map(|_| row.score));
        let note = self.note();
        self.progress.ended(record, &note);
        Ok(match self.decided() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn checked(&mut self, _: &str, _: u32, _: SelfCheck) -> anyhow::Result<()> {
        Ok(())
    }
}

/// The samples as a selection of the replay.
fn facts(samples: &Samples, selection: &Selection) -> Vec<ConversationFacts> {
    let facts = |sample: &Sample| ConversationFacts {
        conversation_id: sample.id().to_owned(),
        turns: 1,
        selected: 1,
    };
    selection.samples(samples).map(facts).collect()
}

/// Asks the plan's samples that have no row yet. Nothing is reused from one to the next, and nothing of the replay.
pub fn run(
    session: &mut Session<'_, '_>,
    dir: &RunDir,
    (samples, selection): (&Samples, &Selection),
    going: Going<SampleRecord>,
    attempt: u32,
) -> Result<Ending, Failure> {
    let Some(plan) = session.plan.accuracy.clone() else {
        return Ok(Ending::Finished);
    };
    let asked = conversations(samples, selection).bad_input()?;
    let facts = facts(samples, selection);
    let mut running = Running::new(samples, selection);
    for row in &going.kept {
        running.add(row.subset, row.output.as_ref().map(|_| row.score));
    }
    let left = facts.len() - going.first;
    let mut judge = Judge {
        samples,
        log: going.log,
        progress: Progress::new(left as u64, "samples", session.clock),
        running,
        gate: plan.is_gate(),
        stop_when_decided: plan.stop_when_decided,
        said: false,
    };
    if judge.decided() {
        judge.progress.finish();
        return Ok(Ending::Enough);
    }
    let mut settings = session.settings(&facts);
    settings.first = going.first;
    settings.attempt = attempt;
    settings.time_cap = None;
    settings.self_check = None;
    settings.inject_delays = false;
    settings.drop_oldest = None;
    settings.keep_state = false;
    settings.reuse_across = false;
    settings.shared = Shared::Nothing;
    session.engine.forget();
    let mut watch = Watch::open(dir, session.clock, Phase::Accuracy, attempt)?;
    watch.read(judge.log.rows(), Occasion::Start).run_failed()?;
    let ending = session.run(&asked, settings, &mut judge);
    let end = watch.read(judge.log.rows(), Occasion::End);
    judge.progress.finish();
    let ending = ending?;
    end.run_failed()?;
    Ok(ending)
}

#[cfg(test)]
#[path = "accuracy_answers.rs"]
mod answers;
#[cfg(test)]
#[path = "accuracy_tests.rs"]
mod tests;
