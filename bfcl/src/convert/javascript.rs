//! JavaScript source text to values.

use std::sync::LazyLock;

use regex::Regex;

use super::java::too_long;
use super::numeral::{INTEGER, JS_BIGINT, JS_FLOAT};
use super::{inner, is_quoted, surrogates};
use crate::pynum;
use crate::pytext::{is_space, strip};
use crate::raised::{Exception, Raised};
use crate::value::{Dict, PyStr, Value};

static ARRAY_2D: LazyLock<Regex> = LazyLock::new(|| {
    let rows = r"\[.*?\]S*(,S*\[.*?\]S*)*";
    let pattern = format!(r"^(?:\[S*{rows}\]|newS+Array\(S*{rows}\))");
    Regex::new(&pattern.replace('S', r"[\s\x1c-\x1f]")).expect("a valid pattern")
});

/// Converts a JavaScript argument of the schema's type `expected`, whose items have the type
/// `nested`.
///
/// # Errors
/// Where the reference raises: an unknown type, an integer beyond the limit of digits, a BigInt
/// with a final newline.
pub fn javascript(text: &PyStr, expected: &str, nested: Option<&str>) -> Result<Value, Raised> {
    convert(&surrogates::hide(text), expected, nested).map(|value| match text.as_str() {
        Some(_) => value,
        None => surrogates::reveal(value),
    })
}

fn convert(text: &str, expected: &str, nested: Option<&str>) -> Result<Value, Raised> {
    match expected {
        "String" if is_quoted(text, '"') || is_quoted(text, '\'') => Ok(Value::str(inner(text))),
        "String" | "any" => Ok(Value::str(text)),
        "integer" => match INTEGER.matches(text) {
            Some(number) => pynum::int(number).map(Value::Int).ok_or_else(too_long),
            None => Ok(Value::str(text)),
        },
        "float" => Ok(JS_FLOAT
            .matches(text)
            .and_then(pynum::float)
            .map_or_else(|| Value::str(text), Value::Float)),
        "Bigint" => bigint(text),
        "Boolean" => Ok(match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::str(text),
        }),
        "dict" => Ok(dict(text)),
        "array" => Ok(array(strip(text), nested)),
        _ => Err(Raised::new(
            Exception::ValueError,
            format!("{expected:?} is not a JavaScript type the reference knows"),
        )),
    }
}

/// The reference cuts the last character, whatever it is: with a final newline, the `n` stays.
fn bigint(text: &str) -> Result<Value, Raised> {
    let Some(number) = JS_BIGINT.matches(text) else {
        return Ok(Value::str(text));
    };
    if text.ends_with('\n') {
        return Err(Raised::new(
            Exception::ValueError,
            "a BigInt followed by a newline",
        ));
    }
    pynum::int(number).map(Value::Int).ok_or_else(too_long)
}

/// An array literal or `new Array(…)`; `text` is stripped already. Whatever fails inside leaves the
/// text as it is.
fn array(text: &str, nested: Option<&str>) -> Value {
    if let Some(found) = ARRAY_2D.find(text) {
        return Value::List(rows(found.as_str()));
    }
    let Some(items) = array_body(text) else {
        return Value::str(text);
    };
    let items = strip(items);
    if items.is_empty() {
        return Value::List(Vec::new());
    }
    let items = items.split(',').map(strip);
    let converted = items.map(|item| match nested {
        Some(nested) => {
            let quoted = item.starts_with(['\'', '"']);
            convert(item, nested, quoted.then_some("String"))
        }
        None => Ok(untyped(item)),
    });
    match converted.collect() {
        Ok(items) => Value::List(items),
        Err(_) => Value::str(text),
    }
}

/// What stands between the first `[` and the next `]`, or between `new Array(` and the next `)`,
/// on one line.
fn array_body(text: &str) -> Option<&str> {
    let (body, close) = match text.strip_prefix('[') {
        Some(body) => (body, ']'),
        None => {
            let after_new = text.strip_prefix("new")?;
            let name = after_new.trim_start_matches(is_space);
            let body = name.strip_prefix("Array(")?;
            (body, (name.len() < after_new.len()).then_some(')')?)
        }
    };
    let end = body.find([close, '\n'])?;
    body[end..].starts_with(close).then_some(&body[..end])
}

/// The rows of an array of arrays: every `[…]` on one line, the first of which has swallowed the
/// outer bracket.
fn rows(text: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let body = &rest[open + 1..];
        let Some(end) = body.find([']', '\n']) else {
            break;
        };
        if body[end..].starts_with('\n') {
            // No row may hold a newline; brackets before it cannot open one either.
            rest = &body[end..];
            continue;
        }
        let mut row = strip(&body[..end]);
        if rows.is_empty() {
            row = row.strip_prefix('[').unwrap_or(row);
        }
        let items = row.split(',').map(|item| untyped(strip(item)));
        rows.push(Value::List(items.collect()));
        rest = &body[end + 1..];
    }
    rows
}

/// An object literal up to the first `}`, on one line.
fn dict(text: &str) -> Value {
    let text = strip(text);
    if text == "{}" {
        return Value::Dict(Dict::new());
    }
    let content = text.strip_prefix('{').and_then(|body| {
        let end = body.find(['}', '\n'])?;
        body[end..].starts_with('}').then_some(&body[..end])
    });
    let Some(content) = content else {
        return Value::str(text);
    };
    let entries = Pairs(content).map(|(key, value)| {
        let key = strip(key).trim_matches(['\'', '"']);
        (Value::str(key), entry_value(strip(value)))
    });
    Value::Dict(entries.collect())
}

fn entry_value(text: &str) -> Value {
    if text.starts_with('[') && text.ends_with(']') {
        array(text, None)
    } else {
        untyped(text.trim_matches(['\'', '"']))
    }
}

/// The key-value pairs of an object literal: a key runs to the next colon; a value runs to the
/// first comma after which another colon comes before another comma, or to the end.
struct Pairs<'a>(&'a str);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let text = self.0.trim_start_matches(':');
        let colon = text.find(':')?;
        let key = &text[..colon];
        let value = text[colon + 1..].trim_start_matches(is_space);
        let mut from = 0;
        while let Some(comma) = value[from..].find(',').map(|at| from + at) {
            let after = &value[comma + 1..];
            if let Some(skip) = next_key(after) {
                self.0 = &after[skip..];
                return Some((key, &value[..comma]));
            }
            from = comma + 1;
        }
        self.0 = "";
        Some((key, value))
    }
}

/// How much white space to skip after a comma so that at least one character other than a comma,
/// and then a colon, follow before the next comma. `None` when no pair follows.
fn next_key(after: &str) -> Option<usize> {
    let segment = after.split(',').next().unwrap_or(after);
    let colon = segment.rfind(':')?;
    let last_before_colon = segment[..colon].chars().next_back()?;
    let spaces = segment.len() - segment.trim_start_matches(is_space).len();
    Some(spaces.min(colon - last_before_colon.len_utf8()))
}

/// A literal whose type nobody gives.
fn untyped(text: &str) -> Value {
    let text = strip(text);
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if is_quoted(text, '"') || is_quoted(text, '\'') => Value::str(inner(text)),
        _ => pynum::number(text).unwrap_or_else(|| Value::str(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, expected: &str, nested: Option<&str>) -> Value {
        javascript(&PyStr::from(text), expected, nested).expect("converts")
    }

    fn int(i: i64) -> Value {
        Value::Int(i.into())
    }

    fn list<const N: usize>(items: [Value; N]) -> Value {
        Value::List(items.into())
    }

    #[test]
    fn scalars_fall_back_to_their_text() {
        assert_eq!(show("'a\"", "String", None), Value::str("'a\""));
        assert_eq!(show("'a'", "String", None), Value::str("a"));
        assert_eq!(show("1.5", "float", None), Value::Float(1.5));
        assert_eq!(show("1e5", "float", None), Value::str("1e5"));
        assert_eq!(show("12n", "Bigint", None), int(12));
        assert_eq!(show("7\n", "integer", None), int(7));
        assert!(javascript(&PyStr::from("5n\n"), "Bigint", None).is_err());
    }

    #[test]
    fn t5_11_javascript_arrays_booleans_and_nested_quotes() {
        assert_eq!(
            show("[1, 'two', true]", "array", None),
            list([int(1), Value::str("two"), Value::Bool(true)])
        );
        assert_eq!(
            show(" new  Array(1, 2)", "array", None),
            list([int(1), int(2)])
        );
        assert_eq!(show("[]", "array", Some("integer")), list([]));
        assert_eq!(
            show("[[1, 2], [3]]", "array", None),
            list([list([int(1), int(2)]), list([int(3)])])
        );
        assert_eq!(
            show("['it\"s']", "array", Some("String")),
            list([Value::str("it\"s")])
        );
        // A nested type that is unknown fails inside, so the text stays.
        assert_eq!(show("[1]", "array", Some("Set")), Value::str("[1]"));
    }

    #[test]
    fn objects_split_at_commas_before_a_key() {
        let dict = show("{'a': 1, b: [x, y], c: 'p, q'}", "dict", None);
        let expected: Dict = [
            (Value::str("a"), int(1)),
            (Value::str("b"), list([Value::str("x"), Value::str("y")])),
            (Value::str("c"), Value::str("p, q")),
        ]
        .into_iter()
        .collect();
        assert_eq!(dict, Value::Dict(expected));
        assert_eq!(show("{a\n: 1}", "dict", None), Value::str("{a\n: 1}"));
        assert_eq!(show("{}", "dict", None), Value::Dict(Dict::new()));
    }
}
