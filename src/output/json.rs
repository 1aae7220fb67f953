//! A run's result as one JSON object on stdout.

use serde_json::{Map, Value};

use super::report::RunResult;

/// The summary's object with `settings` as its first member, and `accuracy` as its last where there is one.
pub(super) fn object(result: &RunResult) -> serde_json::Result<Value> {
    let mut object = Map::new();
    object.insert(
        "settings".to_owned(),
        Value::Object(result.settings.clone()),
    );
    if let Value::Object(members) = serde_json::to_value(&result.summary)? {
        object.extend(members);
    }
    if let Some(accuracy) = &result.accuracy {
        object.insert("accuracy".to_owned(), serde_json::to_value(accuracy)?);
    }
    Ok(Value::Object(object))
}

/// [`object`], indented, with a final newline.
pub(super) fn render(result: &RunResult) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&object(result)?)?;
    text.push('\n');
    Ok(text)
}
