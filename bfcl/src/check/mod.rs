//! The AST checker: calls of the model against the expected calls.
//!
//! Schemas and answers come from data files and may be of any shape here; where the reference's
//! Python would raise, so does this module, with the same class of exception.

mod access;
mod call;
mod mismatch;
mod show;
mod types;
mod values;

pub use call::{is_offered_as, offered_name};
pub use mismatch::{ErrorType, Mismatch};

use crate::raised::{Exception, Raised};
use crate::subset::{Rule, Subset};
use crate::value::Value;
use values::Checked;

/// One call that the model made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function's name; a text in any sane output.
    pub name: Value,
    /// The arguments; a dictionary in any sane output.
    pub arguments: Value,
}

/// Checks the calls of one sample. `functions` is the list of schemas, `answer` the list of
/// expected calls, each `{name: {parameter: [allowed values]}}`.
///
/// # Errors
/// The outer error is an exception of the reference, the inner one a wrong answer.
pub fn check(
    subset: Subset,
    functions: &Value,
    answer: &Value,
    calls: &[Call],
) -> Result<Result<(), Mismatch>, Raised> {
    if let Some(call) = calls.iter().find(|call| !call.name.is_hashable()) {
        return Err(Raised::new(
            Exception::TypeError,
            format!("a {} as the name of a call", call.name.py_type().name()),
        ));
    }
    match subset.rule() {
        Rule::Parallel => parallel(subset, functions, answer, calls),
        Rule::Multiple => multiple(subset, functions, answer, calls),
        Rule::Simple | Rule::NoCall | Rule::AnyCall => simple(subset, functions, answer, calls),
    }
}

fn wrong_count(error_type: ErrorType, found: usize, expected: usize) -> Checked {
    let reason = match found {
        0 => format!("no call found where {expected} expected"),
        _ => format!("{found} calls instead of {expected}"),
    };
    Ok(Err(Mismatch::new(error_type, reason)))
}

fn simple(subset: Subset, functions: &Value, answer: &Value, calls: &[Call]) -> Checked {
    let [only] = calls else {
        return wrong_count(ErrorType::SimpleWrongCount, calls.len(), 1);
    };
    let description = access::first(functions)?;
    let answer = access::first(answer)?;
    call::check(Some(&description), only, &answer, subset.language())
}

fn multiple(subset: Subset, functions: &Value, answer: &Value, calls: &[Call]) -> Checked {
    let expected = access::length(answer)?;
    if calls.len() != expected {
        return wrong_count(ErrorType::MultipleWrongCount, calls.len(), expected);
    }
    let answer = access::first(answer)?;
    let description = find_description(functions, &answer)?;
    let Some(call) = calls.first() else {
        return wrong_count(ErrorType::MultipleWrongCount, 0, 1);
    };
    call::check(description, call, &answer, subset.language())
}

/// Greedy matching: every expected call takes the first model call that fits and is not yet taken.
fn parallel(subset: Subset, functions: &Value, answer: &Value, calls: &[Call]) -> Checked {
    let expected = access::length(answer)?;
    if calls.len() != expected {
        return wrong_count(ErrorType::ParallelWrongCount, calls.len(), expected);
    }
    let mut taken = vec![false; calls.len()];
    for (at, answer) in access::indexed(answer)?.iter().enumerate() {
        let description = find_description(functions, answer)?;
        let mut first_mismatch = None;
        let mut fitting = None;
        for (index, candidate) in calls.iter().enumerate().filter(|&(index, _)| !taken[index]) {
            match call::check(description, candidate, answer, subset.language())? {
                Ok(()) => {
                    fitting = Some(index);
                    break;
                }
                Err(mismatch) => {
                    first_mismatch.get_or_insert(mismatch);
                }
            }
        }
        match fitting {
            Some(index) => taken[index] = true,
            None => return no_match(at, first_mismatch),
        }
    }
    Ok(Ok(()))
}

fn no_match(at: usize, closest: Option<Mismatch>) -> Checked {
    let detail = closest.map_or_else(String::new, |mismatch| {
        format!(" ({}: {})", mismatch.error_type, mismatch.reason)
    });
    Ok(Err(Mismatch::new(
        ErrorType::ParallelNoMatch,
        format!("no call fits expected call {}{detail}", at + 1),
    )))
}

/// The schema of the function that an expected call names.
fn find_description<'f>(functions: &'f Value, answer: &Value) -> Result<Option<&'f Value>, Raised> {
    let wanted = access::dict(answer)?.iter().next().map(|(name, _)| name);
    let wanted = wanted
        .ok_or_else(|| Raised::new(Exception::IndexError, "an expected call without a name"))?;
    let Value::List(functions) = functions else {
        return Ok(Some(functions));
    };
    for function in functions {
        if access::field(function, "name")?.same_or_eq(wanted) {
            return Ok(Some(function));
        }
    }
    Ok(None)
}
