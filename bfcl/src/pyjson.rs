//! JSON as CPython 3.12's `json` module reads and writes it.
//!
//! Python's reader differs from the JSON standard in ways that decide verdicts: `NaN`, `Infinity`
//! and `-Infinity` are numbers, integers have no limit but 4,300 digits, lone surrogates are
//! legal, of duplicate keys the last value wins at the first one's place, and raw control
//! characters in strings are errors. Reading takes linear time and no recursion.

mod read;
mod write;

pub use read::loads;
pub(crate) use write::float_repr;
pub use write::{dumps, encode_compact};

/// The deepest nesting `json.loads` accepts, measured on CPython 3.12.1 from a shallow call.
pub const MAX_READ_DEPTH: usize = 1497;

/// The deepest nesting `json.dumps` accepts, measured on CPython 3.12.1 from a shallow call.
pub const MAX_WRITE_DEPTH: usize = 1496;

/// The longest decimal integer Python converts from or to text (`sys.int_info.default_max_str_digits`).
pub const MAX_INT_DIGITS: usize = 4300;

/// Why `json.loads` raises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// `json.JSONDecodeError`.
    #[error("not JSON at byte {offset}: expected {expected}")]
    Syntax {
        /// Byte offset of the problem in the text.
        offset: usize,
        /// What would have been legal there.
        expected: &'static str,
    },
    /// `ValueError`: an integer with more digits than Python converts.
    #[error(
        "integer at byte {offset} has {digits} digits, more than Python's limit of {MAX_INT_DIGITS}"
    )]
    IntTooLong {
        /// Byte offset of the number in the text.
        offset: usize,
        /// Its digits.
        digits: usize,
    },
    /// `RecursionError`: nested deeper than [`MAX_READ_DEPTH`].
    #[error("nested deeper than {MAX_READ_DEPTH} levels at byte {offset}")]
    TooDeep {
        /// Byte offset of the first bracket beyond the limit.
        offset: usize,
    },
}

/// Why `json.dumps` raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// `TypeError`: a value or a key that JSON cannot express.
    #[error("a {0} is not JSON serializable")]
    Type(&'static str),
    /// `ValueError`: an integer with more digits than Python converts.
    #[error("an integer has more than {MAX_INT_DIGITS} digits")]
    IntTooLong,
    /// `RecursionError`: nested deeper than [`MAX_WRITE_DEPTH`].
    #[error("nested deeper than {MAX_WRITE_DEPTH} levels")]
    TooDeep,
}
