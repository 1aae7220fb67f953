//! BFCL function schemas to the tools of a chat request, as the reference converts them.
//!
//! Key order of the source is kept everywhere, because the prompt shows it to the model.

use serde_json::{Map, Value, json};

use crate::check::offered_name;

/// Nesting of schemas that is followed. The data set needs 5 levels; more is refused so that a
/// hostile file cannot exhaust the stack.
const MAX_DEPTH: usize = 64;

/// A schema that cannot become a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct ToolError {
    /// Where in the function list, e.g. `function 0, properties of x`.
    pub at: String,
    /// What was found and what was expected.
    pub problem: String,
}

impl ToolError {
    fn new(at: &str, problem: impl Into<String>) -> ToolError {
        ToolError {
            at: at.to_owned(),
            problem: problem.into(),
        }
    }
}

/// Converts the `function` list of a sample to `[{"type": "function", "function": {…}}]`.
///
/// # Errors
/// Where a part that the reference reads is missing or of another type.
pub fn convert(functions: &Value) -> Result<Vec<Value>, ToolError> {
    let functions = functions
        .as_array()
        .ok_or_else(|| ToolError::new("function", "expected a list of functions"))?;
    functions
        .iter()
        .enumerate()
        .map(|(index, function)| convert_one(function, &format!("function {index}")))
        .collect()
}

fn convert_one(function: &Value, at: &str) -> Result<Value, ToolError> {
    let mut function = object(function, at)?.clone();
    let name = text(&function, "name", at)?;
    function.insert("name".into(), offered_name(&name).into());
    let parameters = function
        .get_mut("parameters")
        .and_then(Value::as_object_mut)
        .ok_or_else(|| ToolError::new(at, "expected an object `parameters`"))?;
    parameters.insert("type".into(), "object".into());
    let properties = parameters
        .get_mut("properties")
        .ok_or_else(|| ToolError::new(at, "expected `parameters.properties`"))?;
    convert_properties(properties, at, 0)?;
    Ok(json!({"type": "function", "function": function}))
}

fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, ToolError> {
    value
        .as_object()
        .ok_or_else(|| ToolError::new(at, "expected an object"))
}

fn text(object: &Map<String, Value>, key: &str, at: &str) -> Result<String, ToolError> {
    object
        .get(key)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| ToolError::new(at, format!("expected a text `{key}`")))
}

fn convert_properties(properties: &mut Value, at: &str, depth: usize) -> Result<(), ToolError> {
    if depth > MAX_DEPTH {
        return Err(ToolError::new(at, "schemas nested too deeply"));
    }
    let properties = properties
        .as_object_mut()
        .ok_or_else(|| ToolError::new(at, "expected an object `properties`"))?;
    for (name, schema) in properties {
        let at = format!("{at}, property {name:?}");
        let schema = schema
            .as_object_mut()
            .ok_or_else(|| ToolError::new(&at, "expected an object"))?;
        convert_schema(schema, &at, depth)?;
    }
    Ok(())
}

/// The type and what lies below it: `properties` where there are any, else `items`.
fn convert_schema(
    schema: &mut Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), ToolError> {
    let word = match schema.get("type") {
        None => None,
        Some(Value::String(word)) => Some(word.clone()),
        Some(_) => return Err(ToolError::new(at, "expected a text `type`")),
    };
    if word.as_deref() == Some("float") {
        let description = text(schema, "description", at)? + " This is a float type value.";
        schema.insert("format".into(), "float".into());
        schema.insert("description".into(), description.into());
    }
    let converted = word.as_deref().and_then(json_type).unwrap_or("string");
    schema.insert("type".into(), converted.into());
    if !matches!(converted, "array" | "object") {
        return Ok(());
    }
    if let Some(properties) = schema.get_mut("properties") {
        convert_properties(properties, at, depth + 1)
    } else if let Some(items) = schema.get_mut("items") {
        convert_items(items, at, depth)
    } else {
        Ok(())
    }
}

/// The items of a list: their type, then one level of nested items, or their properties.
fn convert_items(items: &mut Value, at: &str, depth: usize) -> Result<(), ToolError> {
    let at = format!("{at}, items");
    let converted = convert_item_type(items, &at)?;
    match converted {
        "array" if items.get("items").is_some() => {
            convert_item_type(&mut items["items"], &format!("{at}.items")).map(drop)
        }
        "object" if items.get("properties").is_some() => {
            convert_properties(&mut items["properties"], &at, depth + 1)
        }
        _ => Ok(()),
    }
}

/// Unlike a parameter's type, an unknown type of items is an error in the reference.
fn convert_item_type(items: &mut Value, at: &str) -> Result<&'static str, ToolError> {
    let items = items
        .as_object_mut()
        .ok_or_else(|| ToolError::new(at, "expected an object"))?;
    let word = text(items, "type", at)?;
    let converted =
        json_type(&word).ok_or_else(|| ToolError::new(at, format!("unknown type {word:?}")))?;
    items.insert("type".into(), converted.into());
    Ok(converted)
}

/// The JSON schema type for a type word of the data set; `None` for a word that has no mapping.
fn json_type(word: &str) -> Option<&'static str> {
    Some(match word {
        "integer" | "byte" | "short" | "long" | "Bigint" => "integer",
        "number" | "float" | "double" => "number",
        "string" | "any" | "Any" | "char" | "String" => "string",
        "boolean" | "bool" => "boolean",
        "array" | "list" | "tuple" | "ArrayList" | "Array" | "Queue" | "Stack" => "array",
        "dict" | "object" | "HashMap" | "Hashtable" => "object",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(properties: Value) -> Value {
        let function = json!([{
            "name": "a.b.c", "description": "d",
            "parameters": {"type": "dict", "required": [], "properties": properties},
        }]);
        let tools = convert(&function).expect("converts");
        tools[0]["function"]["parameters"]["properties"].clone()
    }

    #[test]
    fn names_lose_their_dots_and_keys_keep_their_order() {
        let function = json!([{
            "parameters": {"properties": {}, "type": "dict", "required": []},
            "name": "a.b", "description": "d",
        }]);
        let tools = convert(&function).expect("converts");
        assert_eq!(
            tools[0].to_string(),
            r#"{"type":"function","function":{"parameters":{"properties":{},"type":"object","required":[]},"name":"a_b","description":"d"}}"#
        );
    }

    #[test]
    fn only_a_float_gets_a_format_and_a_suffix() {
        let converted = parameters(json!({
            "f": {"type": "float", "description": "x.", "default": 1.0},
            "d": {"type": "double", "description": "x."},
            "l": {"type": "array", "items": {"type": "float", "description": "y"}, "description": "x."},
        }));
        assert_eq!(
            converted.to_string(),
            concat!(
                r#"{"f":{"type":"number","description":"x. This is a float type value.","default":1.0,"format":"float"},"#,
                r#""d":{"type":"number","description":"x."},"#,
                r#""l":{"type":"array","items":{"type":"number","description":"y"},"description":"x."}}"#
            )
        );
    }

    #[test]
    fn parameters_may_be_named_like_keywords() {
        let converted = parameters(json!({
            "type": {"type": "Boolean"},
            "items": {"description": "no type"},
            "m": {"type": "HashMap", "properties": {"items": {"type": "long"}}},
        }));
        assert_eq!(
            converted,
            json!({
                "type": {"type": "string"},
                "items": {"description": "no type", "type": "string"},
                "m": {"type": "object", "properties": {"items": {"type": "integer"}}},
            })
        );
    }

    #[test]
    fn items_of_unknown_type_are_refused_with_their_place() {
        let function = json!([{"name": "f", "parameters": {"properties": {
            "x": {"type": "array", "items": {"type": "Boolean"}},
        }}}]);
        let error = convert(&function).expect_err("no mapping");
        assert_eq!(
            error.to_string(),
            r#"function 0, property "x", items: unknown type "Boolean""#
        );
    }
}
