//! Python's classes of characters, by Unicode general category.
//!
//! Python 3.12 knows Unicode 15.0. Characters assigned since count as what they are now.

use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory};

/// `\w` of Python's `re`: letters and numbers of any script, and the underscore. Unlike in most
/// other engines, combining marks are not part of it.
pub(super) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    matches!(c.general_category_group(), Group::Letter | Group::Number)
}

/// `str.isprintable`: neither a control, format, unassigned or private character nor a separator,
/// the space excepted.
pub(super) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    !matches!(c.general_category_group(), Group::Other | Group::Separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_letters_and_numbers_only() {
        assert!("aZ_9éß中٣²½Ⅷ㊀".chars().all(is_word));
        assert!(!"-. \u{301}\u{203F}€ⓐ".chars().any(is_word));
    }

    #[test]
    fn printable_characters() {
        assert!(" ~é中😀\u{301}".chars().all(is_printable));
        assert!(!"\u{7f}\n\u{a0}\u{ad}\u{200b}\u{2028}\u{e000}\u{378}\u{feff}".chars().any(is_printable));
    }
}
