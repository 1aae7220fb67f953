//! Arguments that cannot be: refused with the argument, what was found, what would do; existing files untouched.

use std::fs;
use std::path::Path;

use crate::harness::model::{synth, tiny};
use crate::harness::tree::tree;
use crate::harness::{Ends, edge, run_sample, scratch};

/// Asserts that `run` refuses these options with `code`, and leaves no result.
#[track_caller]
fn refused(options: &[&str], code: i32, says: &[&str]) {
    let dir = scratch();
    let out = dir.path().join("out");
    let ended = run_sample(tiny(), &out).args(options).ends(code);
    ended.says(says);
    assert_eq!(ended.stdout, "");
    assert!(
        tree(dir.path()).values().all(Option::is_none),
        "{options:?}: no file is left"
    );
}

#[test]
fn values_out_of_range_are_refused() {
    refused(&["--turn-timeout", "0"], 2, &["--turn-timeout", "0"]);
    refused(&["--turn-timeout=-1"], 2, &["--turn-timeout"]);
    refused(&["--turn-timeout", "nan"], 2, &["--turn-timeout"]);
    refused(&["--time-cap", "0"], 2, &["--time-cap"]);
    refused(&["--max-new-tokens", "0"], 2, &["--max-new-tokens"]);
    refused(&["--turns", "0"], 2, &["--turns"]);
    refused(&["--self-check", "0"], 2, &["--self-check"]);
    refused(&["--threads", "0"], 2, &["--threads"]);
    refused(&["--ctx-size", "0"], 2, &["--ctx-size"]);
    refused(&["--overflow", "shift"], 2, &["--overflow", "fail"]);
    refused(
        &["--profile", "mlperf"],
        2,
        &["--profile", "mlperf-v6.1-edge"],
    );
    refused(&["--cache-type-k", "q9"], 2, &["--cache-type-k"]);
    refused(&["--format", "yaml"], 2, &["yaml"]);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    refused(
        &["--ubatch-size", "512", "--batch-size", "256"],
        2,
        &["--ubatch-size 512", "--batch-size 256"],
    );
    refused(&["--dataset", "x.jsonl"], 2, &["--dataset", "--sample"]);
}

#[test]
fn unknown_conversations_are_refused_with_the_known_ones() {
    refused(
        &["--conversations", "nobody"],
        2,
        &["nobody", "sample__slugs-1", "sample__intervals-2"],
    );
    refused(
        &["--conversations", "sample__slugs-1,nobody"],
        2,
        &["nobody"],
    );
    refused(&["--conversations", "0"], 2, &["--conversations", "0", "2"]);
    refused(&["--conversations", "3"], 2, &["--conversations", "3", "2"]);
}

#[test]
fn an_unknown_device_is_a_matter_of_set_up() {
    refused(&["--device", "Teapot0"], 3, &["Teapot0", "llama.cpp sees"]);
}

#[test]
fn a_directory_that_holds_something_is_refused_and_left_alone() {
    let dir = scratch();
    fs::write(dir.path().join("turns.jsonl"), "results of another run\n").expect("writable");
    let before = tree(dir.path());
    run_sample(tiny(), dir.path()).ends(2).says(&[
        "is not empty",
        "turns.jsonl",
        "choose another --out",
    ]);
    assert_eq!(tree(dir.path()), before);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused_and_left_alone() {
    let dir = scratch();
    let file = dir.path().join("notes.txt");
    fs::write(&file, "mine").expect("writable");
    let before = tree(dir.path());
    run_sample(tiny(), &file).ends(2).says(&[
        "notes.txt",
        "is not a directory",
        "choose another --out",
    ]);
    // A directory below a file cannot be made by anyone, root included.
    run_sample(tiny(), &file.join("out"))
        .ends(3)
        .says(&["notes.txt/out", "choose an --out"]);
    assert_eq!(tree(dir.path()), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_takes_no_files_is_a_matter_of_set_up() {
    // /proc refuses new directories even to root.
    let ended = run_sample(tiny(), Path::new("/proc/edge-agentic-out")).ends(3);
    ended.says(&[
        "/proc/edge-agentic-out",
        "choose an --out where you may create files",
    ]);
}

#[test]
fn an_empty_directory_is_taken() {
    let dir = scratch();
    run_sample(tiny(), dir.path())
        .args(["--turns", "1"])
        .ends(0);
}

#[test]
fn synth_overwrites_nothing_and_leaves_nothing_half_made() {
    let dir = scratch();
    let file = dir.path().join("model.gguf");
    fs::write(&file, "mine").expect("writable");
    let before = tree(dir.path());
    synth(&[]).arg("--out").arg(&file).ends(2).says(&[
        "model.gguf",
        "already exists",
        "choose another --out",
    ]);
    let out = dir.path().join("other.gguf");
    synth(&["--vocab-from", "absent.json.gz"])
        .arg("--out")
        .arg(&out)
        .ends(2)
        .says(&["absent.json.gz"]);
    synth(&["--template", "absent.jinja"])
        .arg("--out")
        .arg(&out)
        .ends(2)
        .says(&["absent.jinja"]);
    synth(&[])
        .arg("--out")
        .arg(dir.path().join("no/dir.gguf"))
        .ends(3)
        .says(&[
            "no/dir.gguf",
            "cannot be created",
            "check that its directory",
        ]);
    assert_eq!(tree(dir.path()), before);
}

#[test]
fn an_unknown_turn_of_prompts_is_refused() {
    for (turn, part) in [
        ("nobody:1", "nobody"),
        ("sample__slugs-1:2", "2"),
        ("sample__slugs-1", "CONVERSATION:TURN"),
    ] {
        let mut prompts = edge("prompts");
        prompts
            .arg("--sample")
            .arg("--model")
            .arg(tiny())
            .args(["--turn", turn]);
        prompts.ends(2).says(&[part]);
    }
}

#[test]
fn a_digest_file_that_is_none_is_refused() {
    let dir = scratch();
    let file = dir.path().join("digests.jsonl");
    fs::write(&file, "{\"turn\": 1}\n").expect("writable");
    let check = |path: &Path| {
        let mut prompts = edge("prompts");
        prompts
            .arg("--sample")
            .arg("--model")
            .arg(tiny())
            .arg("--check")
            .arg(path);
        prompts.ends(2)
    };
    check(&file).says(&["digests.jsonl, line 1", "expected a row"]);
    check(&dir.path().join("absent.gz")).says(&["absent.gz"]);
}

#[test]
fn t2_11_a_context_that_llama_cpp_would_round_is_refused_with_both_numbers() {
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out)
        .args(["--ctx-size", "300"])
        .ends(2)
        .says(&["--ctx-size 300", "multiple of 256"]);
}
