//! A summary as `key,value` lines: every value of the JSON form, its path with
//! dots as the key. Deviations and problems are in it, so that no figure leaves
//! the program without them.

use serde_json::Value;

/// Renders a JSON value as CSV (RFC 4180 quoting, `\n` line ends).
pub(super) fn render(value: &Value) -> String {
    let mut out = String::from("key,value\n");
    push(&mut out, "", value);
    out
}

/// Null becomes an empty value; an empty list or object becomes nothing.
fn push(out: &mut String, key: &str, value: &Value) {
    let below = |name: &str| match key {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                push(out, &below(name), member);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push(out, &below(&index.to_string()), item);
            }
        }
        Value::Null => push_line(out, key, ""),
        Value::String(text) => push_line(out, key, text),
        Value::Bool(_) | Value::Number(_) => push_line(out, key, &value.to_string()),
    }
}

fn push_line(out: &mut String, key: &str, value: &str) {
    out.push_str(&format!("{},{}\n", field(key), field(value)));
}

/// Quotes what would otherwise end the field.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_keys_and_special_characters_are_quoted() {
        let value = serde_json::json!({
            "a": {"b": 1, "c": null, "d": []},
            "list": [true, "x,y", "say \"no\"", "two\nlines"],
        });
        let expected = "key,value\na.b,1\na.c,\nlist.0,true\nlist.1,\"x,y\"\n\
            list.2,\"say \"\"no\"\"\"\nlist.3,\"two\nlines\"\n";
        assert_eq!(render(&value), expected);
    }
}
