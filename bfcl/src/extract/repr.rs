//! Python's `repr` of constants.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

use crate::pyjson::float_repr;

/// Controls, format characters, what is unassigned or private, and separators.
static NOT_PRINTABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[\p{C}\p{Z}]\z").expect("a valid pattern"));

/// `str.isprintable`. Python 3.12 knows Unicode 15.0; what was assigned since counts as printable.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    !NOT_PRINTABLE.is_match(c.encode_utf8(&mut [0; 4]))
}

/// `repr` of a string, given by its code points.
pub(super) fn string(points: &[u32]) -> String {
    let has = |quote: char| points.contains(&u32::from(quote));
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(points.len() + 2);
    out.push(quote);
    for &point in points {
        if point == u32::from(quote) {
            out.push('\\');
        }
        push_escaped(&mut out, point);
    }
    out.push(quote);
    out
}

/// Appends a code point, escaped where it is a backslash or not printable.
pub(super) fn push_escaped(out: &mut String, point: u32) {
    match char::from_u32(point) {
        Some('\\') => out.push_str("\\\\"),
        Some('\n') => out.push_str("\\n"),
        Some('\r') => out.push_str("\\r"),
        Some('\t') => out.push_str("\\t"),
        Some(c) if is_printable(c) => out.push(c),
        _ => {
            let _ = match point {
                0..=0xFF => write!(out, "\\x{point:02x}"),
                0x100..=0xFFFF => write!(out, "\\u{point:04x}"),
                _ => write!(out, "\\U{point:08x}"),
            };
        }
    }
}

/// `repr` of bytes.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        b'"'
    } else {
        b'\''
    };
    let mut out = String::with_capacity(bytes.len() + 3);
    out.push('b');
    out.push(char::from(quote));
    for &byte in bytes {
        match byte {
            b' '..=b'~' => {
                if byte == quote {
                    out.push('\\');
                }
                push_escaped(&mut out, u32::from(byte));
            }
            b'\n' | b'\r' | b'\t' => push_escaped(&mut out, u32::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push(char::from(quote));
    out
}

/// A float in source text: as `repr`, infinity as a number too large.
pub(super) fn float(f: f64) -> String {
    float_repr(f).replace("inf", "1e309")
}

/// An imaginary literal.
pub(super) fn imaginary(f: f64) -> String {
    let text = float(f);
    let text = text.strip_suffix(".0").unwrap_or(&text);
    format!("{text}j")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repr(text: &str) -> String {
        string(&text.chars().map(u32::from).collect::<Vec<_>>())
    }

    #[test]
    fn printable_characters() {
        assert!(" ~é中😀\u{301}".chars().all(is_printable));
        let not = "\u{7f}\n\u{a0}\u{ad}\u{200b}\u{2028}\u{e000}\u{378}\u{feff}";
        assert!(!not.chars().any(is_printable));
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(repr("it's"), r#""it's""#);
        assert_eq!(repr("it's \"x\""), r#"'it\'s "x"'"#);
        assert_eq!(
            repr("\\\u{7f}é\u{a0}\u{200b}😀\u{e0001}"),
            r"'\\\x7fé\xa0\u200b😀\U000e0001'"
        );
        assert_eq!(string(&[0xD83D, 0xDE00]), r"'\ud83d\ude00'");
        assert_eq!(bytes(b"a'\x00\xff\t"), r#"b"a'\x00\xff\t""#);
        assert_eq!(imaginary(2.0), "2j");
        assert_eq!(imaginary(1e16), "1e+16j");
        assert_eq!(float(f64::INFINITY), "1e309");
    }
}
