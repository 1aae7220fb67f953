//! Numbers and JSON as Python writes them, where its files are to be matched.

use serde::Serialize;

use super::error::EndpointsError;

/// `value` with `digits` significant digits, trailing zeros dropped: Python's `%.<digits>g`.
pub(super) fn general(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // The exponent after rounding to the digits wanted: 9999.9 has 4, not 3.
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let decimals = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
    if exponent < -4 || decimals < 0 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let fixed = format!("{value:.*}", usize::try_from(decimals).unwrap_or(0));
    trimmed(&fixed).to_owned()
}

/// Decimals without trailing zeros.
fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// `value` indented by two, without a final newline.
pub(super) fn pretty<T: Serialize>(
    what: &'static str,
    value: &T,
) -> Result<Vec<u8>, EndpointsError> {
    serde_json::to_vec_pretty(value).map_err(|source| EndpointsError::Encode { what, source })
}

/// [`pretty`] in ASCII, as `json.dumps` writes by default.
pub(super) fn pretty_ascii<T: Serialize>(
    what: &'static str,
    value: &T,
) -> Result<Vec<u8>, EndpointsError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|source| EndpointsError::Encode { what, source })?;
    // Outside of strings JSON is ASCII, so every other character can be escaped in place.
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    Ok(ascii.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_is_pythons() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.263_157_894_7, "0.2632"),
            (0.3229, "0.3229"),
            (100.0, "100"),
            (9999.9, "1e+04"),
            (12_345.0, "1.234e+04"),
            (0.000_012_345, "1.234e-05"),
            (0.000_123_45, "0.0001234"),
            (-0.5, "-0.5"),
        ];
        for (value, text) in cases {
            assert_eq!(general(value, 4), text, "{value}");
        }
        assert_eq!(general(0.015, 3), "0.015");
        assert_eq!(general(0.007, 3), "0.007");
    }

    #[test]
    fn ascii_json_escapes_in_utf16() {
        let bytes = pretty_ascii("a text", &"é\u{1F980}").expect("a string");
        assert_eq!(bytes, br#""\u00e9\ud83e\udd80""#);
    }
}
