//! Conversation files that break a rule: file, place, field, found, expected and remedy are named, and nothing is
//! written.

use std::fs;

use serde_json::{Value, json};

use crate::harness::data::{call, conversation, lines};
use crate::harness::model::tiny;
use crate::harness::tree::tree;
use crate::harness::{Ends, prompts, run, scratch};

/// A file's content and what must be said of it.
struct Case {
    name: &'static str,
    content: Vec<u8>,
    says: &'static [&'static str],
}

fn case(name: &'static str, content: impl Into<Vec<u8>>, says: &'static [&'static str]) -> Case {
    Case {
        name,
        content: content.into(),
        says,
    }
}

/// A sound conversation after one change.
fn changed(change: impl FnOnce(&mut Vec<Value>)) -> String {
    let mut rows = conversation("conv-1");
    change(&mut rows);
    lines(&rows)
}

fn whole_files() -> Vec<Case> {
    let whole = changed(|_| {});
    vec![
        case(
            "empty",
            "",
            &[
                "found an empty file",
                "expected JSON lines",
                "fetch the data set again",
            ],
        ),
        case("blank", " \n\n", &["found an empty file"]),
        case(
            "page",
            "<html></html>",
            &["found an HTML page", "fetch the file again"],
        ),
        case(
            "model",
            "GGUF\x03\0\0\0",
            &["found a GGUF model", "--model"],
        ),
        case(
            "torn last line",
            whole
                .trim_end()
                .strip_suffix("\"}")
                .expect("the last row's end"),
            &["line 4", "(byte ", "expected", "the file was cut off"],
        ),
        case(
            "not UTF-8",
            [whole.as_bytes(), b"\xff\xfe\n"].concat(),
            &["line 5", "UTF-8"],
        ),
    ]
}

fn orders() -> Vec<Case> {
    vec![
        case(
            "duplicate turn",
            changed(|rows| rows.insert(2, rows[1].clone())),
            &[
                "line 3",
                "conversation \"conv-1\"",
                "turn 2",
                "field turn",
                "found",
                "expected",
                "repeated row",
            ],
        ),
        case(
            "gap",
            changed(|rows| drop(rows.drain(1..3))),
            &[
                "line 2",
                "conv-1",
                "turn 4",
                "field turn",
                "found turn 4",
                "expected turn 2",
                "restore the missing rows",
            ],
        ),
        case(
            "wrong role order",
            changed(|rows| {
                rows[2] =
                    json!({"conversation_id": "conv-1", "turn": 3, "role": "user", "content": "x"})
            }),
            &[
                "line 3",
                "turn 3",
                "field role",
                "found",
                "expected",
                "restore the missing row, or correct the role",
            ],
        ),
        case(
            "rows not together",
            changed(|rows| {
                let other = conversation("conv-2");
                rows.splice(2..2, other);
            }),
            &[
                "conv-1",
                "expected",
                "move all rows of the conversation together",
            ],
        ),
        case(
            "system message in the middle",
            changed(|rows| rows[2]["system"] = json!("late")),
            &[
                "system message after the first row",
                "conv-1",
                "turn 3",
                "first row",
            ],
        ),
        case(
            "no reply at the end",
            changed(|rows| drop(rows.pop())),
            &[
                "conv-1",
                "turn 3",
                "expected",
                "add the recorded assistant row",
            ],
        ),
    ]
}

fn fields() -> Vec<Case> {
    vec![
        case(
            "bad arguments",
            changed(|rows| rows[1]["tool_calls"] = json!([call("c0", &json!("{\"command\"}"))])),
            &[
                "line 2",
                "turn 2",
                "tool_calls[0].function.arguments",
                "found",
                "expected",
                "restore the recorded",
            ],
        ),
        case(
            "empty tool results",
            changed(|rows| rows[2]["tool_results"] = json!([])),
            &[
                "line 3",
                "turn 3",
                "field tool_results",
                "found",
                "expected",
                "give one {tool_call_id, content}",
            ],
        ),
        case(
            "result of no call",
            changed(|rows| rows[2]["tool_results"][0]["tool_call_id"] = json!("other")),
            &[
                "line 3",
                "tool_results[].tool_call_id",
                "found \"other\"",
                "expected \"c0\"",
                "make the ids",
            ],
        ),
        case(
            "id not ASCII",
            changed(|rows| {
                rows.iter_mut()
                    .for_each(|row| row["conversation_id"] = json!("größe"))
            }),
            &[
                "line 1",
                "field conversation_id",
                "größe",
                "expected non-empty printable ASCII",
                "use letters",
            ],
        ),
        case(
            "unknown role",
            changed(|rows| rows[0]["role"] = json!("bot")),
            &[
                "line 1",
                "field role",
                "found \"bot\"",
                "expected user, assistant or tool",
            ],
        ),
        case(
            "unknown field",
            changed(|rows| rows[0]["temperature"] = json!(0)),
            &["line 1", "temperature", "expected", "known fields"],
        ),
        case(
            "missing field",
            changed(|rows| drop(rows[1].as_object_mut().expect("a row").shift_remove("role"))),
            &["line 2", "field role", "expected", "add the field"],
        ),
    ]
}

#[test]
fn every_breach_is_named_with_its_place_and_remedy_and_nothing_is_written() {
    for case in [whole_files(), orders(), fields()].into_iter().flatten() {
        let dir = scratch();
        let file = dir.path().join("data set.jsonl");
        fs::write(&file, &case.content).expect("writable");
        let before = tree(dir.path());
        println!("{}", case.name);
        let out = dir.path().join("out");
        let ended = run(tiny(), &out).arg("--dataset").arg(&file).ends(2);
        ended.says(&["error: ", "data set.jsonl"]).says(case.says);
        assert_eq!(ended.stdout, "");
        assert_eq!(
            tree(dir.path()),
            before,
            "{}: nothing is written",
            case.name
        );
        prompts(tiny(), &file).ends(2).says(case.says);
    }
}

#[test]
fn absent_files_and_directories_are_named() {
    let dir = scratch();
    let absent = dir.path().join("absent.jsonl");
    prompts(tiny(), &absent)
        .ends(2)
        .says(&["absent.jsonl", "cannot read", "No such file"]);
    prompts(tiny(), dir.path())
        .ends(2)
        .says(&["found no regular file", "expected a conversation file"]);
}

#[test]
fn all_faults_of_a_file_are_listed_in_one_pass() {
    let mut rows = conversation("a");
    rows[0]["role"] = json!("bot");
    let mut second = conversation("b");
    second[2]["tool_results"] = json!([]);
    rows.extend(second);
    let dir = scratch();
    let file = dir.path().join("data.jsonl");
    fs::write(&file, lines(&rows)).expect("writable");
    prompts(tiny(), &file)
        .ends(2)
        .says(&["line 1", "line 7", "faults"]);
}
