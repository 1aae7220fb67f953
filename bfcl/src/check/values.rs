//! Values: strings, lists, dictionaries and lists of dictionaries against the allowed ones.

use std::borrow::Cow;

use super::access;
use super::mismatch::{ErrorType, Mismatch};
use super::show::Show;
use crate::pytext::{lower, normalize};
use crate::raised::{Exception, Raised};
use crate::value::{PyStr, Value};

/// The outcome of a comparison; the outer error is the reference's exception.
pub(super) type Checked = Result<Result<(), Mismatch>, Raised>;

fn wrong(error_type: ErrorType, reason: String) -> Checked {
    Ok(Err(Mismatch::new(error_type, reason)))
}

fn not_allowed(error_type: ErrorType, name: &Value, value: &Value, allowed: &Value) -> Checked {
    wrong(
        error_type,
        format!(
            "parameter {}: {} is not among {}",
            Show(name),
            Show(value),
            Show(allowed)
        ),
    )
}

/// A string after the checker's normalization.
fn normalized_text(text: &PyStr) -> PyStr {
    match text.as_str() {
        Some(text) => PyStr::from(normalize(text)),
        None => normalize_surrogates(text),
    }
}

/// Whether two strings are equal after normalization.
fn same_text(a: &PyStr, b: &PyStr) -> bool {
    // Most answers that are right are so letter by letter.
    a == b || normalized_text(a) == normalized_text(b)
}

/// The same for a text with lone surrogates, run by run.
fn normalize_surrogates(text: &PyStr) -> PyStr {
    let dropped = [' ', ',', '.', '/', '-', '_', '*', '^'].map(u32::from);
    let mut out: Vec<u32> = Vec::new();
    let mut run = String::new();
    let flush = |run: &mut String, out: &mut Vec<u32>| {
        out.extend(lower(run).replace('\'', "\"").chars().map(u32::from));
        run.clear();
    };
    for code in text.code_points().filter(|code| !dropped.contains(code)) {
        match char::from_u32(code) {
            Some(c) => run.push(c),
            None => {
                flush(&mut run, &mut out);
                out.push(code);
            }
        }
    }
    flush(&mut run, &mut out);
    out.into_iter().collect()
}

/// A string among the allowed strings; allowed values of other types are passed over.
pub(super) fn string(name: &Value, text: &PyStr, allowed: &Value) -> Checked {
    let candidates = access::indexed(allowed)?;
    let fits = |candidate: &Value| matches!(candidate, Value::Str(other) if same_text(text, other));
    if candidates.iter().any(fits) {
        return Ok(Ok(()));
    }
    let value = Value::Str(text.clone());
    not_allowed(ErrorType::String, name, &value, allowed)
}

/// A list among the allowed lists: same order, strings of the top level normalized. An allowed
/// text is the list of its characters, so that `""` allows the empty list.
pub(super) fn list(name: &Value, value: &Value, allowed: &Value) -> Checked {
    let items = value.as_list().unwrap_or_default();
    let mut fits = false;
    // The reference builds all candidates before it compares, so a malformed one always raises.
    for candidate in access::indexed(allowed)?.iter() {
        let candidate = access::indexed(candidate)?;
        fits |= candidate.len() == items.len()
            && items
                .iter()
                .zip(candidate.iter())
                .all(|(item, other)| same_value(item, other));
    }
    if fits {
        return Ok(Ok(()));
    }
    not_allowed(ErrorType::List, name, value, allowed)
}

/// Whether two values are equal, strings after normalization. Only the values themselves are
/// normalized, not what they hold.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => same_text(a, b),
        (a, b) => a.same_or_eq(b),
    }
}

/// A dictionary among the allowed ones. The mismatch reported is the last candidate's.
pub(super) fn dict(value: &Value, allowed: &Value) -> Checked {
    dict_among(value, &access::indexed(allowed)?)
}

fn dict_among(value: &Value, candidates: &[Value]) -> Checked {
    let mut last = Mismatch::new(
        ErrorType::Dict,
        format!("{} where no dictionary is allowed", Show(value)),
    );
    for candidate in candidates.iter().filter(|one| !access::is_empty_text(one)) {
        match dict_fits(value, candidate)? {
            Ok(()) => return Ok(Ok(())),
            Err(mismatch) => last = mismatch,
        }
    }
    Ok(Err(last))
}

/// One allowed dictionary: its keys hold lists of allowed values.
fn dict_fits(value: &Value, candidate: &Value) -> Checked {
    let mut mismatch = None;
    for (key, found) in access::dict(value)?.iter() {
        if !access::contains(candidate, key)? {
            mismatch = Some(Mismatch::new(
                ErrorType::DictKey,
                format!("unexpected dictionary key {}", Show(key)),
            ));
            break;
        }
        let allowed = access::entry(candidate, key)?;
        let fits = access::indexed(allowed)?
            .iter()
            .any(|other| same_value(found, other));
        if !fits {
            mismatch = Some(Mismatch::new(
                ErrorType::DictValue,
                format!(
                    "dictionary key {}: {} is not among {}",
                    Show(key),
                    Show(found),
                    Show(allowed)
                ),
            ));
            break;
        }
    }
    // The reference looks for missing keys even after a mismatch, and reports them instead.
    let given = access::dict(value)?;
    for (key, allowed) in access::dict(candidate)?.iter() {
        if given.get_value(key).is_none() && !access::allows_absence(allowed)? {
            return wrong(
                ErrorType::DictKey,
                format!("missing dictionary key {}", Show(key)),
            );
        }
    }
    Ok(mismatch.map_or(Ok(()), Err))
}

/// A list of dictionaries among the allowed lists: same order and number.
pub(super) fn list_of_dicts(value: &Value, allowed: &Value) -> Checked {
    let items = value.as_list().unwrap_or_default();
    let mut last = Mismatch::new(
        ErrorType::ListOfDicts,
        format!("{} where no list is allowed", Show(value)),
    );
    for candidate in access::indexed(allowed)?.iter() {
        let count = access::length(candidate)?;
        if items.len() != count {
            last = Mismatch::new(
                ErrorType::ListOfDictsCount,
                format!("{} dictionaries instead of {count}", items.len()),
            );
            continue;
        }
        match all_dicts_fit(items, candidate)? {
            Ok(()) => return Ok(Ok(())),
            Err(mismatch) => last = mismatch,
        }
    }
    Ok(Err(last))
}

fn all_dicts_fit(items: &[Value], candidate: &Value) -> Checked {
    if items.is_empty() {
        return Ok(Ok(()));
    }
    let candidates = access::indexed(candidate)?;
    for (item, candidate) in items.iter().zip(candidates.iter()) {
        if let Err(mismatch) = dict_among(item, std::slice::from_ref(candidate))? {
            return Ok(Err(mismatch));
        }
    }
    Ok(Ok(()))
}

/// Any other value among the allowed ones, without normalization.
pub(super) fn other(name: &Value, value: &Value, allowed: &Value) -> Checked {
    if access::contains(allowed, value)? {
        return Ok(Ok(()));
    }
    not_allowed(ErrorType::Other, name, value, allowed)
}

/// `float(value)` of an integer given for a float parameter.
pub(super) fn widened(value: &Value) -> Result<Cow<'_, Value>, Raised> {
    let Value::Int(int) = value else {
        return Ok(Cow::Borrowed(value));
    };
    let float = int.to_f64().map(|float| Cow::Owned(Value::Float(float)));
    float.ok_or_else(|| {
        Raised::new(
            Exception::OverflowError,
            "an integer beyond 1e308 for a float parameter",
        )
    })
}
