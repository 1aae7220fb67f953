//! Surrogates in Python string literals.
//!
//! `'\ud800'` is a legal Python string, but no Rust one: the parser puts U+FFFD in its place. The
//! literal's source tells which of the U+FFFD in its value stand for which surrogate.

/// The code points of a literal's value, with the surrogates that its source has put back.
pub(super) fn code_points(value: &str, source: &str, is_raw: bool) -> Vec<u32> {
    let points = value.chars().map(u32::from);
    if is_raw || !value.contains('\u{FFFD}') {
        return points.collect();
    }
    let mut replaced = replacements(source).into_iter();
    points
        .map(|point| {
            if point == 0xFFFD {
                replaced.next().unwrap_or(point)
            } else {
                point
            }
        })
        .collect()
}

/// What each U+FFFD of the value is, in order.
fn replacements(source: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{FFFD}' => found.push(0xFFFD),
            '\\' => {
                let digits = match chars.next() {
                    Some('u') => 4,
                    Some('U') => 8,
                    Some('N') => {
                        if name_in_braces(&mut chars).eq_ignore_ascii_case("REPLACEMENT CHARACTER")
                        {
                            found.push(0xFFFD);
                        }
                        continue;
                    }
                    Some('\u{FFFD}') => {
                        found.push(0xFFFD);
                        continue;
                    }
                    _ => continue,
                };
                let hex: String = chars.by_ref().take(digits).collect();
                if let Ok(point @ (0xD800..=0xDFFF | 0xFFFD)) = u32::from_str_radix(&hex, 16) {
                    found.push(point);
                }
            }
            _ => {}
        }
    }
    found
}

fn name_in_braces(chars: &mut std::str::Chars<'_>) -> String {
    chars.by_ref().take_while(|c| *c != '}').skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_come_back_and_real_replacement_characters_stay() {
        let source = r"\ufffd\ud800\\ud801x\N{replacement character}\U0000dfffn";
        let value = "\u{FFFD}\u{FFFD}\\ud801x\u{FFFD}\u{FFFD}n";
        let points = code_points(value, source, false);
        let not_ascii: Vec<u32> = points.into_iter().filter(|p| *p > 0x7F).collect();
        assert_eq!(not_ascii, [0xFFFD, 0xD800, 0xFFFD, 0xDFFF]);
    }
}
