//! The number patterns of the converters: `-?\d+`, a fraction, an exponent, a suffix.
//!
//! `\d` is a decimal digit of any script, and `$` also matches before a final newline: both are
//! Python's `re`, and both decide verdicts.

use crate::pytext::decimal_digit;

/// Which parts a pattern allows beyond `-?\d+`.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    /// `(\.\d+)?`
    pub fraction: bool,
    /// `([eE][+-]?\d+)?`
    pub exponent: bool,
    /// One of these characters must follow, if there are any.
    pub suffix: &'static [char],
}

/// `-?\d+`
pub(super) const INTEGER: Pattern = Pattern {
    fraction: false,
    exponent: false,
    suffix: &[],
};
/// `-?\d+[lL]`
pub(super) const JAVA_LONG: Pattern = Pattern {
    suffix: &['l', 'L'],
    ..INTEGER
};
/// `-?\d+n`
pub(super) const JS_BIGINT: Pattern = Pattern {
    suffix: &['n'],
    ..INTEGER
};
/// `-?\d+(\.\d+)?`
pub(super) const JS_FLOAT: Pattern = Pattern {
    fraction: true,
    ..INTEGER
};
/// `-?\d+(\.\d+)?([eE][+-]?\d+)?`
pub(super) const JAVA_DOUBLE: Pattern = Pattern {
    fraction: true,
    exponent: true,
    suffix: &[],
};
/// `-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]`
pub(super) const JAVA_FLOAT: Pattern = Pattern {
    suffix: &['f', 'F'],
    ..JAVA_DOUBLE
};

impl Pattern {
    /// The number without its suffix and final newline, when the whole text matches.
    pub(super) fn matches(self, text: &str) -> Option<&str> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let number = match self.suffix {
            [] => text,
            suffix => text.strip_suffix(suffix)?,
        };
        let mut rest = skip_digits(number.strip_prefix('-').unwrap_or(number))?;
        if self.fraction
            && let Some(after) = rest.strip_prefix('.').and_then(skip_digits)
        {
            rest = after;
        }
        if self.exponent
            && let Some(after) = rest.strip_prefix(['e', 'E'])
        {
            rest = skip_digits(after.strip_prefix(['+', '-']).unwrap_or(after))?;
        }
        rest.is_empty().then_some(number)
    }
}

/// What follows one or more digits.
fn skip_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c| decimal_digit(c).is_some());
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollar_matches_before_a_final_newline_only() {
        assert_eq!(INTEGER.matches("-7\n"), Some("-7"));
        assert_eq!(INTEGER.matches("7\n\n"), None);
        assert_eq!(JAVA_LONG.matches("5L\n"), Some("5"));
        assert_eq!(INTEGER.matches(" 7"), None);
    }

    #[test]
    fn parts_are_optional_but_complete() {
        assert_eq!(JAVA_FLOAT.matches("3e-3F"), Some("3e-3"));
        assert_eq!(JAVA_DOUBLE.matches("1.5E+2"), Some("1.5E+2"));
        for wrong in ["1.", "1.e5", "1e", ".5", "-", "", "+1", "1.5f"] {
            assert_eq!(JAVA_DOUBLE.matches(wrong), None, "{wrong}");
        }
        assert_eq!(JS_FLOAT.matches("1e5"), None);
        assert_eq!(JS_BIGINT.matches("123n"), Some("123"));
        assert_eq!(INTEGER.matches("٣"), Some("٣"));
    }
}
