//! `ast.literal_eval`: the values of literals.

use ruff_python_ast::{
    Expr, ExprBinOp, ExprCall, ExprDict, ExprUnaryOp, Number, Operator, UnaryOp,
};
use ruff_text_size::{Ranged, TextRange};

use super::surrogate;
use crate::raised::{Exception, Raised};
use crate::value::{Dict, Int, PyStr, Value};

/// Why an expression has no literal value.
#[derive(Debug)]
pub(super) enum Literal {
    /// Not a literal: `ValueError`, which the reference handles.
    Malformed,
    /// Any other exception, which it does not.
    Raises(Raised),
}

/// The value of a literal expression. Its depth is bounded by the brackets in the source.
pub(super) fn evaluate(expression: &Expr, source: &str) -> Result<Value, Literal> {
    let all = |items: &[Expr]| {
        items
            .iter()
            .map(|item| evaluate(item, source))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match expression {
        Expr::NoneLiteral(_) => Value::None,
        Expr::BooleanLiteral(b) => Value::Bool(b.value),
        Expr::EllipsisLiteral(_) => Value::Ellipsis,
        Expr::NumberLiteral(n) => number(&n.value)?,
        Expr::StringLiteral(s) => {
            Value::Str(string_points(s, source).into_iter().collect::<PyStr>())
        }
        Expr::BytesLiteral(b) => Value::Bytes(b.value.bytes().collect()),
        Expr::List(list) => Value::List(all(&list.elts)?),
        Expr::Tuple(tuple) => Value::Tuple(all(&tuple.elts)?),
        Expr::Set(set) => {
            let mut items = Vec::new();
            for item in &set.elts {
                // Python hashes each item before it evaluates the next.
                items.push(hashable(evaluate(item, source)?)?);
            }
            Value::Set(items)
        }
        Expr::Dict(dict) => dictionary(dict, source)?,
        Expr::Call(call) if is_empty_set(call) => Value::Set(Vec::new()),
        Expr::UnaryOp(operation) => signed_number(operation)?,
        Expr::BinOp(operation) => complex_sum(operation)?,
        _ => return Err(Literal::Malformed),
    })
}

fn dictionary(dict: &ExprDict, source: &str) -> Result<Value, Literal> {
    let mut entries = Dict::new();
    for item in &dict.items {
        let key = item.key.as_ref().ok_or(Literal::Malformed)?;
        let key = evaluate(key, source)?;
        let value = evaluate(&item.value, source)?;
        entries.insert(hashable(key)?, value);
    }
    Ok(Value::Dict(entries))
}

fn hashable(value: Value) -> Result<Value, Literal> {
    if value.is_hashable() {
        return Ok(value);
    }
    let detail = format!(
        "ast.literal_eval: unhashable type: '{}'",
        value.py_type().name()
    );
    Err(Literal::Raises(Raised::new(Exception::TypeError, detail)))
}

/// `set()`, the one call that is a literal.
fn is_empty_set(call: &ExprCall) -> bool {
    let named_set = matches!(&*call.func, Expr::Name(name) if name.id == "set");
    named_set && call.arguments.args.is_empty() && call.arguments.keywords.is_empty()
}

/// A number without a sign; `True` and `False` are none here.
fn unsigned_number(expression: &Expr) -> Result<Value, Literal> {
    match expression {
        Expr::NumberLiteral(n) => number(&n.value),
        _ => Err(Literal::Malformed),
    }
}

/// One sign and a number.
fn signed_number(operation: &ExprUnaryOp) -> Result<Value, Literal> {
    let value = match operation.op {
        UnaryOp::UAdd | UnaryOp::USub => unsigned_number(&operation.operand)?,
        UnaryOp::Not | UnaryOp::Invert => return Err(Literal::Malformed),
    };
    Ok(match (operation.op, value) {
        (UnaryOp::USub, Value::Int(i)) => Value::Int(-&i),
        (UnaryOp::USub, Value::Float(f)) => Value::Float(-f),
        (UnaryOp::USub, Value::Complex(re, im)) => Value::Complex(-re, -im),
        (_, value) => value,
    })
}

/// A real number plus or minus an imaginary one.
fn complex_sum(operation: &ExprBinOp) -> Result<Value, Literal> {
    let sign = match operation.op {
        Operator::Add => 1.0,
        Operator::Sub => -1.0,
        _ => return Err(Literal::Malformed),
    };
    let left = match &*operation.left {
        Expr::UnaryOp(left) => signed_number(left)?,
        left => unsigned_number(left)?,
    };
    let (left, imaginary) = match (left, unsigned_number(&operation.right)?) {
        (Value::Int(left), Value::Complex(_, im)) => {
            let overflow = || {
                let detail = "ast.literal_eval: int too large to convert to float";
                Literal::Raises(Raised::new(Exception::OverflowError, detail))
            };
            (left.to_f64().ok_or_else(overflow)?, im)
        }
        (Value::Float(left), Value::Complex(_, im)) => (left, im),
        _ => return Err(Literal::Malformed),
    };
    Ok(Value::Complex(left, sign * imaginary))
}

/// The value of a number token.
pub(super) fn number(number: &Number) -> Result<Value, Literal> {
    Ok(match number {
        Number::Int(int) => Value::Int(integer(int).ok_or(Literal::Malformed)?),
        Number::Float(f) => Value::Float(*f),
        Number::Complex { real, imag } => Value::Complex(*real, *imag),
    })
}

/// The parser keeps what exceeds 64 bits as it stands in the source, with its prefix.
fn integer(int: &ruff_python_ast::Int) -> Option<Int> {
    if let Some(small) = int.as_i64() {
        return Some(small.into());
    }
    let text = int.to_string().replace('_', "").to_ascii_lowercase();
    let digits = text.strip_prefix('0').unwrap_or(&text);
    match digits.split_at_checked(1) {
        Some(("x", hex)) => Int::parse_radix(hex, 16),
        Some(("o", octal)) => Int::parse_radix(octal, 8),
        Some(("b", binary)) => Int::parse_radix(binary, 2),
        _ => Int::parse_radix(&text, 10),
    }
}

/// The code points of a string literal, of all its adjacent parts together.
pub(super) fn string_points(
    literal: &ruff_python_ast::ExprStringLiteral,
    source: &str,
) -> Vec<u32> {
    let parts = literal.value.iter();
    parts.flat_map(|part| part_points(part, source)).collect()
}

/// The code points of one part.
pub(super) fn part_points(part: &ruff_python_ast::StringLiteral, source: &str) -> Vec<u32> {
    let is_raw = part.flags.prefix().is_raw();
    surrogate::code_points(&part.value, slice(source, part.range()), is_raw)
}

/// The source of a node.
pub(super) fn slice(source: &str, range: TextRange) -> &str {
    source
        .get(range.start().to_usize()..range.end().to_usize())
        .unwrap_or_default()
}
