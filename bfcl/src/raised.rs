//! The Python exceptions that would abort the reference's scoring pass.

use std::fmt;

/// The reference's Python code would raise here, and its whole scoring pass would end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{exception}: {detail}")]
pub struct Raised {
    /// The class of the exception.
    pub exception: Exception,
    /// What is wrong with the value at hand.
    pub detail: String,
}

/// The classes of exceptions that can reach the reference's scoring loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exception {
    /// An attribute that the value's type does not have (`.items()` of a list).
    AttributeError,
    /// An index past the end.
    IndexError,
    /// A key that is not there (a schema without `items`, a type without a mapping).
    KeyError,
    /// A Java type whose conversion was never written.
    NotImplementedError,
    /// An integer too large for a double.
    OverflowError,
    /// Nesting beyond the interpreter's limit.
    RecursionError,
    /// An operation that the value's type does not support.
    TypeError,
    /// A text that is not the number it should be.
    ValueError,
}

impl Exception {
    /// The name of the Python class.
    pub fn name(self) -> &'static str {
        match self {
            Exception::AttributeError => "AttributeError",
            Exception::IndexError => "IndexError",
            Exception::KeyError => "KeyError",
            Exception::NotImplementedError => "NotImplementedError",
            Exception::OverflowError => "OverflowError",
            Exception::RecursionError => "RecursionError",
            Exception::TypeError => "TypeError",
            Exception::ValueError => "ValueError",
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Raised {
    /// An exception with its reason.
    pub fn new(exception: Exception, detail: impl Into<String>) -> Raised {
        Raised {
            exception,
            detail: detail.into(),
        }
    }
}
