//! `ast.unparse` of CPython 3.12: the source text of an expression, in Python's own layout.
//!
//! Parentheses follow Python's table of precedences and its quirks: a generator always has its own,
//! and each further operand of `and`/`or` counts as binding tighter than the one before.

use ruff_python_ast::{
    BoolOp, Comprehension, DictItem, Expr, ExprBinOp, ExprCall, ExprCompare, ExprLambda,
    ExprSubscript, ExprUnaryOp, Number, Operator, Parameters,
};
use ruff_text_size::Ranged;

use super::literal::{number, slice, string_points};
use super::precedence::{
    self as p, bool_precedence, operator_precedence, own_precedence, unary_precedence,
};
use super::{fstring, repr};
use crate::pyjson::MAX_INT_DIGITS;
use crate::value::Value;

/// Python stack frames that one `ast.unparse` may take under the default recursion limit, measured
/// on CPython 3.12.1 from the extractor.
const MAX_FRAMES: usize = 991;

/// Why an expression cannot be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// An integer has more digits than Python prints.
    IntTooLong,
    /// `RecursionError`.
    TooDeep,
    /// A syntax error that only shows here: an escape in the source that `{x=}` repeats.
    Syntax,
}

pub(super) type Outcome = Result<(), Failure>;

/// The source text of an expression. `source` is the text that it was parsed from.
pub(super) fn unparse(expression: &Expr, source: &str) -> Result<String, Failure> {
    let mut printer = Printer {
        out: String::new(),
        source,
        frames: 0,
    };
    printer.node(expression, p::TEST, 0)?;
    Ok(printer.out)
}

pub(super) struct Printer<'a> {
    pub(super) out: String,
    pub(super) source: &'a str,
    /// Python frames below the current node.
    pub(super) frames: usize,
}

impl Printer<'_> {
    /// Prints a node where at least `precedence` is needed. `frames` is what Python's own recursion
    /// spends on the way from the parent beyond the three calls that every node takes.
    pub(super) fn node(&mut self, node: &Expr, precedence: u8, frames: usize) -> Outcome {
        const PER_NODE: usize = 3;
        let spent = PER_NODE + frames;
        self.frames += spent;
        // A leaf's text is written by one or two further calls.
        let leaf = match node {
            Expr::Name(_) | Expr::EllipsisLiteral(_) => 1,
            _ if is_constant(node) => 2,
            _ => 0,
        };
        if self.frames + leaf > MAX_FRAMES {
            return Err(Failure::TooDeep);
        }
        let outcome = match own_precedence(node) {
            Some(own) if precedence > own => {
                self.bracketed('(', ')', |printer| printer.bare(node, precedence))
            }
            _ => self.bare(node, precedence),
        };
        self.frames -= spent;
        outcome
    }

    fn bare(&mut self, node: &Expr, precedence: u8) -> Outcome {
        match node {
            Expr::NoneLiteral(_) => self.text("None"),
            Expr::BooleanLiteral(b) => self.text(if b.value { "True" } else { "False" }),
            Expr::EllipsisLiteral(_) => self.text("..."),
            Expr::NumberLiteral(n) => self.number(&n.value),
            Expr::StringLiteral(s) => {
                // Python remembers a `u` in front of the first part, but not a `U`.
                if slice(self.source, s.range()).starts_with('u') {
                    self.out.push('u');
                }
                self.text(&repr::string(&string_points(s, self.source)))
            }
            Expr::BytesLiteral(b) => self.text(&repr::bytes(&b.value.bytes().collect::<Vec<u8>>())),
            Expr::FString(f) => fstring::print(self, &f.value),
            Expr::Name(name) => self.text(&name.id),
            Expr::BoolOp(operation) => self.bool_op(operation.op, &operation.values),
            Expr::Named(named) => {
                self.node(&named.target, p::ATOM, 0)?;
                self.out.push_str(" := ");
                self.node(&named.value, p::ATOM, 0)
            }
            Expr::BinOp(operation) => self.bin_op(operation),
            Expr::UnaryOp(operation) => self.unary_op(operation),
            Expr::Lambda(lambda) => self.lambda(lambda),
            Expr::If(test) => {
                self.node(&test.body, p::OR, 0)?;
                self.out.push_str(" if ");
                self.node(&test.test, p::OR, 0)?;
                self.out.push_str(" else ");
                self.node(&test.orelse, p::TEST, 0)
            }
            Expr::Compare(comparison) => self.compare(comparison),
            Expr::Await(a) => {
                self.out.push_str("await ");
                self.node(&a.value, p::ATOM, 0)
            }
            Expr::Yield(y) => {
                self.out.push_str("yield");
                let Some(value) = &y.value else { return Ok(()) };
                self.out.push(' ');
                self.node(value, p::ATOM, 0)
            }
            Expr::YieldFrom(y) => {
                self.out.push_str("yield from ");
                self.node(&y.value, p::ATOM, 0)
            }
            Expr::Starred(starred) => {
                self.out.push('*');
                self.node(&starred.value, p::BIT_OR, 0)
            }
            _ => self.postfix_or_display(node, precedence),
        }
    }

    /// Attributes, calls, subscripts; and what stands in brackets.
    fn postfix_or_display(&mut self, node: &Expr, precedence: u8) -> Outcome {
        match node {
            Expr::Attribute(attribute) => {
                self.node(&attribute.value, p::ATOM, 0)?;
                // `3.real` is no attribute access; booleans are integers to Python here.
                if is_integer(&attribute.value) {
                    self.out.push(' ');
                }
                self.out.push('.');
                self.text(&attribute.attr)
            }
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Slice(slice) => {
                for (index, part) in [&slice.lower, &slice.upper, &slice.step]
                    .into_iter()
                    .enumerate()
                {
                    if index == 1 || index == 2 && part.is_some() {
                        self.out.push(':');
                    }
                    if let Some(part) = part {
                        self.node(part, p::TEST, 0)?;
                    }
                }
                Ok(())
            }
            Expr::List(list) => self.bracketed('[', ']', |printer| printer.items(&list.elts, 1)),
            Expr::Set(set) => self.bracketed('{', '}', |printer| printer.items(&set.elts, 1)),
            Expr::Tuple(tuple) if tuple.elts.is_empty() || precedence > p::TUPLE => {
                self.bracketed('(', ')', |printer| printer.tuple_items(&tuple.elts))
            }
            Expr::Tuple(tuple) => self.tuple_items(&tuple.elts),
            Expr::Dict(dict) => self.bracketed('{', '}', |printer| printer.dict_items(&dict.items)),
            Expr::ListComp(c) => self.comprehension('[', ']', None, &c.elt, &c.generators),
            Expr::SetComp(c) => self.comprehension('{', '}', None, &c.elt, &c.generators),
            Expr::Generator(c) => self.comprehension('(', ')', None, &c.elt, &c.generators),
            Expr::DictComp(c) => {
                self.comprehension('{', '}', c.key.as_deref(), &c.value, &c.generators)
            }
            // Template strings and shell escapes are no syntax of Python 3.12; the rest is above.
            _ => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Outcome {
        self.out.push_str(text);
        Ok(())
    }

    fn bracketed(
        &mut self,
        open: char,
        close: char,
        inside: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        self.out.push(open);
        inside(self)?;
        self.out.push(close);
        Ok(())
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }

    fn items(&mut self, items: &[Expr], frames: usize) -> Outcome {
        for (index, item) in items.iter().enumerate() {
            self.comma(index);
            self.node(item, p::TEST, frames)?;
        }
        Ok(())
    }

    fn tuple_items(&mut self, items: &[Expr]) -> Outcome {
        match items {
            [one] => {
                self.node(one, p::TEST, 1)?;
                self.text(",")
            }
            _ => self.items(items, 2),
        }
    }

    fn dict_items(&mut self, items: &[DictItem]) -> Outcome {
        for (index, item) in items.iter().enumerate() {
            self.comma(index);
            match &item.key {
                Some(key) => {
                    self.node(key, p::TEST, 3)?;
                    self.out.push_str(": ");
                    self.node(&item.value, p::TEST, 3)?;
                }
                None => {
                    self.out.push_str("**");
                    self.node(&item.value, p::BIT_OR, 2)?;
                }
            }
        }
        Ok(())
    }

    fn number(&mut self, literal: &Number) -> Outcome {
        match number(literal) {
            Ok(Value::Int(int)) if int.has_more_digits_than(MAX_INT_DIGITS) => {
                Err(Failure::IntTooLong)
            }
            Ok(Value::Int(int)) => self.text(&int.to_string()),
            Ok(Value::Complex(_, imaginary)) => self.text(&repr::imaginary(imaginary)),
            Ok(Value::Float(f)) => self.text(&repr::float(f)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn bool_op(&mut self, op: BoolOp, values: &[Expr]) -> Outcome {
        let mut precedence = bool_precedence(op);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push_str(match op {
                    BoolOp::And => " and ",
                    BoolOp::Or => " or ",
                });
            }
            precedence = p::next(precedence);
            self.node(value, precedence, 2)?;
        }
        Ok(())
    }

    fn bin_op(&mut self, operation: &ExprBinOp) -> Outcome {
        let own = operator_precedence(operation.op);
        let (left, right) = match operation.op {
            Operator::Pow => (p::next(own), own),
            _ => (own, p::next(own)),
        };
        self.node(&operation.left, left, 0)?;
        self.out.push(' ');
        self.out.push_str(operation.op.as_str());
        self.out.push(' ');
        self.node(&operation.right, right, 0)
    }

    fn unary_op(&mut self, operation: &ExprUnaryOp) -> Outcome {
        self.out.push_str(operation.op.as_str());
        let precedence = unary_precedence(operation.op);
        if precedence == p::NOT {
            self.out.push(' ');
        }
        self.node(&operation.operand, precedence, 0)
    }

    fn compare(&mut self, comparison: &ExprCompare) -> Outcome {
        let operand = p::next(p::COMPARE);
        self.node(&comparison.left, operand, 0)?;
        for (op, right) in comparison.ops.iter().zip(&comparison.comparators) {
            self.out.push(' ');
            self.out.push_str(op.as_str());
            self.out.push(' ');
            self.node(right, operand, 0)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &ExprCall) -> Outcome {
        self.node(&call.func, p::ATOM, 0)?;
        self.bracketed('(', ')', |printer| {
            let arguments = &call.arguments;
            printer.items(&arguments.args, 0)?;
            for (index, keyword) in arguments.keywords.iter().enumerate() {
                printer.comma(arguments.args.len() + index);
                match &keyword.arg {
                    Some(name) => {
                        printer.out.push_str(name);
                        printer.out.push('=');
                    }
                    None => printer.out.push_str("**"),
                }
                // The keyword is a node of its own.
                printer.node(&keyword.value, p::TEST, 3)?;
            }
            Ok(())
        })
    }

    fn subscript(&mut self, subscript: &ExprSubscript) -> Outcome {
        self.node(&subscript.value, p::ATOM, 0)?;
        self.bracketed('[', ']', |printer| match &*subscript.slice {
            Expr::Tuple(tuple) if !tuple.elts.is_empty() => printer.tuple_items(&tuple.elts),
            slice => printer.node(slice, p::TEST, 0),
        })
    }

    fn comprehension(
        &mut self,
        open: char,
        close: char,
        key: Option<&Expr>,
        element: &Expr,
        generators: &[Comprehension],
    ) -> Outcome {
        self.bracketed(open, close, |printer| {
            if let Some(key) = key {
                printer.node(key, p::TEST, 0)?;
                printer.out.push_str(": ");
            }
            printer.node(element, p::TEST, 0)?;
            for generator in generators {
                printer.out.push_str(if generator.is_async {
                    " async for "
                } else {
                    " for "
                });
                // The generator is a node of its own.
                printer.node(&generator.target, p::TUPLE, 3)?;
                printer.out.push_str(" in ");
                printer.node(&generator.iter, p::OR, 3)?;
                for condition in &generator.ifs {
                    printer.out.push_str(" if ");
                    printer.node(condition, p::OR, 3)?;
                }
            }
            Ok(())
        })
    }

    fn lambda(&mut self, lambda: &ExprLambda) -> Outcome {
        self.out.push_str("lambda");
        if let Some(parameters) = &lambda.parameters
            && !parameters.is_empty()
        {
            self.out.push(' ');
            self.parameters(parameters)?;
        }
        self.out.push_str(": ");
        self.node(&lambda.body, p::TEST, 0)
    }

    fn parameters(&mut self, parameters: &Parameters) -> Outcome {
        let mut printed = 0;
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        for parameter in positional {
            self.comma(printed);
            printed += 1;
            self.parameter(parameter)?;
            if printed == parameters.posonlyargs.len() {
                self.out.push_str(", /");
            }
        }
        if parameters.vararg.is_some() || !parameters.kwonlyargs.is_empty() {
            self.comma(printed);
            printed += 1;
            self.out.push('*');
            if let Some(rest) = &parameters.vararg {
                self.out.push_str(&rest.name);
            }
        }
        for parameter in &parameters.kwonlyargs {
            self.comma(printed);
            self.parameter(parameter)?;
        }
        if let Some(rest) = &parameters.kwarg {
            self.comma(printed);
            self.out.push_str("**");
            self.out.push_str(&rest.name);
        }
        Ok(())
    }

    /// Lambdas have no annotations.
    fn parameter(&mut self, parameter: &ruff_python_ast::ParameterWithDefault) -> Outcome {
        self.out.push_str(&parameter.parameter.name);
        if let Some(default) = &parameter.default {
            self.out.push('=');
            self.node(default, p::TEST, 3)?;
        }
        Ok(())
    }
}

fn is_constant(node: &Expr) -> bool {
    matches!(
        node,
        Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
    )
}

fn is_integer(node: &Expr) -> bool {
    match node {
        Expr::BooleanLiteral(_) => true,
        Expr::NumberLiteral(n) => matches!(n.value, Number::Int(_)),
        _ => false,
    }
}
