//! Texts with lone surrogates, made fit for functions over `str`.
//!
//! A lone surrogate is no white space, digit, letter or punctuation to any pattern of the
//! converters. Neither is a private-use character, so one stands in for the other while the
//! conversion runs.

use std::borrow::Cow;

use crate::value::{Dict, PyStr, Value};

const FIRST_SURROGATE: u32 = 0xD800;
const LAST_SURROGATE: u32 = 0xDFFF;
/// The last 2,048 code points of the last private-use plane.
const FIRST_STAND_IN: u32 = 0x10_F800;

/// The text with stand-ins for its lone surrogates; borrowed when it has none.
pub(super) fn hide(text: &PyStr) -> Cow<'_, str> {
    if let Some(text) = text.as_str() {
        return Cow::Borrowed(text);
    }
    let hide = |code: u32| match code {
        FIRST_SURROGATE..=LAST_SURROGATE => char::from_u32(code - FIRST_SURROGATE + FIRST_STAND_IN),
        _ => char::from_u32(code),
    };
    Cow::Owned(text.code_points().filter_map(hide).collect())
}

/// The value with every stand-in turned back. Converted values nest at most a few levels.
pub(super) fn reveal(value: Value) -> Value {
    match value {
        Value::Str(text) => Value::Str(reveal_text(&text)),
        Value::List(items) => Value::List(items.into_iter().map(reveal).collect()),
        Value::Dict(dict) => Value::Dict(
            dict.into_iter()
                .map(|(key, value)| (reveal(key), reveal(value)))
                .collect::<Dict>(),
        ),
        other => other,
    }
}

fn reveal_text(text: &PyStr) -> PyStr {
    let reveal = |code: u32| match code {
        FIRST_STAND_IN.. => code - FIRST_STAND_IN + FIRST_SURROGATE,
        _ => code,
    };
    text.code_points().map(reveal).collect()
}
