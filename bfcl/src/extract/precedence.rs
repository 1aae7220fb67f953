//! How tightly Python's expressions bind, for `ast.unparse`.

use ruff_python_ast::{BoolOp, Expr, Operator, UnaryOp};

pub(super) const NAMED: u8 = 1;
pub(super) const TUPLE: u8 = 2;
pub(super) const YIELD: u8 = 3;
pub(super) const TEST: u8 = 4;
pub(super) const OR: u8 = 5;
pub(super) const AND: u8 = 6;
pub(super) const NOT: u8 = 7;
pub(super) const COMPARE: u8 = 8;
pub(super) const BIT_OR: u8 = 9;
pub(super) const BIT_XOR: u8 = 10;
pub(super) const BIT_AND: u8 = 11;
pub(super) const SHIFT: u8 = 12;
pub(super) const ARITHMETIC: u8 = 13;
pub(super) const TERM: u8 = 14;
pub(super) const FACTOR: u8 = 15;
pub(super) const POWER: u8 = 16;
pub(super) const AWAIT: u8 = 17;
pub(super) const ATOM: u8 = 18;

/// The next tighter precedence; nothing binds tighter than an atom.
pub(super) fn next(precedence: u8) -> u8 {
    (precedence + 1).min(ATOM)
}

/// The precedence of nodes that parentheses are put around when more is needed.
pub(super) fn own_precedence(node: &Expr) -> Option<u8> {
    Some(match node {
        Expr::Named(_) => NAMED,
        Expr::Yield(_) | Expr::YieldFrom(_) => YIELD,
        Expr::If(_) | Expr::Lambda(_) => TEST,
        Expr::BoolOp(operation) => bool_precedence(operation.op),
        Expr::Compare(_) => COMPARE,
        Expr::BinOp(operation) => operator_precedence(operation.op),
        Expr::UnaryOp(operation) => unary_precedence(operation.op),
        Expr::Await(_) => AWAIT,
        _ => return None,
    })
}

pub(super) fn bool_precedence(op: BoolOp) -> u8 {
    match op {
        BoolOp::And => AND,
        BoolOp::Or => OR,
    }
}

pub(super) fn unary_precedence(op: UnaryOp) -> u8 {
    match op {
        UnaryOp::Not => NOT,
        UnaryOp::Invert | UnaryOp::UAdd | UnaryOp::USub => FACTOR,
    }
}

pub(super) fn operator_precedence(op: Operator) -> u8 {
    match op {
        Operator::Add | Operator::Sub => ARITHMETIC,
        Operator::Mult | Operator::MatMult | Operator::Div | Operator::Mod | Operator::FloorDiv => {
            TERM
        }
        Operator::Pow => POWER,
        Operator::LShift | Operator::RShift => SHIFT,
        Operator::BitOr => BIT_OR,
        Operator::BitXor => BIT_XOR,
        Operator::BitAnd => BIT_AND,
    }
}
