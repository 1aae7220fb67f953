//! A reader that knows how much of the file is left, and allocates nothing the rest cannot fill.

use std::io::{BufReader, Read};

use crate::fault::{Fault, Place};
use crate::value::Strings;

/// Most bytes a header may take. The header of Qwen3.6-27B, with 248,320 tokens, takes 11 MB.
pub(crate) const MAX_HEADER: u64 = 256 << 20;

/// Bytes read ahead. Small enough to stay in cache and to skip little beyond the header.
const READ_AHEAD: u64 = 64 << 10;

/// Reads little-endian fields from the front of a file of known size.
pub(crate) struct Cursor<R> {
    reader: BufReader<R>,
    /// Bytes consumed so far.
    offset: u64,
    /// Size of the whole file, bytes.
    len: u64,
}

impl<R: Read> Cursor<R> {
    pub(crate) fn new(reader: R, len: u64) -> Self {
        let ahead = len.min(READ_AHEAD) as usize;
        Self {
            reader: BufReader::with_capacity(ahead, reader),
            offset: 0,
            len,
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fails unless `count` things of at least `each` bytes can follow here, as the field at
    /// byte `field_at` says.
    ///
    /// Everything that allocates calls this first: memory stays below what the file can fill.
    pub(crate) fn expect(
        &self,
        count: u64,
        each: u64,
        field_at: u64,
        place: Place,
    ) -> Result<(), Fault> {
        let needs = count.checked_mul(each).filter(|&bytes| bytes <= MAX_HEADER);
        let Some(needs) = needs else {
            return Err(Fault::Absurd {
                field: place.to_string(),
                offset: field_at,
                found: count,
                limit: MAX_HEADER / each.max(1),
            });
        };
        if needs > self.len - self.offset {
            return Err(Fault::TruncatedHeader {
                field: place.to_string(),
                offset: field_at,
                needs,
                expected: self.offset + needs,
                actual: self.len,
            });
        }
        if self.offset + needs > MAX_HEADER {
            return Err(Fault::HeaderTooLarge {
                field: place.to_string(),
                offset: field_at,
                limit: MAX_HEADER,
            });
        }
        Ok(())
    }

    /// Fails with a plain "found this, expected that" at the field that ends here.
    pub(crate) fn malformed<T>(
        &self,
        back: u64,
        place: Place,
        found: impl ToString,
        expected: &str,
    ) -> Result<T, Fault> {
        Err(Fault::Malformed {
            field: place.to_string(),
            offset: self.offset - back,
            found: found.to_string(),
            expected: expected.to_owned(),
        })
    }

    /// The next `N` bytes.
    pub(crate) fn bytes<const N: usize>(&mut self, place: Place) -> Result<[u8; N], Fault> {
        self.expect(1, N as u64, self.offset, place)?;
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.offset += N as u64;
        Ok(bytes)
    }

    pub(crate) fn u32(&mut self, place: Place) -> Result<u32, Fault> {
        self.bytes(place).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, place: Place) -> Result<u64, Fault> {
        self.bytes(place).map(u64::from_le_bytes)
    }

    /// A count of things of at least `each` bytes, checked against the rest of the file.
    pub(crate) fn count(&mut self, each: u64, place: Place) -> Result<usize, Fault> {
        let at = self.offset;
        let count = self.u64(place)?;
        self.expect(count, each, at, place)?;
        // At most MAX_HEADER, so that it fits on every target.
        Ok(count as usize)
    }

    /// A text: length, then UTF-8.
    pub(crate) fn text(&mut self, place: Place) -> Result<String, Fault> {
        let len = self.count(1, place)?;
        let mut bytes = vec![0; len];
        self.reader.read_exact(&mut bytes)?;
        self.offset += len as u64;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let found = format!("byte 0x{:02x} at position {at}", error.as_bytes()[at]);
                self.malformed(len as u64, place, found, "UTF-8 text")
            }
        }
    }

    /// `count` strings, each a length and bytes (not necessarily UTF-8). The caller has held
    /// `count` against the file's size.
    pub(crate) fn strings(&mut self, count: usize, key: &str) -> Result<Strings, Fault> {
        let mut strings = Strings::with_capacity(count);
        for n in 0..count {
            let len = self.count(1, Place::Element(key, n))?;
            let left = (self.len - self.offset) as usize;
            strings.push_with(len, left, |place| self.reader.read_exact(place))?;
            self.offset += len as u64;
        }
        Ok(strings)
    }

    /// `count` numbers of `N` bytes each. The caller has held `count` against the file's size.
    pub(crate) fn numbers<T, const N: usize>(
        &mut self,
        count: usize,
        decode: fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Fault> {
        let mut numbers = Vec::with_capacity(count);
        let mut bytes = [0; N];
        for _ in 0..count {
            self.reader.read_exact(&mut bytes)?;
            numbers.push(decode(bytes));
        }
        self.offset += (count * N) as u64;
        Ok(numbers)
    }
}
