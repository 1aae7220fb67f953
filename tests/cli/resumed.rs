//! Runs that are continued, and reports that are made again: both start from what is on disk.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use edge_agentic::record::TurnState;

use crate::harness::model::tiny;
use crate::harness::results::{Results, identity, sample_run};
use crate::harness::tree::tree;
use crate::harness::{Ends, edge, run_sample, scratch};

/// What a report takes its figures from.
const RECORDS: [&str; 4] = [
    "plan.json",
    "machine.json",
    "turns.jsonl",
    "conditions.jsonl",
];

/// Leaves of a finished run what a kill would have left after `rows` rows: these, and half of the next; of the readings
/// the first, and half of the next.
fn cut(out: &Path, rows: usize) {
    let path = out.join("turns.jsonl");
    let text = fs::read_to_string(&path).expect("the rows");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let mut kept = lines[..rows].concat();
    kept.push_str(&lines[rows][..lines[rows].len() / 2]);
    fs::write(&path, kept).expect("writable");
    let path = out.join("conditions.jsonl");
    let text = fs::read_to_string(&path).expect("the readings");
    let first = text.find('\n').expect("a line") + 1;
    fs::write(&path, &text[..first + 9]).expect("writable");
    for entry in fs::read_dir(out).expect("the results") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("removable");
        } else if !RECORDS.contains(&name.as_str()) {
            fs::remove_file(&path).expect("removable");
        }
    }
}

/// `run --resume` of a replay of the sample.
fn resume(out: &Path) -> assert_cmd::Command {
    let mut command = edge("run");
    command.args(["--performance-only", "--threads", "1", "--sample"]);
    command.arg("--model").arg(tiny()).arg("--resume").arg(out);
    command
}

#[test]
fn t8_09_a_killed_run_goes_on_at_its_conversations_first_turn() {
    // The first conversation has 5 client turns, the second 6.
    for (rows, kept) in [(7, 5), (3, 0)] {
        let dir = scratch();
        let out = dir.path().join("out");
        run_sample(tiny(), &out).ends(0);
        cut(&out, rows);
        let before = fs::read_to_string(out.join("turns.jsonl")).expect("the rows");
        resume(&out).ends(0);
        let after = fs::read_to_string(out.join("turns.jsonl")).expect("the rows");
        let kept: usize = before.split_inclusive('\n').take(kept).map(str::len).sum();
        assert_eq!(
            before[..kept],
            after[..kept],
            "rows of whole conversations stay"
        );
        let Results { summary, turns, .. } = Results::read(&out);
        assert_eq!((summary.turns.completed, summary.turns.sum), (11, 11));
        // Where no row was kept, all rows are of one start: labelled all the same, but not put together from two.
        assert_eq!(summary.resumed, 1);
        let [first, second] = summary.conditions.as_slice() else {
            panic!("two starts: {:?}", summary.conditions);
        };
        assert!(first.start.get().is_some() && first.end.get().is_none());
        assert!(second.start.get().is_some() && second.end.get().is_some());
        assert!(
            summary.deviations.iter().any(|d| d.name == "resumed"),
            "{:?}",
            summary.deviations
        );
        let unique: HashSet<_> = turns
            .records
            .iter()
            .map(|r| (&r.conversation_id, r.turn))
            .collect();
        assert_eq!((turns.records.len(), unique.len()), (11, 11));
        let plain = &sample_run().results.turns.records;
        assert!(
            turns
                .records
                .iter()
                .zip(plain)
                .all(|(a, b)| identity(a) == identity(b))
        );
        assert!(
            turns
                .records
                .iter()
                .all(|r| r.state == TurnState::Completed)
        );
    }
}

#[test]
fn a_run_is_not_resumed_with_other_settings_or_when_it_is_whole() {
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out).ends(0);
    let before = tree(&out);
    resume(&out)
        .ends(2)
        .says(&["every selected turn and sample", "nothing to resume"]);
    assert_eq!(tree(&out), before);
    cut(&out, 7);
    let before = tree(&out);
    resume(&out).args(["--max-new-tokens", "8"]).ends(2).says(&[
        "plan.json",
        "max_new_tokens",
        "started",
    ]);
    assert_eq!(tree(&out), before);
}

#[test]
fn a_report_makes_every_derived_file_again_byte_for_byte() {
    let dir = scratch();
    let out = dir.path().join("out");
    let printed = run_sample(tiny(), &out).ends(0).stdout;
    let before = tree(&out);
    for path in before.keys() {
        let known = RECORDS.iter().any(|k| path.ends_with(k));
        if !known && Path::new(path).is_file() {
            fs::write(path, "damaged").expect("writable");
        }
    }
    let again = edge("report").arg(&out).ends(0).stdout;
    assert_eq!(tree(&out), before);
    assert_eq!(again, printed);
}

#[test]
fn a_report_on_a_killed_run_says_incomplete() {
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out).ends(0);
    cut(&out, 7);
    edge("report")
        .arg(&out)
        .ends(1)
        .says(&["torn line", "NOT VALID"]);
    let Results { summary, .. } = Results::read(&out);
    assert!(!summary.complete && !summary.valid);
    assert_eq!(
        (
            summary.turns.completed,
            summary.turns.not_issued,
            summary.turns.sum
        ),
        (7, 4, 11)
    );
}

#[test]
fn a_directory_that_is_no_run_is_not_resumed_into() {
    let dir = scratch();
    let mine = dir.path().join("mine");
    std::fs::create_dir(&mine).expect("a directory");
    std::fs::write(mine.join("summary.json"), "mine").expect("a file");
    let before = tree(&mine);
    let resume = |dir: &Path| {
        let mut command = edge("run");
        command.args([
            "--performance-only",
            "--profile",
            "none",
            "--sample",
            "--threads",
            "1",
        ]);
        command.arg("--model").arg(tiny()).arg("--resume").arg(dir);
        command.ends(2)
    };
    resume(&mine).says(&["mine", "not a run's directory", "summary.json", "--out"]);
    assert_eq!(tree(&mine), before);
    resume(&dir.path().join("nothere")).says(&["nothere", "no such directory"]);
}
