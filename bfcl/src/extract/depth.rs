//! How deep a source text nests, from its tokens alone.
//!
//! CPython gives up on deep sources in three ways: its tokenizer allows 200 open brackets (a syntax
//! error), its parser some 6,000 frames and its tree builder 2,992 levels (errors that end the
//! reference's pass). What is counted here is a bound: flat chains (`a and b and …`) count as if
//! they nested, and no tree is more than twice as deep. So it also keeps our own recursion within
//! its stack, and differs from CPython only on items of thousands of operators.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;
use ruff_python_parser::lexer::lex;

/// Open brackets that CPython's tokenizer accepts.
const MAX_BRACKETS: usize = 200;

/// Levels that CPython 3.12.1's tree builder accepts, measured.
const TREE_LIMIT: usize = 2_992;

/// Levels up to which a source is parsed at all, to find out whether it is a syntax error. Beyond,
/// it is taken to be too deep.
pub(super) const PARSE_LIMIT: usize = 8_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    /// Within all limits.
    Shallow,
    /// More than 200 brackets are open at once: a syntax error.
    TooManyBrackets,
    /// Too deep for a tree, if the syntax is right.
    Deep,
    /// Too deep to be looked at.
    Bottomless,
}

pub(super) fn nesting(source: &str) -> Nesting {
    let opening = source
        .bytes()
        .filter(|b| matches!(b, b'(' | b'[' | b'{'))
        .count();
    // A level takes at least one byte, and a bracket one more to close.
    if source.len() <= TREE_LIMIT && opening <= MAX_BRACKETS {
        return Nesting::Shallow;
    }
    let mut deepest = 0;
    let mut levels = Levels::default();
    let mut lexer = lex(source, Mode::Expression);
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => break,
            kind => levels.take(kind),
        }
        if levels.brackets > MAX_BRACKETS {
            return Nesting::TooManyBrackets;
        }
        deepest = deepest.max(levels.total);
    }
    match deepest {
        0..=TREE_LIMIT => Nesting::Shallow,
        _ if deepest <= PARSE_LIMIT => Nesting::Deep,
        _ => Nesting::Bottomless,
    }
}

/// What may nest at the current token: per open bracket or f-string, the operators of the current
/// item, and the lambdas, which go on past a comma.
#[derive(Default)]
struct Levels {
    open: Vec<Level>,
    current: Level,
    total: usize,
    brackets: usize,
}

#[derive(Default, Clone, Copy)]
struct Level {
    operators: usize,
    lambdas: usize,
}

impl Levels {
    fn take(&mut self, kind: TokenKind) {
        match kind {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                self.brackets += 1;
                self.push();
            }
            TokenKind::FStringStart | TokenKind::TStringStart => self.push(),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                self.brackets = self.brackets.saturating_sub(1);
                self.pop();
            }
            TokenKind::FStringEnd | TokenKind::TStringEnd => self.pop(),
            TokenKind::Comma => {
                self.total -= self.current.operators;
                self.current.operators = 0;
            }
            TokenKind::Lambda => {
                self.current.lambdas += 1;
                self.total += 1;
            }
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle
            | TokenKind::Newline
            | TokenKind::NonLogicalNewline
            | TokenKind::Comment => {}
            _ => {
                self.current.operators += 1;
                self.total += 1;
            }
        }
    }

    fn push(&mut self) {
        self.current.operators += 1;
        self.total += 1;
        self.open.push(std::mem::take(&mut self.current));
    }

    fn pop(&mut self) {
        if let Some(level) = self.open.pop() {
            self.total -= self.current.operators + self.current.lambdas;
            self.current = level;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_operators_are_told_apart() {
        let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(nesting(&nested(200)), Nesting::Shallow);
        assert_eq!(nesting(&nested(201)), Nesting::TooManyBrackets);
        assert_eq!(
            nesting(&format!("'{}'", "(".repeat(5000))),
            Nesting::Shallow
        );
        assert_eq!(
            nesting(&format!("[{}]", "-1, ".repeat(5000))),
            Nesting::Shallow
        );
        assert_eq!(nesting(&format!("{}1", "-".repeat(2992))), Nesting::Shallow);
        assert_eq!(nesting(&format!("{}1", "-".repeat(2993))), Nesting::Deep);
        assert_eq!(
            nesting(&format!("x{}", ".a".repeat(9000))),
            Nesting::Bottomless
        );
        assert_eq!(
            nesting(&format!("[{}1]", "lambda x, y: ".repeat(3000))),
            Nesting::Deep
        );
    }
}
