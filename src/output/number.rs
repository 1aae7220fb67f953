//! Numbers for people. Result files hold the raw values.

/// What stands where there is no value.
const ABSENT: &str = "–";

/// An integer with thousands separators: `1,007`.
#[must_use]
pub fn count(value: usize) -> String {
    group(&value.to_string())
}

/// A decimal number with `digits` after the point and thousands separators.
#[must_use]
pub fn decimal(value: Option<f64>, digits: usize) -> String {
    let Some(value) = value else {
        return ABSENT.to_owned();
    };
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", group(whole)),
        None => group(&text),
    }
}

/// Nanoseconds as milliseconds, with four significant digits or all whole ones.
#[must_use]
pub fn milliseconds(ns: Option<f64>) -> String {
    let ms = ns.map(|ns| ns / 1e6);
    decimal(ms, digits_for(ms))
}

/// Nanoseconds as seconds, with four significant digits or all whole ones.
#[must_use]
pub fn seconds(ns: Option<f64>) -> String {
    let s = ns.map(|ns| ns / 1e9);
    decimal(s, digits_for(s))
}

/// A fraction as a percentage with one digit: `96.5 %`.
#[must_use]
pub fn percent(fraction: Option<f64>) -> String {
    match fraction {
        Some(fraction) => format!("{:.1} %", fraction * 100.0),
        None => ABSENT.to_owned(),
    }
}

fn digits_for(value: Option<f64>) -> usize {
    match value.map(f64::abs) {
        Some(v) if v >= 1000.0 => 0,
        Some(v) if v >= 100.0 => 1,
        Some(v) if v >= 10.0 => 2,
        _ => 3,
    }
}

/// Puts a comma before every third digit from the right.
fn group(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut grouped = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1007), "1,007");
        assert_eq!(count(13_560_633), "13,560,633");
    }

    #[test]
    fn decimals_are_grouped_too() {
        assert_eq!(decimal(Some(-1234.56), 1), "-1,234.6");
        assert_eq!(decimal(Some(-123.0), 0), "-123");
        assert_eq!(decimal(None, 1), "–");
    }

    #[test]
    fn milliseconds_keep_what_can_be_read() {
        assert_eq!(milliseconds(Some(1_234_567.0)), "1.235");
        assert_eq!(milliseconds(Some(12_345_678.0)), "12.35");
        assert_eq!(milliseconds(Some(123_456_789.0)), "123.5");
        assert_eq!(milliseconds(Some(1_234_567_890.0)), "1,235");
        assert_eq!(milliseconds(Some(0.0)), "0.000");
        assert_eq!(milliseconds(None), "–");
        assert_eq!(seconds(Some(1_500_000_000.0)), "1.500");
        assert_eq!(percent(Some(0.9652)), "96.5 %");
    }
}
