//! The lines of a subset's files, validated before anything is scored.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::error::DatasetError;
use super::pins::{answer_file, data_file};
use super::{Message, Sample};
use crate::check::offered_name;
use crate::subset::Subset;
use crate::tools;
use crate::value::{Dict, Int, Value};

/// Reads a subset from the text of its data file and, where it has one, of its answer file.
///
/// Any bytes of the right form are accepted here; [`super::Dataset::open`] adds the digests.
///
/// # Errors
/// [`DatasetError::Malformed`] names file and line: JSON that does not parse, a missing or
/// duplicate id, a sample without an answer or an answer without a sample, an answer that is not
/// a list of `{name: {parameter: [values]}}`, a schema that the checker could not read.
pub fn parse_subset(
    subset: Subset,
    data: &str,
    answers: Option<&str>,
) -> Result<Vec<Sample>, DatasetError> {
    let mut answers = match (subset.has_answers(), answers) {
        (true, Some(text)) => parse_answers(subset, text)?,
        (true, None) => return Err(malformed(answer_file(subset), 0, "no answers given")),
        (false, _) => HashMap::new(),
    };
    let file = data_file(subset);
    let mut samples: Vec<Sample> = Vec::new();
    let mut ids = HashSet::new();
    for (line, text) in lines(data) {
        let at = |problem: String| malformed(&file, line, problem);
        let row = json_object(text).map_err(at)?;
        let id = id_of(&row, subset).map_err(at)?;
        if !ids.insert(id.clone()) {
            return Err(at(format!("the id {id:?} stands here a second time")));
        }
        let answer =
            match subset.has_answers() {
                true => Some(answers.remove(&id).ok_or_else(|| {
                    at(format!("{id:?} has no answer in {}", answer_file(subset)))
                })?),
                false => None,
            };
        samples.push(sample(subset, id, &row, answer).map_err(at)?);
    }
    match answers.into_iter().min_by_key(|(_, answer)| answer.line) {
        Some((id, answer)) => Err(malformed(
            answer_file(subset),
            answer.line,
            format!("{id:?} is no sample of {file}"),
        )),
        None => Ok(samples),
    }
}

/// An expected answer and where it stands.
struct Answer {
    line: usize,
    calls: Json,
}

fn parse_answers(subset: Subset, text: &str) -> Result<HashMap<String, Answer>, DatasetError> {
    let file = answer_file(subset);
    let mut answers = HashMap::new();
    for (line, text) in lines(text) {
        let at = |problem: String| malformed(&file, line, problem);
        let mut row = json_object(text).map_err(at)?;
        let id = id_of(&row, subset).map_err(at)?;
        let calls = row
            .remove("ground_truth")
            .ok_or_else(|| at("expected a key `ground_truth`".to_owned()))?;
        validate_answer(&calls).map_err(at)?;
        if answers.insert(id.clone(), Answer { line, calls }).is_some() {
            return Err(at(format!("the id {id:?} stands here a second time")));
        }
    }
    Ok(answers)
}

/// `[{name: {parameter: [allowed values]}}]`, at least one call.
fn validate_answer(calls: &Json) -> Result<(), String> {
    let calls = calls
        .as_array()
        .filter(|calls| !calls.is_empty())
        .ok_or("expected a list of at least one call as `ground_truth`")?;
    for call in calls {
        let call = call.as_object().ok_or("expected an object for each call")?;
        let mut entries = call.iter();
        let (Some((name, parameters)), None) = (entries.next(), entries.next()) else {
            return Err(format!(
                "expected one function per call, found {}",
                call.len()
            ));
        };
        let parameters = parameters
            .as_object()
            .ok_or_else(|| format!("{name:?}: expected an object of parameters"))?;
        for (parameter, allowed) in parameters {
            if !allowed.is_array() {
                return Err(format!(
                    "{name:?}, {parameter:?}: expected a list of allowed values"
                ));
            }
        }
    }
    Ok(())
}

fn sample(
    subset: Subset,
    id: String,
    row: &serde_json::Map<String, Json>,
    answer: Option<Answer>,
) -> Result<Sample, String> {
    let messages = messages(row.get("question").ok_or("expected a key `question`")?)?;
    let functions = row.get("function").ok_or("expected a key `function`")?;
    let names = function_names(functions, answer.is_some())?;
    if let Some(answer) = &answer {
        let calls = answer.calls.as_array().into_iter().flatten();
        for name in calls
            .filter_map(Json::as_object)
            .flat_map(|call| call.keys())
        {
            if !names.contains(&name.as_str()) {
                return Err(format!("the answer calls {name:?}, which is not on offer"));
            }
        }
    }
    Ok(Sample {
        id,
        subset,
        messages,
        tools: tools::convert(functions).map_err(|error| error.to_string())?,
        functions: to_python(functions),
        answer: answer.map(|answer| to_python(&answer.calls)),
    })
}

/// The turns of `question`, one after the other. A content of null becomes the empty text.
fn messages(question: &Json) -> Result<Vec<Message>, String> {
    const SHAPE: &str = "expected `question` as a list of turns of messages";
    let turns = question.as_array().ok_or(SHAPE)?;
    let mut messages = Vec::new();
    for turn in turns {
        for message in turn.as_array().ok_or(SHAPE)? {
            let role = message.get("role").and_then(Json::as_str).ok_or(SHAPE)?;
            let content = match message.get("content") {
                None | Some(Json::Null) => "",
                Some(Json::String(text)) => text,
                Some(_) => return Err(SHAPE.to_owned()),
            };
            messages.push(Message {
                role: role.to_owned(),
                content: content.to_owned(),
            });
        }
    }
    match messages.is_empty() {
        true => Err("`question` holds no message".to_owned()),
        false => Ok(messages),
    }
}

/// The names of the functions on offer. Where answers are checked, the schema must have what the
/// checker reads; two names that become one when offered would make every verdict arbitrary.
fn function_names(functions: &Json, checked: bool) -> Result<Vec<&str>, String> {
    // One irrelevance sample offers nothing at all.
    let functions = functions
        .as_array()
        .filter(|functions| !(checked && functions.is_empty()))
        .ok_or("expected a list of functions on offer")?;
    let mut names = Vec::with_capacity(functions.len());
    let mut offered = HashMap::new();
    for function in functions {
        let name = function
            .get("name")
            .and_then(Json::as_str)
            .ok_or("expected a text `name` in every function")?;
        if checked {
            let required = function.pointer("/parameters/required");
            if !required.is_some_and(Json::is_array) {
                return Err(format!("{name:?}: expected a list `parameters.required`"));
            }
        }
        if let Some(other) = offered.insert(offered_name(name), name) {
            return Err(format!(
                "the functions {other:?} and {name:?} would be offered under one name"
            ));
        }
        names.push(name);
    }
    Ok(names)
}

fn id_of(row: &serde_json::Map<String, Json>, subset: Subset) -> Result<String, String> {
    let id = row.get("id").and_then(Json::as_str);
    let id = id.ok_or("expected a text `id`")?;
    let number = id
        .strip_prefix(subset.name())
        .and_then(|rest| rest.strip_prefix('_'));
    if !number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(format!("expected an id `{subset}_<number>`, found {id:?}"));
    }
    Ok(id.to_owned())
}

fn json_object(text: &str) -> Result<serde_json::Map<String, Json>, String> {
    serde_json::from_str(text).map_err(|error| format!("expected a JSON object: {error}"))
}

/// Non-empty lines with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}

fn malformed(file: impl Into<String>, line: usize, problem: impl Into<String>) -> DatasetError {
    DatasetError::Malformed {
        file: file.into(),
        line,
        problem: problem.into(),
    }
}

/// The same value as the checker sees it. `serde_json` limits the nesting.
fn to_python(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(small), ..) => Value::Int(Int::from(small)),
            (None, Some(big), _) => Value::Int(Int::from(num_bigint::BigInt::from(big))),
            (None, None, float) => Value::Float(float.unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::str(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(to_python).collect()),
        Json::Object(entries) => Value::Dict(
            entries
                .iter()
                .map(|(key, value)| (Value::str(key.as_str()), to_python(value)))
                .collect::<Dict>(),
        ),
    }
}
