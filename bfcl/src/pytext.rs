//! Python's ideas of text: white space, decimal digits, `str.strip`, `str.lower`, and the
//! checker's normalization. Python 3.12 knows Unicode 15.0.

use std::sync::LazyLock;

use regex::Regex;

/// Whether `str.isspace` holds for the character: Unicode white space and the four separators
/// U+001C..U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Letters and numbers of every kind: what `str.isalnum` is true of.
static ALPHANUMERIC: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[\p{L}\p{N}]\z").expect("a valid pattern"));

/// Whether `\w` matches the character.
pub fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    // The standard library's alphanumerics include marks, which Python's do not.
    c.is_alphanumeric() && ALPHANUMERIC.is_match(c.encode_utf8(&mut [0; 4]))
}

/// The zero of every run of ten decimal digits (general category Nd) of Unicode 15.0, sorted.
const ZEROS: [u32; 68] = [
    0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66,
    0xDE6, 0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650,
    0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16A60, 0x16AC0,
    0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E950,
    0x1FBF0,
];

/// The value of a decimal digit of any script, as `\d` and `int()` see it.
pub fn decimal_digit(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let code = u32::from(c);
    let run = ZEROS.partition_point(|&zero| zero <= code);
    let value = code - ZEROS[run.checked_sub(1)?];
    (value < 10).then_some(value)
}

/// The checker's normalization of strings: space and `, . / - _ * ^` removed, lower case, `'`
/// turned into `"`.
pub fn normalize(text: &str) -> String {
    let dropped = |c: char| matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^');
    if text.is_ascii() {
        let bytes = text.bytes().filter(|&b| !dropped(char::from(b)));
        return bytes
            .map(|b| match b {
                b'\'' => '"',
                _ => char::from(b.to_ascii_lowercase()),
            })
            .collect();
    }
    let kept: String = text.chars().filter(|&c| !dropped(c)).collect();
    lower(&kept).replace('\'', "\"")
}

/// `str.lower()` of Python 3.12.
pub fn lower(text: &str) -> String {
    if !text.contains(is_cased_since_unicode_16) {
        return text.to_lowercase();
    }
    // Letters that got a lower case after Unicode 15.0 stay as they are.
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(is_cased_since_unicode_16) {
        let tail = part
            .char_indices()
            .next_back()
            .filter(|&(_, c)| is_cased_since_unicode_16(c));
        match tail {
            Some((at, letter)) => {
                out.push_str(&part[..at].to_lowercase());
                out.push(letter);
            }
            None => out.push_str(&part.to_lowercase()),
        }
    }
    out
}

/// Upper-case letters assigned in Unicode 16.0 and 17.0, unknown to Python 3.12.
fn is_cased_since_unicode_16(c: char) -> bool {
    matches!(
        c,
        '\u{1C89}'
            | '\u{A7CB}'
            | '\u{A7CC}'
            | '\u{A7CE}'
            | '\u{A7D2}'
            | '\u{A7D4}'
            | '\u{A7DA}'
            | '\u{A7DC}'
            | '\u{10D50}'..='\u{10D65}'
            | '\u{16EA0}'..='\u{16EB8}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_have_their_value() {
        assert_eq!(decimal_digit('7'), Some(7));
        assert_eq!(decimal_digit('٣'), Some(3));
        assert_eq!(decimal_digit('９'), Some(9));
        assert_eq!(decimal_digit('\u{1D7FF}'), Some(9));
        assert_eq!(decimal_digit('²'), None);
        assert_eq!(decimal_digit('½'), None);
        assert_eq!(decimal_digit('\u{0}'), None);
        assert!(ZEROS.is_sorted());
    }

    #[test]
    fn normalization_drops_lowers_and_unifies_quotes() {
        assert_eq!(normalize("April 1, 2024"), "april12024");
        assert_eq!(normalize("a\tb;c'd'"), "a\tb;c\"d\"");
        assert_eq!(normalize("ΟΔΟΣ"), "οδος");
        assert_eq!(normalize("İ"), "i\u{307}");
        assert_eq!(normalize("\u{212A}"), "k");
        assert_eq!(normalize("É\u{A0}B"), "é\u{A0}b");
        assert_eq!(lower("A\u{10D50}B"), "a\u{10D50}b");
    }

    #[test]
    fn words_have_numbers_of_every_kind_and_no_marks() {
        assert!(['_', 'é', '²', '½', '漢', 'Ⅷ'].into_iter().all(is_word));
        assert!(
            ['\u{301}', '\u{93E}', '‿', '-', ' ']
                .into_iter()
                .all(|c| !is_word(c))
        );
    }

    #[test]
    fn strip_knows_the_separators() {
        assert_eq!(strip("\u{1c}\u{a0} x \u{3000}\u{85}"), "x");
        assert_eq!(strip("\u{200b}x"), "\u{200b}x");
    }
}
