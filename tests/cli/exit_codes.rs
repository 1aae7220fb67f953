//! One test per exit code, so that the list in the README is a promise. 4 is in `disk_full`, 130 in `killed`.

use crate::harness::model::tiny;
use crate::harness::results::sample_run;
use crate::harness::{Ends, edge, run_sample, scratch};

#[test]
fn exit_0_a_valid_run() {
    assert!(sample_run().results.summary.valid);
}

#[test]
fn exit_0_help_and_version() {
    let version = edge("--version").ends(0).stdout;
    assert!(version.contains("llama.cpp b11434"), "{version}");
    for verb in ["run", "prompts", "inspect", "bench", "synth"] {
        let help = edge(verb).arg("--help").ends(0).stdout;
        assert!(help.contains("Usage:"), "{help}");
    }
}

#[test]
fn exit_1_a_run_that_is_not_valid() {
    let dir = scratch();
    let ended = run_sample(tiny(), &dir.path().join("out"))
        .args(["--ctx-size", "256"])
        .ends(1);
    ended.says(&["NOT VALID"]);
}

#[test]
fn exit_2_bad_input() {
    edge("run").ends(2).says(&["--model", "--out", "Usage:"]);
    edge("walk").ends(2).says(&["walk"]);
}

#[test]
fn exit_3_set_up() {
    let dir = scratch();
    run_sample(tiny(), &dir.path().join("out"))
        .args(["--device", "Teapot0"])
        .ends(3);
}

/// A time cap ends a run early: nothing failed, but it is not valid.
#[test]
fn exit_1_a_run_that_a_time_cap_ended() {
    let dir = scratch();
    run_sample(tiny(), &dir.path().join("out"))
        .args(["--time-cap", "0.000001"])
        .ends(1);
}
