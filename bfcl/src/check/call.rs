//! One call of the model against one expected call.

use std::borrow::Cow;

use super::Call;
use super::access;
use super::mismatch::{ErrorType, Mismatch};
use super::show::Show;
use super::types::{self, Expected};
use super::values::{self, Checked};
use crate::convert;
use crate::raised::{Exception, Raised};
use crate::subset::Language;
use crate::value::{PyStr, PyType, Value};

/// The parts of an expected call that the reference reads before it compares anything.
struct Signature<'a> {
    /// The schema's name.
    name: &'a str,
    properties: &'a Value,
    required: &'a Value,
    /// The allowed values by parameter.
    allowed: &'a Value,
}

impl<'a> Signature<'a> {
    /// `description` is the function's schema; `None` where the schema has no such function.
    fn read(description: Option<&'a Value>, answer: &'a Value) -> Result<Signature<'a>, Raised> {
        let allowed = access::dict(answer)?.iter().next().map(|(_, value)| value);
        let allowed = allowed
            .ok_or_else(|| Raised::new(Exception::IndexError, "an expected call without a name"))?;
        let description = description.ok_or_else(|| {
            Raised::new(Exception::TypeError, "no function has the expected name")
        })?;
        let name = access::field(description, "name")?;
        let parameters = access::field(description, "parameters")?;
        let properties = access::field(parameters, "properties")?;
        let required = access::field(parameters, "required")?;
        let name = name.as_str().ok_or_else(|| {
            Raised::new(
                Exception::TypeError,
                format!("the function name {} is no text", Show(name)),
            )
        })?;
        Ok(Signature {
            name,
            properties,
            required,
            allowed,
        })
    }
}

/// The name under which a function is offered to the model: every `.` becomes `_`.
pub fn offered_name(name: &str) -> Cow<'_, str> {
    match name.contains('.') {
        true => Cow::Owned(name.replace('.', "_")),
        false => Cow::Borrowed(name),
    }
}

/// Whether a function is offered to the model under the name `offered`.
pub fn is_offered_as(function: &str, offered: &str) -> bool {
    let offers = |byte| if byte == b'.' { b'_' } else { byte };
    function.len() == offered.len() && function.bytes().map(offers).eq(offered.bytes())
}

/// Checks one call. Order: name, required parameters, the model's parameters in the model's order,
/// then parameters that are missing and not optional.
pub(super) fn check(
    description: Option<&Value>,
    call: &Call,
    answer: &Value,
    language: Language,
) -> Checked {
    let signature = Signature::read(description, answer)?;
    let called = call.name.as_str();
    if !called.is_some_and(|called| is_offered_as(signature.name, called)) {
        let (called, offered) = (Show(&call.name), offered_name(signature.name));
        return mismatch(
            ErrorType::WrongName,
            format!("called {called} instead of {offered:?}"),
        );
    }
    for name in access::iterate(signature.required)?.iter() {
        if !access::contains(&call.arguments, name)? {
            return mismatch(
                ErrorType::MissingRequired,
                format!("required parameter {} is missing", Show(name)),
            );
        }
    }
    for (name, value) in access::dict(&call.arguments)?.iter() {
        if !access::contains(signature.properties, name)?
            || !access::contains(signature.allowed, name)?
        {
            return mismatch(
                ErrorType::UnexpectedParameter,
                format!("unexpected parameter {}", Show(name)),
            );
        }
        let details = access::entry(signature.properties, name)?;
        let argument = Argument {
            name,
            details,
            signature: &signature,
            language,
        };
        if let Err(mismatch) = argument.check(value)? {
            return Ok(Err(mismatch));
        }
    }
    missing_optional(&signature, call)
}

fn mismatch(error_type: ErrorType, reason: String) -> Checked {
    Ok(Err(Mismatch::new(error_type, reason)))
}

fn missing_optional(signature: &Signature<'_>, call: &Call) -> Checked {
    let Some(allowed) = signature.allowed.as_dict() else {
        // Something else than a dictionary cannot be asked for allowed values: the first name that
        // is missing from the call raises.
        for name in access::iterate(signature.allowed)?.iter() {
            if !access::contains(&call.arguments, name)? {
                access::entry(signature.allowed, name)?;
            }
        }
        return Ok(Ok(()));
    };
    for (name, allowed) in allowed.iter() {
        if !access::contains(&call.arguments, name)? && !access::allows_absence(allowed)? {
            return mismatch(
                ErrorType::MissingOptional,
                format!("parameter {} is missing and not optional", Show(name)),
            );
        }
    }
    Ok(Ok(()))
}

/// A parameter that both the schema and the answer have.
struct Argument<'a> {
    name: &'a Value,
    details: &'a Value,
    signature: &'a Signature<'a>,
    language: Language,
}

impl Argument<'_> {
    fn check(&self, value: &Value) -> Checked {
        let mut expected = Expected::outer(self.details, self.language)?;
        if self.language != Language::Python {
            let Value::Str(_) = value else {
                return self.not_source_text(value);
            };
        }
        if expected.has_items(self.language) {
            expected = expected.with_items(self.details, self.language)?;
        }
        let value = self.converted(value, &expected)?;
        let allowed = access::entry(self.signature.allowed, self.name)?;
        match types::check(self.name, &value, allowed, &expected)? {
            Err(mismatch) => Ok(Err(mismatch)),
            Ok(true) => values::other(self.name, &value, allowed),
            Ok(false) => self.compare(&value, allowed, &expected),
        }
    }

    fn converted<'v>(
        &self,
        value: &'v Value,
        expected: &Expected<'_>,
    ) -> Result<Cow<'v, Value>, Raised> {
        let source = |convert: fn(&PyStr, &str, Option<&str>) -> Result<Value, Raised>| match value
        {
            Value::Str(text) => convert(text, expected.word, expected.items_word).map(Cow::Owned),
            other => Ok(Cow::Borrowed(other)),
        };
        match self.language {
            Language::Java => source(convert::java),
            Language::JavaScript => source(convert::javascript),
            Language::Python if expected.word == "float" => values::widened(value),
            Language::Python => Ok(Cow::Borrowed(value)),
        }
    }

    fn compare(&self, value: &Value, allowed: &Value, expected: &Expected<'_>) -> Checked {
        match (expected.outer, expected.items, value) {
            (PyType::Dict, ..) => values::dict(value, allowed),
            (PyType::List, Some(PyType::Dict), _) => values::list_of_dicts(value, allowed),
            (PyType::List, ..) => values::list(self.name, value, allowed),
            (PyType::Str, _, Value::Str(text)) => values::string(self.name, text, allowed),
            _ => values::other(self.name, value, allowed),
        }
    }

    fn not_source_text(&self, value: &Value) -> Checked {
        let error_type = match self.language {
            Language::JavaScript => ErrorType::JavaScriptType,
            _ => ErrorType::JavaType,
        };
        mismatch(
            error_type,
            format!(
                "parameter {}: expected source text in a string, found {} {}",
                Show(self.name),
                value.py_type().name(),
                Show(value)
            ),
        )
    }
}
