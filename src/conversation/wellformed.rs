//! Checking that a piece of JSON is one every later reader will accept, without building it.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Accepts any JSON value and keeps nothing of it.
///
/// Stricter than `serde::de::IgnoredAny`, which skips text without looking into it: strings are
/// decoded (a lone surrogate is refused), numbers must fit, and nesting is limited by serde_json's
/// own depth limit, so that what passes here cannot exhaust the stack of the C++ reader behind it.
pub(super) struct WellFormed;

impl<'de> Deserialize<'de> for WellFormed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = WellFormed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_unit<E: de::Error>(self) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WellFormed, A::Error> {
        while items.next_element::<WellFormed>()?.is_some() {}
        Ok(WellFormed)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<WellFormed, A::Error> {
        while entries.next_entry::<WellFormed, WellFormed>()?.is_some() {}
        Ok(WellFormed)
    }
}

/// The error of reading `text` as one JSON value, if there is one.
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<WellFormed>(text).map(|WellFormed| ())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn accepts_every_kind_of_value() {
        for text in [
            "null",
            "true",
            "-1",
            "1.5e3",
            "18446744073709551615",
            "\"\\u00e9\\ud83d\\ude00\"",
            "[1,[2]]",
            "{\"a\":{\"b\":[]}}",
        ] {
            assert!(check(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn refuses_what_a_later_reader_would_choke_on() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        for text in [
            "",
            "{",
            "[1,]",
            "\"\\ud800\"",
            "1e999",
            "{} {}",
            "{1:2}",
            &deep,
        ] {
            assert!(check(text).is_err(), "{text:.20}");
        }
    }
}
