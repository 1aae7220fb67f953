//! Who reads the machine during a run, and when: `conditions.jsonl`.

use anyhow::Context;

use crate::clock::Clock;
use crate::exit::{Classify, Failure};
use crate::machine::{Moment, Occasion, Phase, Source};
use crate::results::{CONDITIONS, Lines, RunDir};

/// Reads the machine between turns.
pub(super) struct Watch<'a> {
    lines: Lines,
    source: Source,
    clock: &'a dyn Clock,
    phase: Phase,
    attempt: u32,
}

impl<'a> Watch<'a> {
    /// Opens the file, which may hold the readings of an earlier start or phase.
    pub fn open(
        dir: &RunDir,
        clock: &'a dyn Clock,
        phase: Phase,
        attempt: u32,
    ) -> Result<Self, Failure> {
        let lines = Lines::open(&dir.file(CONDITIONS))
            .context(CONDITIONS)
            .setup()?;
        Ok(Self {
            lines,
            source: Source::this_machine(),
            clock,
            phase,
            attempt,
        })
    }

    /// Reads the machine now, when `rows` rows of the phase are on disk and no turn runs.
    pub fn read(&mut self, rows: usize, occasion: Occasion) -> anyhow::Result<()> {
        let mut moment = Moment::read(&self.source, self.clock, self.attempt, rows, occasion);
        moment.phase = self.phase;
        self.lines.append(&moment).context(CONDITIONS)
    }
}
