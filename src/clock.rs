//! Time. The only module of the crate that reads a clock.
//!
//! Durations come from a monotonic clock that starts at zero with the run; the
//! wall clock is read only to say *when* something happened, never how long it
//! took. Code that needs time takes a [`Clock`], so tests drive it by hand.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use jiff::SignedDuration;

/// Nanoseconds on the run's monotonic clock, counted from the run's start.
pub type Nanos = u64;

/// A moment on the wall clock, written as RFC 3339 in UTC.
pub type Timestamp = jiff::Timestamp;

/// A source of time for one run.
pub trait Clock: Send + Sync {
    /// Nanoseconds since the run's start; never decreases.
    fn now(&self) -> Nanos;

    /// The wall clock; may jump when the system's time is set.
    fn wall(&self) -> Timestamp;

    /// Waits `duration` ns. A manual clock moves instead.
    fn sleep(&self, duration: Nanos);
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn wall(&self) -> Timestamp {
        (**self).wall()
    }

    fn sleep(&self, duration: Nanos) {
        (**self).sleep(duration);
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn wall(&self) -> Timestamp {
        (**self).wall()
    }

    fn sleep(&self, duration: Nanos) {
        (**self).sleep(duration);
    }
}

/// The real clock: the operating system's monotonic clock, zero at creation.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// Starts a clock at zero.
    #[must_use]
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanos {
        // u64 nanoseconds last for 584 years.
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, duration: Nanos) {
        std::thread::sleep(std::time::Duration::from_nanos(duration));
    }
}

/// A clock that moves only when told to. Clones share the same time.
///
/// Its wall clock starts at 2026-01-01T00:00:00Z and moves with it;
/// [`ManualClock::jump_wall`] moves the wall clock alone, as a suspended laptop
/// does.
#[derive(Clone, Default)]
pub struct ManualClock {
    state: Arc<ManualState>,
}

#[derive(Default)]
struct ManualState {
    now: AtomicU64,
    wall_ahead: AtomicI64,
}

/// 2026-01-01T00:00:00Z in seconds since the Unix epoch.
const MANUAL_WALL_START_S: i64 = 1_767_225_600;

impl ManualClock {
    /// A clock that stands at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves time forward by `by` nanoseconds and returns the new time.
    pub fn advance(&self, by: Nanos) -> Nanos {
        self.state.now.fetch_add(by, Ordering::SeqCst) + by
    }

    /// Moves time forward to `to` nanoseconds.
    ///
    /// # Panics
    /// When `to` lies in the past: a monotonic clock cannot go back, and a
    /// script that asks for it is wrong.
    pub fn set(&self, to: Nanos) {
        let before = self.state.now.swap(to, Ordering::SeqCst);
        assert!(
            before <= to,
            "a monotonic clock cannot go back from {before} to {to} ns"
        );
    }

    /// Moves the wall clock alone by `by` nanoseconds (either way).
    pub fn jump_wall(&self, by: i64) {
        self.state.wall_ahead.fetch_add(by, Ordering::SeqCst);
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock")
            .field("now", &self.now())
            .finish()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        self.state.now.load(Ordering::SeqCst)
    }

    fn wall(&self) -> Timestamp {
        let elapsed = i64::try_from(self.now()).unwrap_or(i64::MAX);
        let ahead = self.state.wall_ahead.load(Ordering::SeqCst);
        Timestamp::UNIX_EPOCH
            + SignedDuration::from_secs(MANUAL_WALL_START_S)
            + SignedDuration::from_nanos(elapsed)
            + SignedDuration::from_nanos(ahead)
    }

    fn sleep(&self, duration: Nanos) {
        self.advance(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_clock_moves_only_when_told() {
        let clock = ManualClock::new();
        let other = clock.clone();
        assert_eq!(clock.now(), 0);
        assert_eq!(clock.advance(5), 5);
        other.set(1_000_000_000);
        assert_eq!(clock.now(), 1_000_000_000);
        assert_eq!(clock.wall().to_string(), "2026-01-01T00:00:01Z");
    }

    #[test]
    fn manual_wall_clock_can_jump_alone() {
        let clock = ManualClock::new();
        clock.jump_wall(600_000_000_000);
        assert_eq!(clock.now(), 0);
        assert_eq!(clock.wall().to_string(), "2026-01-01T00:10:00Z");
    }

    #[test]
    #[should_panic(expected = "cannot go back")]
    fn manual_clock_refuses_to_go_back() {
        let clock = ManualClock::new();
        clock.set(10);
        clock.set(9);
    }

    #[test]
    fn monotonic_clock_never_decreases() {
        let clock = MonotonicClock::start();
        let first = clock.now();
        assert!(clock.now() >= first);
        let shared: Arc<dyn Clock> = Arc::new(clock);
        assert!(shared.now() >= first);
    }
}
