//! The machine during a run: its readings, what they cost, and memory that a backend refuses.

use std::process::Command;

use edge_agentic::machine::{Moment, Occasion};

use crate::harness::model::tiny;
use crate::harness::results::sample_run;
use crate::harness::{PROGRAM, edge, environment, scratch};

fn moments() -> Vec<Moment> {
    let bytes = sample_run().files["conditions.jsonl"].as_deref();
    let text = std::str::from_utf8(bytes.expect("a file")).expect("UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a reading"))
        .collect()
}

#[test]
fn t8_04_a_run_has_a_reading_at_its_start_and_at_its_end() {
    let moments = moments();
    let occasions: Vec<Occasion> = moments.iter().map(|m| m.occasion).collect();
    let expected = [Occasion::Start, Occasion::Conversation, Occasion::End];
    assert_eq!(occasions, expected, "the sample has two conversations");
    let last = moments.last().expect("an end");
    let summary = &sample_run().results.summary;
    assert_eq!((moments[0].rows, last.rows), (0, summary.turns.total));
    let (start, end) = (&summary.conditions[0].start, &summary.conditions[0].end);
    assert!(start.get().is_some() && end.get().is_some());
    if cfg!(target_os = "linux") {
        assert!(summary.memory.peak_rss_bytes.is_some_and(|n| n > 1 << 20));
        assert!(moments.iter().all(|m| m.uptime_s.get().is_some()));
    }
    assert_eq!(summary.gaps, []);
}

#[test]
fn t8_08_no_reading_lies_within_a_turn() {
    let turns = &sample_run().results.turns.records;
    for moment in moments() {
        let (begin, end) = (moment.at_ns, moment.at_ns + moment.took_ns);
        for turn in turns {
            let started = turn.started_ns.expect("an issued turn");
            let ended = started + turn.latency_ns.expect("a completed turn");
            assert!(
                end <= started || ended <= begin,
                "{moment:?} in {}",
                turn.turn
            );
        }
    }
}

/// The shell's limit of address space stands for a driver that refuses: loading works, the context's caches do not.
#[cfg(target_os = "linux")]
#[test]
fn t8_01_exit_3_a_refused_context_is_explained_and_nothing_looks_finished() {
    let dir = scratch();
    let out = dir.path().join("out");
    let run = |limit: &str, ctx_size: &str| {
        let output = Command::new("sh")
            .args([
                "-c",
                "ulimit -v \"$1\"; shift; exec \"$@\"",
                "sh",
                limit,
                PROGRAM,
                "run",
            ])
            .args([
                "--performance-only",
                "--threads",
                "1",
                "--profile",
                "none",
                "--sample",
            ])
            .args(["--ctx-size", ctx_size, "--ignore-memory", "--model"])
            .arg(tiny())
            .arg("--out")
            .arg(&out)
            .envs(environment())
            .output()
            .expect("a shell");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text)
    };
    let (code, text) = run("1000000", "1048576");
    assert_eq!(code, Some(3), "{text}");
    for part in [
        "could not create a context of 1048576 tokens",
        "bytes) to allocate",
        "bytes) free",
        "--ctx-size",
        "--cache-type-k q8_0",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!out.join("summary.json").exists() && !out.join("turns.jsonl").exists());
    edge("report").arg(&out).assert().code(2);
}
