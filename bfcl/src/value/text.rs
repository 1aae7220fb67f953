//! Python's `str`: code points, lone surrogates included.

use std::hash::{Hash, Hasher};

/// A Python string.
///
/// Almost every string is plain Unicode and kept as UTF-8. A string with a lone surrogate
/// (`"\ud800"` in JSON) is kept as WTF-8: UTF-8 extended to surrogates, in which a high surrogate
/// followed by a low one is always joined to the character they mean. That joining is what one
/// round through `json.dumps` and `json.loads` does, which every extracted value has behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PyStr(Repr);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Repr {
    Utf8(String),
    /// Only strings that hold a lone surrogate.
    Wtf8(Vec<u8>),
}

impl PyStr {
    /// The text, unless it holds a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Utf8(text) if text.is_empty())
    }

    /// The code points, surrogates included.
    pub fn code_points(&self) -> CodePoints<'_> {
        CodePoints(self.bytes())
    }

    /// The text with U+FFFD in place of lone surrogates, for messages.
    pub fn to_lossy(&self) -> std::borrow::Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => text.into(),
            Repr::Wtf8(_) => {
                let replace = |cp| char::from_u32(cp).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.code_points().map(replace).collect::<String>().into()
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Utf8(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }
}

impl Hash for PyStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl From<String> for PyStr {
    fn from(text: String) -> PyStr {
        PyStr(Repr::Utf8(text))
    }
}

impl From<&str> for PyStr {
    fn from(text: &str) -> PyStr {
        PyStr(Repr::Utf8(text.to_owned()))
    }
}

/// Code points below 0x110000. Surrogate pairs are joined.
impl FromIterator<u32> for PyStr {
    fn from_iter<I: IntoIterator<Item = u32>>(code_points: I) -> PyStr {
        let mut bytes = Vec::new();
        let mut high: Option<u32> = None;
        let mut lone = false;
        for cp in code_points {
            match (high.take(), cp) {
                (Some(first), 0xDC00..=0xDFFF) => {
                    push(
                        &mut bytes,
                        0x1_0000 + ((first - 0xD800) << 10) + (cp - 0xDC00),
                    );
                    continue;
                }
                (Some(first), _) => {
                    push(&mut bytes, first);
                    lone = true;
                }
                (None, _) => {}
            }
            match cp {
                0xD800..=0xDBFF => high = Some(cp),
                _ => {
                    lone |= (0xDC00..=0xDFFF).contains(&cp);
                    push(&mut bytes, cp);
                }
            }
        }
        if let Some(first) = high {
            push(&mut bytes, first);
            lone = true;
        }
        if lone {
            return PyStr(Repr::Wtf8(bytes));
        }
        PyStr(match String::from_utf8(bytes) {
            Ok(text) => Repr::Utf8(text),
            Err(error) => Repr::Wtf8(error.into_bytes()),
        })
    }
}

/// Appends a code point in (generalized) UTF-8.
fn push(bytes: &mut Vec<u8>, cp: u32) {
    let tail = |shift: u32| 0x80 | (cp >> shift & 0x3F) as u8;
    match cp {
        0..=0x7F => bytes.push(cp as u8),
        0x80..=0x7FF => bytes.extend([0xC0 | (cp >> 6) as u8, tail(0)]),
        0x800..=0xFFFF => bytes.extend([0xE0 | (cp >> 12) as u8, tail(6), tail(0)]),
        _ => bytes.extend([0xF0 | (cp >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

/// Iterator over the code points of a [`PyStr`].
#[derive(Debug, Clone)]
pub struct CodePoints<'a>(&'a [u8]);

impl Iterator for CodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (&first, rest) = self.0.split_first()?;
        let (bits, tail) = match first {
            0..=0x7F => (u32::from(first), 0),
            0x80..=0xDF => (u32::from(first & 0x1F), 1),
            0xE0..=0xEF => (u32::from(first & 0x0F), 2),
            _ => (u32::from(first & 0x07), 3),
        };
        let tail = tail.min(rest.len());
        self.0 = &rest[tail..];
        Some(
            rest[..tail]
                .iter()
                .fold(bits, |cp, b| cp << 6 | u32::from(b & 0x3F)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_kept_and_pairs_joined() {
        let lone: PyStr = [0x61, 0xD83D, 0x62].into_iter().collect();
        assert_eq!(lone.as_str(), None);
        assert_eq!(lone.code_points().collect::<Vec<_>>(), [0x61, 0xD83D, 0x62]);
        assert_eq!(lone.to_lossy(), "a\u{FFFD}b");
        let pair: PyStr = [0xD83D, 0xDE00].into_iter().collect();
        assert_eq!(pair.as_str(), Some("😀"));
        let reversed: PyStr = [0xDE00, 0xD83D].into_iter().collect();
        assert_eq!(reversed.code_points().collect::<Vec<_>>(), [0xDE00, 0xD83D]);
    }

    #[test]
    fn code_points_agree_with_chars() {
        let text = "aé€😀\u{10FFFF}";
        let points: Vec<u32> = PyStr::from(text).code_points().collect();
        assert_eq!(points, text.chars().map(u32::from).collect::<Vec<_>>());
        assert_eq!(points.into_iter().collect::<PyStr>().as_str(), Some(text));
    }
}
