//! The messages of a turn, on hand-written rows.

use super::testing::{assistant, rows, sound, tool, user, with};
use super::*;

#[test]
fn opening_and_appended_make_up_the_full_list() {
    let mut all = rows("a", 3);
    all[0] = with(&all[0], r#""system": "Be \"brief\" — 中""#);
    let data = sound(&all);
    let a = &data.conversations[0];
    let opening = [
        r#"{"role":"system","content":"Be \"brief\" — 中"}"#,
        r#"{"role":"user","content":"Fix it."}"#,
    ];
    let appended = [
        r#"{"role":"assistant","tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}],"reasoning_content":"Look."}"#,
        r#"{"role":"tool","content":"a.txt","tool_call_id":"c2"}"#,
    ];
    assert_eq!(a.opening(), opening);
    assert_eq!(a.appended(1).expect("turn 3"), appended);
    assert_eq!(a.messages(0).expect("turn 1"), opening);
    assert_eq!(a.messages(1).expect("turn 3"), [opening, appended].concat());
    assert_eq!(a.messages(2).expect("turn 5").len(), 6);
    assert_eq!(
        (a.appended(0), a.appended(3), a.messages(3)),
        (None, None, None)
    );
    assert_eq!(
        json_array(&a.opening()),
        format!("[{},{}]", opening[0], opening[1])
    );
    assert_eq!(json_array(&[]), "[]");
}

#[test]
fn the_number_of_messages_is_that_of_the_rows() {
    let two = |row: &str, extra: &str| row.replace("}]", &format!("}}, {extra}]"));
    let call = r#"{"id": "d", "type": "function", "function": {"name": "bash", "arguments": {}}}"#;
    let mut all = rows("a", 3);
    all[1] = two(&assistant("a", 2), call);
    all[2] = two(&tool("a", 3), r#"{"content": "", "tool_call_id": "d"}"#);
    let data = sound(&all);
    let a = &data.conversations[0];
    let counts: Vec<_> = (0..4).map(|i| a.message_count(i)).collect();
    assert_eq!(counts, [Some(1), Some(4), Some(6), None]);
    for index in 0..3 {
        assert_eq!(a.messages(index).map(|m| m.len()), a.message_count(index));
    }
}

#[test]
fn t1_10_null_absent_empty_text_and_empty_list_as_content_give_the_same_messages() {
    let forms = [None, Some("null"), Some("\"\""), Some("[]"), Some("[ ]")].map(|content| {
        let mut all = rows("a", 2);
        if let Some(content) = content {
            all[1] = with(&all[1], &format!(r#""content": {content}"#));
        }
        let data = sound(&all);
        let a = &data.conversations[0];
        let messages = a.messages(1).expect("turn 3");
        assert_eq!(Some(messages.len()), a.message_count(1));
        messages
    });
    assert!(forms.iter().all(|form| *form == forms[0]));
    assert!(!forms[0][1].contains("content\":null"));
}

#[test]
fn content_beside_calls_is_kept_and_absent_reasoning_is_omitted() {
    let said = r#"{"conversation_id": "a", "turn": 2, "role": "assistant", "content": "Done."}"#;
    let data = sound(&[
        user("a", 1),
        said.to_owned(),
        user("a", 3),
        assistant("a", 4),
    ]);
    let added = data.conversations[0].appended(1).expect("turn 3");
    assert_eq!(added[0], r#"{"role":"assistant","content":"Done."}"#);

    let mut all = rows("a", 2);
    all[1] = with(&all[1], r#""content": "I look.""#);
    let added = sound(&all).conversations[0].appended(1).expect("turn 3");
    assert!(added[0].starts_with(r#"{"role":"assistant","content":"I look.","tool_calls":[{"#));
}

#[test]
fn the_sample_is_sound_and_has_a_turn_with_two_calls() {
    let data = parse(SAMPLE, SAMPLE_NAME).unwrap_or_else(|e| panic!("{e}"));
    let turns: Vec<_> = data.conversations.iter().map(|c| c.turns.len()).collect();
    assert_eq!(turns, [5, 6]);
    let two = |c: &Conversation| c.turns.iter().any(|t| t.recorded.tool_calls.len() == 2);
    assert!(data.conversations.iter().any(two));
    for a in &data.conversations {
        assert!(a.system.is_some() && a.tools.is_some());
        assert!(
            a.turns
                .iter()
                .all(|t| t.recorded.reasoning_content.is_some())
        );
    }
}
