//! Reading typed values out of one line, and saying exactly what is wrong when one is not there.

use super::fault::{Fault, Faults, Place, excerpt, plain};
use super::lines::Line;
use super::rule::Rule;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// A struct read from a JSON object only. Serde's derived readers also take an array of the
/// fields' values, which is no row of ours.
pub(super) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMap<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMap<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(OnlyMap(PhantomData))
    }
}

/// One line being read, and where its faults go.
pub(super) struct Reader<'a, 'f> {
    line: Line<'a>,
    place: Place,
    faults: &'f mut Faults,
}

impl<'a, 'f> Reader<'a, 'f> {
    pub fn new(line: Line<'a>, faults: &'f mut Faults) -> Self {
        let place = line.place(0);
        Self {
            line,
            place,
            faults,
        }
    }

    /// The place of the row, as far as it is known.
    pub fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    /// Number of faults so far, in the whole file.
    pub fn faults(&self) -> usize {
        self.faults.total()
    }

    /// Records a breach at `part` of the line.
    pub fn fault(&mut self, rule: Rule, part: &str, field: &str, found: String, expected: &str) {
        self.fault_at(rule, self.line.position_of(part), field, found, expected);
    }

    fn fault_at(&mut self, rule: Rule, at: usize, field: &str, found: String, expected: &str) {
        let offset = self.line.offset + at;
        let place = Place {
            offset,
            ..self.place.clone()
        };
        let (field, expected) = (field.to_owned(), expected.to_owned());
        self.faults.push(Fault {
            rule,
            place,
            field,
            found,
            expected,
        });
    }

    /// Reads `part`, a slice of the line, as a `T`.
    pub fn parse<T: Deserialize<'a>>(
        &mut self,
        part: &'a str,
        field: &str,
        expected: &str,
    ) -> Option<T> {
        match serde_json::from_str(part) {
            Ok(value) => Some(value),
            Err(e) => {
                let rule = match e.is_data() {
                    true => Rule::Shape,
                    false if self.line.ended => Rule::Json,
                    false => Rule::TornLastLine,
                };
                let at = self.line.position_of(part) + e.column().saturating_sub(1);
                self.fault_at(rule, at, field, reason(&e), expected);
                None
            }
        }
    }

    /// The value of a field that must be there.
    pub fn required(&mut self, field: &str, value: Option<&'a RawValue>) -> Option<&'a RawValue> {
        if value.is_none() {
            let found = "no value".to_owned();
            self.fault_at(Rule::MissingField, 0, field, found, "the field");
        }
        value
    }

    /// The text of a string.
    pub fn text(&mut self, rule: Rule, field: &str, raw: &'a RawValue) -> Option<String> {
        if !raw.get().starts_with('"') {
            self.fault(rule, raw.get(), field, describe(raw), "a string");
            return None;
        }
        match serde_json::from_str(raw.get()) {
            Ok(text) => Some(text),
            Err(e) => {
                self.fault(
                    Rule::Json,
                    raw.get(),
                    field,
                    reason(&e),
                    "a valid JSON string",
                );
                None
            }
        }
    }

    /// The text of a string that must not be empty.
    pub fn name(&mut self, rule: Rule, field: &str, raw: &'a RawValue) -> Option<String> {
        let text = self.text(rule, field, raw)?;
        if text.is_empty() {
            self.fault(
                rule,
                raw.get(),
                field,
                "\"\"".to_owned(),
                "a non-empty string",
            );
            return None;
        }
        Some(text)
    }
}

/// A parser's reason without its place, which the fault gives in terms of the file.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    plain(text.strip_suffix(&place).unwrap_or(&text))
}

/// What a value is, for a message.
pub(super) fn describe(raw: &RawValue) -> String {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<String>(text) {
            Ok(decoded) => excerpt(&decoded),
            Err(_) => "a malformed string".to_owned(),
        },
        Some(b'{') => "an object".to_owned(),
        Some(b'[') if is_empty_array(raw) => "an empty array".to_owned(),
        Some(b'[') => "an array".to_owned(),
        _ => plain(text),
    }
}

/// Whether the value is `[]`.
pub(super) fn is_empty_array(raw: &RawValue) -> bool {
    let inner = raw
        .get()
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'));
    inner.is_some_and(|t| t.trim_ascii().is_empty())
}
