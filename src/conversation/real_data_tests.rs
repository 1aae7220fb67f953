//! The benchmark's own data set and the reference's captured request, where they are at hand.

use super::*;
use std::path::PathBuf;

/// A file of the shared data, or a printed reason to skip.
fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data")
        .join(name);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {} is absent", path.display());
    None
}

#[test]
fn t2_08_the_benchmark_has_1007_client_turns_and_its_published_counts() {
    let Some(path) = shared("agentic_coding_2.5h.jsonl") else {
        return;
    };
    let data = load(&path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        data.sha256,
        "b7da8c4ffbe1cabd79c4d8169e5201541e006364b4bfc016d01d893e20ee6f70"
    );
    assert_eq!(data.conversations.len(), 20);
    assert_eq!(data.client_turns(), 1007);
    let turns: Vec<_> = data.conversations.iter().flat_map(|c| &c.turns).collect();
    let users = turns
        .iter()
        .filter(|t| matches!(t.input, TurnInput::User(_)))
        .count();
    let calls = |n| {
        turns
            .iter()
            .filter(|t| t.recorded.tool_calls.len() == n)
            .count()
    };
    assert_eq!((users, turns.len() - users), (20, 987));
    assert_eq!((calls(1), calls(2)), (1002, 5));
    let delay: f64 = turns.iter().filter_map(|t| t.delay_seconds).sum();
    assert_eq!(delay.round(), 636.0);
    assert!(turns.iter().all(|t| t.recorded.reasoning_content.is_some()));
    assert!(turns.iter().all(|t| t.recorded.content.is_none()));
    assert!(
        data.conversations
            .iter()
            .all(|c| c.system.is_some() && c.tools.is_some())
    );
}

#[test]
fn no_message_of_the_benchmark_is_dropped() {
    let Some(path) = shared("agentic_coding_2.5h.jsonl") else {
        return;
    };
    let data = load(&path).unwrap_or_else(|e| panic!("{e}"));
    for conversation in &data.conversations {
        let mut messages = conversation.opening();
        for index in 0..conversation.turns.len() {
            messages.extend(conversation.appended(index).unwrap_or_default());
            assert_eq!(Some(messages.len()), conversation.message_count(index));
        }
        let last = conversation.turns.len() - 1;
        assert_eq!(Some(messages), conversation.messages(last));
    }
}

#[test]
fn messages_equal_the_reference_clients_request_byte_for_byte() {
    let (Some(rows), Some(request)) = (
        shared("endpoints/agentic_small.jsonl"),
        shared("endpoints/REQUEST_agentic_turn3.http"),
    ) else {
        return;
    };
    let data = load(&rows).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((data.conversations.len(), data.client_turns()), (2, 8));
    let conversation = data
        .conversation("django__django-16899")
        .expect("it is captured");
    let index = conversation.index_of(3).expect("turn 3 is captured");
    let messages = json_array(&conversation.messages(index).expect("the index is in range"));
    let request = std::fs::read_to_string(request).expect("the capture is text");
    assert!(
        request.contains(&format!(r#""messages":{messages},"#)),
        "{messages}"
    );
    // The client writes tools without spaces; only their key order and values are the data set's.
    let tools = conversation
        .tools
        .as_ref()
        .expect("the capture has tools")
        .get();
    let compact: serde_json::Value = serde_json::from_str(tools).expect("they were checked");
    assert!(request.contains(&format!(r#""tools":{compact}"#)));
}
