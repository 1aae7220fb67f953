//! A summary as `key,value` lines: every value of the JSON form, its path with
//! dots as the key. Deviations and problems are in it, so that no figure leaves
//! the program without them.

use serde_json::Value;

/// Renders a JSON value as CSV.
pub(super) fn render(value: &Value) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["key", "value"])?;
    let mut lines = Vec::new();
    flatten(String::new(), value, &mut lines);
    for (key, text) in &lines {
        writer.write_record([key, text])?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|e| ::csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Null becomes an empty value, an empty list or object nothing.
fn flatten(key: String, value: &Value, lines: &mut Vec<(String, String)>) {
    let below = |name: &str| match key.as_str() {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                flatten(below(name), member, lines);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(below(&index.to_string()), item, lines);
            }
        }
        Value::Null => lines.push((key, String::new())),
        Value::String(text) => lines.push((key, text.clone())),
        Value::Bool(_) | Value::Number(_) => lines.push((key, value.to_string())),
    }
}
