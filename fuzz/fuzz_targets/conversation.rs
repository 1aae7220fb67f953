//! Any bytes as a conversation file: a data set that renders, or a list of faults; never a panic.
//!
//! `cargo +nightly fuzz run conversation fuzz/corpus/conversation assets -- -rss_limit_mb=512` from the repository's
//! root starts from the sample; `cargo check --manifest-path fuzz/Cargo.toml` compiles it on stable.
#![no_main]

use edge_agentic_fuzz::conversation::{Dataset, json_array, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match parse(data, "fuzz") {
        Err(error) => drop(error.to_string()),
        Ok(dataset) => ask(&dataset),
    }
});

/// What an accepted data set promises: every turn has its messages, none is lost, and all are JSON.
fn ask(dataset: &Dataset) {
    let mut turns = 0;
    for conversation in &dataset.conversations {
        for index in 0..conversation.turns.len() {
            let messages = conversation.messages(index).expect("the turn is there");
            assert_eq!(Some(messages.len()), conversation.message_count(index));
            let all: serde_json::Value =
                serde_json::from_str(&json_array(&messages)).expect("messages are JSON");
            assert_eq!(all.as_array().map(Vec::len), Some(messages.len()));
            turns += 1;
        }
    }
    assert_eq!(turns, dataset.client_turns());
}
