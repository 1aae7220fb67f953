//! YAML for settings: mappings, lists and scalars in block style, as PyYAML lays them out.
//!
//! Our own, because what is needed is a page long and the maintained crates lay lists out in
//! another way than the reference's file.

use serde_json::Value;

/// `value`, an object, as a YAML document.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    block(&mut out, value, 0);
    out
}

/// The members or items of `value`, one a line, at this indentation.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(members) => {
            for (index, (key, value)) in members.iter().enumerate() {
                // The first member may stand on the line of a list's dash.
                if index > 0 || !out.ends_with("- ") {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str(&string(key));
                out.push(':');
                nested(out, value, indent);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&" ".repeat(indent));
                out.push_str("- ");
                if is_block(item) {
                    block(out, item, indent + 2);
                } else {
                    out.push_str(&scalar(item));
                    out.push('\n');
                }
            }
        }
        _ => {}
    }
}

/// What follows a key and its colon.
fn nested(out: &mut String, value: &Value, indent: usize) {
    if !is_block(value) {
        out.push(' ');
        out.push_str(&scalar(value));
        out.push('\n');
        return;
    }
    out.push('\n');
    // Lists stand at their key's own indentation.
    let deeper = if value.is_object() { 2 } else { 0 };
    block(out, value, indent + deeper);
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        // An empty list or mapping, a number, a boolean and null are spelled as in JSON.
        other => other.to_string(),
    }
}

/// A string, plain where no reader can take it for anything else.
fn string(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().all(|c| !c.is_control() && c != '\u{feff}') {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        // JSON's escapes are YAML's in double quotes.
        Value::String(text.to_owned()).to_string()
    }
}

fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];
    let safe = |c: char| c.is_ascii_alphanumeric() || "_-./:@+ ".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text.chars().all(safe)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_are_laid_out_as_pyyaml_does() {
        let value = json!({
            "a": {"b": 1, "c": 600.0, "d": {}},
            "e": [{"f": "x", "g": ["h", "i"]}, {"j": null}],
            "k": [],
            "l": true,
        });
        let text = "a:\n  b: 1\n  c: 600.0\n  d: {}\ne:\n- f: x\n  g:\n  - h\n  - i\n- j: null\nk: []\nl: true\n";
        assert_eq!(document(&value), text);
    }

    #[test]
    fn strings_that_look_like_something_else_are_quoted() {
        for plain in [
            "edge-agentic run",
            "a::b",
            "http://127.0.0.1:1",
            "X-Id",
            "/a b",
        ] {
            assert_eq!(string(plain), plain);
        }
        for quoted in [
            "", "1.0", "on", "No", "a: b", "a:", "- a", "#a", "~", ".5", "é", "[a",
        ] {
            assert_eq!(string(quoted), format!("'{quoted}'"));
        }
        assert_eq!(string("it's"), "'it''s'");
        assert_eq!(string("a\nb"), "\"a\\nb\"");
    }
}
