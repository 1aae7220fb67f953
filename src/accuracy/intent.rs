//! The intent code a reply of a workflow conversation states: `I` and three digits.

use super::answer::Said;

/// The first `intent: I123` in the reasoning, else in the content; else the last bare `I123` in the
/// reasoning, else in the content.
pub(super) fn stated(said: &Said) -> Option<String> {
    let fields = [said.reasoning.as_str(), said.content.as_str()];
    let labelled = fields.iter().find_map(|text| labelled(text));
    labelled.or_else(|| fields.iter().find_map(|text| last_bare(text)))
}

/// The first code that follows the word `intent:`, in any case.
fn labelled(text: &str) -> Option<String> {
    const LABEL: &str = "intent:";
    let starts = text.char_indices().filter(|(at, _)| {
        text.get(*at..*at + LABEL.len())
            .is_some_and(|label| label.eq_ignore_ascii_case(LABEL))
            && !text[..*at].ends_with(is_word)
    });
    starts
        .map(|(at, _)| text[at + LABEL.len()..].trim_start())
        .find_map(|rest| code(rest, |c| c.eq_ignore_ascii_case(&'I')))
}

/// The last code that is a word of its own; its letter is upper-case.
fn last_bare(text: &str) -> Option<String> {
    let mut starts = text.rmatch_indices('I').map(|(at, _)| at);
    starts.find_map(|at| {
        let own = !text[..at].ends_with(is_word);
        own.then(|| code(&text[at..], |c| c == 'I')).flatten()
    })
}

/// The code at the start of `text`, upper-cased: a letter, three digits, and then no word character.
fn code(text: &str, letter: impl Fn(char) -> bool) -> Option<String> {
    let digits = text.strip_prefix(letter)?;
    let three = digits.get(..3)?;
    let is_code = three.bytes().all(|b| b.is_ascii_digit()) && !digits[3..].starts_with(is_word);
    is_code.then(|| format!("I{three}"))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reasoning: &str, content: &str) -> Option<String> {
        stated(&Said {
            content: content.to_owned(),
            reasoning: reasoning.to_owned(),
            calls: Vec::new(),
        })
    }

    #[test]
    fn a_labelled_code_comes_first() {
        assert_eq!(of("", "I001 then Intent:  i042."), Some("I042".to_owned()));
        assert_eq!(of("I007", "intent: I042"), Some("I042".to_owned()));
        assert_eq!(of("intent: I001", "intent: I042"), Some("I001".to_owned()));
    }

    #[test]
    fn else_the_last_bare_code() {
        assert_eq!(of("", "I001 or I002"), Some("I002".to_owned()));
        assert_eq!(of("I003", "I001"), Some("I003".to_owned()));
    }

    #[test]
    fn what_is_no_code() {
        let cases = [
            "i001", "xI001", "I0011", "I01", "I001x", "é_I001", "I00é", "I",
        ];
        for text in cases {
            assert_eq!(of("", text), None, "{text}");
        }
        // Not a label, so the bare code counts; an upper-case letter is needed for that.
        assert_eq!(of("", "myintent: I001"), Some("I001".to_owned()));
        assert_eq!(of("", "myintent: i001"), None);
    }
}
