//! Hand-written rows for the tests of this module.

use super::{Dataset, Fault, LoadError, Rule, parse};

/// A first row of conversation `id`.
pub(super) fn user(id: &str, turn: u32) -> String {
    format!(
        r#"{{"conversation_id": "{id}", "turn": {turn}, "role": "user", "content": "Fix it."}}"#
    )
}

/// An assistant row with one call, whose id is `c<turn>`.
pub(super) fn assistant(id: &str, turn: u32) -> String {
    let arguments = r#""{\"command\": \"ls\"}""#;
    calling(id, turn, arguments)
}

/// An assistant row with one call and these arguments, given as JSON.
pub(super) fn calling(id: &str, turn: u32, arguments: &str) -> String {
    format!(
        r#"{{"conversation_id": "{id}", "turn": {turn}, "role": "assistant", "reasoning_content": "Look.", "tool_calls": [{{"id": "c{turn}", "type": "function", "function": {{"name": "bash", "arguments": {arguments}}}}}]}}"#
    )
}

/// A tool row that answers [`assistant`] of the turn before.
pub(super) fn tool(id: &str, turn: u32) -> String {
    let call = turn - 1;
    format!(
        r#"{{"conversation_id": "{id}", "turn": {turn}, "role": "tool", "tool_results": [{{"tool_call_id": "c{call}", "content": "a.txt"}}], "delay_seconds": 0.5}}"#
    )
}

/// A sound conversation of `n` client turns.
pub(super) fn rows(id: &str, n: u32) -> Vec<String> {
    let client = |k| match k {
        0 => user(id, 1),
        _ => tool(id, 2 * k + 1),
    };
    (0..n)
        .flat_map(|k| [client(k), assistant(id, 2 * k + 2)])
        .collect()
}

/// `row` with the JSON fields `fields` added.
pub(super) fn with(row: &str, fields: &str) -> String {
    let open = row.strip_suffix('}').expect("a row is an object");
    format!("{open}, {fields}}}")
}

/// Lines as a file.
pub(super) fn file(rows: &[String]) -> Vec<u8> {
    let mut text = rows.join("\n");
    text.push('\n');
    text.into_bytes()
}

/// Loads rows that must be sound.
pub(super) fn sound(rows: &[String]) -> Dataset {
    parse(&file(rows), "test").unwrap_or_else(|e| panic!("{e}"))
}

/// All faults of bytes that must be refused for breaking rules.
pub(super) fn faults_of(bytes: &[u8]) -> super::Faults {
    match parse(bytes, "test") {
        Err(LoadError::Invalid { faults, .. }) => faults,
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(_) => panic!("accepted"),
    }
}

/// The one fault of rows that break one rule once.
pub(super) fn fault_of(rows: &[String]) -> Fault {
    let faults = faults_of(&file(rows));
    assert_eq!(faults.total(), 1, "{faults}");
    faults.listed()[0].clone()
}

/// Checks that rows break exactly this rule at this line, naming conversation, turn and field.
#[track_caller]
pub(super) fn expect(rows: &[String], rule: Rule, line: usize, turn: u32, field: &str) -> Fault {
    let fault = fault_of(rows);
    assert_eq!(
        (
            fault.rule,
            fault.place.line,
            fault.place.turn,
            fault.field.as_str()
        ),
        (rule, line, Some(turn), field),
        "{fault}"
    );
    assert_eq!(fault.place.conversation.as_deref(), Some("a"), "{fault}");
    fault
}
