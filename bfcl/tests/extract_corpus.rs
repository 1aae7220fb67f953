//! The extractor against the reference's own results, line by line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use bfcl::extract::{extract_json, has_native_tool_calls, is_signature, output_text};
use bfcl::pyjson;
use bfcl::value::{Dict, Value};
use flate2::read::GzDecoder;

/// The corpora lie beside the repository, not in it.
fn corpus(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/bfcl")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// Every line of a gzipped JSONL file.
fn lines(path: &Path) -> impl Iterator<Item = Dict> {
    let file = File::open(path).expect("the corpus opens");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(
        |line| match pyjson::loads(&line.expect("the corpus is UTF-8")) {
            Ok(Value::Dict(dict)) => dict,
            other => panic!("a line of the corpus is no object: {other:?}"),
        },
    )
}

fn text<'a>(line: &'a Dict, key: &str) -> &'a str {
    line.get(key)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text {key:?} in {line:?}"))
}

/// What a component gives for its input: its output, or the name of the exception.
fn component(line: &Dict) -> Option<Result<Value, String>> {
    let input = line.get("in")?;
    let input_text = input.as_str().unwrap_or_default();
    let dump = |value: &Value| Value::str(pyjson::dumps(value).expect("JSON can be written"));
    Some(match text(line, "fn") {
        "extract" => match extract_json(input_text) {
            Ok(calls) => Ok(Value::str(calls.unwrap_or_else(|| "[]".into()))),
            Err(raised) => Err(raised.exception.name().to_owned()),
        },
        "native" => has_native_tool_calls(input_text)
            .map(Value::Bool)
            .map_err(|raised| raised.to_string()),
        "signature" => Ok(Value::Bool(is_signature(input_text))),
        "json" => {
            pyjson::loads(input_text)
                .map(|value| dump(&value))
                .map_err(|error| match error {
                    pyjson::LoadError::Syntax { .. } => "JSONDecodeError".to_owned(),
                    other => other.to_string(),
                })
        }
        "output_text" => {
            let part = |key| {
                input
                    .as_dict()
                    .and_then(|parts| parts.get(key))
                    .unwrap_or(&Value::None)
            };
            let parts = (part("output"), part("reasoning"), part("tool_calls"));
            output_text(parts.0, parts.1, parts.2)
                .map(Value::str)
                .map_err(|raised| raised.to_string())
        }
        _ => return None,
    })
}

#[test]
fn components_equal_the_reference() {
    let Some(path) = corpus("components_visible.jsonl.gz") else {
        return;
    };
    let mut compared = BTreeMap::new();
    let mut wrong = Vec::new();
    for (index, line) in lines(&path).enumerate() {
        let Some(found) = component(&line) else {
            continue;
        };
        *compared.entry(text(&line, "fn").to_owned()).or_insert(0) += 1;
        let expected = match line.get("exc") {
            Some(exception) => Err(exception.as_str().unwrap_or_default().to_owned()),
            None => Ok(line.get("out").cloned().unwrap_or(Value::None)),
        };
        if found != expected {
            wrong.push(format!("line {}: {line:?}\n  found {found:?}", index + 1));
        }
    }
    println!("compared {compared:?}");
    assert!(
        wrong.is_empty(),
        "{} lines differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn compare_extracted(name: &str) {
    let Some(path) = corpus(name) else { return };
    let (mut compared, mut raised, mut wrong) = (0, 0, Vec::new());
    for (index, line) in lines(&path).enumerate() {
        compared += 1;
        let expected = line.get("extracted").and_then(Value::as_str);
        let exception = match (expected, line.get("exception")) {
            (None, Some(exception)) => exception.as_str(),
            _ => None,
        };
        let found = extract_json(text(&line, "output"));
        let equal = match (&found, exception) {
            (Ok(calls), None) => Some(calls.as_deref().unwrap_or("[]")) == expected,
            (Err(error), Some(exception)) => {
                raised += 1;
                error.exception.name() == exception
            }
            _ => false,
        };
        if !equal {
            wrong.push(format!("line {}: {line:?}\n  found {found:?}", index + 1));
        }
    }
    println!("{name}: compared {compared} lines, {raised} of them raise");
    assert!(
        wrong.is_empty(),
        "{} lines differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn visible_outputs_extract_as_in_the_reference() {
    compare_extracted("visible.jsonl.gz");
}

#[test]
fn synthetic_outputs_extract_as_in_the_reference() {
    compare_extracted("synthetic_visible.jsonl.gz");
}
