//! Any text as a model's output: calls, none, or what the reference would raise; never a panic.
//!
//! `cargo +nightly fuzz run bfcl_output` from the repository's root; `cargo check --manifest-path fuzz/Cargo.toml`
//! compiles it on stable.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|output: &str| {
    let _ = bfcl::extract::has_native_tool_calls(output);
    let _ = bfcl::extract::extract_json(output);
    if let Ok(Some(calls)) = bfcl::extract::extract(output) {
        for call in calls {
            let _ = call.into_arguments();
        }
    }
    // What one can read and write again is the same value.
    if let Ok(value) = bfcl::pyjson::loads(output)
        && let Ok(text) = bfcl::pyjson::dumps(&value)
    {
        let again = bfcl::pyjson::loads(&text).expect("our own JSON can be read");
        assert_eq!(
            bfcl::pyjson::dumps(&again).ok().as_deref(),
            Some(text.as_str())
        );
    }
});
