//! Java and JavaScript source text in string arguments, converted to Python values as the
//! reference's converters do: by regular expressions, with the text itself as the fallback.

mod java;
mod javascript;
mod numeral;
mod surrogates;

pub use java::java;
pub use javascript::javascript;

/// Drops the first and the last character (`text[1:-1]`).
fn inner(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// Whether the text begins and ends with the quote. A lone quote does both.
fn is_quoted(text: &str, quote: char) -> bool {
    text.starts_with(quote) && text.ends_with(quote)
}
