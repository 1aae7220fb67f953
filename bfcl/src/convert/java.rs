//! Java source text to values.

use std::sync::LazyLock;

use regex::Regex;

use super::numeral::{INTEGER, JAVA_DOUBLE, JAVA_FLOAT, JAVA_LONG};
use super::{inner, is_quoted, surrogates};
use crate::pynum;
use crate::pytext::strip;
use crate::raised::{Exception, Raised};
use crate::value::{Dict, PyStr, Value};

/// Compiles a pattern in which `\w` and `\s` mean what they mean to Python.
fn python_regex(pattern: &str) -> Regex {
    let pattern = pattern
        .replace(r"\w", r"[\p{L}\p{N}_]")
        .replace(r"\s", r"[\s\x1c-\x1f]");
    Regex::new(&pattern).expect("the patterns of this file are valid")
}

static ARRAY: LazyLock<Regex> = LazyLock::new(|| python_regex(r"new\s+\w+\[\]\s*\{(.*?)\}"));
static AS_LIST: LazyLock<Regex> =
    LazyLock::new(|| python_regex(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)"));
static ADD_BLOCK: LazyLock<Regex> =
    LazyLock::new(|| python_regex(r"(?s)new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}"));
static ADD: LazyLock<Regex> = LazyLock::new(|| python_regex(r"add\((.+?)\)"));
static EMPTY_LIST: LazyLock<Regex> = LazyLock::new(|| python_regex(r"new\s+ArrayList<\w*>\(\)"));
static PUT_BLOCK: LazyLock<Regex> =
    LazyLock::new(|| python_regex(r"(?s)new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}"));
static PUT: LazyLock<Regex> = LazyLock::new(|| python_regex(r#"put\("(.*?)",\s*(.*?)\)"#));
static EMPTY_MAP: LazyLock<Regex> = LazyLock::new(|| python_regex(r"new\s+HashMap<.*?>\s*\(\)"));

/// Converts a Java argument of the schema's type `expected`, whose items have the type `nested`.
///
/// # Errors
/// Where the reference raises: `Set`, `Hashtable`, `Queue` and `Stack` have no conversion, other
/// types are unknown, integers have a limit of digits.
pub fn java(text: &PyStr, expected: &str, nested: Option<&str>) -> Result<Value, Raised> {
    convert(&surrogates::hide(text), expected, nested).map(|value| match text.as_str() {
        Some(_) => value,
        None => surrogates::reveal(value),
    })
}

fn convert(text: &str, expected: &str, nested: Option<&str>) -> Result<Value, Raised> {
    match expected {
        "byte" | "short" | "integer" => integer(INTEGER.matches(text), text),
        "long" => integer(JAVA_LONG.matches(text), text),
        "float" => Ok(float(JAVA_FLOAT.matches(text), text)),
        "double" => Ok(float(JAVA_DOUBLE.matches(text), text)),
        "boolean" => Ok(match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::str(text),
        }),
        // The reference's pattern for `char` can match nothing, so every text stays a string.
        "char" | "String" | "any" => Ok(Value::str(text)),
        "Array" => array(text, nested),
        "ArrayList" => array_list(text, nested),
        "HashMap" => hash_map(text),
        "Set" | "Hashtable" | "Queue" | "Stack" => Err(Raised::new(
            Exception::NotImplementedError,
            format!("the reference has no conversion for the Java type {expected}"),
        )),
        _ => Err(Raised::new(
            Exception::ValueError,
            format!("{expected:?} is not a Java type the reference knows"),
        )),
    }
}

/// The integer that matched, or the text itself.
fn integer(matched: Option<&str>, text: &str) -> Result<Value, Raised> {
    let Some(number) = matched else {
        return Ok(Value::str(text));
    };
    pynum::int(number).map(Value::Int).ok_or_else(too_long)
}

/// The float that matched, or the text itself.
fn float(matched: Option<&str>, text: &str) -> Value {
    matched
        .and_then(pynum::float)
        .map_or_else(|| Value::str(text), Value::Float)
}

pub(super) fn too_long() -> Raised {
    Raised::new(
        Exception::ValueError,
        format!("an integer of more than {} digits", pynum::MAX_INT_DIGITS),
    )
}

fn array(text: &str, nested: Option<&str>) -> Result<Value, Raised> {
    let Some(found) = ARRAY.captures(text) else {
        return Ok(Value::str(text));
    };
    let items = found[1]
        .split(',')
        .map(strip)
        .filter(|item| !item.is_empty());
    items
        .map(|item| match nested {
            Some(nested) => convert(item, nested, None),
            None => untyped(item),
        })
        .collect::<Result<_, _>>()
        .map(Value::List)
}

fn array_list(text: &str, nested: Option<&str>) -> Result<Value, Raised> {
    let items: Vec<Value> = if let Some(found) = AS_LIST.captures(text) {
        found[1]
            .split(',')
            .map(|item| list_item(strip(item), nested))
            .collect::<Result<_, _>>()?
    } else if let Some(found) = ADD_BLOCK.captures(text) {
        ADD.captures_iter(&found[1])
            .map(|add| list_item(strip(&add[1]), nested))
            .collect::<Result<_, _>>()?
    } else if EMPTY_LIST.is_match(text) {
        Vec::new()
    } else {
        return Ok(Value::str(text));
    };
    Ok(Value::List(items))
}

/// Items of strings and characters lose whatever stands where their quotes should be.
fn list_item(item: &str, nested: Option<&str>) -> Result<Value, Raised> {
    match nested {
        Some("char" | "String") => Ok(Value::str(inner(item))),
        Some(nested) => convert(item, nested, None),
        None => untyped(item),
    }
}

fn hash_map(text: &str) -> Result<Value, Raised> {
    if let Some(found) = PUT_BLOCK.captures(text) {
        let entries = PUT
            .captures_iter(&found[1])
            .map(|put| Ok((Value::str(&put[1]), untyped(strip(&put[2]))?)));
        return entries.collect::<Result<_, _>>().map(Value::Dict);
    }
    Ok(if EMPTY_MAP.is_match(text) {
        Value::Dict(Dict::new())
    } else {
        Value::str(text)
    })
}

/// A literal whose type nobody gives.
fn untyped(text: &str) -> Result<Value, Raised> {
    match text {
        "true" => return Ok(Value::Bool(true)),
        "false" => return Ok(Value::Bool(false)),
        _ if is_quoted(text, '"') => return Ok(Value::str(inner(text))),
        _ => {}
    }
    if let Some(long) = JAVA_LONG.matches(text) {
        return integer(Some(long), text);
    }
    Ok(match JAVA_FLOAT.matches(text).and_then(pynum::float) {
        Some(float) => Value::Float(float),
        None => pynum::number(text).unwrap_or_else(|| Value::str(text)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, expected: &str, nested: Option<&str>) -> Value {
        java(&PyStr::from(text), expected, nested).expect("converts")
    }

    fn int(i: i64) -> Value {
        Value::Int(i.into())
    }

    #[test]
    fn scalars_fall_back_to_their_text() {
        assert_eq!(show("-128", "byte", None), int(-128));
        assert_eq!(show("12", "long", None), Value::str("12"));
        assert_eq!(show("12l", "long", None), int(12));
        assert_eq!(show("3.5F", "float", None), Value::Float(3.5));
        assert_eq!(show("3.5", "float", None), Value::str("3.5"));
        assert_eq!(show("'a'", "char", None), Value::str("'a'"));
        assert_eq!(show("True", "boolean", None), Value::str("True"));
    }

    #[test]
    fn t5_11_java_lists_and_maps() {
        let list = show(
            "new ArrayList<String>(Arrays.asList(\"a\", \"b\"))",
            "ArrayList",
            Some("String"),
        );
        assert_eq!(list, Value::List(vec![Value::str("a"), Value::str("b")]));
        let adds = show(
            "new ArrayList<Integer>() {{ add(1);\n add(2); }}",
            "ArrayList",
            Some("integer"),
        );
        assert_eq!(adds, Value::List(vec![int(1), int(2)]));
        let array = show("new int[] {1, , 2}", "Array", Some("integer"));
        assert_eq!(array, Value::List(vec![int(1), int(2)]));
        let map = show(
            "new HashMap<String, Object>() {{ put(\"k\", 1L); put(\"v\", true); }}",
            "HashMap",
            None,
        );
        let expected: Dict = [
            (Value::str("k"), int(1)),
            (Value::str("v"), Value::Bool(true)),
        ]
        .into_iter()
        .collect();
        assert_eq!(map, Value::Dict(expected));
        assert_eq!(
            show("new HashMap<>()", "HashMap", None),
            Value::Dict(Dict::new())
        );
        assert_eq!(show("{}", "HashMap", None), Value::str("{}"));
    }

    #[test]
    fn what_the_reference_never_wrote_raises() {
        let raised = java(&PyStr::from("x"), "Queue", None).expect_err("no conversion");
        assert_eq!(raised.exception, Exception::NotImplementedError);
        let long = "9".repeat(5000);
        let raised = java(&PyStr::from(long), "integer", None).expect_err("too long");
        assert_eq!(raised.exception, Exception::ValueError);
    }

    #[test]
    fn lone_surrogates_survive() {
        let text: PyStr = "new String[]{a"
            .chars()
            .map(u32::from)
            .chain([0xD800, 0x7D])
            .collect();
        let value = java(&text, "Array", None).expect("converts");
        let item: PyStr = [0x61, 0xD800].into_iter().collect();
        assert_eq!(value, Value::List(vec![Value::Str(item)]));
    }
}
