//! The Python values that the reference checker sees, with Python's own idea of equality.
//!
//! The checker is written in Python and leans on its dynamic types: `True == 1 == 1.0`, exact
//! types, integers without a limit, strings that may hold lone surrogates, dictionaries that keep
//! the order of insertion. [`Value`] models just that much of Python, including the values that
//! only `ast.literal_eval` can produce (sets, bytes, complex numbers, `...`), because those are the
//! ones on which the reference raises.

mod dict;
mod int;
mod text;

pub use dict::Dict;
pub use int::Int;
pub use text::{CodePoints, PyStr};

use std::hash::{Hash, Hasher};

use num_bigint::BigInt;
use num_traits::FromPrimitive;

/// A Python value.
///
/// `==` is Python's `==`: numbers compare across types and exactly, NaN equals nothing, sequences
/// compare by element, dictionaries without regard to order. Inside containers a NaN equals a NaN,
/// as in Python, where containers compare by identity first and the JSON reader hands out one and
/// the same NaN object every time.
#[derive(Debug, Clone)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of any size.
    Int(Int),
    /// A double; NaN and the infinities included.
    Float(f64),
    /// A string, possibly with lone surrogates.
    Str(PyStr),
    /// A list.
    List(Vec<Value>),
    /// A tuple (only from Python source text; JSON turns it into a list).
    Tuple(Vec<Value>),
    /// A dictionary in order of insertion.
    Dict(Dict),
    /// A set (only from Python source text), without duplicates.
    Set(Vec<Value>),
    /// A bytes literal (only from Python source text).
    Bytes(Vec<u8>),
    /// A complex number, real and imaginary part (only from Python source text).
    Complex(f64, f64),
    /// The `...` literal (only from Python source text).
    Ellipsis,
}

/// The exact Python type of a value, as `type(value)` gives it. `bool` is not `int` here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PyType {
    /// `NoneType`
    None,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `str`
    Str,
    /// `list`
    List,
    /// `tuple`
    Tuple,
    /// `dict`
    Dict,
    /// `set`
    Set,
    /// `bytes`
    Bytes,
    /// `complex`
    Complex,
    /// `ellipsis`
    Ellipsis,
}

impl PyType {
    /// The name Python prints for the type (`type(x).__name__`).
    pub fn name(self) -> &'static str {
        match self {
            PyType::None => "NoneType",
            PyType::Bool => "bool",
            PyType::Int => "int",
            PyType::Float => "float",
            PyType::Str => "str",
            PyType::List => "list",
            PyType::Tuple => "tuple",
            PyType::Dict => "dict",
            PyType::Set => "set",
            PyType::Bytes => "bytes",
            PyType::Complex => "complex",
            PyType::Ellipsis => "ellipsis",
        }
    }
}

impl Value {
    /// The exact type of the value.
    pub fn py_type(&self) -> PyType {
        match self {
            Value::None => PyType::None,
            Value::Bool(_) => PyType::Bool,
            Value::Int(_) => PyType::Int,
            Value::Float(_) => PyType::Float,
            Value::Str(_) => PyType::Str,
            Value::List(_) => PyType::List,
            Value::Tuple(_) => PyType::Tuple,
            Value::Dict(_) => PyType::Dict,
            Value::Set(_) => PyType::Set,
            Value::Bytes(_) => PyType::Bytes,
            Value::Complex(..) => PyType::Complex,
            Value::Ellipsis => PyType::Ellipsis,
        }
    }

    /// A string value.
    pub fn str(text: impl Into<String>) -> Value {
        Value::Str(PyStr::from(text.into()))
    }

    /// The text, when the value is a string without lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => text.as_str(),
            _ => None,
        }
    }

    /// The dictionary, when the value is one.
    pub fn as_dict(&self) -> Option<&Dict> {
        match self {
            Value::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The items, when the value is a list (a tuple is not one).
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Python's truth value: false for `None`, zero, and whatever is empty.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(i) => !i.is_zero(),
            Value::Float(f) => *f != 0.0,
            Value::Str(s) => !s.is_empty(),
            Value::List(v) | Value::Tuple(v) | Value::Set(v) => !v.is_empty(),
            Value::Dict(d) => !d.is_empty(),
            Value::Bytes(b) => !b.is_empty(),
            Value::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Value::Ellipsis => true,
        }
    }

    /// Whether Python can hash the value, so that it may be a dictionary key.
    pub fn is_hashable(&self) -> bool {
        match self {
            Value::List(_) | Value::Dict(_) | Value::Set(_) => false,
            Value::Tuple(items) => items.iter().all(Value::is_hashable),
            _ => true,
        }
    }

    /// Whether lists and dictionaries are nested in each other more than `limit` levels.
    pub(crate) fn is_deeper_than(&self, limit: usize) -> bool {
        match self {
            Value::List(items) | Value::Tuple(items) => {
                limit == 0 || items.iter().any(|item| item.is_deeper_than(limit - 1))
            }
            Value::Dict(dict) => {
                limit == 0
                    || dict
                        .iter()
                        .any(|(_, value)| value.is_deeper_than(limit - 1))
            }
            _ => false,
        }
    }

    /// Equality as containers and Python's `in` use it: the same object, or equal. Every NaN that
    /// came from JSON is the same object.
    pub fn same_or_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Float(a), Value::Float(b)) if a.is_nan() && b.is_nan() => true,
            _ => self == other,
        }
    }

    /// Hashes so that values equal in Python hash alike, whatever their types.
    fn py_hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Value::None => 1u8.hash(state),
            Value::Bool(b) => Int::from(i64::from(*b)).hash(state),
            Value::Int(i) => i.hash(state),
            Value::Float(f) | Value::Complex(f, 0.0) => hash_float(*f, state),
            Value::Complex(re, im) => (re.to_bits(), im.to_bits()).hash(state),
            Value::Str(s) => s.hash(state),
            Value::Bytes(b) => b.hash(state),
            Value::Ellipsis => 2u8.hash(state),
            Value::List(items) | Value::Tuple(items) => {
                items.len().hash(state);
                items.iter().for_each(|item| item.py_hash(state));
            }
            Value::Set(items) => items.len().hash(state),
            Value::Dict(dict) => dict.len().hash(state),
        }
    }
}

/// An integral float hashes as the integer it equals.
fn hash_float<H: Hasher>(f: f64, state: &mut H) {
    match float_to_int(f) {
        Some(int) => int.hash(state),
        None if f.is_nan() => f64::NAN.to_bits().hash(state),
        None => f.to_bits().hash(state),
    }
}

/// The integer a float equals exactly, if there is one.
fn float_to_int(f: f64) -> Option<Int> {
    if f.is_finite() && f.fract() == 0.0 {
        BigInt::from_f64(f).map(Int::from)
    } else {
        None
    }
}

/// The parts of a number, the imaginary one absent for real numbers.
enum Number<'a> {
    Int(std::borrow::Cow<'a, Int>),
    Real(f64),
    Complex(f64, f64),
}

impl Value {
    fn as_number(&self) -> Option<Number<'_>> {
        use std::borrow::Cow;
        Some(match self {
            Value::Bool(b) => Number::Int(Cow::Owned(Int::from(i64::from(*b)))),
            Value::Int(i) => Number::Int(Cow::Borrowed(i)),
            Value::Float(f) | Value::Complex(f, 0.0) => Number::Real(*f),
            Value::Complex(re, im) => Number::Complex(*re, *im),
            _ => return None,
        })
    }
}

fn numbers_equal(a: &Value, b: &Value) -> bool {
    match (a.as_number(), b.as_number()) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => a == b,
        (Some(Number::Real(a)), Some(Number::Real(b))) => a == b,
        (Some(Number::Int(i)), Some(Number::Real(f)))
        | (Some(Number::Real(f)), Some(Number::Int(i))) => i.eq_f64(f),
        (Some(Number::Complex(a, b)), Some(Number::Complex(c, d))) => a == c && b == d,
        _ => false,
    }
}

fn items_equal(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_or_eq(b))
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::None, Value::None) | (Value::Ellipsis, Value::Ellipsis) => true,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                items_equal(a, b)
            }
            (Value::Dict(a), Value::Dict(b)) => a == b,
            (Value::Set(a), Value::Set(b)) => {
                a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| x.same_or_eq(y)))
            }
            _ => numbers_equal(self, other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(text: &str) -> Value {
        Value::Int(Int::parse(text).expect("digits"))
    }

    #[test]
    fn numbers_compare_across_types_and_exactly() {
        assert_eq!(Value::Bool(true), Value::Float(1.0));
        assert_eq!(Value::Bool(false), int("0"));
        assert_eq!(int("0"), Value::Float(-0.0));
        assert_eq!(Value::Complex(2.0, 0.0), int("2"));
        assert_ne!(
            int("9007199254740993"),
            Value::Float(9_007_199_254_740_992.0)
        );
        assert_eq!(int("100000000000000000000"), Value::Float(1e20));
        assert_ne!(int("100000000000000000001"), Value::Float(1e20));
        assert_ne!(Value::Float(f64::NAN), Value::Float(f64::NAN));
        assert_ne!(Value::None, Value::Bool(false));
        assert_ne!(Value::str("1"), int("1"));
    }

    #[test]
    fn containers_compare_by_identity_first_and_by_type() {
        let nan = || Value::List(vec![Value::Float(f64::NAN)]);
        assert_eq!(nan(), nan());
        assert_ne!(Value::List(vec![]), Value::Tuple(vec![]));
        assert_ne!(Value::List(vec![]), Value::Dict(Dict::new()));
    }

    #[test]
    fn dictionaries_merge_keys_that_are_equal_in_python() {
        let mut dict = Dict::new();
        dict.insert(int("1"), Value::str("a"));
        dict.insert(Value::str("1"), Value::str("b"));
        dict.insert(Value::Bool(true), Value::str("c"));
        dict.insert(Value::Complex(1.0, 0.0), Value::str("d"));
        assert_eq!(dict.len(), 2);
        let (key, value) = dict.iter().next().expect("two entries");
        assert_eq!(key.py_type(), PyType::Int);
        assert_eq!(value.as_str(), Some("d"));
    }

    #[test]
    fn truth_and_hashability_follow_python() {
        assert!(!Value::str("").is_truthy());
        assert!(!Value::Float(-0.0).is_truthy());
        assert!(Value::Float(f64::NAN).is_truthy());
        assert!(Value::Tuple(vec![int("1")]).is_hashable());
        assert!(!Value::Tuple(vec![Value::List(vec![])]).is_hashable());
    }
}
