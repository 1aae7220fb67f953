//! Progress on stderr: a bar with an ETA on a terminal, plain lines with one otherwise.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::{Clock, Nanos};
use crate::record::TurnRecord;
use crate::say::say;

/// Plain lines are at least this far apart, ns.
const LINE_EVERY: Nanos = 30_000_000_000;

/// Progress over turns or samples.
pub struct Progress<'a> {
    clock: &'a dyn Clock,
    bar: Option<ProgressBar>,
    noun: &'static str,
    start: Nanos,
    total: u64,
    done: u64,
    next_line: Nanos,
    latency: u128,
    timed: u32,
}

impl<'a> Progress<'a> {
    /// Progress towards `total` of what `noun` names, in the plural.
    pub fn new(total: u64, noun: &'static str, clock: &'a dyn Clock) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(&format!(
                "{{bar:30}} {{pos}}/{{len}} {noun}  {{elapsed}} (ETA {{eta}})  {{msg}}"
            ))
            .expect("a valid template");
            let bar = ProgressBar::new(total).with_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let start = clock.now();
        Self {
            clock,
            bar,
            noun,
            start,
            total,
            done: 0,
            next_line: start + LINE_EVERY,
            latency: 0,
            timed: 0,
        }
    }

    /// One of them is about to be issued.
    pub fn started(&self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{name}{}", self.mean()));
        }
    }

    /// One of them has its row. `note`: how things stand, for the plain lines.
    pub fn ended(&mut self, record: &TurnRecord, note: &str) {
        self.done += 1;
        if let Some(latency) = record.latency_ns {
            self.latency += u128::from(latency);
            self.timed += 1;
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
            return;
        }
        let now = self.clock.now();
        if now >= self.next_line || self.done == self.total {
            self.next_line = now + LINE_EVERY;
            let left = u128::from(now - self.start) * u128::from(self.total - self.done)
                / u128::from(self.done);
            let eta = match self.done == self.total {
                true => String::new(),
                false => format!(", {:.0} s left", left as f64 / 1e9),
            };
            let (done, total, noun) = (self.done, self.total, self.noun);
            say(format_args!(
                "{done}/{total} {noun}{}{note}{eta}",
                self.mean()
            ));
        }
    }

    /// A line of its own, above the bar.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => say(line),
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
