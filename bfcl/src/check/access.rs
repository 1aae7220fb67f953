//! Python's operations on values whose types nobody has checked, with the exceptions they raise.

use std::borrow::Cow;

use crate::raised::{Exception, Raised};
use crate::value::{Dict, PyStr, Value};

fn raise<T>(exception: Exception, detail: impl Into<String>) -> Result<T, Raised> {
    Err(Raised::new(exception, detail))
}

/// `value[key]` with a string key.
pub(super) fn field<'v>(value: &'v Value, key: &str) -> Result<&'v Value, Raised> {
    match value {
        Value::Dict(dict) => match dict.get(key) {
            Some(found) => Ok(found),
            None => raise(Exception::KeyError, format!("no key {key:?}")),
        },
        other => raise(
            Exception::TypeError,
            format!("{} has no key {key:?}", other.py_type().name()),
        ),
    }
}

/// `value[key]` where the key is any value found among a dictionary's keys.
pub(super) fn entry<'v>(value: &'v Value, key: &Value) -> Result<&'v Value, Raised> {
    match value {
        Value::Dict(dict) => match dict.get_value(key) {
            Some(found) => Ok(found),
            None => raise(Exception::KeyError, "no such key"),
        },
        other => raise(
            Exception::TypeError,
            format!("{} cannot be indexed by a key", other.py_type().name()),
        ),
    }
}

/// `value.items()`.
pub(super) fn dict(value: &Value) -> Result<&Dict, Raised> {
    value.as_dict().map_or_else(
        || {
            raise(
                Exception::AttributeError,
                format!("{} is not a dict", value.py_type().name()),
            )
        },
        Ok,
    )
}

/// `item in value`.
pub(super) fn contains(value: &Value, item: &Value) -> Result<bool, Raised> {
    match value {
        Value::List(items) => Ok(items.iter().any(|other| item.same_or_eq(other))),
        Value::Dict(_) if !item.is_hashable() => raise(
            Exception::TypeError,
            format!("{} is not hashable", item.py_type().name()),
        ),
        Value::Dict(dict) => Ok(dict.get_value(item).is_some()),
        Value::Str(text) => match item {
            Value::Str(part) => Ok(has_part(text, part)),
            other => raise(
                Exception::TypeError,
                format!("{} cannot be part of a str", other.py_type().name()),
            ),
        },
        other => raise(
            Exception::TypeError,
            format!("{} is not a container", other.py_type().name()),
        ),
    }
}

/// Whether `""`, the mark of an optional parameter, is in the value.
pub(super) fn allows_absence(value: &Value) -> Result<bool, Raised> {
    match value {
        Value::List(items) => Ok(items.iter().any(is_empty_text)),
        other => contains(other, &Value::str("")),
    }
}

/// Whether the value is `""`.
pub(super) fn is_empty_text(value: &Value) -> bool {
    matches!(value, Value::Str(text) if text.is_empty())
}

fn has_part(text: &PyStr, part: &PyStr) -> bool {
    if let (Some(text), Some(part)) = (text.as_str(), part.as_str()) {
        return text.contains(part);
    }
    let text: Vec<u32> = text.code_points().collect();
    let part: Vec<u32> = part.code_points().collect();
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

/// The values that `for item in value` visits: items, characters or keys.
pub(super) fn iterate(value: &Value) -> Result<Cow<'_, [Value]>, Raised> {
    match value {
        Value::List(items) => Ok(Cow::Borrowed(items)),
        Value::Str(text) => Ok(Cow::Owned(characters(text))),
        Value::Dict(dict) => Ok(Cow::Owned(
            dict.iter().map(|(key, _)| key.clone()).collect(),
        )),
        other => raise(
            Exception::TypeError,
            format!("{} cannot be iterated", other.py_type().name()),
        ),
    }
}

/// The values of `value[0]`, `value[1]`, … up to `len(value)`. Unlike iteration this fails on a
/// dictionary, whose keys are strings.
pub(super) fn indexed(value: &Value) -> Result<Cow<'_, [Value]>, Raised> {
    match value {
        Value::Dict(dict) if !dict.is_empty() => raise(Exception::KeyError, "0"),
        Value::List(_) | Value::Str(_) | Value::Dict(_) => iterate(value),
        other => raise(
            Exception::TypeError,
            format!("{} has no length", other.py_type().name()),
        ),
    }
}

/// `len(value)`.
pub(super) fn length(value: &Value) -> Result<usize, Raised> {
    match value {
        Value::List(items) => Ok(items.len()),
        Value::Dict(dict) => Ok(dict.len()),
        Value::Str(text) => Ok(text.code_points().count()),
        other => raise(
            Exception::TypeError,
            format!("{} has no length", other.py_type().name()),
        ),
    }
}

/// `value[0]` of what should be a list.
pub(super) fn first(value: &Value) -> Result<Cow<'_, Value>, Raised> {
    let missing = || Raised::new(Exception::IndexError, "nothing at index 0");
    match indexed(value)? {
        Cow::Borrowed(items) => items.first().map(Cow::Borrowed).ok_or_else(missing),
        Cow::Owned(items) => items.into_iter().next().map(Cow::Owned).ok_or_else(missing),
    }
}

fn characters(text: &PyStr) -> Vec<Value> {
    let one = |code| Value::Str([code].into_iter().collect());
    text.code_points().map(one).collect()
}
