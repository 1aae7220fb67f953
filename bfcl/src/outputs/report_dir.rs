//! Outputs from a report directory of the reference: `events.jsonl`, `sample_idx_map.json` and
//! `config.yaml`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Issue, Outputs, OutputsError, config};
use crate::dataset::{Dataset, Message};
use crate::extract::output_text;
use crate::pyjson;
use crate::sampling::{GATE_SAMPLES, Sampling, Selection};
use crate::value::Value;

/// The data set's name in the reference's files, up to its preset.
const DATASET_PREFIX: &str = "bfcl_v4";

/// Reads a report directory. What its `sample_idx_map.json` lists counts as issued.
pub(super) fn read(dir: &Path, dataset: &Dataset) -> Result<Outputs, OutputsError> {
    let (name, by_uuid) = issued(&dir.join("sample_idx_map.json"))?;
    let selection = selection(dir, &name, by_uuid.len(), dataset)?;
    let mut run = Run {
        issues: Vec::with_capacity(by_uuid.len()),
        by_uuid: HashMap::with_capacity(by_uuid.len()),
        duplicates: 0,
        unknown: 0,
    };
    for (uuid, index) in by_uuid {
        let sample = *selection
            .indexes()
            .get(index)
            .ok_or_else(|| OutputsError::File {
                path: dir.join("sample_idx_map.json"),
                problem: format!(
                    "sample index {index}, but the sampling of config.yaml gives {} samples",
                    selection.indexes().len()
                ),
            })?;
        run.by_uuid.insert(uuid, run.issues.len());
        run.issues.push(Issue {
            sample,
            output: None,
        });
    }
    run.read_events(dir.join("events.jsonl"), dataset)?;
    Ok(Outputs {
        issues: run.issues,
        duplicates: run.duplicates,
        unknown: run.unknown,
    })
}

fn read_text(path: &Path) -> Result<String, OutputsError> {
    fs::read_to_string(path).map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: io::Error) -> OutputsError {
    OutputsError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

/// The BFCL data set's name, and its issued samples by uuid, in the order of the file.
fn issued(path: &Path) -> Result<(String, Vec<(String, usize)>), OutputsError> {
    let file = |problem: String| OutputsError::File {
        path: path.to_owned(),
        problem,
    };
    let maps: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&read_text(path)?)
        .map_err(|error| file(format!("expected a JSON object: {error}")))?;
    let names: Vec<&String> = maps.keys().collect();
    let (name, map) = maps
        .iter()
        .find(|(name, _)| name.starts_with(DATASET_PREFIX))
        .ok_or_else(|| {
            file(format!(
                "expected a data set {DATASET_PREFIX}…, found {names:?}"
            ))
        })?;
    let map = map
        .as_object()
        .ok_or_else(|| file(format!("expected an object under {name:?}")))?;
    let entries = map.iter().map(|(uuid, index)| {
        let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
        let index = index.ok_or_else(|| file(format!("expected a sample index for {uuid:?}")))?;
        Ok((uuid.clone(), index))
    });
    Ok((name.clone(), entries.collect::<Result<_, _>>()?))
}

/// The samples that the run chose from. Without a `config.yaml`, a run of 995 is the gate's.
fn selection(
    dir: &Path,
    name: &str,
    issued: usize,
    dataset: &Dataset,
) -> Result<Selection, OutputsError> {
    let path = dir.join("config.yaml");
    let sampling = match fs::read_to_string(&path) {
        Ok(text) => {
            config::sampling(&text, name).map_err(|problem| OutputsError::File { path, problem })?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && issued == GATE_SAMPLES => {
            Sampling::gate()
        }
        Err(error) => return Err(unreadable(&path, error)),
    };
    Ok(Selection::sampled(dataset, &sampling))
}

/// The parts of an event that matter; its other fields are the reference's own business.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    event_type: Cow<'a, str>,
    #[serde(borrow, default)]
    sample_uuid: Cow<'a, str>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

struct Run {
    issues: Vec<Issue>,
    by_uuid: HashMap<String, usize>,
    duplicates: usize,
    unknown: usize,
}

impl Run {
    fn read_events(&mut self, path: PathBuf, dataset: &Dataset) -> Result<(), OutputsError> {
        let file = File::open(&path).map_err(|source| unreadable(&path, source))?;
        for (line, text) in (1..).zip(BufReader::new(file).lines()) {
            let text = text.map_err(|source| unreadable(&path, source))?;
            if text.trim().is_empty() {
                continue;
            }
            self.event(&text, dataset)
                .map_err(|problem| OutputsError::Line {
                    path: path.clone(),
                    line,
                    problem,
                })?;
        }
        Ok(())
    }

    fn event(&mut self, text: &str, dataset: &Dataset) -> Result<(), String> {
        let event: Event = serde_json::from_str(text)
            .map_err(|error| format!("expected an event as a JSON object: {error}"))?;
        // Outputs of other data sets stand in the same file and are nobody's fault.
        let Some(&at) = self.by_uuid.get(event.sample_uuid.as_ref()) else {
            return Ok(());
        };
        let issue = &mut self.issues[at];
        let data = event.data.map_or("null", RawValue::get);
        match event.event_type.as_ref() {
            "sample.issued" => check_prompt(data, issue.sample, dataset),
            "sample.complete" if issue.output.is_some() => {
                self.duplicates += 1;
                Ok(())
            }
            "sample.complete" => {
                issue.output = Some(completed_text(data)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The prompt that was sent must be the sample's, where the event has it: otherwise every verdict
/// would be about another question.
fn check_prompt(data: &str, sample: usize, dataset: &Dataset) -> Result<(), String> {
    let data: serde_json::Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
    let sent = data.get(3).filter(|messages| !messages.is_null());
    let (Some(sent), Some(sample)) = (sent, dataset.samples().get(sample)) else {
        return Ok(());
    };
    let sent: Vec<Message> = serde_json::from_value(sent.clone())
        .map_err(|error| format!("expected the messages of a prompt: {error}"))?;
    if sent != sample.messages() {
        return Err(format!(
            "the prompt sent is not that of {}; the run was made with other data",
            sample.id()
        ));
    }
    Ok(())
}

/// `["TextModelOutput", output, reasoning, tool_calls]` with trailing parts left out, an
/// `["ErrorData", type, message]`, or null.
fn completed_text(data: &str) -> Result<String, String> {
    let data = pyjson::loads(data).map_err(|error| error.to_string())?;
    if matches!(data, Value::None) {
        return Ok(String::new());
    }
    let parts = data.as_list().unwrap_or_default();
    let part = |at: usize| parts.get(at).unwrap_or(&Value::None);
    match part(0).as_str() {
        Some("TextModelOutput") => {
            output_text(part(1), part(2), part(3)).map_err(|raised| raised.to_string())
        }
        Some("ErrorData") => {
            let text = |at| part(at).as_str().unwrap_or_default();
            Ok(match text(2) {
                "" => text(1).to_owned(),
                message => format!("{}: {message}", text(1)),
            })
        }
        _ => Err("expected the data of a completed sample as a TextModelOutput".to_owned()),
    }
}
