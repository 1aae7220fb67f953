//! Matching parentheses with quotes in mind, in linear time.
//!
//! The reference scans forward from every opening parenthesis on its own, starting outside quotes
//! each time. That is quadratic when many stay open (`f(f(f(…`). The first scan that finds no end
//! therefore brings in a table, built once from right to left, that answers for every position and
//! every state of quotes.

/// No closing parenthesis.
const NONE: u32 = u32::MAX;

/// Finds closing parentheses in one text.
pub(super) struct Parens<'a> {
    bytes: &'a [u8],
    /// For position `i` outside of quotes: where the parenthesis closes that is open before `i`.
    closes: Option<Vec<u32>>,
}

impl<'a> Parens<'a> {
    pub(super) fn new(text: &'a str) -> Parens<'a> {
        Parens {
            bytes: text.as_bytes(),
            closes: None,
        }
    }

    /// The position of the parenthesis that closes the one at `open`.
    ///
    /// A quote opens a string wherever it stands, the same quote closes it, and a backslash inside
    /// a string hides the next character.
    pub(super) fn closing(&mut self, open: usize) -> Option<usize> {
        if self.closes.is_none() {
            if let Some(close) = self.scan(open) {
                return Some(close);
            }
            // Positions are u32 to halve the table; a text beyond that is no model output.
            self.closes = Some(table(self.bytes));
            return None;
        }
        let close = *self.closes.as_ref()?.get(open + 1)?;
        (close != NONE).then_some(close as usize)
    }

    /// The reference's own way.
    fn scan(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut quote = None;
        let mut at = open;
        while let Some(&byte) = self.bytes.get(at) {
            match (quote, byte) {
                (Some(_), b'\\') => at += 1,
                (Some(q), _) if q == byte => quote = None,
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'(') => depth += 1,
                (None, b')') => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }
}

/// For every position, read outside of quotes, the first parenthesis that closes more than was
/// opened from there on.
fn table(bytes: &[u8]) -> Vec<u32> {
    let n = bytes.len();
    // Two more entries than bytes, because a backslash at the end skips past it.
    let mut bare = vec![NONE; n + 2];
    let mut single = vec![NONE; n + 2];
    let mut double = vec![NONE; n + 2];
    for at in (0..n).rev() {
        single[at] = single[at + 1];
        double[at] = double[at + 1];
        bare[at] = bare[at + 1];
        match bytes[at] {
            b'\\' => {
                single[at] = single[at + 2];
                double[at] = double[at + 2];
            }
            b'\'' => {
                single[at] = bare[at + 1];
                bare[at] = single[at + 1];
            }
            b'"' => {
                double[at] = bare[at + 1];
                bare[at] = double[at + 1];
            }
            b'(' => {
                let close = bare[at + 1];
                bare[at] = bare.get(close as usize + 1).copied().unwrap_or(NONE);
            }
            b')' => bare[at] = at as u32,
            _ => {}
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_hide_parentheses() {
        let closing = |text: &str| Parens::new(text).closing(0);
        assert_eq!(closing("(a(b)c)d"), Some(6));
        assert_eq!(closing("(')')"), Some(4));
        assert_eq!(closing("('\\')')"), Some(6));
        assert_eq!(closing("(it's)"), None);
        assert_eq!(closing("(\\')"), None);
    }

    proptest! {
        #[test]
        fn the_table_equals_the_scan(text in "[()'\"\\\\aé]{0,40}") {
            let plain = Parens::new(&text);
            let mut tabled = Parens { bytes: text.as_bytes(), closes: Some(table(text.as_bytes())) };
            for (open, _) in text.match_indices('(') {
                prop_assert_eq!(plain.scan(open), tabled.closing(open));
            }
        }
    }
}
