//! Values in reasons: one line, JSON-like, cut where it gets long.

use std::fmt::{self, Write};

use crate::value::Value;

/// Characters of a value that a reason shows at most.
const MAX_CHARS: usize = 80;
/// Levels of nesting that a reason shows at most, so that hostile nesting cannot exhaust the stack.
const MAX_DEPTH: usize = 6;

/// Displays a value for a reason.
pub(super) struct Show<'a>(pub &'a Value);

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line {
            text: String::new(),
            left: MAX_CHARS,
        };
        // The only error is the line's own end.
        if write_value(&mut line, self.0, 0).is_err() {
            line.text.push('…');
        }
        f.write_str(&line.text)
    }
}

struct Line {
    text: String,
    left: usize,
}

impl Write for Line {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if part.len() <= self.left && part.is_ascii() {
            self.left -= part.len();
            self.text.push_str(part);
            return Ok(());
        }
        for c in part.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

fn write_value(line: &mut Line, value: &Value, depth: usize) -> fmt::Result {
    if depth > MAX_DEPTH {
        return line.write_char('…');
    }
    match value {
        Value::None => line.write_str("null"),
        Value::Bool(b) => write!(line, "{b}"),
        // Printing costs the square of the digits, and nobody reads the ten-thousandth.
        Value::Int(i) if i.as_i64().is_none() => line.write_str("<integer beyond 64 bits>"),
        Value::Int(i) => write!(line, "{i}"),
        Value::Float(f) => write!(line, "{f:?}"),
        Value::Str(text) => write!(line, "{:?}", text.to_lossy()),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            line.write_char('[')?;
            for (at, item) in items.iter().enumerate() {
                line.write_str(if at == 0 { "" } else { ", " })?;
                write_value(line, item, depth + 1)?;
            }
            line.write_char(']')
        }
        Value::Dict(dict) => {
            line.write_char('{')?;
            for (at, (key, value)) in dict.iter().enumerate() {
                line.write_str(if at == 0 { "" } else { ", " })?;
                write_value(line, key, depth + 1)?;
                line.write_str(": ")?;
                write_value(line, value, depth + 1)?;
            }
            line.write_char('}')
        }
        Value::Bytes(_) | Value::Complex(..) | Value::Ellipsis => {
            write!(line, "<{}>", value.py_type().name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_deep_values_are_cut() {
        let long = Value::str("x".repeat(1_000_000));
        assert_eq!(Show(&long).to_string().chars().count(), MAX_CHARS + 1);
        let mut deep = Value::None;
        for _ in 0..1000 {
            deep = Value::List(vec![deep]);
        }
        assert_eq!(Show(&deep).to_string(), "[[[[[[[…]]]]]]]");
        assert_eq!(Show(&Value::str("a\"b")).to_string(), r#""a\"b""#);
    }
}
