//! llama.cpp's log: kept, so that a failed load can be explained, and shown where asked for.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::say::say;

/// Lines of warnings and errors that are kept.
const KEPT: usize = 12;

/// Whether all lines go to stderr too.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// The last warnings and errors.
type Tail = Arc<Mutex<VecDeque<(Level, String)>>>;

struct Capture {
    tail: Tail,
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.0);
        }
    }
}

impl<S: Subscriber> Layer<S> for Capture {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "llama-cpp-2"
            && (SHOWN.load(Ordering::Relaxed) || *metadata.level() <= Level::WARN)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let line = message.0.trim_end();
        if SHOWN.load(Ordering::Relaxed) {
            say(format_args!("llama.cpp: {line}"));
        }
        if *event.metadata().level() <= Level::WARN {
            let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() == KEPT {
                tail.pop_front();
            }
            tail.push_back((*event.metadata().level(), line.to_owned()));
        }
    }
}

fn tail() -> &'static Tail {
    static TAIL: OnceLock<Tail> = OnceLock::new();
    TAIL.get_or_init(Tail::default)
}

/// Shows everything that llama.cpp logs from here on, on stderr.
pub fn show() {
    SHOWN.store(true, Ordering::Relaxed);
}

/// Routes llama.cpp's log.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let capture = Capture {
            tail: Arc::clone(tail()),
        };
        let subscriber = tracing_subscriber::registry().with(capture);
        // Fails only where a host program has a subscriber of its own, which then gets the lines.
        let _ = tracing::subscriber::set_global_default(subscriber);
        llama_cpp_2::send_logs_to_tracing(llama_cpp_2::LogOptions::default());
    });
}

/// What llama.cpp said last, oldest first, and forgets it: its errors, or its warnings where there are none.
pub(super) fn take_tail() -> Vec<String> {
    let lines: Vec<(Level, String)> = tail()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .drain(..)
        .collect();
    let errors = lines.iter().any(|(level, _)| *level == Level::ERROR);
    lines
        .into_iter()
        .filter(|(level, _)| !errors || *level == Level::ERROR)
        .map(|(_, line)| line)
        .collect()
}
