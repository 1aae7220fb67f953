//! Python's syntax as CPython 3.12 has it, read by ruff's parser.
//!
//! ruff is set to Python 3.12 and agrees with CPython on all but a few points, which are checked
//! here on top of it.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, ExprStarred, Mod, PythonVersion, UnaryOp};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::Ranged;

use super::literal::slice;
use crate::pyjson::MAX_INT_DIGITS;

/// The tree of an expression that CPython 3.12 accepts; `None` is its `SyntaxError`.
pub(super) fn parse(source: &str) -> Option<Expr> {
    let options = ParseOptions::from(Mode::Expression).with_target_version(PythonVersion::PY312);
    let parsed = parse_unchecked(source, options);
    if !parsed.errors().is_empty() || !parsed.unsupported_syntax_errors().is_empty() {
        return None;
    }
    if source.len() > MAX_INT_DIGITS && has_endless_integer(source, &parsed) {
        return None;
    }
    let Mod::Expression(expression) = parsed.into_syntax() else {
        return None;
    };
    let mut stars = Stars {
        source,
        loose: false,
    };
    if source.contains('*') && source.contains(['[', '{', '(']) {
        stars.visit_expr(&expression.body);
    }
    (!stars.loose).then_some(*expression.body)
}

/// CPython's tokenizer refuses decimal integers that are too long to convert.
fn has_endless_integer<T>(source: &str, parsed: &Parsed<T>) -> bool {
    parsed
        .tokens()
        .iter()
        .filter(|token| token.kind() == TokenKind::Int)
        .any(|token| {
            let text = slice(source, token.range());
            let decimal = !text.contains(|c: char| c.is_ascii_alphabetic());
            decimal && text.bytes().filter(u8::is_ascii_digit).count() > MAX_INT_DIGITS
        })
}

/// Looks for `[*(a) and b]`: a starred item must bind as tightly as `|`, which ruff forgets after a
/// parenthesis.
struct Stars<'a> {
    source: &'a str,
    loose: bool,
}

impl Stars<'_> {
    fn check(&mut self, items: &[Expr]) {
        let loose = |item: &Expr| match item {
            Expr::Starred(starred) => is_loose(&starred.value) && !self.is_parenthesized(starred),
            _ => false,
        };
        self.loose |= items.iter().any(loose);
    }

    /// Whether parentheses open between the star and its operand. Their own operand may begin with
    /// one, but that belongs to its range.
    fn is_parenthesized(&self, starred: &ExprStarred) -> bool {
        let between = starred.range().start().to_usize()..starred.value.range().start().to_usize();
        self.source
            .get(between)
            .is_some_and(|between| between.contains('('))
    }
}

impl<'a> Visitor<'a> for Stars<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::List(list) => self.check(&list.elts),
            Expr::Set(set) => self.check(&set.elts),
            Expr::Tuple(tuple) => self.check(&tuple.elts),
            // A subscript without parentheses takes any expression after a star.
            Expr::Subscript(subscript) => {
                if let Expr::Tuple(tuple) = &*subscript.slice
                    && !tuple.parenthesized
                {
                    self.visit_expr(&subscript.value);
                    tuple.elts.iter().for_each(|item| self.visit_expr(item));
                    return;
                }
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

/// Whether an expression binds looser than `|`.
fn is_loose(expression: &Expr) -> bool {
    match expression {
        Expr::UnaryOp(operation) => operation.op == UnaryOp::Not,
        Expr::BoolOp(_) | Expr::Compare(_) | Expr::If(_) | Expr::Lambda(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_python_3_12_is_accepted() {
        for yes in [
            "f(*(a) and b)",
            "[*(a and b)]",
            "[*(a) | b]",
            "{*a}",
            "f(a=1, a=2)",
            "f'{x!r:{y}}'",
            "(*a, b)",
            "x[*a and b]",
        ] {
            assert!(parse(yes).is_some(), "{yes}");
        }
        for no in [
            "[*(a) and b]",
            "x[(*(a) and b, c)]",
            "{*(a) < b}",
            "(*(yield) == 1,)",
            "[*a if b else c]",
            "t'x'",
            "007",
            "f(**a, *b)",
        ] {
            assert!(parse(no).is_none(), "{no}");
        }
    }
}
