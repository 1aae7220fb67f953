//! Splitting the file into lines that are text, each with its place.

use super::fault::{Fault, Faults, Place};
use super::rule::Rule;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line of the file without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// Byte offset of the line's start in the file.
    pub offset: usize,
    /// The text.
    pub text: &'a str,
    /// Whether a newline follows. Only the last line can be without one.
    pub ended: bool,
}

impl Line<'_> {
    /// The place of the line's byte `at`.
    pub fn place(&self, at: usize) -> Place {
        Place {
            line: self.number,
            offset: self.offset + at,
            ..Place::default()
        }
    }

    /// Byte position in this line of `part`, which must be a slice of it.
    pub fn position_of(&self, part: &str) -> usize {
        let distance = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        distance.min(self.text.len())
    }
}

/// Calls `accept` for every line that is text, in order, and `lost` for every line that is not.
///
/// CR before LF is accepted: to JSON it is white space, so it cannot change a row, and the data
/// set's SHA-256 already tells such a copy from the original.
pub(super) fn for_each<'a>(
    bytes: &'a [u8],
    faults: &mut Faults,
    mut accept: impl FnMut(Option<Line<'a>>, &mut Faults),
) {
    let mut offset = 0;
    for (index, piece) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        let ended = piece.ends_with(b"\n");
        let content = if ended {
            &piece[..piece.len() - 1]
        } else {
            piece
        };
        let line = read(index + 1, offset, content, ended).map_err(|fault| faults.push(*fault));
        accept(line.ok(), faults);
        offset += piece.len();
    }
}

fn read(number: usize, offset: usize, content: &[u8], ended: bool) -> Result<Line<'_>, Box<Fault>> {
    let fault = |rule, at: usize, found: &str, expected: &str| {
        let place = Place {
            line: number,
            offset: offset + at,
            ..Place::default()
        };
        let (field, found, expected) = (String::new(), found.into(), expected.into());
        Err(Box::new(Fault {
            rule,
            place,
            field,
            found,
            expected,
        }))
    };
    if offset == 0 && content.starts_with(BOM) {
        return fault(
            Rule::ByteOrderMark,
            0,
            "a UTF-8 byte order mark",
            "a JSON object",
        );
    }
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        // A cut inside a character, at the end of a line that has no end, is a torn line.
        Err(e) if e.error_len().is_none() && !ended => {
            let found = "the file's end in the middle of a character";
            return fault(Rule::TornLastLine, e.valid_up_to(), found, "a complete row");
        }
        Err(e) => {
            let byte = content[e.valid_up_to()];
            let found = format!("byte 0x{byte:02x}, which is not UTF-8 here");
            return fault(Rule::Utf8, e.valid_up_to(), &found, "UTF-8 text");
        }
    };
    if text.trim_ascii().is_empty() {
        return fault(Rule::BlankLine, 0, "a blank line", "one row per line");
    }
    Ok(Line {
        number,
        offset,
        text,
        ended,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8]) -> (Vec<Option<Line<'_>>>, Faults) {
        let mut faults = Faults::default();
        let mut lines = Vec::new();
        for_each(bytes, &mut faults, |line, _| lines.push(line));
        (lines, faults)
    }

    #[test]
    fn lines_carry_number_offset_and_whether_they_end() {
        let (lines, faults) = split(b"{}\n[1]\r\n3");
        assert_eq!(faults.total(), 0);
        let seen: Vec<_> = lines
            .iter()
            .flatten()
            .map(|l| (l.number, l.offset, l.text, l.ended))
            .collect();
        assert_eq!(
            seen,
            [
                (1, 0, "{}", true),
                (2, 3, "[1]\r", true),
                (3, 8, "3", false)
            ]
        );
    }

    #[test]
    fn blank_lines_bad_bytes_and_marks_are_named_with_their_place() {
        let (lines, faults) = split(b"\xef\xbb\xbf{}\n \r\n{\xff}\n\n{}");
        assert_eq!(lines.iter().flatten().count(), 1);
        let seen: Vec<_> = faults
            .listed()
            .iter()
            .map(|f| (f.rule, f.place.line, f.place.offset))
            .collect();
        assert_eq!(
            seen,
            [
                (Rule::ByteOrderMark, 1, 0),
                (Rule::BlankLine, 2, 6),
                (Rule::Utf8, 3, 10),
                (Rule::BlankLine, 4, 13),
            ]
        );
        assert!(faults.listed()[2].found.contains("0xff"));
    }

    #[test]
    fn a_cut_inside_a_character_is_a_torn_line_only_at_the_end_of_the_file() {
        let rule = |bytes| split(bytes).1.listed()[0].rule;
        assert_eq!(rule(b"{\"a\":\"\xc3"), Rule::TornLastLine);
        assert_eq!(rule(b"{\"a\":\"\xc3\n"), Rule::Utf8);
    }
}
