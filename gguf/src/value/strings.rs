//! A list of byte strings in two allocations.

use std::fmt;

/// Many short strings stored end to end: a vocabulary of 248,320 tokens costs two allocations,
/// and no more memory than the strings take in the file (8 bytes of length each, then the bytes).
///
/// Elements are bytes, not `str`: token pieces of some vocabularies are not UTF-8 by themselves.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    /// End of each string in `bytes`.
    ends: Vec<usize>,
}

impl Strings {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty list with room for the ends of `count` strings.
    pub fn with_capacity(count: usize) -> Self {
        Self {
            bytes: Vec::new(),
            ends: Vec::with_capacity(count),
        }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of string `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// String `index` as text; `None` when out of range or not UTF-8.
    pub fn get_str(&self, index: usize) -> Option<&str> {
        std::str::from_utf8(self.get(index)?).ok()
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }

    /// Appends one string.
    pub fn push(&mut self, string: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(string.as_ref());
        self.ends.push(self.bytes.len());
    }

    /// Appends a string of `len` bytes and gives its (zeroed) place to `fill`.
    ///
    /// `at_most` bounds what all strings still to come can take (this one included), so that
    /// growing by doubling never reserves more than the input can hold.
    pub(crate) fn push_with<E>(
        &mut self,
        len: usize,
        at_most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        if self.bytes.capacity() - start < len {
            self.bytes
                .reserve_exact(len.max(start).min(at_most.max(len)));
        }
        self.bytes.resize(start + len, 0);
        fill(&mut self.bytes[start..])?;
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut list = Self::new();
        strings.into_iter().for_each(|s| list.push(s));
        list
    }
}

impl<S: AsRef<[u8]>> From<Vec<S>> for Strings {
    fn from(strings: Vec<S>) -> Self {
        strings.into_iter().collect()
    }
}

impl fmt::Debug for Strings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().take(8).map(String::from_utf8_lossy);
        write!(f, "Strings({}: ", self.len())?;
        f.debug_list().entries(shown).finish()?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_bytes() {
        let list: Strings = ["a", "", "bcd"].into_iter().collect();
        assert_eq!(list.len(), 3);
        assert_eq!(list.get(0), Some(&b"a"[..]));
        assert_eq!(list.get_str(1), Some(""));
        assert_eq!(list.get(2), Some(&b"bcd"[..]));
        assert_eq!(list.get(3), None);
        assert_eq!(list.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bcd"]);
    }

    #[test]
    fn a_piece_that_is_not_utf8_is_kept() {
        let list = Strings::from(vec![vec![0xff_u8, 0xfe]]);
        assert_eq!(list.get(0), Some(&[0xff, 0xfe][..]));
        assert_eq!(list.get_str(0), None);
    }

    #[test]
    fn growth_is_bounded_by_what_the_input_can_hold() {
        let mut list = Strings::new();
        for _ in 0..100 {
            let left = 1000 - list.bytes.len();
            list.push_with(10, left, |b| {
                b.fill(1);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert!(list.bytes.capacity() <= 1000);
        }
    }
}
