//! Known faults of long runs on devices, by their id in the list of field faults.

use super::fixtures::{facts, tokens};
use super::*;
use crate::clock::{Clock, ManualClock, Nanos};
use crate::machine::{Known, Moment, Occasion, Platform, ProcessMemory, Source};
use crate::record::{Phases, TurnRecord};

const SECOND: Nanos = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// A reading of a machine that says nothing.
fn moment(clock: &ManualClock, rows: usize, occasion: Occasion) -> Moment {
    let root = tempfile::tempdir().expect("a directory");
    let source = Source::fake(root.path(), Platform::Linux, |name, _| {
        Err(format!("no program {name}"))
    });
    Moment::read(&source, clock, 0, rows, occasion)
}

fn odd(i: usize) -> u32 {
    u32::try_from(2 * i + 1).expect("small")
}

/// A turn of `step` ns per token with a prompt that grows within a conversation of `length` turns.
fn turn(i: usize, length: usize, step: Nanos) -> TurnRecord {
    let times: Vec<Nanos> = (1..=40).map(|n| n * step).collect();
    // The first turn of a conversation reads its whole prompt.
    let new = if i.is_multiple_of(length) { 1000 } else { 600 };
    TurnRecord {
        prompt_tokens: Some(1000 + 600 * (i % length)),
        evaluated_tokens: Some(new),
        reused_tokens: Some(1000 + 600 * (i % length) - new),
        ideal_tokens: Some(new),
        phases_ns: Some(Phases {
            prefill: new as Nanos * step / 100,
            ..Phases::default()
        }),
        ..tokens("a", odd(i), &times)
    }
}

/// 150 turns whose tokens take `step(i)` ns.
fn run(step: impl Fn(usize) -> Nanos) -> Summary {
    let rows: Vec<TurnRecord> = (0..150).map(|i| turn(i, 25, step(i))).collect();
    Summary::compute(&rows, &facts(&[("a", 150)])).expect("rows and facts agree")
}

#[test]
fn t8_03_a_machine_that_becomes_slower_is_said_with_its_figures() {
    // 205 tokens/s, and from the middle of the run on 138.
    let s = run(|i| SECOND / if i < 75 { 205 } else { 138 });
    let decode = s.drift.decode.get().expect("enough turns");
    assert!((decode.ratio - 138.0 / 205.0).abs() < 1e-3, "{decode:?}");
    assert!((decode.first_per_second - 205.0).abs() < 0.1, "{decode:?}");
    assert_eq!(decode.turns, 50);
    let prefill = s.drift.prefill.get().expect("enough turns");
    assert!((prefill.ratio - 138.0 / 205.0).abs() < 1e-3, "{prefill:?}");
    let warning = s.warnings.iter().find(|w| w.kind == WarningKind::Drift);
    let message = &warning.expect("a warning").message;
    for part in ["decode 205.0 → 138.0", "32.7 % slower", "more than 7 %"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(s.valid, "a warning, not a problem");
}

#[test]
fn t8_03_longer_contexts_at_the_end_are_not_drift() {
    // One conversation that only grows: no turn of the last third has a like one in the first.
    let rows: Vec<TurnRecord> = (0..60)
        .map(|i| turn(i, 60, SECOND / (200 - 2 * i as Nanos)))
        .collect();
    let s = Summary::compute(&rows, &facts(&[("a", 60)])).expect("rows and facts agree");
    let reason = s.drift.decode.reason().expect("nothing to compare");
    assert!(reason.starts_with("0 turns"), "{reason}");
    assert_eq!(s.warnings, []);
}

#[test]
fn t8_03_steady_noisy_and_short_runs_do_not_warn() {
    // Every third turn takes 30 % longer: noise, not drift.
    let noisy = run(|i| SECOND / 200 * if i % 3 == 0 { 13 } else { 10 } / 10);
    let ratio = noisy.drift.decode.get().expect("enough turns").ratio;
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let slightly = run(|i| SECOND / if i < 75 { 200 } else { 190 });
    let faster = run(|i| SECOND / if i < 75 { 138 } else { 205 });
    for s in [noisy, slightly, faster] {
        assert_eq!(s.warnings, []);
    }
    let short: Vec<TurnRecord> = (0..9)
        .map(|i| turn(i, 3, SECOND / (200 - 20 * i as Nanos)))
        .collect();
    let s = Summary::compute(&short, &facts(&[("a", 9)])).expect("rows and facts agree");
    assert_eq!((s.drift.decode.get(), s.warnings), (None, vec![]));
    assert_eq!(
        Summary::compute(&[], &facts(&[("a", 9)]))
            .expect("no rows")
            .drift
            .prefill
            .get(),
        None
    );
}

/// Three turns of 10 s; `during` happens in the second. Then the end's reading, with the boot clock's time where it is
/// known.
fn clocked(during: impl Fn(&ManualClock), uptimes: Option<(f64, f64)>) -> Summary {
    let clock = ManualClock::new();
    let mut start = moment(&clock, 0, Occasion::Start);
    let mut rows = Vec::new();
    for i in 0..3 {
        rows.push(TurnRecord {
            started_at: Some(clock.wall()),
            started_ns: Some(clock.now()),
            ..tokens("a", odd(i), &[10, 20])
        });
        if i == 1 {
            during(&clock);
        }
        clock.advance(10 * SECOND);
    }
    let mut end = moment(&clock, 3, Occasion::End);
    if let Some((before, after)) = uptimes {
        start.uptime_s = Known::new(before);
        end.uptime_s = Known::new(after);
    }
    let mut facts = facts(&[("a", 3)]);
    facts.moments = vec![start, end];
    Summary::compute(&rows, &facts).expect("rows and facts agree")
}

fn jump(seconds: i64) -> impl Fn(&ManualClock) {
    move |clock| clock.jump_wall(seconds * 1_000_000_000)
}

#[test]
fn t8_07_a_gap_between_the_clocks_flags_the_turn_and_the_run() {
    let s = clocked(jump(600), None);
    assert_eq!(s.gaps.len(), 1);
    assert_eq!(
        (s.gaps[0].turn, s.gaps[0].seconds, s.gaps[0].slept),
        (3, 600.0, None)
    );
    assert!(s.complete && !s.valid && !s.compliant);
    assert_eq!(s.problems[0].kind, ProblemKind::Asleep);
    let message = &s.problems[0].message;
    for part in [
        "asleep, or its clock was set",
        "turn 3",
        "600.0 s",
        "systemd-inhibit",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn t8_07_the_boot_clock_tells_sleep_from_a_clock_that_was_set() {
    let slept = clocked(jump(600), Some((1000.0, 1630.0)));
    assert_eq!(slept.gaps[0].slept, Some(true));
    assert!(!slept.valid);
    assert!(
        slept.problems[0]
            .message
            .starts_with("the machine was asleep during 1 turns")
    );
    // A board without a battery for its clock learns the time once its network is up.
    let set = clocked(jump(30_000_000), Some((1000.0, 1030.0)));
    assert_eq!(set.gaps[0].slept, Some(false));
    assert!(set.valid, "{:?}", set.problems);
    assert_eq!(set.warnings[0].kind, WarningKind::ClockSet);
}

#[test]
fn t8_07_sleep_in_the_last_turn_shows_at_the_end() {
    let clock = ManualClock::new();
    let row = TurnRecord {
        started_at: Some(clock.wall()),
        started_ns: Some(clock.now()),
        ..tokens("a", 1, &[10, 20])
    };
    clock.jump_wall(8 * 3600 * 1_000_000_000);
    let mut facts = facts(&[("a", 1)]);
    facts.moments = vec![moment(&clock, 1, Occasion::End)];
    let s = Summary::compute(std::slice::from_ref(&row), &facts).expect("rows and facts agree");
    assert_eq!(s.gaps.len(), 1);
    // Nor do turns that were skipped after it hide it.
    let skipped = [
        row.clone(),
        TurnRecord::skipped("a", 3, "turn 1 ended as failed_timeout"),
    ];
    let mut two = facts.clone();
    two.conversations[0].turns = 2;
    two.conversations[0].selected = 2;
    two.moments[0].rows = 2;
    let s = Summary::compute(&skipped, &two).expect("rows and facts agree");
    assert_eq!((s.gaps.len(), s.gaps[0].turn), (1, 1));
    // The end of a start whose last rows a resumption dropped says nothing about those that are left.
    facts.moments[0].rows = 5;
    let s = Summary::compute(&[row], &facts).expect("rows and facts agree");
    assert_eq!((s.gaps, s.valid), (vec![], true));
}

#[test]
fn t8_07_corrections_of_a_time_server_and_resumptions_are_no_gaps() {
    for by in [2, -2] {
        let s = clocked(jump(by), None);
        assert_eq!((s.gaps, s.valid), (vec![], true));
    }
    let back = clocked(jump(-3600), None);
    assert_eq!(back.gaps[0].seconds, -3600.0);
    // A resumed run's clock starts again, a day later.
    let clock = ManualClock::new();
    let first = TurnRecord {
        started_at: Some(clock.wall()),
        started_ns: Some(5),
        ..tokens("a", 1, &[10, 20])
    };
    clock.advance(24 * 3600 * SECOND);
    let second = TurnRecord {
        started_at: Some(clock.wall()),
        started_ns: Some(5),
        attempt: 1,
        ..tokens("a", 3, &[10, 20])
    };
    let s = Summary::compute(&[first, second], &facts(&[("a", 2)])).expect("rows and facts agree");
    assert_eq!((s.gaps, s.valid), (vec![], true));
}

/// Readings after each of 6 conversations of 50 turns, and at the end, of a process that keeps `per_turn` bytes.
fn growing(per_turn: u64) -> Summary {
    let clock = ManualClock::new();
    let rows: Vec<TurnRecord> = (0..300).map(|i| tokens("a", odd(i), &[10, 20])).collect();
    let mut facts = facts(&[("a", 300)]);
    facts.moments = (0..=6)
        .map(|n| {
            let rows = 50 * n;
            let occasion = match n {
                0 => Occasion::Start,
                6 => Occasion::End,
                _ => Occasion::Conversation,
            };
            let mut reading = moment(&clock, rows, occasion);
            // What the first conversation allocates is not growth.
            let fixed = if n == 0 { 100 * MIB } else { 900 * MIB };
            let known = |bytes| Known::new(bytes);
            reading.memory = ProcessMemory {
                anonymous_bytes: known(fixed + per_turn * rows as u64),
                rss_bytes: known(20_000 * MIB),
                peak_rss_bytes: known(20_000 * MIB + rows as u64),
                ..reading.memory
            };
            reading
        })
        .collect();
    Summary::compute(&rows, &facts).expect("rows and facts agree")
}

#[test]
fn t8_02_memory_that_grows_with_every_turn_is_said() {
    let s = growing(MIB + MIB / 2);
    assert_eq!(s.memory.growth_bytes, Some(375 * (MIB as i64)));
    assert_eq!(s.memory.growth_turns, Some(250));
    assert_eq!(s.memory.peak_rss_bytes, Some(20_000 * MIB + 300));
    let warning = s
        .warnings
        .iter()
        .find(|w| w.kind == WarningKind::MemoryGrowth);
    let message = &warning.expect("a warning").message;
    for part in ["375 MiB in 250 turns", "1.50 MiB per turn", "256 MiB"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    let steady = growing(1000);
    assert!(steady.warnings.is_empty(), "{:?}", steady.warnings);
}

#[test]
fn t8_04_the_summary_has_both_readings_or_the_reason_that_there_is_none() {
    let s = clocked(jump(0), None);
    assert_eq!(s.conditions.len(), 1);
    let start = s.conditions[0].start.get().expect("a reading");
    assert_eq!(start.governor.get(), None);
    assert!(
        start
            .governor
            .reason()
            .is_some_and(|r| r.contains("cpufreq"))
    );
    assert!(s.conditions[0].end.get().is_some());

    // Killed: no end. Before there were readings: neither.
    let clock = ManualClock::new();
    let mut killed = facts(&[("a", 1)]);
    killed.moments = vec![moment(&clock, 0, Occasion::Start)];
    let s = Summary::compute(&[tokens("a", 1, &[10, 20])], &killed).expect("rows and facts agree");
    let end = s.conditions[0].end.reason().expect("no end");
    assert!(end.contains("did not end by itself"), "{end}");
    let text = serde_json::to_string(&s).expect("a summary is JSON");
    assert_eq!(
        serde_json::from_str::<Summary>(&text).expect("its own JSON"),
        s
    );
}
