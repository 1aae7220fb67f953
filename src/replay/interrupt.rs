//! The user's wish to stop: once, and the current turn finishes; twice, and it does not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared with the signal handler.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    urgent: Arc<AtomicBool>,
}

impl Interrupt {
    /// One more wish to stop.
    pub fn request(&self) {
        if self.requested.swap(true, Ordering::Relaxed) {
            self.urgent.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the run is to end after the current turn.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Set once the current turn is not to be waited for.
    #[must_use]
    pub fn urgent(&self) -> &AtomicBool {
        &self.urgent
    }
}
