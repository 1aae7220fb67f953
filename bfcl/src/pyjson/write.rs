//! `json.dumps` with its defaults, and msgspec's compact form.

use std::fmt::Write;

use super::{DumpError, MAX_INT_DIGITS, MAX_WRITE_DEPTH};
use crate::value::{Int, PyStr, Value};

/// Writes a value as Python's `json.dumps(value)` does: ASCII only, `", "` and `": "` between.
///
/// # Errors
/// Where `json.dumps` raises.
pub fn dumps(value: &Value) -> Result<String, DumpError> {
    let mut writer = Writer {
        out: String::new(),
        style: Style::Python,
    };
    writer.value(value, 0)?;
    Ok(writer.out)
}

/// Writes a value as `msgspec.json.encode` does: no white space, UTF-8 kept as it is, numbers that
/// are not finite as `null`. The reference serializes tool calls this way.
///
/// # Errors
/// For values JSON cannot express. A lone surrogate, on which msgspec raises, counts as one.
pub fn encode_compact(value: &Value) -> Result<String, DumpError> {
    let mut writer = Writer {
        out: String::new(),
        style: Style::Compact,
    };
    writer.value(value, 0)?;
    Ok(writer.out)
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Python,
    Compact,
}

struct Writer {
    out: String,
    style: Style,
}

impl Writer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), DumpError> {
        match value {
            Value::None => self.out.push_str("null"),
            Value::Bool(b) => self.out.push_str(if *b { "true" } else { "false" }),
            Value::Int(i) => self.int(i)?,
            Value::Float(f) => self.float(*f),
            Value::Str(s) => self.string(s)?,
            Value::List(items) | Value::Tuple(items) => self.list(items, depth)?,
            Value::Dict(dict) => {
                if depth >= MAX_WRITE_DEPTH {
                    return Err(DumpError::TooDeep);
                }
                self.out.push('{');
                for (i, (key, value)) in dict.iter().enumerate() {
                    if i > 0 {
                        self.separator(',');
                    }
                    self.key(key)?;
                    self.separator(':');
                    self.value(value, depth + 1)?;
                }
                self.out.push('}');
            }
            Value::Set(_) | Value::Bytes(_) | Value::Complex(..) | Value::Ellipsis => {
                return Err(DumpError::Type(value.py_type().name()));
            }
        }
        Ok(())
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Result<(), DumpError> {
        if depth >= MAX_WRITE_DEPTH {
            return Err(DumpError::TooDeep);
        }
        self.out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.separator(',');
            }
            self.value(item, depth + 1)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// Keys that are not strings become what their value would print.
    fn key(&mut self, key: &Value) -> Result<(), DumpError> {
        match key {
            Value::Str(s) => return self.string(s),
            Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            _ => return Err(DumpError::Type(key.py_type().name())),
        }
        self.out.push('"');
        self.value(key, 0)?;
        self.out.push('"');
        Ok(())
    }

    fn separator(&mut self, c: char) {
        self.out.push(c);
        if self.style == Style::Python {
            self.out.push(' ');
        }
    }

    fn int(&mut self, int: &Int) -> Result<(), DumpError> {
        if int.has_more_digits_than(MAX_INT_DIGITS) {
            return Err(DumpError::IntTooLong);
        }
        let _ = write!(self.out, "{int}");
        Ok(())
    }

    fn float(&mut self, f: f64) {
        match self.style {
            Style::Compact if !f.is_finite() => self.out.push_str("null"),
            _ if f.is_nan() => self.out.push_str("NaN"),
            Style::Compact => self.out.push_str(&compact_float(f)),
            _ if f.is_infinite() => {
                self.out
                    .push_str(if f > 0.0 { "Infinity" } else { "-Infinity" })
            }
            _ => self.out.push_str(&float_repr(f)),
        }
    }

    fn string(&mut self, text: &PyStr) -> Result<(), DumpError> {
        self.out.push('"');
        match (text.as_str(), self.style) {
            (Some(text), style) => escape_into(&mut self.out, text, style),
            (None, Style::Python) => {
                for point in text.code_points() {
                    match char::from_u32(point) {
                        Some(c) => escape_char(&mut self.out, c, Style::Python),
                        None => push_unit(&mut self.out, point as u16),
                    }
                }
            }
            (None, Style::Compact) => return Err(DumpError::Type("lone surrogate")),
        }
        self.out.push('"');
        Ok(())
    }
}

/// Copies runs that need no escape at once; most strings are one such run.
fn escape_into(out: &mut String, text: &str, style: Style) {
    let plain = |b: u8| match style {
        Style::Python => matches!(b, b' '..=b'~') && b != b'"' && b != b'\\',
        Style::Compact => b >= b' ' && b != b'"' && b != b'\\',
    };
    let mut rest = text;
    while !rest.is_empty() {
        let run = rest.bytes().take_while(|b| plain(*b)).count();
        out.push_str(&rest[..run]);
        let mut tail = rest[run..].chars();
        if let Some(c) = tail.next() {
            escape_char(out, c, style);
        }
        rest = tail.as_str();
    }
}

fn escape_char(out: &mut String, c: char, style: Style) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{c}' => out.push_str("\\f"),
        '\u{8}' => out.push_str("\\b"),
        ' '..='~' => out.push(c),
        _ if style == Style::Compact && c >= ' ' => out.push(c),
        _ => c
            .encode_utf16(&mut [0; 2])
            .iter()
            .for_each(|unit| push_unit(out, *unit)),
    }
}

fn push_unit(out: &mut String, unit: u16) {
    let _ = write!(out, "\\u{unit:04x}");
}

/// A float as Python's `repr` prints it: the shortest digits that read back, with an exponent below
/// 1e-4 and from 1e16 on; `inf`, `-inf` and `nan` for the others.
pub(crate) fn float_repr(f: f64) -> String {
    match decimal(f, -4) {
        Decimal::Plain(text) => text,
        Decimal::Scientific(mantissa, exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

/// A finite float as msgspec prints it: as Python, but from 1e-5 on without an exponent, and
/// exponents without plus and padding.
fn compact_float(f: f64) -> String {
    match decimal(f, -5) {
        Decimal::Plain(text) => text,
        Decimal::Scientific(mantissa, exponent) => format!("{mantissa}e{exponent}"),
    }
}

enum Decimal {
    Plain(String),
    Scientific(String, i32),
}

/// The shortest digits that read back, plain for exponents from `lowest` to 15.
fn decimal(f: f64, lowest: i32) -> Decimal {
    if !f.is_finite() {
        let infinite = if f > 0.0 { "inf" } else { "-inf" };
        return Decimal::Plain(if f.is_nan() { "nan" } else { infinite }.to_owned());
    }
    let scientific = format!("{f:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(lowest..16).contains(&exponent) {
        return Decimal::Scientific(mantissa.to_owned(), exponent);
    }
    let plain = f.to_string();
    Decimal::Plain(if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Dict;

    #[test]
    fn floats_print_as_python_prints_them() {
        for (f, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e22, "1e+22"),
            (5e-324, "5e-324"),
            (-0.0, "-0.0"),
            (1.5e300, "1.5e+300"),
            (123_456_789.123_456_79, "123456789.12345679"),
            (9007199254740993.0, "9007199254740992.0"),
        ] {
            assert_eq!(float_repr(f), text);
        }
    }

    #[test]
    fn msgspec_prints_floats_its_own_way() {
        for (f, text) in [
            (1e-5, "0.00001"),
            (1e-6, "1e-6"),
            (1e15, "1000000000000000.0"),
            (1.5e22, "1.5e22"),
        ] {
            assert_eq!(compact_float(f), text);
        }
        assert_eq!(
            encode_compact(&Value::Float(f64::NAN)).as_deref(),
            Ok("null")
        );
    }

    #[test]
    fn strings_are_escaped_to_ascii() {
        let text = Value::str("a\"\\\u{7f}é😀\u{1}\n~");
        assert_eq!(
            dumps(&text).as_deref(),
            Ok("\"a\\\"\\\\\\u007f\\u00e9\\ud83d\\ude00\\u0001\\n~\"")
        );
        assert_eq!(
            encode_compact(&text).as_deref(),
            Ok("\"a\\\"\\\\\u{7f}é😀\\u0001\\n~\"")
        );
    }

    #[test]
    fn keys_become_strings_or_raise() {
        let mut dict = Dict::new();
        dict.insert(Value::None, Value::Tuple(vec![]));
        dict.insert(Value::Float(1.5), Value::Bool(true));
        assert_eq!(
            dumps(&Value::Dict(dict.clone())).as_deref(),
            Ok(r#"{"null": [], "1.5": true}"#)
        );
        dict.insert(Value::Tuple(vec![]), Value::None);
        assert_eq!(dumps(&Value::Dict(dict)), Err(DumpError::Type("tuple")));
    }
}
