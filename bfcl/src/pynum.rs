//! Python's `int(text)` and `float(text)`.

use crate::pytext::{decimal_digit, strip};
use crate::value::{Int, Value};

/// CPython refuses to read integers of more decimal digits than this (`sys.int_info`).
pub const MAX_INT_DIGITS: usize = 4300;

/// `int(text)`; `None` where Python raises `ValueError`.
pub fn int(text: &str) -> Option<Int> {
    let ascii = to_ascii_number(text)?;
    let digits = ascii.strip_prefix(['+', '-']).unwrap_or(&ascii);
    if digits.len() > MAX_INT_DIGITS || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Int::parse(ascii.strip_prefix('+').unwrap_or(&ascii))
}

/// `float(text)`; `None` where Python raises `ValueError`. Too large becomes infinity.
pub fn float(text: &str) -> Option<f64> {
    let ascii = to_ascii_number(text)?;
    // Rust's grammar is Python's: optional sign, digits with an optional point and exponent, and
    // `inf`, `infinity`, `nan` in any case.
    ascii.parse().ok()
}

/// As the untyped parsers of the converters do: an integer, else a float.
pub fn number(text: &str) -> Option<Value> {
    int(text)
        .map(Value::Int)
        .or_else(|| float(text).map(Value::Float))
}

/// Strips white space, takes out underscores between digits, and turns the decimal digits of any
/// script into ASCII. `None` when something is left that no number holds.
fn to_ascii_number(text: &str) -> Option<String> {
    let mut ascii = String::with_capacity(text.len());
    let mut after_digit = false;
    let mut chars = strip(text).chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(digit) = decimal_digit(c) {
            ascii.extend(char::from_digit(digit, 10));
            after_digit = true;
            continue;
        }
        match c {
            '_' => {
                let before_digit = chars.peek().copied().and_then(decimal_digit).is_some();
                if !after_digit || !before_digit {
                    return None;
                }
            }
            c if c.is_ascii() && !c.is_ascii_whitespace() => ascii.push(c),
            _ => return None,
        }
        after_digit = false;
    }
    Some(ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int_text(text: &str) -> Option<String> {
        int(text).map(|int| int.to_string())
    }

    #[test]
    fn integers_read_as_python_reads_them() {
        assert_eq!(int_text(" -0_7\n").as_deref(), Some("-7"));
        assert_eq!(int_text("+12").as_deref(), Some("12"));
        assert_eq!(int_text("٣٤").as_deref(), Some("34"));
        for wrong in [
            "", "+", "1__0", "_1", "1_", "- 1", "1.0", "0x10", "+-1", "1e3", "²",
        ] {
            assert_eq!(int_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_digit_limit_holds() {
        assert!(int(&"9".repeat(4300)).is_some());
        assert!(int(&"9".repeat(4301)).is_none());
        assert_eq!(float(&"9".repeat(4301)), Some(f64::INFINITY));
    }

    #[test]
    fn floats_read_as_python_reads_them() {
        assert_eq!(float(" 1_0.5e-1 "), Some(1.05));
        assert_eq!(float(".5"), Some(0.5));
        assert_eq!(float("5."), Some(5.0));
        assert_eq!(float("-Infinity"), Some(f64::NEG_INFINITY));
        assert!(float("+nAn").is_some_and(f64::is_nan));
        for wrong in [
            "", ".", "e5", "1e", "1_.5", "1._5", "1e_5", "0x1p3", "1 2", "nan(1)",
        ] {
            assert_eq!(float(wrong), None, "{wrong}");
        }
    }
}
