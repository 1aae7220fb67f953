//! Any text as a Java or JavaScript argument: a value or the reference's exception, never a panic, in linear time.
//!
//! `cargo +nightly fuzz run bfcl_java_js -- -max_len=65536 -timeout=1` from the repository's root;
//! `cargo check --manifest-path fuzz/Cargo.toml` compiles it on stable.
#![no_main]

use bfcl::convert;
use bfcl::value::PyStr;
use libfuzzer_sys::fuzz_target;

/// Every type that a schema of either language may name, and one that it may not.
const TYPES: [&str; 20] = [
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "boolean",
    "char",
    "String",
    "any",
    "Array",
    "ArrayList",
    "HashMap",
    "Set",
    "Bigint",
    "Boolean",
    "dict",
    "array",
    "Queue",
    "unknown",
];

fuzz_target!(|data: &[u8]| {
    let [first, second, bytes @ ..] = data else {
        return;
    };
    let kind = |byte: &u8| TYPES.get(usize::from(*byte)).copied();
    let expected = kind(first).unwrap_or("HashMap");
    let nested = kind(second);
    // Unpaired surrogates too, which only code points can spell.
    let text: PyStr = match std::str::from_utf8(bytes) {
        Ok(text) => PyStr::from(text),
        Err(_) => bytes
            .chunks_exact(2)
            .map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]])))
            .collect(),
    };
    let _ = convert::java(&text, expected, nested);
    let _ = convert::javascript(&text, expected, nested);
});
