//! Metadata values: thirteen types, homogeneous arrays.
//!
//! Source: the GGUF specification, `gguf_metadata_value_type`.

mod strings;

pub use strings::Strings;

use std::fmt;

/// Type of a metadata value; the numbers are those stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs)] // one variant per type of the format
pub enum ValueType {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

/// One metadata value. Arrays are homogeneous, as the format demands.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // one variant per type of the format
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// A homogeneous metadata array (arrays of arrays are refused: no known file has one).
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // one variant per type of the format
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(Strings),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

impl ValueType {
    /// Every type, in the order of its number.
    pub const ALL: [ValueType; 13] = {
        use ValueType::*;
        [
            U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64,
        ]
    };

    /// Least bytes that one value of this type takes in a file.
    pub const fn min_bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::String => 8, // its length
            Self::Array => 12, // element type and count
        }
    }
}

impl TryFrom<u32> for ValueType {
    type Error = u32;

    fn try_from(number: u32) -> Result<Self, u32> {
        Self::ALL.get(number as usize).copied().ok_or(number)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Array => "array",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        })
    }
}

impl Value {
    /// The type of this value.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::U8(_) => ValueType::U8,
            Self::I8(_) => ValueType::I8,
            Self::U16(_) => ValueType::U16,
            Self::I16(_) => ValueType::I16,
            Self::U32(_) => ValueType::U32,
            Self::I32(_) => ValueType::I32,
            Self::F32(_) => ValueType::F32,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::Array(_) => ValueType::Array,
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// A non-negative integer of any width.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(v) => Some(v.into()),
            Self::U16(v) => Some(v.into()),
            Self::U32(v) => Some(v.into()),
            Self::U64(v) => Some(v),
            Self::I8(v) => v.try_into().ok(),
            Self::I16(v) => v.try_into().ok(),
            Self::I32(v) => v.try_into().ok(),
            Self::I64(v) => v.try_into().ok(),
            _ => None,
        }
    }

    /// A floating-point number of either width.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::F32(v) => Some(v.into()),
            Self::F64(v) => Some(v),
            _ => None,
        }
    }

    /// A truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Bool(v) => Some(v),
            _ => None,
        }
    }

    /// A text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(v) => Some(v),
            _ => None,
        }
    }

    /// An array.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(v) => Some(v),
            _ => None,
        }
    }

    /// An array of strings.
    pub fn as_strings(&self) -> Option<&Strings> {
        match self {
            Self::Array(Array::String(v)) => Some(v),
            _ => None,
        }
    }
}

impl Array {
    /// The type of the elements.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::U8(_) => ValueType::U8,
            Self::I8(_) => ValueType::I8,
            Self::U16(_) => ValueType::U16,
            Self::I16(_) => ValueType::I16,
            Self::U32(_) => ValueType::U32,
            Self::I32(_) => ValueType::I32,
            Self::F32(_) => ValueType::F32,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::I8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::I16(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::String(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as non-negative integers; `None` for other types or a negative element.
    pub fn to_u64s(&self) -> Option<Vec<u64>> {
        match self {
            Self::U8(v) => Some(v.iter().map(|&x| x.into()).collect()),
            Self::U16(v) => Some(v.iter().map(|&x| x.into()).collect()),
            Self::U32(v) => Some(v.iter().map(|&x| x.into()).collect()),
            Self::U64(v) => Some(v.clone()),
            Self::I8(v) => v.iter().map(|&x| x.try_into().ok()).collect(),
            Self::I16(v) => v.iter().map(|&x| x.try_into().ok()).collect(),
            Self::I32(v) => v.iter().map(|&x| x.try_into().ok()).collect(),
            Self::I64(v) => v.iter().map(|&x| x.try_into().ok()).collect(),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::U32(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_agree() {
        for (number, t) in ValueType::ALL.into_iter().enumerate() {
            assert_eq!(t as usize, number);
            assert_eq!(ValueType::try_from(number as u32), Ok(t));
        }
        assert_eq!(ValueType::try_from(13), Err(13));
    }

    #[test]
    fn integers_of_any_width_read_as_one_type() {
        assert_eq!(Value::U8(7).as_u64(), Some(7));
        assert_eq!(Value::I64(-1).as_u64(), None);
        assert_eq!(Value::F32(1.0).as_u64(), None);
        assert_eq!(
            Array::I32(vec![11, 11, 10, 0]).to_u64s(),
            Some(vec![11, 11, 10, 0])
        );
        assert_eq!(Array::I32(vec![-1]).to_u64s(), None);
    }
}
