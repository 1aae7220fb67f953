//! A value that may be unknown, with the reason.

use serde::{Deserialize, Serialize};

/// A measured value, or null with the reason why there is none.
///
/// In JSON `{"value": 8}` or `{"value": null, "reason": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known<T> {
    /// The value.
    value: Option<T>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl<T> Known<T> {
    /// A known value.
    pub const fn new(value: T) -> Self {
        Self {
            value: Some(value),
            reason: None,
        }
    }

    /// No value, and why.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self {
            value: None,
            reason: Some(reason.into()),
        }
    }

    /// The value where there is one, else no value for this reason.
    pub fn or_reason(value: Option<T>, reason: &str) -> Self {
        value.map_or_else(|| Self::unknown(reason), Self::new)
    }

    /// The value.
    pub const fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// Why there is no value.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_null_with_the_reason() {
        let json = |known: &Known<u32>| serde_json::to_string(known).expect("plain data");
        assert_eq!(json(&Known::new(8)), r#"{"value":8}"#);
        let none = Known::or_reason(None, "no sensor");
        assert_eq!(json(&none), r#"{"value":null,"reason":"no sensor"}"#);
        assert_eq!(none.reason(), Some("no sensor"));
        let back: Known<u32> = serde_json::from_str(&json(&none)).expect("our own JSON");
        assert_eq!(back, none);
    }
}
