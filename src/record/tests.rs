//! The log and its read-back, whole, torn, damaged and on a full disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;

fn full_row() -> TurnRecord {
    TurnRecord {
        prompt_sha256: Some("ab".repeat(32)),
        prompt_tokens: Some(12),
        cuts: vec![9, 12],
        output_ids: vec![248_058, 7],
        output_tokens: Some(2),
        step_tokens: vec![1, 1],
        stop_reason: Some(StopReason::EndOfGeneration),
        started_at: Some(Timestamp::UNIX_EPOCH),
        started_ns: Some(5),
        phases_ns: Some(Phases::default()),
        token_ns: vec![10, 20],
        text: Some("line\nbreak \u{1F980} \"quoted\"".to_owned()),
        tool_calls: vec![ToolCall {
            id: None,
            name: "bash".to_owned(),
            arguments: "{\"command\": \"ls\"}".to_owned(),
        }],
        self_check: None,
        ..TurnRecord::new("sim_1", 1, TurnState::Completed)
    }
}

fn row(turn: u32) -> TurnRecord {
    TurnRecord::skipped("a", turn, "turn 1 failed")
}

struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("turns.jsonl")
    }

    fn with_rows(turns: &[u32]) -> Self {
        let scratch = Self::new();
        let mut log = RecordLog::<TurnRecord>::create(scratch.path()).expect("a new file");
        for turn in turns {
            log.append(&row(*turn)).expect("appended");
        }
        scratch
    }
}

#[test]
fn field_names_and_order_are_those_of_the_design() {
    let value = serde_json::to_value(full_row()).expect("a row is an object");
    let names: Vec<&str> = value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "schema conversation_id turn state reason prompt_sha256 prompt_ids_sha256 \
        prompt_tokens reused_tokens evaluated_tokens ideal_tokens rewritten cuts decode_calls output_ids \
        output_tokens step_tokens step_drafted drafted_tokens accepted_tokens stop_reason first_delta_index \
        started_at started_ns ttft_ns latency_ns phases_ns driver_ns token_ns text content \
        reasoning_content tool_calls \
        dropped_tokens dropped_messages attempt";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(value["state"], "completed");
    assert_eq!(value["stop_reason"], "end_of_generation");
    assert_eq!(value["started_at"], "1970-01-01T00:00:00Z");
    assert!(value["ttft_ns"].is_null());
}

#[test]
fn rows_are_read_back_as_they_were_written() {
    let scratch = Scratch::new();
    let mut log = RecordLog::<TurnRecord>::create(scratch.path()).expect("a new file");
    log.append(&full_row()).expect("first");
    log.append(&row(3)).expect("second");
    assert_eq!(log.rows(), 2);
    let back = read_records::<TurnRecord>(&scratch.path()).expect("whole");
    assert_eq!(back.records, [full_row(), row(3)]);
    assert_eq!(back.torn, None);
    let length = scratch.path().metadata().expect("a file").len();
    assert_eq!(back.length_of(2), Some(length));
    assert_eq!((back.length_of(0), back.length_of(3)), (Some(0), None));
}

#[test]
fn an_existing_file_is_not_touched() {
    let scratch = Scratch::with_rows(&[1]);
    let error = RecordLog::<TurnRecord>::create(scratch.path())
        .err()
        .expect("refused");
    assert!(error.to_string().contains("--resume"), "{error}");
    let back = read_records::<TurnRecord>(&scratch.path()).expect("whole");
    assert_eq!(back.records.len(), 1);
}

#[test]
fn an_empty_file_has_no_rows() {
    let back = parse_records::<TurnRecord>(Path::new("x"), b"").expect("empty");
    assert_eq!(back, ReadBack::default());
}

#[test]
fn t8_09_a_torn_last_line_is_reported_and_the_rest_kept() {
    let scratch = Scratch::with_rows(&[1, 3]);
    let whole = std::fs::read(scratch.path()).expect("bytes");
    let first = whole.iter().position(|b| *b == b'\n').expect("a line") + 1;
    for cut in first + 1..whole.len() {
        let back =
            parse_records::<TurnRecord>(Path::new("x"), &whole[..cut]).expect("torn, not damaged");
        assert_eq!(back.records, [row(1)]);
        let torn = TornLine {
            line: 2,
            offset: first as u64,
            bytes: (cut - first) as u64,
        };
        assert_eq!(back.torn, Some(torn));
    }
}

#[test]
fn t8_09_resume_drops_the_torn_line_and_the_interrupted_conversation() {
    let scratch = Scratch::with_rows(&[1, 3, 5]);
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(scratch.path())
        .expect("the file");
    file.write_all(b"{\"schema\":1,\"conv").expect("half a row");
    let mut log = RecordLog::<TurnRecord>::resume(scratch.path(), 2).expect("two rows kept");
    assert_eq!(log.rows(), 2);
    log.append(&row(7)).expect("appended");
    let back = read_records::<TurnRecord>(&scratch.path()).expect("whole");
    assert_eq!(back.records, [row(1), row(3), row(7)]);
    assert_eq!(back.torn, None);
    let second = RecordLog::<TurnRecord>::resume(scratch.path(), 3)
        .err()
        .expect("one writer");
    assert!(
        second.to_string().contains("a run is writing it"),
        "{second}"
    );
    drop(log);
    let error = RecordLog::<TurnRecord>::resume(scratch.path(), 4)
        .err()
        .expect("three rows");
    assert!(error.to_string().contains("found 3 rows"), "{error}");
}

#[test]
fn a_damaged_line_is_refused_with_its_number() {
    let good = serde_json::to_string(&row(1)).expect("a row");
    let other = serde_json::to_string(&row(3)).expect("a row");
    let unknown = other.replace("\"turn\":3", "\"turn\":3,\"extra\":1");
    let state = other.replace("skipped", "lost");
    let derived = other.replace("skipped", "not_issued");
    let schema = other.replace("\"schema\":1", "\"schema\":2");
    let cases = [
        ("", "found EOF"),
        ("{\"schema\":1", "found EOF"),
        (unknown.as_str(), "unknown field `extra`"),
        (state.as_str(), "unknown variant `lost`"),
        (derived.as_str(), "found not_issued"),
        (schema.as_str(), "found 2, expected 1"),
    ];
    for (line, what) in cases {
        let bytes = format!("{good}\n{line}\n{good}\n");
        let text = parse_records::<TurnRecord>(Path::new("r1/turns.jsonl"), bytes.as_bytes())
            .expect_err("damaged")
            .to_string();
        assert!(text.starts_with("r1/turns.jsonl: line 2, "), "{text}");
        assert!(text.contains(what), "{what} in {text}");
        assert!(!text.contains("at line 1"), "{text}");
    }
}

#[test]
fn t8_09_a_second_row_of_a_turn_is_refused_with_both_lines() {
    let line = serde_json::to_string(&row(1)).expect("a row");
    let bytes = format!("{line}\n{line}\n");
    let text = parse_records::<TurnRecord>(Path::new("x"), bytes.as_bytes())
        .expect_err("duplicate")
        .to_string();
    assert!(text.contains("line 2") && text.contains("line 1"), "{text}");
}

#[test]
fn derived_states_and_other_schemas_are_not_written() {
    let scratch = Scratch::new();
    let mut log = RecordLog::<TurnRecord>::create(scratch.path()).expect("a new file");
    for state in [TurnState::NotIssued, TurnState::NotSelected] {
        let error = log
            .append(&TurnRecord::new("a", 1, state))
            .expect_err("derived");
        assert!(error.to_string().contains(state.as_str()), "{error}");
    }
    let mut other = row(1);
    other.schema = 2;
    assert!(log.append(&other).is_err());
    log.append(&row(1)).expect("the log itself is sound");
    assert_eq!(
        read_records::<TurnRecord>(&scratch.path())
            .expect("whole")
            .records
            .len(),
        1
    );
}

/// Counts calls and fails once `room` bytes are used up.
#[derive(Clone, Default)]
struct Counting {
    state: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    writes: usize,
    syncs: usize,
    room: usize,
}

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock().expect("no panic");
        if bytes.len() > state.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.room -= bytes.len();
        state.writes += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RowSink for Counting {
    fn sync(&mut self) -> io::Result<()> {
        self.state.lock().expect("no panic").syncs += 1;
        Ok(())
    }
}

#[test]
fn each_row_is_one_write_and_one_sync() {
    let sink = Counting::default();
    sink.state.lock().expect("no panic").room = usize::MAX;
    let mut log = RecordLog::<TurnRecord>::with_sink("turns.jsonl", 0, Box::new(sink.clone()));
    for turn in [1, 3, 5] {
        log.append(&row(turn)).expect("appended");
    }
    let state = sink.state.lock().expect("no panic");
    assert_eq!((state.writes, state.syncs), (3, 3));
}

#[test]
fn t8_11_the_first_failed_write_stops_the_log() {
    let sink = Counting::default();
    let length = serde_json::to_string(&row(1)).expect("a row").len() + 1;
    sink.state.lock().expect("no panic").room = length + length / 2;
    let mut log = RecordLog::<TurnRecord>::with_sink("r1/turns.jsonl", 0, Box::new(sink.clone()));
    log.append(&row(1)).expect("fits");
    let error = log.append(&row(3)).expect_err("full");
    let text = error.to_string();
    assert!(
        text.contains("r1/turns.jsonl: cannot write row 2"),
        "{text}"
    );
    assert!(text.contains("the 1 rows before it are safe"), "{text}");
    sink.state.lock().expect("no panic").room = usize::MAX;
    let error = log.append(&row(5)).expect_err("poisoned");
    assert!(matches!(error, LogError::Poisoned { row: 2, .. }));
    assert_eq!(log.rows(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn t8_11_a_full_device_is_reported_with_its_path() {
    let full = std::fs::OpenOptions::new()
        .append(true)
        .open("/dev/full")
        .expect("every Linux has it");
    let mut log = RecordLog::<TurnRecord>::with_sink("/dev/full", 0, Box::new(full));
    let error = log.append(&row(1)).expect_err("no space");
    let text = error.to_string();
    assert!(text.contains("/dev/full: cannot write row 1"), "{text}");
    assert!(text.to_lowercase().contains("no space"), "{text}");
}

proptest! {
    #[test]
    fn any_text_survives(text in any::<String>(), arguments in any::<String>()) {
        let record = TurnRecord {
            text: Some(text),
            tool_calls: vec![ToolCall { id: None, name: "f".to_owned(), arguments }],
            ..TurnRecord::new("a", 1, TurnState::Completed)
        };
        let mut line = serde_json::to_vec(&record).expect("a row");
        prop_assert!(!line.contains(&b'\n'));
        line.push(b'\n');
        let back = parse_records::<TurnRecord>(Path::new("x"), &line).expect("its own row");
        prop_assert_eq!(back.records, vec![record]);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_records::<TurnRecord>(Path::new("x"), &bytes);
    }

    #[test]
    fn t8_09_a_file_cut_anywhere_keeps_every_whole_row(cut in 0usize..2000) {
        let rows: Vec<TurnRecord> = (0..4).map(|i| row(2 * i + 1)).collect();
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for row in &rows {
            bytes.extend(serde_json::to_vec(row).expect("a row"));
            bytes.push(b'\n');
            ends.push(bytes.len());
        }
        let cut = cut.min(bytes.len());
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let back = parse_records::<TurnRecord>(Path::new("x"), &bytes[..cut]).expect("torn at most");
        prop_assert_eq!(&back.records[..], &rows[..whole]);
        prop_assert_eq!(back.torn.is_some(), !ends.contains(&cut));
    }
}
