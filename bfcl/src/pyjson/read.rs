//! `json.loads`.

use super::{LoadError, MAX_INT_DIGITS, MAX_READ_DEPTH};
use crate::value::{Dict, Int, PyStr, Value};

/// Reads one JSON value, as Python's `json.loads` does.
///
/// # Errors
/// Where `json.loads` raises.
pub fn loads(text: &str) -> Result<Value, LoadError> {
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    // Python refuses a byte order mark; it is not white space here either, so it falls out below.
    reader.skip_space();
    let value = reader.document()?;
    reader.skip_space();
    if reader.at < reader.bytes.len() {
        return Err(reader.expected("the end of the text"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

/// A container that is still open.
enum Open {
    List(Vec<Value>),
    /// The entries so far, and the key whose value comes next.
    Dict(Dict, PyStr),
}

/// What stands at the place of a value.
enum Start {
    Value(Value),
    List,
    Dict,
}

impl Reader<'_> {
    /// Reads a value with an explicit stack, so that depth costs heap and no call stack.
    fn document(&mut self) -> Result<Value, LoadError> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let offset = self.at;
            let mut value = match self.start()? {
                Start::Value(value) => value,
                _ if open.len() >= MAX_READ_DEPTH => return Err(LoadError::TooDeep { offset }),
                Start::List => {
                    self.skip_space();
                    if self.peek() != Some(b']') {
                        open.push(Open::List(Vec::new()));
                        continue;
                    }
                    self.at += 1;
                    Value::List(Vec::new())
                }
                Start::Dict => {
                    self.skip_space();
                    if self.peek() != Some(b'}') {
                        let key = self.key()?;
                        open.push(Open::Dict(Dict::new(), key));
                        continue;
                    }
                    self.at += 1;
                    Value::Dict(Dict::new())
                }
            };
            loop {
                let Some(container) = open.pop() else {
                    return Ok(value);
                };
                match self.after_item(container, value)? {
                    Ok(container) => {
                        open.push(container);
                        break;
                    }
                    Err(closed) => value = closed,
                }
            }
        }
    }

    /// Adds a finished item to its container: still open at the next item's start (`Ok`), or
    /// closed and itself a finished value (`Err`).
    fn after_item(
        &mut self,
        container: Open,
        item: Value,
    ) -> Result<Result<Open, Value>, LoadError> {
        self.skip_space();
        let next = self.peek();
        match container {
            Open::List(mut items) => {
                items.push(item);
                match next {
                    Some(b',') => {
                        self.at += 1;
                        self.skip_space();
                        Ok(Ok(Open::List(items)))
                    }
                    Some(b']') => {
                        self.at += 1;
                        Ok(Err(Value::List(items)))
                    }
                    _ => Err(self.expected("',' or ']'")),
                }
            }
            Open::Dict(mut dict, key) => {
                dict.insert(Value::Str(key), item);
                match next {
                    Some(b',') => {
                        self.at += 1;
                        self.skip_space();
                        let key = self.key()?;
                        Ok(Ok(Open::Dict(dict, key)))
                    }
                    Some(b'}') => {
                        self.at += 1;
                        Ok(Err(Value::Dict(dict)))
                    }
                    _ => Err(self.expected("',' or '}'")),
                }
            }
        }
    }

    /// A scalar, or the opening bracket of a container.
    fn start(&mut self) -> Result<Start, LoadError> {
        let rest = &self.bytes[self.at..];
        let word = |reader: &mut Self, word: &str, value| {
            if rest.starts_with(word.as_bytes()) {
                reader.at += word.len();
                Ok(Start::Value(value))
            } else {
                Err(reader.expected("a value"))
            }
        };
        match rest.first() {
            Some(b'"') => self.string().map(|s| Start::Value(Value::Str(s))),
            Some(b'{') => {
                self.at += 1;
                Ok(Start::Dict)
            }
            Some(b'[') => {
                self.at += 1;
                Ok(Start::List)
            }
            Some(b'n') => word(self, "null", Value::None),
            Some(b't') => word(self, "true", Value::Bool(true)),
            Some(b'f') => word(self, "false", Value::Bool(false)),
            Some(b'N') => word(self, "NaN", Value::Float(f64::NAN)),
            Some(b'I') => word(self, "Infinity", Value::Float(f64::INFINITY)),
            Some(b'-') if rest.get(1) == Some(&b'I') => {
                word(self, "-Infinity", Value::Float(f64::NEG_INFINITY))
            }
            Some(b'-' | b'0'..=b'9') => self.number().map(Start::Value),
            _ => Err(self.expected("a value")),
        }
    }

    /// A key and its colon, up to the start of the value.
    fn key(&mut self) -> Result<PyStr, LoadError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        self.skip_space();
        Ok(key)
    }

    fn number(&mut self) -> Result<Value, LoadError> {
        let start = self.at;
        let mut end = start + usize::from(self.bytes[start] == b'-');
        match self.bytes.get(end) {
            Some(b'0') => end += 1,
            Some(b'1'..=b'9') => end = self.digits_from(end),
            _ => return Err(self.expected("a value")),
        }
        let int_end = end;
        if self.bytes.get(end) == Some(&b'.') {
            let fraction = self.digits_from(end + 1);
            // Without digits the point is no part of the number, and an error where it stands.
            if fraction > end + 1 {
                end = fraction;
            }
        }
        if let Some(b'e' | b'E') = self.bytes.get(end) {
            let sign = usize::from(matches!(self.bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = self.digits_from(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        self.at = end;
        let text = &self.text[start..end];
        if end > int_end {
            // The grammar above is a subset of Rust's, which rounds correctly and overflows to
            // infinity as Python does.
            return Ok(Value::Float(text.parse().unwrap_or(f64::NAN)));
        }
        let digits = text.trim_start_matches('-').len();
        if digits > MAX_INT_DIGITS {
            return Err(LoadError::IntTooLong {
                offset: start,
                digits,
            });
        }
        Int::parse(text)
            .map(Value::Int)
            .ok_or(self.expected("an integer"))
    }

    fn digits_from(&self, start: usize) -> usize {
        let digits = self.bytes.get(start..).unwrap_or_default();
        start + digits.iter().take_while(|b| b.is_ascii_digit()).count()
    }

    /// A string; `at` is on its opening quote.
    fn string(&mut self) -> Result<PyStr, LoadError> {
        let open = self.at;
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(PyStr::from(&self.text[start..self.at - 1]));
        }
        self.at = start;
        self.string_with_escapes(open)
    }

    /// Moves to the next quote, backslash or control character, or to the end.
    fn skip_plain(&mut self) {
        let plain = |b: &u8| *b >= 0x20 && *b != b'"' && *b != b'\\';
        self.at += self.bytes[self.at..]
            .iter()
            .take_while(|b| plain(b))
            .count();
    }

    fn string_with_escapes(&mut self, open: usize) -> Result<PyStr, LoadError> {
        let mut text = String::new();
        // Once a surrogate turned up: everything so far and from there on, as code points.
        let mut points: Option<Vec<u32>> = None;
        loop {
            let start = self.at;
            self.skip_plain();
            let run = &self.text[start..self.at];
            match &mut points {
                Some(points) => points.extend(run.chars().map(u32::from)),
                None => text.push_str(run),
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(points.map_or_else(|| text.into(), |p| p.into_iter().collect()));
                }
                Some(b'\\') => {
                    let point = self.escape()?;
                    match (&mut points, char::from_u32(point)) {
                        (Some(points), _) => points.push(point),
                        (None, Some(c)) => text.push(c),
                        (None, None) => {
                            points = Some(text.chars().map(u32::from).chain([point]).collect());
                        }
                    }
                }
                Some(_) => return Err(self.expected("no raw control character in a string")),
                None => {
                    return Err(LoadError::Syntax {
                        offset: open,
                        expected: "a string that ends",
                    });
                }
            }
        }
    }

    /// One escape sequence; `at` is on the backslash.
    fn escape(&mut self) -> Result<u32, LoadError> {
        let point = match self.bytes.get(self.at + 1) {
            Some(b'"') => u32::from(b'"'),
            Some(b'\\') => u32::from(b'\\'),
            Some(b'/') => u32::from(b'/'),
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => 10,
            Some(b'r') => 13,
            Some(b't') => 9,
            Some(b'u') => {
                let hex = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                let digits = hex.iter().map_while(|b| char::from(*b).to_digit(16));
                let (count, point) = digits.fold((0, 0), |(n, p), d| (n + 1, p << 4 | d));
                if count != 4 {
                    return Err(self.expected("four hexadecimal digits after \\u"));
                }
                self.at += 4;
                point
            }
            _ => return Err(self.expected("a known escape")),
        };
        self.at += 2;
        Ok(point)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn expected(&self, expected: &'static str) -> LoadError {
        LoadError::Syntax {
            offset: self.at,
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pyjson::dumps;

    fn round(text: &str) -> Option<String> {
        loads(text)
            .ok()
            .map(|value| dumps(&value).expect("JSON values can be written"))
    }

    #[test]
    fn python_reads_more_than_the_standard() {
        assert_eq!(
            round(" [NaN, -Infinity, Infinity] ").as_deref(),
            Some("[NaN, -Infinity, Infinity]")
        );
        assert_eq!(
            round(r#"{"a":1,"b":2,"a":3}"#).as_deref(),
            Some(r#"{"a": 3, "b": 2}"#)
        );
        assert_eq!(round(r#""\ud800x""#).as_deref(), Some(r#""\ud800x""#));
        assert_eq!(
            round(r#""\ud83d\ude00""#).as_deref(),
            Some(r#""\ud83d\ude00""#)
        );
        assert_eq!(
            round("123456789012345678901234567890").as_deref(),
            Some("123456789012345678901234567890")
        );
        assert_eq!(
            round("[-0, -0.0, 1e400, 1E5]").as_deref(),
            Some("[0, -0.0, Infinity, 100000.0]")
        );
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for text in [
            "",
            " ",
            "[",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "'a'",
            "01",
            "1.",
            ".5",
            "+1",
            "- 1",
            "1e",
            "nul",
            "[1 2]",
            "\"a\nb\"",
            "\"\\x41\"",
            "\"\\u12g4\"",
            "\"abc",
            "\u{feff}1",
            "\u{a0}1",
            "1\u{0}",
            "-Inf",
            "\"\\",
            "{\"a\"}",
            "\u{0663}",
        ] {
            assert!(
                matches!(loads(text), Err(LoadError::Syntax { .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn limits_are_python_s() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(loads(&nested(MAX_READ_DEPTH)).is_ok());
        assert!(matches!(
            loads(&nested(MAX_READ_DEPTH + 1)),
            Err(LoadError::TooDeep { .. })
        ));
        assert!(matches!(
            loads(&"[".repeat(1_000_000)),
            Err(LoadError::TooDeep { .. })
        ));
        assert!(loads(&format!("-{}", "9".repeat(MAX_INT_DIGITS))).is_ok());
        assert!(matches!(
            loads(&"9".repeat(MAX_INT_DIGITS + 1)),
            Err(LoadError::IntTooLong { .. })
        ));
    }
}
