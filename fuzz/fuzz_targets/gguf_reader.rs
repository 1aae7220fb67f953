//! Any bytes as a GGUF header: an answer, never a panic, never more memory than the file can fill.
//!
//! `cargo +nightly fuzz run gguf_reader -- -rss_limit_mb=256` from the repository's root;
//! `cargo check --manifest-path fuzz/Cargo.toml` compiles it on stable.
#![no_main]

use gguf::{Census, Facts, Gguf, Header, Label, Mtp, TensorType, Vocabulary, template};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let len = data.len() as u64;
    match Header::read(data, len).and_then(|header| Gguf::from_header(header, len)) {
        Err(fault) => drop(fault.to_string()),
        Ok(model) => ask(&model),
    }
});

/// Everything that `inspect` asks of a header.
fn ask(model: &Gguf) {
    let census = Census::of(model);
    let _ = Label::of(model, &census).map(|label| label.to_string());
    if let Ok(facts) = Facts::of(model) {
        let _ = facts.kv_bytes_per_token(TensorType::F16, TensorType::Q8_0);
        let _ = facts.recurrent_state_bytes();
        let _ = Mtp::of(model, &facts);
    }
    if let Ok(vocabulary) = Vocabulary::of(model) {
        let _ = vocabulary.markers(&template::MARKERS);
    }
    let _ = template::tool_template(model.metadata());
}
