//! Numbers and lists that llama.cpp asserts on: a file that has them wrong would end the process, so it is refused
//! with a reason instead.

use std::collections::HashSet;

use crate::facts::{Facts, QWEN35};
use crate::file::Gguf;
use crate::metadata::MetadataError;
use crate::vocabulary::Vocabulary;

/// Checks what loading and running the model relies on.
///
/// # Errors
/// With the first key whose value llama.cpp would not survive.
pub fn check(model: &Gguf, facts: &Facts) -> Result<(), MetadataError> {
    tokens(&Vocabulary::of(model)?)?;
    if facts.architecture != QWEN35 {
        return Ok(());
    }
    hyperparameters(model, facts)
}

fn fault(key: &str, found: impl ToString, expected: &'static str) -> MetadataError {
    MetadataError {
        key: key.to_owned(),
        found: found.to_string(),
        expected,
    }
}

/// Every token once, and none with a NUL byte.
fn tokens(vocabulary: &Vocabulary) -> Result<(), MetadataError> {
    const KEY: &str = "tokenizer.ggml.tokens";
    let mut seen = HashSet::with_capacity(vocabulary.len());
    for (id, token) in (0..).map_while(|id| Some((id, vocabulary.token(id)?))) {
        if token.contains(&0) {
            return Err(fault(
                KEY,
                format!("a NUL byte in token {id}"),
                "text without NUL bytes",
            ));
        }
        if !seen.insert(token) {
            let text = String::from_utf8_lossy(token).into_owned();
            return Err(fault(
                KEY,
                format!("{text:?} a second time as token {id}"),
                "every token once",
            ));
        }
    }
    Ok(())
}

fn hyperparameters(model: &Gguf, facts: &Facts) -> Result<(), MetadataError> {
    let metadata = model.metadata();
    let key = |name: &str| format!("{QWEN35}.{name}");
    let epsilon = key("attention.layer_norm_rms_epsilon");
    if let Some(value) = metadata
        .f64(&epsilon)?
        .filter(|v| !(v.is_finite() && *v >= 0.0))
    {
        return Err(fault(&epsilon, value, "a number of at least 0"));
    }
    if let Some(n) = facts.rope_dimension_count.filter(|n| *n == 0 || n % 2 == 1) {
        return Err(fault(
            &key("rope.dimension_count"),
            n,
            "an even number above 0",
        ));
    }
    let sections = key("rope.dimension_sections");
    let listed = metadata.array(&sections)?.and_then(|a| a.to_u64s());
    if listed.is_some_and(|s| s.iter().all(|n| *n == 0)) {
        return Err(fault(&sections, "only zeros", "a section above 0"));
    }
    if facts.context_length == Some(0) {
        return Err(fault(&key("context_length"), 0, "a number above 0"));
    }
    let Some(ssm) = &facts.ssm else {
        return Ok(());
    };
    let sizes = [
        ("ssm.conv_kernel", ssm.conv_kernel),
        ("ssm.state_size", ssm.state_size),
        ("ssm.group_count", ssm.group_count),
        ("ssm.time_step_rank", ssm.time_step_rank),
        ("ssm.inner_size", ssm.inner_size),
    ];
    match sizes.iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => Err(fault(&key(name), 0, "a number above 0")),
        None => Ok(()),
    }
}
