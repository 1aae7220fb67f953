//! Runs that do not end by themselves: killed at any moment, or interrupted.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use edge_agentic::metrics::Summary;
use edge_agentic::record::{TurnRecord, TurnState, read_records};

use crate::harness::model::tiny;
use crate::harness::results::{Results, identity, json, sample_run};
use crate::harness::{PROGRAM, environment, scratch};

/// Moments at which a run is killed.
const MOMENTS: u64 = 20;

/// A replay of the sample into `out`.
fn options(out: &Path) -> Vec<OsString> {
    let fixed = "run --performance-only --sample --threads 1 --model";
    let mut all: Vec<OsString> = fixed.split(' ').map(OsString::from).collect();
    all.extend([tiny().into(), "--out".into(), out.into()]);
    all
}

fn start(out: &Path, more: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.envs(environment()).args(options(out)).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program under test starts")
}

/// Pseudo-random numbers, the same in every run of the tests.
struct Random(u64);

impl Random {
    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Whole rows in a file that may still grow, or not be there yet.
fn rows(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

#[test]
fn a_run_killed_at_any_moment_keeps_every_finished_turn_and_claims_nothing() {
    let whole = &sample_run().results;
    let expected: Vec<_> = whole.turns.records.iter().map(identity).collect();
    let turn = whole.summary.duration_ns.expect("a duration") / expected.len() as u64;
    let mut random = Random(7);
    let mut seen = Vec::new();
    for _ in 0..MOMENTS {
        let dir = scratch();
        let out = dir.path().join("out");
        let mut child = start(&out, &[]);
        // A moment between one finished turn and, on a quiet machine, the next but one; also before the first turn
        // and around the writing of the summary.
        let finished = random.below(expected.len() as u64 + 1) as usize;
        while rows(&out.join("turns.jsonl")) < finished
            && child.try_wait().expect("its state").is_none()
        {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_nanos(random.below(2 * turn)));
        let in_time = child.try_wait().expect("its state").is_none();
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let turns = out.join("turns.jsonl");
        let back = match turns.is_file() {
            true => read_records::<TurnRecord>(&turns).expect("every whole row is readable"),
            false => Default::default(),
        };
        let found: Vec<_> = back.records.iter().map(identity).collect();
        assert_eq!(
            found,
            expected[..found.len()],
            "rows are those of the whole run, as far as they go"
        );
        assert!(back.records.iter().all(|r| r.state == TurnState::Completed));
        let summary = out.join("summary.json");
        if summary.is_file() {
            let summary: Summary = json(&summary);
            assert!(
                found.len() == expected.len() || !summary.complete,
                "{} rows claim to be all",
                found.len()
            );
            assert!(!summary.valid || summary.complete);
        }
        assert!(found.len() >= finished, "a turn that was finished is lost");
        seen.push((found.len(), in_time));
    }
    println!("rows kept at {MOMENTS} moments, and whether the run still ran: {seen:?}");
    let hits = seen
        .iter()
        .filter(|(rows, in_time)| *in_time && (1..expected.len()).contains(rows))
        .count();
    assert!(
        hits >= MOMENTS as usize / 2,
        "{hits} kills hit the replay: {seen:?}"
    );
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(status.expect("kill starts").success());
}

/// Waits until a run has two rows, and asserts that it goes on.
#[cfg(unix)]
fn has_begun(child: &mut Child, out: &Path) {
    for _ in 0..150_000 {
        if rows(&out.join("turns.jsonl")) >= 2 {
            return;
        }
        assert!(
            child.try_wait().expect("its state").is_none(),
            "the run ended before it could be signalled"
        );
        sleep(Duration::from_millis(2));
    }
    panic!("no second row in five minutes");
}

#[cfg(unix)]
#[test]
fn exit_130_an_interrupt_finishes_the_turn_and_the_summary_says_incomplete() {
    let dir = scratch();
    let out = dir.path().join("out");
    // Repeating every turn gives the interrupt time to come in the middle of one.
    let mut child = start(&out, &["--self-check", "1"]);
    has_begun(&mut child, &out);
    send("-INT", &child);
    let output = child.wait_with_output().expect("it ends");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{messages}");
    assert!(
        messages.contains("finishing the current turn"),
        "{messages}"
    );
    let Results { summary, turns, .. } = Results::read(&out);
    let found = turns.records.len();
    assert!((2..11).contains(&found), "{found} rows");
    assert_eq!(turns.torn, None);
    assert!(
        turns
            .records
            .iter()
            .all(|r| r.state == TurnState::Completed)
    );
    assert!(!summary.complete && !summary.valid);
    assert_eq!(
        (
            summary.turns.completed,
            summary.turns.not_issued,
            summary.turns.sum
        ),
        (found, 11 - found, 11)
    );
    let plain = &sample_run().results.turns.records;
    assert!(
        turns
            .records
            .iter()
            .zip(plain)
            .all(|(a, b)| identity(a) == identity(b))
    );
}

/// Signals a run that has begun, after `before`, and asserts that it ends as an interrupted one, with results.
#[cfg(unix)]
#[track_caller]
fn interrupted_by(signal: &str, before: impl FnOnce(&mut Child)) {
    let dir = scratch();
    let out = dir.path().join("out");
    let mut child = start(&out, &["--self-check", "1"]);
    has_begun(&mut child, &out);
    before(&mut child);
    send(signal, &child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(!Results::read(&out).summary.complete);
}

#[cfg(unix)]
#[test]
fn exit_130_sigterm_does_what_ctrl_c_does() {
    interrupted_by("-TERM", |_| ());
}

/// As `run … 2>&1 | tee log` does at Ctrl-C: the reader of what is said ends first.
#[cfg(unix)]
#[test]
fn exit_130_an_interrupt_whose_words_nobody_reads_still_ends_the_run_with_results() {
    interrupted_by("-INT", |child| drop(child.stderr.take()));
}

/// Over a connection that is lost hours before the end.
#[cfg(unix)]
#[test]
fn a_run_under_nohup_goes_on_after_a_hang_up() {
    let dir = scratch();
    let out = dir.path().join("out");
    let mut command = Command::new("nohup");
    command.envs(environment()).arg(PROGRAM).args(options(&out));
    command.args(["--self-check", "1"]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("nohup starts");
    has_begun(&mut child, &out);
    send("-HUP", &child);
    let output = child.wait_with_output().expect("it ends");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(Results::read(&out).summary.complete);
}
