//! Calls in prose: `name(…)` with the reference's heuristics against false alarms.

use super::Call;
use super::arguments;
use super::parens::Parens;
use crate::pytext::{is_space, is_word, strip};
use crate::raised::Raised;
use crate::value::Value;

/// Names that are never calls: statements, builtins, and words that prose puts before parentheses.
const NOT_CALLS: [&str; 35] = [
    "Example",
    "For",
    "Here",
    "Note",
    "The",
    "This",
    "assert",
    "class",
    "def",
    "dict",
    "enumerate",
    "except",
    "filter",
    "float",
    "for",
    "from",
    "if",
    "import",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "print",
    "raise",
    "range",
    "return",
    "set",
    "str",
    "try",
    "tuple",
    "type",
    "while",
    "with",
    "zip",
];

/// The calls in the text from left to right; what stands between the parentheses of one is not
/// searched for others.
pub(super) fn calls(text: &str) -> Result<Option<Vec<Call>>, Raised> {
    let mut calls = Vec::new();
    let mut parens = Parens::new(text);
    let mut consumed = 0;
    for head in Heads::new(text) {
        if head.start < consumed || NOT_CALLS.binary_search(&head.name).is_ok() {
            continue;
        }
        let Some(close) = parens.closing(head.open) else {
            continue;
        };
        consumed = close + 1;
        let inside = strip(&text[head.open + 1..close]);
        if !inside.is_empty() && is_signature(inside) {
            continue;
        }
        calls.push(Call {
            name: Value::str(head.name),
            arguments: Value::Dict(arguments::parse(inside)?),
        });
    }
    Ok((!calls.is_empty()).then_some(calls))
}

/// Whether the arguments look like a declaration's (`city`, `x, y`, `a: int`), not a call's.
pub fn is_signature(arguments: &str) -> bool {
    arguments
        .split(',')
        .map(strip)
        .filter(|part| !part.is_empty())
        .all(is_parameter)
}

/// `name` or `name: word`, white space allowed around the colon.
fn is_parameter(part: &str) -> bool {
    let (name, annotation) = match part.split_once(':') {
        Some((name, annotation)) => (name.trim_end_matches(is_space), Some(annotation)),
        None => (part, None),
    };
    let annotation = annotation.map(|a| a.trim_start_matches(is_space));
    name.starts_with(starts_name)
        && name.chars().all(is_word)
        && annotation.is_none_or(|a| !a.is_empty() && a.chars().all(is_word))
}

/// An ASCII letter or underscore: what the reference lets a name begin with.
fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// `name` and an opening parenthesis, white space between them allowed.
struct Head<'a> {
    name: &'a str,
    start: usize,
    open: usize,
}

/// The heads of calls in a text, without overlap.
struct Heads<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Heads<'a> {
    fn new(text: &'a str) -> Heads<'a> {
        Heads { text, at: 0 }
    }
}

impl<'a> Iterator for Heads<'a> {
    type Item = Head<'a>;

    fn next(&mut self) -> Option<Head<'a>> {
        loop {
            // The next word is a maximal run of word characters, so that names begin at word
            // boundaries; one that begins with a digit or a foreign letter is no name.
            let rest = &self.text[self.at..];
            let start = self.at + rest.find(is_word)?;
            let word = &self.text[start..];
            let word = &word[..word.find(|c| !is_word(c)).unwrap_or(word.len())];
            let end = start + word.len();
            let after = self.text[end..].trim_start_matches(is_space);
            self.at = end;
            if after.starts_with('(') && word.starts_with(starts_name) {
                let open = self.text.len() - after.len();
                self.at = open + 1;
                return Some(Head {
                    name: word,
                    start,
                    open,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched() {
        assert!(NOT_CALLS.is_sorted());
    }

    #[test]
    fn heads_begin_at_word_boundaries() {
        let names = |text| Heads::new(text).map(|h| h.name).collect::<Vec<_>>();
        assert_eq!(names("a.b (c(1f(éf(fé\n("), ["b", "c", "fé"]);
        assert_eq!(names("f-g(_x(h)"), ["g", "_x"]);
    }

    #[test]
    fn signatures() {
        for yes in [
            "x",
            "a, b",
            ",",
            "x,,y",
            "a: int, b :c",
            "a\u{663}",
            "None",
            "a\n, _",
        ] {
            assert!(is_signature(yes), "{yes}");
        }
        for no in [
            "a=1",
            "a: List[int]",
            "1:x",
            ":a",
            "a:b:c",
            "'a'",
            "\u{663}",
            "a b",
            "a: ",
            "éa",
        ] {
            assert!(!is_signature(no), "{no}");
        }
    }
}
