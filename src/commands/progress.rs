//! Progress on stderr: a bar with an ETA on a terminal, plain lines otherwise.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::{Clock, Nanos};
use crate::metrics::ConversationFacts;
use crate::record::TurnRecord;

/// Plain lines are at least this far apart, ns.
const LINE_EVERY: Nanos = 30_000_000_000;

/// Progress over the selected turns.
pub struct Progress<'a> {
    clock: &'a dyn Clock,
    bar: Option<ProgressBar>,
    total: u64,
    done: u64,
    next_line: Nanos,
    latency: u128,
    timed: u32,
}

impl<'a> Progress<'a> {
    /// Progress towards all selected turns.
    pub fn new(selection: &[ConversationFacts], clock: &'a dyn Clock) -> Self {
        let total = selection.iter().map(|c| u64::from(c.selected)).sum();
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(
                "{bar:30} {pos}/{len} turns  {elapsed} (ETA {eta})  {msg}",
            )
            .expect("a valid template");
            let bar = ProgressBar::new(total).with_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self {
            clock,
            bar,
            total,
            done: 0,
            next_line: clock.now() + LINE_EVERY,
            latency: 0,
            timed: 0,
        }
    }

    /// A turn is about to be issued.
    pub fn started(&self, conversation_id: &str, turn: u32) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{conversation_id}:{turn}{}", self.mean()));
        }
    }

    /// A turn has its row.
    pub fn ended(&mut self, record: &TurnRecord) {
        self.done += 1;
        if let Some(latency) = record.latency_ns {
            self.latency += u128::from(latency);
            self.timed += 1;
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        } else if self.clock.now() >= self.next_line || self.done == self.total {
            self.next_line = self.clock.now() + LINE_EVERY;
            eprintln!("{}/{} turns{}", self.done, self.total, self.mean());
        }
    }

    fn mean(&self) -> String {
        match self.latency.checked_div(u128::from(self.timed)) {
            Some(ns) => format!(", mean latency {:.1} ms", ns as f64 / 1e6),
            None => String::new(),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
