//! The metadata of a header: an ordered list of keys and typed values.

use std::io::Read;

use crate::cursor::Cursor;
use crate::fault::{Fault, Place};
use crate::value::{Array, Strings, Value, ValueType};

/// Most metadata entries accepted. Known files have fewer than 100.
const MAX_ENTRIES: u64 = 65_536;
/// Longest key the format allows, bytes.
const MAX_KEY: usize = 65_535;
/// Fewest bytes an entry takes: key length, one letter, value type, one byte.
pub(crate) const MIN_ENTRY: u64 = 8 + 1 + 4 + 1;

/// Keys and values in file order. Keys are unique.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
    /// Entry numbers sorted by key.
    by_key: Vec<u32>,
}

/// A metadata value that is absent or not of the kind a reader needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "metadata '{key}': found {found}, expected {expected}; the file was converted by a faulty or \
     outdated tool: convert the model again"
)]
pub struct MetadataError {
    /// The key asked for.
    pub key: String,
    /// What is there ("nothing" when the key is absent).
    pub found: String,
    /// What is needed.
    pub expected: &'static str,
}

impl Metadata {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys and values in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let key_of = |&n: &u32| self.entries[n as usize].0.as_str();
        let at = self.by_key.binary_search_by(|n| key_of(n).cmp(key)).ok()?;
        Some(&self.entries[self.by_key[at] as usize].1)
    }

    /// A non-negative integer under `key`, `None` when absent.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn u64(&self, key: &str) -> Result<Option<u64>, MetadataError> {
        self.typed(key, "a non-negative integer", Value::as_u64)
    }

    /// A number with a fraction under `key`, `None` when absent.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn f64(&self, key: &str) -> Result<Option<f64>, MetadataError> {
        self.typed(key, "a floating-point number", Value::as_f64)
    }

    /// A truth value under `key`, `None` when absent.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn bool(&self, key: &str) -> Result<Option<bool>, MetadataError> {
        self.typed(key, "a bool", Value::as_bool)
    }

    /// A text under `key`, `None` when absent.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn str(&self, key: &str) -> Result<Option<&str>, MetadataError> {
        self.typed(key, "a string", Value::as_str)
    }

    /// A list of strings under `key`, `None` when absent.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn strings(&self, key: &str) -> Result<Option<&Strings>, MetadataError> {
        self.typed(key, "an array of strings", Value::as_strings)
    }

    /// An array under `key`, `None` when absent.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn array(&self, key: &str) -> Result<Option<&Array>, MetadataError> {
        self.typed(key, "an array", Value::as_array)
    }

    fn typed<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        read(value).map(Some).ok_or_else(|| MetadataError {
            key: key.to_owned(),
            found: describe(value),
            expected,
        })
    }

    /// Reads `count` entries.
    pub(crate) fn read<R: Read>(cursor: &mut Cursor<R>, count: usize) -> Result<Self, Fault> {
        // No capacity up front: an entry in memory is larger than its smallest form in a file.
        let mut entries = Vec::new();
        let mut offsets = Vec::new();
        for n in 0..count {
            offsets.push(cursor.offset());
            entries.push(read_entry(cursor, n)?);
        }
        let by_key = sorted_unique(&entries, "key", |(key, _)| key, &offsets)?;
        Ok(Self { entries, by_key })
    }
}

/// Reads the number of entries.
pub(crate) fn read_count<R: Read>(cursor: &mut Cursor<R>) -> Result<usize, Fault> {
    capped_count(cursor, MIN_ENTRY, MAX_ENTRIES, Place::MetadataCount)
}

/// Reads a count that must be plausible by itself before it is held against the file's size.
pub(crate) fn capped_count<R: Read>(
    cursor: &mut Cursor<R>,
    each: u64,
    limit: u64,
    place: Place,
) -> Result<usize, Fault> {
    let offset = cursor.offset();
    let found = cursor.u64(place)?;
    if found > limit {
        let field = place.to_string();
        return Err(Fault::Absurd {
            field,
            offset,
            found,
            limit,
        });
    }
    cursor.expect(found, each, offset, place)?;
    Ok(found as usize)
}

/// Item numbers sorted by name, or the first name (in file order) that appears twice.
pub(crate) fn sorted_unique<T>(
    items: &[T],
    what: &'static str,
    name: impl Fn(&T) -> &String,
    offsets: &[u64],
) -> Result<Vec<u32>, Fault> {
    let name_of = |n: u32| name(&items[n as usize]);
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    order.sort_by(|&a, &b| name_of(a).cmp(name_of(b)));
    let twice = order
        .windows(2)
        .filter(|pair| name_of(pair[0]) == name_of(pair[1]))
        .min_by_key(|pair| pair[1]);
    match twice {
        None => Ok(order),
        Some(pair) => Err(Fault::Duplicate {
            what,
            name: name_of(pair[0]).clone(),
            first: pair[0] as usize,
            second: pair[1] as usize,
            offset: offsets[pair[1] as usize],
        }),
    }
}

fn read_entry<R: Read>(cursor: &mut Cursor<R>, n: usize) -> Result<(String, Value), Fault> {
    let key = cursor.text(Place::Key(n))?;
    if key.is_empty() || key.len() > MAX_KEY {
        let found = format!("{} bytes", key.len());
        return cursor.malformed(key.len() as u64, Place::Key(n), found, "1 to 65535 bytes");
    }
    let kind = read_type(cursor, &key)?;
    let value = read_value(cursor, &key, kind)?;
    Ok((key, value))
}

fn read_type<R: Read>(cursor: &mut Cursor<R>, key: &str) -> Result<ValueType, Fault> {
    let place = Place::ValueType(key);
    let number = cursor.u32(place)?;
    ValueType::try_from(number)
        .or_else(|number| cursor.malformed(4, place, number, "a value type, 0 to 12"))
}

fn read_value<R: Read>(c: &mut Cursor<R>, key: &str, kind: ValueType) -> Result<Value, Fault> {
    let place = Place::Value(key);
    Ok(match kind {
        ValueType::U8 => Value::U8(u8::from_le_bytes(c.bytes(place)?)),
        ValueType::I8 => Value::I8(i8::from_le_bytes(c.bytes(place)?)),
        ValueType::U16 => Value::U16(u16::from_le_bytes(c.bytes(place)?)),
        ValueType::I16 => Value::I16(i16::from_le_bytes(c.bytes(place)?)),
        ValueType::U32 => Value::U32(u32::from_le_bytes(c.bytes(place)?)),
        ValueType::I32 => Value::I32(i32::from_le_bytes(c.bytes(place)?)),
        ValueType::F32 => Value::F32(f32::from_le_bytes(c.bytes(place)?)),
        ValueType::U64 => Value::U64(u64::from_le_bytes(c.bytes(place)?)),
        ValueType::I64 => Value::I64(i64::from_le_bytes(c.bytes(place)?)),
        ValueType::F64 => Value::F64(f64::from_le_bytes(c.bytes(place)?)),
        ValueType::String => Value::String(c.text(place)?),
        ValueType::Bool => match c.bytes(place)? {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            [other] => return c.malformed(1, place, other, "a bool, 0 or 1"),
        },
        ValueType::Array => Value::Array(read_array(c, key)?),
    })
}

fn read_array<R: Read>(c: &mut Cursor<R>, key: &str) -> Result<Array, Fault> {
    let kind = read_type(c, key)?;
    let count = c.count(kind.min_bytes(), Place::Value(key))?;
    Ok(match kind {
        ValueType::U8 => Array::U8(c.numbers(count, u8::from_le_bytes)?),
        ValueType::I8 => Array::I8(c.numbers(count, i8::from_le_bytes)?),
        ValueType::U16 => Array::U16(c.numbers(count, u16::from_le_bytes)?),
        ValueType::I16 => Array::I16(c.numbers(count, i16::from_le_bytes)?),
        ValueType::U32 => Array::U32(c.numbers(count, u32::from_le_bytes)?),
        ValueType::I32 => Array::I32(c.numbers(count, i32::from_le_bytes)?),
        ValueType::F32 => Array::F32(c.numbers(count, f32::from_le_bytes)?),
        ValueType::U64 => Array::U64(c.numbers(count, u64::from_le_bytes)?),
        ValueType::I64 => Array::I64(c.numbers(count, i64::from_le_bytes)?),
        ValueType::F64 => Array::F64(c.numbers(count, f64::from_le_bytes)?),
        ValueType::String => Array::String(c.strings(count, key)?),
        ValueType::Bool => {
            let start = c.offset();
            let bytes = c.numbers(count, u8::from_le_bytes)?;
            if let Some(n) = bytes.iter().position(|&b| b > 1) {
                let back = c.offset() - start - n as u64;
                return c.malformed(back, Place::Element(key, n), bytes[n], "a bool, 0 or 1");
            }
            Array::Bool(bytes.into_iter().map(|b| b == 1).collect())
        }
        ValueType::Array => {
            let expected = "an array of numbers or strings";
            return c.malformed(12, Place::ValueType(key), "an array of arrays", expected);
        }
    })
}

/// A value in few words, for messages.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("{} x {}", array.len(), array.value_type()),
        Value::String(text) if text.len() > 40 => format!("a string of {} bytes", text.len()),
        Value::String(text) => format!("{text:?}"),
        Value::U8(v) => format!("{v} (u8)"),
        Value::I8(v) => format!("{v} (i8)"),
        Value::U16(v) => format!("{v} (u16)"),
        Value::I16(v) => format!("{v} (i16)"),
        Value::U32(v) => format!("{v} (u32)"),
        Value::I32(v) => format!("{v} (i32)"),
        Value::F32(v) => format!("{v} (f32)"),
        Value::Bool(v) => format!("{v} (bool)"),
        Value::U64(v) => format!("{v} (u64)"),
        Value::I64(v) => format!("{v} (i64)"),
        Value::F64(v) => format!("{v} (f64)"),
    }
}
