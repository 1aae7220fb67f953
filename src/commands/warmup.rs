//! `--warmup N`: turns of the embedded sample, run before anything is measured.
//!
//! The sample shares no task with the benchmark, its rows go to a file of their own, and the state it leaves is
//! dropped before the first measured turn.

use std::ops::ControlFlow;

use super::dataset;
use super::run::Session;
use crate::conversation::{Dataset, variant};
use crate::engine::Engine;
use crate::exit::{Classify, Failure};
use crate::metrics::ConversationFacts;
use crate::record::{RecordLog, SelfCheck, TurnRecord};
use crate::replay::Observer;
use crate::results::RunDir;

struct Rows(RecordLog<TurnRecord>);

impl Observer for Rows {
    fn started(&mut self, _: &str, _: u32) {}

    fn ended(&mut self, record: &TurnRecord) -> anyhow::Result<ControlFlow<()>> {
        self.0.append(record)?;
        Ok(ControlFlow::Continue(()))
    }

    fn checked(&mut self, _: &str, _: u32, _: SelfCheck) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Runs the plan's warm-up turns: passes over the sample until there are enough.
pub fn run(session: &mut Session<'_, '_>, dir: &RunDir, attempt: u32) -> Result<(), Failure> {
    let mut left = session.plan.replay.warmup;
    if left == 0 {
        return Ok(());
    }
    let sample = dataset::sample()?;
    let turns = u32::try_from(sample.client_turns()).unwrap_or(u32::MAX);
    let passes = left.div_ceil(turns.max(1));
    let conversations = variant::repeated(&sample, passes)
        .into_iter()
        .map(|(_, c)| c)
        .collect();
    let warm = Dataset {
        sha256: sample.sha256,
        conversations,
    };
    let selection: Vec<ConversationFacts> = warm
        .conversations
        .iter()
        .map(|c| {
            let turns = u32::try_from(c.turns.len()).unwrap_or(u32::MAX);
            let selected = turns.min(left);
            left -= selected;
            ConversationFacts {
                conversation_id: c.id.clone(),
                turns,
                selected,
            }
        })
        .collect();
    let name = if attempt == 0 {
        "warmup.jsonl".to_owned()
    } else {
        format!("warmup-{attempt}.jsonl")
    };
    let mut rows = Rows(RecordLog::create(dir.file(&name)).setup()?);
    let mut settings = session.settings(&selection);
    settings.time_cap = None;
    settings.self_check = None;
    settings.inject_delays = false;
    session.run(&warm, settings, &mut rows)?;
    session.engine.forget();
    Ok(())
}
