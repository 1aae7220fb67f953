//! Events → samples: what the reference's aggregator takes from its log.

use std::collections::HashMap;

use serde::Serialize;

use super::error::EndpointsError;
use super::event::{Data, Event, EventKind};
use super::tokens::{SampleTokens, TokenTable};

/// What the samples of the performance phase add up to, in the reference's terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Samples issued while tracking was on.
    pub issued: u64,
    /// Of those, samples that ended, *failed and skipped ones included*.
    pub completed: u64,
    /// Error events of samples that had not ended yet.
    pub failed: u64,
    /// Start of tracking → last end of a sample issued in that stretch, summed over stretches, ns.
    pub duration_ns: u64,
    /// Issued → first content-bearing delta, ns, in the order of arrival.
    pub ttft_ns: Vec<u64>,
    /// First content-bearing delta → end, divided by the tokens after that delta, ns, in order of
    /// ending. A sample without a first delta, or without tokens after it, has none.
    pub tpot_ns: Vec<f64>,
    /// Issued → ended, ns, in order of ending. Failures are in: they make it shorter.
    pub latency_ns: Vec<u64>,
    /// Prompt tokens, where known.
    pub input_tokens: Vec<u64>,
    /// Output tokens, where known.
    pub output_tokens: Vec<u64>,
    /// Why samples stopped; those without a reason are not counted.
    pub finish_reasons: FinishReasons,
}

/// Finish reasons, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FinishReasons {
    /// End-of-generation token.
    pub stop: u64,
    /// Token limit, or end of the context.
    pub length: u64,
    /// The reply calls tools.
    pub tool_calls: u64,
    /// Filtered.
    pub content_filter: u64,
    /// The older form of a tool call.
    pub function_call: u64,
    /// Any other.
    pub other: u64,
}

impl FinishReasons {
    fn count(&mut self, reason: &str) {
        let counter = match reason {
            "stop" => &mut self.stop,
            "length" => &mut self.length,
            "tool_calls" => &mut self.tool_calls,
            "content_filter" => &mut self.content_filter,
            "function_call" => &mut self.function_call,
            _ => &mut self.other,
        };
        *counter += 1;
    }
}

/// A sample that was issued and has not ended.
struct Open {
    issued: u64,
    first: Option<u64>,
    stretch: usize,
}

/// A stretch of tracking.
struct Stretch {
    start: u64,
    last_complete: u64,
}

struct Tracker<'a> {
    tokens: &'a TokenTable,
    tracking: bool,
    stretches: Vec<Stretch>,
    open: HashMap<&'a str, Open>,
    samples: Samples,
}

/// What the events add up to. `tokens` holds the counts of each sample, by id; a sample without a
/// count is not in the series that needs it.
///
/// # Errors
/// [`EndpointsError::Backwards`] when a sample ends before it was issued.
pub fn track(events: &[Event], tokens: &TokenTable) -> Result<Samples, EndpointsError> {
    let mut tracker = Tracker {
        tokens,
        tracking: false,
        stretches: Vec::new(),
        open: HashMap::new(),
        samples: Samples::default(),
    };
    for event in events {
        tracker.see(event)?;
        if event.event_type == EventKind::Ended {
            break;
        }
    }
    let mut samples = tracker.samples;
    let spans = tracker.stretches.iter().map(|s| s.last_complete - s.start);
    samples.duration_ns = spans.fold(0, u64::saturating_add);
    Ok(samples)
}

impl<'a> Tracker<'a> {
    fn see(&mut self, event: &'a Event) -> Result<(), EndpointsError> {
        match event.event_type {
            EventKind::StartTracking if !self.tracking => {
                self.tracking = true;
                self.stretches.push(Stretch {
                    start: event.timestamp_ns,
                    last_complete: event.timestamp_ns,
                });
            }
            EventKind::StopTracking => self.tracking = false,
            EventKind::Issued if self.tracking => self.issued(event),
            EventKind::RecvFirst => return self.first(event),
            EventKind::Complete => return self.complete(event),
            kind if kind.is_error() && self.open.contains_key(event.sample_uuid.as_str()) => {
                self.samples.failed += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn tokens_of(&self, event: &Event) -> SampleTokens {
        self.tokens
            .get(&event.sample_uuid)
            .copied()
            .unwrap_or_default()
    }

    fn issued(&mut self, event: &'a Event) {
        self.samples.issued += 1;
        let stretch = self.stretches.len() - 1;
        self.open.entry(&event.sample_uuid).or_insert(Open {
            issued: event.timestamp_ns,
            first: None,
            stretch,
        });
        let input = self.tokens_of(event).input;
        self.samples.input_tokens.extend(input);
    }

    fn first(&mut self, event: &'a Event) -> Result<(), EndpointsError> {
        if let Some(open) = self.open.get_mut(event.sample_uuid.as_str()) {
            open.first = Some(event.timestamp_ns);
            let ttft = since(open.issued, event, "first delta")?;
            self.samples.ttft_ns.push(ttft);
        }
        Ok(())
    }

    fn complete(&mut self, event: &'a Event) -> Result<(), EndpointsError> {
        let Some(open) = self.open.remove(event.sample_uuid.as_str()) else {
            return Ok(());
        };
        let latency = since(open.issued, event, "end")?;
        let stretch = &mut self.stretches[open.stretch];
        stretch.last_complete = stretch.last_complete.max(event.timestamp_ns);
        let tokens = self.tokens_of(event);
        let samples = &mut self.samples;
        samples.completed += 1;
        samples.latency_ns.push(latency);
        if let Some(reason) = &event.finish_reason {
            samples.finish_reasons.count(reason);
        }
        if !matches!(event.data, Data::Output(_)) {
            return Ok(());
        }
        samples.output_tokens.extend(tokens.output);
        if let (Some(first), Some(after)) = (open.first, tokens.after_first.filter(|n| *n > 0)) {
            let spent = since(first, event, "end")?;
            samples.tpot_ns.push(spent as f64 / after as f64);
        }
        Ok(())
    }
}

fn since(start: u64, event: &Event, name: &'static str) -> Result<u64, EndpointsError> {
    event
        .timestamp_ns
        .checked_sub(start)
        .ok_or_else(|| EndpointsError::Backwards {
            sample: event.sample_uuid.clone(),
            event: name,
            found: event.timestamp_ns,
            issued: start,
        })
}
