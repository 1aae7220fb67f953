//! Outputs as JSON lines: `{id, output}` or `{id, tool_calls, content, reasoning_content}`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::{Issue, Outputs, OutputsError};
use crate::dataset::Dataset;
use crate::extract::output_text;
use crate::pyjson;
use crate::sampling::Selection;
use crate::value::{Dict, Value};

/// The keys of a reply in parts, as chat APIs name them.
const PARTS: [&str; 3] = ["tool_calls", "content", "reasoning_content"];

/// Reads a file of outputs. The samples of `selection` count as issued.
pub(super) fn read(
    path: &Path,
    dataset: &Dataset,
    selection: &Selection,
) -> Result<Outputs, OutputsError> {
    let text = fs::read_to_string(path).map_err(|source| OutputsError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    parse(&text, dataset, selection).map_err(|(line, problem)| OutputsError::Line {
        path: path.to_owned(),
        line,
        problem,
    })
}

/// The error is a line number and a problem.
fn parse(text: &str, dataset: &Dataset, selection: &Selection) -> Result<Outputs, (usize, String)> {
    let mut issues: Vec<Issue> = selection
        .indexes()
        .iter()
        .map(|&sample| Issue {
            sample,
            output: None,
        })
        .collect();
    let place: HashMap<usize, usize> = selection.indexes().iter().copied().zip(0..).collect();
    let (mut duplicates, mut unknown) = (0, 0);
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let (id, output) = row(text).map_err(|problem| (line, problem))?;
        let issued = dataset.index_of(&id).and_then(|index| place.get(&index));
        match issued.and_then(|&at| issues.get_mut(at)) {
            None => unknown += 1,
            Some(Issue {
                output: Some(_), ..
            }) => duplicates += 1,
            Some(issue) => issue.output = Some(output),
        }
    }
    Ok(Outputs {
        issues,
        duplicates,
        unknown,
    })
}

fn row(text: &str) -> Result<(String, String), String> {
    let value = pyjson::loads(text).map_err(|error| error.to_string())?;
    let row = value.as_dict().ok_or("expected a JSON object")?;
    let id = row.get("id").and_then(Value::as_str);
    let id = id.ok_or("expected a text `id`")?.to_owned();
    for (key, _) in row.iter() {
        let known = key
            .as_str()
            .is_some_and(|key| ["id", "output", "role"].contains(&key) || PARTS.contains(&key));
        if !known {
            return Err(format!(
                "unexpected key {key:?}; a row is `{{id, output}}` or `{{id, tool_calls, content, \
                 reasoning_content}}`"
            ));
        }
    }
    let output = match (
        row.get("output"),
        PARTS.iter().any(|part| row.contains_key(part)),
    ) {
        (Some(Value::Str(output)), false) => output.to_lossy().into_owned(),
        (Some(Value::None), false) => String::new(),
        (Some(_), false) => return Err("expected a text `output`".to_owned()),
        (None, true) => reply_text(row)?,
        (Some(_), true) => return Err("found both `output` and the parts of a reply".to_owned()),
        (None, false) => return Err("found neither `output` nor the parts of a reply".to_owned()),
    };
    Ok((id, output))
}

fn reply_text(row: &Dict) -> Result<String, String> {
    let part = |name: &str| row.get(name).unwrap_or(&Value::None);
    for name in ["content", "reasoning_content"] {
        if !matches!(part(name), Value::None | Value::Str(_)) {
            return Err(format!("expected `{name}` as a text or null"));
        }
    }
    if !matches!(part("tool_calls"), Value::None | Value::List(_)) {
        return Err("expected `tool_calls` as a list or null".to_owned());
    }
    output_text(
        part("content"),
        part("reasoning_content"),
        part("tool_calls"),
    )
    .map_err(|raised| raised.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(line: &str) -> Result<String, String> {
        row(line).map(|(_, output)| output)
    }

    #[test]
    fn structured_calls_hide_the_prose() {
        let line = r#"{"id":"x","content":"Sure.","reasoning_content":"think f(a=1) ","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        assert_eq!(
            output(line).as_deref(),
            Ok(r#"[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]"#)
        );
    }

    #[test]
    fn without_calls_reasoning_and_content_stand_together() {
        let line = r#"{"id":"x","content":"b","reasoning_content":"a","tool_calls":null}"#;
        assert_eq!(output(line).as_deref(), Ok("ab"));
        assert_eq!(output(r#"{"id":"x","content":null}"#).as_deref(), Ok(""));
        assert_eq!(output(r#"{"id":"x","output":null}"#).as_deref(), Ok(""));
    }

    #[test]
    fn rows_that_mean_nothing_are_refused() {
        for (line, problem) in [
            ("[]", "expected a JSON object"),
            ("{\"output\":\"x\"}", "expected a text `id`"),
            ("{\"id\":\"x\"}", "found neither"),
            ("{\"id\":\"x\",\"output\":1}", "expected a text `output`"),
            ("{\"id\":\"x\",\"tool_call\":[]}", "unexpected key"),
            (
                "{\"id\":\"x\",\"tool_calls\":{}}",
                "expected `tool_calls` as a list",
            ),
            (
                "{\"id\":\"x\",\"content\":[]}",
                "expected `content` as a text",
            ),
            (
                "{\"id\":\"x\",\"output\":\"\",\"content\":\"\"}",
                "found both",
            ),
            ("{\"id\":\"x\"", "not JSON at byte"),
        ] {
            let found = output(line).expect_err(line);
            assert!(found.contains(problem), "{line}: {found}");
        }
    }
}
