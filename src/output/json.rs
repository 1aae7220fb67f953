//! A summary as one JSON object on stdout.

use serde_json::{Map, Value};

use super::report::Settings;
use crate::metrics::Summary;

/// The summary's object with `settings` as its first member.
pub(super) fn object(settings: &Settings, summary: &Summary) -> serde_json::Result<Value> {
    let mut object = Map::new();
    object.insert("settings".to_owned(), Value::Object(settings.clone()));
    if let Value::Object(members) = serde_json::to_value(summary)? {
        object.extend(members);
    }
    Ok(Value::Object(object))
}

/// [`object`], indented, with a final newline.
pub(super) fn render(settings: &Settings, summary: &Summary) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&object(settings, summary)?)?;
    text.push('\n');
    Ok(text)
}
