//! Types: what the schema's names mean, and the reference's type check with its "variable" rule.

use super::access;
use super::mismatch::{ErrorType, Mismatch};
use super::show::Show;
use crate::raised::{Exception, Raised};
use crate::subset::Language;
use crate::value::{PyType, Value};

/// The types of a parameter: the schema's word and what it stands for.
pub(super) struct Expected<'s> {
    /// The word in the schema.
    pub word: &'s str,
    /// The Python type of the value.
    pub outer: PyType,
    /// The Python type of the items, where they are checked.
    pub items: Option<PyType>,
    /// The schema's word for the items.
    pub items_word: Option<&'s str>,
}

impl<'s> Expected<'s> {
    /// The outer type that the schema gives a parameter; items are added by [`Expected::with_items`].
    pub(super) fn outer(details: &'s Value, language: Language) -> Result<Expected<'s>, Raised> {
        let (word, outer) = mapped(access::field(details, "type")?, language)?;
        Ok(Expected {
            word,
            outer,
            items: None,
            items_word: None,
        })
    }

    /// Whether the items' type is looked up for this word.
    pub(super) fn has_items(&self, language: Language) -> bool {
        match language {
            Language::Python => matches!(self.word, "array" | "tuple"),
            Language::Java | Language::JavaScript => {
                matches!(self.word, "Array" | "ArrayList" | "array")
            }
        }
    }

    /// Adds the items' type from the schema.
    pub(super) fn with_items(
        mut self,
        details: &'s Value,
        language: Language,
    ) -> Result<Expected<'s>, Raised> {
        let items = access::field(details, "items")?;
        let (word, items) = mapped(access::field(items, "type")?, language)?;
        self.items = Some(items);
        self.items_word = Some(word);
        Ok(self)
    }
}

/// The schema's word and its Python type; an unknown word raises.
fn mapped(word: &Value, language: Language) -> Result<(&str, PyType), Raised> {
    let known = word
        .as_str()
        .and_then(|word| Some((word, python_type(word, language)?)));
    known.ok_or_else(|| {
        let exception = match word.is_hashable() {
            true => Exception::KeyError,
            false => Exception::TypeError,
        };
        Raised::new(
            exception,
            format!("the schema has the unknown type {}", Show(word)),
        )
    })
}

fn python_type(word: &str, language: Language) -> Option<PyType> {
    Some(match (language, word) {
        (Language::Python, "string" | "any") => PyType::Str,
        (Language::Python, "integer") => PyType::Int,
        (Language::Python, "float") => PyType::Float,
        (Language::Python, "boolean") => PyType::Bool,
        (Language::Python, "array" | "tuple") => PyType::List,
        (Language::Python, "dict") => PyType::Dict,
        (Language::Java, "byte" | "short" | "integer" | "long") => PyType::Int,
        (Language::Java, "float" | "double") => PyType::Float,
        (Language::Java, "boolean") => PyType::Bool,
        (Language::Java, "char" | "String" | "any") => PyType::Str,
        (Language::Java, "Array" | "ArrayList" | "Queue" | "Stack") => PyType::List,
        (Language::Java, "Set") => PyType::Set,
        (Language::Java, "HashMap" | "Hashtable") => PyType::Dict,
        (Language::JavaScript, "String" | "any") => PyType::Str,
        (Language::JavaScript, "integer" | "Bigint") => PyType::Int,
        (Language::JavaScript, "float") => PyType::Float,
        (Language::JavaScript, "Boolean") => PyType::Bool,
        (Language::JavaScript, "dict") => PyType::Dict,
        (Language::JavaScript, "array") => PyType::List,
        _ => return None,
    })
}

/// The type of the first allowed value that is not `""`.
fn answer_type(allowed: &Value) -> Result<Option<PyType>, Raised> {
    let values = access::iterate(allowed)?;
    let first = values.iter().find(|value| !access::is_empty_text(value));
    Ok(first.map(Value::py_type))
}

/// Checks the type of a value. `Ok(Ok(true))` means that the value is a "variable": the answer has
/// another type than the schema, either is accepted, and the comparison is raw.
pub(super) fn check(
    name: &Value,
    value: &Value,
    allowed: &Value,
    expected: &Expected<'_>,
) -> Result<Result<bool, Mismatch>, Raised> {
    let answer_type = answer_type(allowed)?;
    let found = value.py_type();
    let mut nested_failed = false;
    if found == expected.outer {
        let is_variable = answer_type.is_some_and(|answer| answer != expected.outer);
        let fits = match expected.items {
            None => true,
            Some(items) => items_fit(value, allowed, items)?,
        };
        if fits {
            return Ok(Ok(is_variable));
        }
        nested_failed = true;
    }
    if answer_type == Some(found) {
        // The reference marks a failed item check as a variable here and still calls it invalid.
        return Ok(match nested_failed {
            true => Err(items_mismatch(name, value, expected)),
            false => Ok(true),
        });
    }
    Ok(Err(Mismatch::new(
        ErrorType::Type,
        format!(
            "parameter {}: expected {}, found {} {}",
            Show(name),
            expected.word,
            found.name(),
            Show(value)
        ),
    )))
}

/// Whether some allowed list permits the types of all items. An allowed value that is no list
/// permits anything, as in the reference.
fn items_fit(value: &Value, allowed: &Value, items: PyType) -> Result<bool, Raised> {
    let values = value.as_list().unwrap_or_default();
    for candidate in access::iterate(allowed)?.iter() {
        let Some(candidate) = candidate.as_list() else {
            return Ok(true);
        };
        let first = candidate.iter().find(|item| !access::is_empty_text(item));
        let answer = first.map(Value::py_type);
        let fits = |item: &Value| item.py_type() == items || Some(item.py_type()) == answer;
        if values.iter().all(fits) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn items_mismatch(name: &Value, value: &Value, expected: &Expected<'_>) -> Mismatch {
    Mismatch::new(
        ErrorType::NestedType,
        format!(
            "parameter {}: expected {} with items of {}, found {}",
            Show(name),
            expected.word,
            expected.items_word.unwrap_or("any type"),
            Show(value)
        ),
    )
}
