//! The arguments of a call in text, by Python's own rules.
//!
//! The reference parses `dict(<arguments>)` with `ast.parse` and takes the value of every keyword
//! by `ast.literal_eval`, or else its source text by `ast.unparse`.

use std::borrow::Cow;

use ruff_python_ast::{Expr, Keyword};

use super::depth::{self, Nesting};
use super::literal::{Literal, evaluate};
use super::syntax;
use super::unparse::{Failure, unparse};
use crate::raised::{Exception, Raised};
use crate::value::{Dict, Value};

/// Texts up to here are parsed on the caller's stack: no nesting in them can exhaust it.
const SHORT: usize = 1_000;

/// Room for syntax trees as deep as [`depth::PARSE_LIMIT`], in bytes; the pages are only touched
/// when such a tree is there.
const STACK: usize = 64 << 20;

/// The keyword arguments, or `{"_raw": text}` where Python finds no valid syntax. Positional
/// arguments and `**` are dropped; of equal keywords the last wins.
pub(super) fn parse(arguments: &str) -> Result<Dict, Raised> {
    let keywords = if arguments.len() <= SHORT {
        keywords(arguments)
    } else {
        stacker::maybe_grow(STACK / 2, STACK, || keywords(arguments))
    }?;
    Ok(keywords.unwrap_or_else(|| {
        let raw = (Value::str("_raw"), Value::str(arguments));
        Dict::from_iter([raw])
    }))
}

/// `None` stands for a syntax error.
fn keywords(arguments: &str) -> Result<Option<Dict>, Raised> {
    if arguments.is_empty() {
        return Ok(Some(Dict::new()));
    }
    if arguments.contains('\0') {
        return Ok(None);
    }
    let source = format!("dict({})", with_unix_newlines(arguments));
    let too_deep = || {
        Raised::new(
            Exception::RecursionError,
            "ast.parse: arguments nested too deeply",
        )
    };
    let nesting = depth::nesting(&source);
    match nesting {
        Nesting::Shallow | Nesting::Deep => {}
        Nesting::TooManyBrackets => return Ok(None),
        Nesting::Bottomless => return Err(too_deep()),
    }
    let Some(tree) = syntax::parse(&source) else {
        return Ok(None);
    };
    if nesting == Nesting::Deep {
        return Err(too_deep());
    }
    match tree {
        Expr::Call(call) => evaluate_keywords(&source, &call.arguments.keywords),
        // Quotes that the two scanners see differently can turn the text into another expression.
        _ => Ok(Some(Dict::new())),
    }
}

/// CPython turns all line ends into `\n` before anything else.
fn with_unix_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}

fn evaluate_keywords(source: &str, keywords: &[Keyword]) -> Result<Option<Dict>, Raised> {
    let mut dict = Dict::new();
    for keyword in keywords {
        let Some(name) = &keyword.arg else { continue };
        let value = match evaluate(&keyword.value, source) {
            Ok(value) => value,
            Err(Literal::Raises(raised)) => return Err(raised),
            Err(Literal::Malformed) => match unparse(&keyword.value, source) {
                Ok(text) => Value::str(text),
                // The reference catches a `ValueError` here together with the syntax errors.
                Err(Failure::IntTooLong | Failure::Syntax) => return Ok(None),
                Err(Failure::TooDeep) => {
                    return Err(Raised::new(
                        Exception::RecursionError,
                        format!(
                            "ast.unparse: argument {:?} is nested too deeply",
                            name.as_str()
                        ),
                    ));
                }
            },
        };
        dict.insert(Value::str(name.as_str()), value);
    }
    Ok(Some(dict))
}
