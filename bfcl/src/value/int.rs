//! Python's `int`: any size, with a fast path for what fits 64 bits.

use std::fmt;

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Num, ToPrimitive, Zero};

/// An integer of any size. Equal integers have equal representations, so the derived equality and
/// hash are the numbers'.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Int(Repr);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    /// Only numbers outside the range of `i64`.
    Big(BigInt),
}

impl Int {
    /// Reads an optional minus and decimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Int> {
        if let Ok(small) = text.parse::<i64>() {
            return Some(small.into());
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Int::parse_radix(text, 10)
    }

    /// Reads digits of the given radix (2 to 36), with an optional sign.
    pub(crate) fn parse_radix(text: &str, radix: u32) -> Option<Int> {
        BigInt::from_str_radix(text, radix).ok().map(Int::from)
    }

    /// The value, when it fits.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small(i) => Some(*i),
            Repr::Big(_) => None,
        }
    }

    /// Whether the integer is 0.
    pub fn is_zero(&self) -> bool {
        self.0 == Repr::Small(0)
    }

    /// The nearest double, as `float(i)`; `None` where Python raises `OverflowError`.
    pub fn to_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Small(i) => i.to_f64(),
            Repr::Big(b) => b.to_f64().filter(|f| f.is_finite()),
        }
    }

    /// Exact comparison with a double, as Python does it (no rounding of the integer).
    pub fn eq_f64(&self, f: f64) -> bool {
        if !f.is_finite() || f.fract() != 0.0 {
            return false;
        }
        match &self.0 {
            // Below 2^53 the conversion is exact.
            Repr::Small(i) if i.unsigned_abs() < 1 << 53 => *i as f64 == f,
            _ => BigInt::from_f64(f).map(Int::from).as_ref() == Some(self),
        }
    }

    /// The number of decimal digits, without the sign, found without printing huge numbers: exact
    /// up to the limit that is asked about.
    pub(crate) fn has_more_digits_than(&self, limit: usize) -> bool {
        match &self.0 {
            Repr::Small(_) => limit < 19 && self.to_string().trim_start_matches('-').len() > limit,
            // 10^limit needs ⌊limit·log2(10)⌋ + 1 bits; far from that the bit count decides.
            Repr::Big(b) => {
                let bits = b.bits() as f64;
                let threshold = limit as f64 * std::f64::consts::LOG2_10;
                if bits < threshold - 1.0 {
                    false
                } else if bits > threshold + 2.0 {
                    true
                } else {
                    b.magnitude().to_string().len() > limit
                }
            }
        }
    }
}

impl std::ops::Neg for &Int {
    type Output = Int;
    fn neg(self) -> Int {
        match &self.0 {
            Repr::Small(i) => i
                .checked_neg()
                .map_or_else(|| Int::from(-BigInt::from(*i)), Int::from),
            Repr::Big(b) => Int::from(-b),
        }
    }
}

impl From<i64> for Int {
    fn from(i: i64) -> Int {
        Int(Repr::Small(i))
    }
}

impl From<BigInt> for Int {
    fn from(b: BigInt) -> Int {
        if b.is_zero() {
            return Int(Repr::Small(0));
        }
        match b.to_i64() {
            Some(i) => Int(Repr::Small(i)),
            None => Int(Repr::Big(b)),
        }
    }
}

/// Decimal, as `str(i)`.
impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(i) => i.fmt(f),
            Repr::Big(b) => b.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_representations_agree_at_the_border() {
        let max = Int::parse("9223372036854775807").expect("digits");
        let over = Int::parse("9223372036854775808").expect("digits");
        assert_eq!(max.as_i64(), Some(i64::MAX));
        assert_eq!(over.as_i64(), None);
        assert_eq!((-&over).as_i64(), Some(i64::MIN));
        assert_eq!(-&(-&over), over);
        assert!(over.eq_f64(9_223_372_036_854_775_808.0));
        assert!(!max.eq_f64(9_223_372_036_854_775_808.0));
        assert_eq!(Int::parse("12x"), None);
        assert_eq!(Int::parse("--1"), None);
    }

    #[test]
    fn digits_are_counted_exactly_around_the_limit() {
        let nines = Int::parse(&"9".repeat(4300)).expect("digits");
        let power = Int::parse(&format!("1{}", "0".repeat(4300))).expect("digits");
        assert!(!nines.has_more_digits_than(4300));
        assert!(power.has_more_digits_than(4300));
        assert!((-&power).has_more_digits_than(4300));
        assert!(!(-&nines).has_more_digits_than(4300));
    }

    #[test]
    fn float_conversion_overflows_as_in_python() {
        assert_eq!(
            Int::parse(&format!("1{}", "0".repeat(309))).and_then(|i| i.to_f64()),
            None
        );
        assert!(
            Int::parse(&format!("1{}", "0".repeat(308)))
                .and_then(|i| i.to_f64())
                .is_some()
        );
    }
}
