//! The files of `endpoints/`, as bytes.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::BFCL;
use super::config::{Setup, config_yaml, run_config};
use super::error::EndpointsError;
use super::event::{Data, Event, EventKind, write_events};
use super::output::TextOutput;
use super::report::{average, report};
use super::samples::Asked;
use super::summary::ResultSummary;
use super::text::{pretty, pretty_ascii};
use super::tokens::{Recount, TokenSources, count_tokens};
use super::track::track;
use super::turns::{Log, sample_id};
use crate::accuracy::{self, Answer, Said, Scores, split_repeat};
use crate::conversation::Dataset;
use crate::record::TurnRecord;

/// The name under which the reference files the replay.
const PERFORMANCE: &str = "performance";

#[derive(Serialize)]
struct ScoresFile<'a> {
    #[serde(flatten)]
    scores: &'a Scores,
    #[serde(skip_serializing_if = "Option::is_none")]
    load_generator: Option<&'a str>,
}

/// What the files are made from. The same input gives the same bytes.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Rows of the performance phase and the data set that it replayed.
    pub performance: Option<(&'a [TurnRecord], &'a Dataset)>,
    /// The accuracy phase.
    pub accuracy: Option<Asked<'a>>,
    /// Everything that rows do not hold.
    pub setup: &'a Setup,
    /// Counts tokens anew, where a `tokenizer.json` was given; without it the token series are empty, as the
    /// reference's are.
    pub recount: Option<&'a dyn Recount>,
}

/// The files of `endpoints/`.
#[derive(Debug, PartialEq)]
pub struct Artifacts {
    /// By path relative to it.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// The inline checker's scores, where there is a performance phase.
    pub scores: Option<Scores>,
}

/// Makes the files. A phase that the plan does not have has none.
///
/// # Errors
/// [`EndpointsError::UnknownTurn`] when the rows are of another data set, and errors of rows whose
/// times contradict each other.
pub fn files(input: &Input<'_>) -> Result<Artifacts, EndpointsError> {
    let setup = input.setup;
    let mut log = Log::new();
    if let Some((records, data)) = input.performance {
        log.turns(records, &data.sha256, &setup.continued_at, setup.finished);
    }
    if let Some(asked) = &input.accuracy {
        log.samples(asked.turns(), asked.ids_sha256);
    }
    let events = log.finish(setup.ended);
    let mut made = Vec::new();
    let mut index = Map::new();
    let mut scores = None;
    let mut entries: Vec<Value> = Vec::new();
    if let Some(asked) = &input.accuracy {
        entries.push(asked.entry(input.recount));
    }
    if let Some((records, data)) = input.performance {
        index.insert(PERFORMANCE.to_owned(), json!(sample_index(records, data)?));
        scores = Some(performance(
            &mut made,
            &mut entries,
            &events,
            input,
            (records, data),
        )?);
    }
    if let Some(asked) = &input.accuracy {
        index.insert(BFCL.to_owned(), json!(asked.index()));
    }
    let name = setup.origin.load_generator.as_deref();
    made.extend([
        (
            "accuracy/accuracy_results.json",
            accuracy_results(&entries, name)?,
        ),
        ("events.jsonl", write_events(&events)?),
        ("sample_idx_map.json", pretty("the sample index", &index)?),
        ("config.yaml", config_yaml(setup).into_bytes()),
    ]);
    Ok(Artifacts {
        files: made,
        scores,
    })
}

/// The files of the performance phase, and its entry among the accuracy results.
fn performance(
    made: &mut Vec<(&'static str, Vec<u8>)>,
    entries: &mut Vec<Value>,
    events: &[Event],
    input: &Input<'_>,
    (records, data): (&[TurnRecord], &Dataset),
) -> Result<Scores, EndpointsError> {
    let setup = input.setup;
    let tokens = count_tokens(records, &data.sha256, input.recount);
    let samples = track(events, &tokens)?;
    let origin = &setup.origin;
    let mut summary = ResultSummary::new(&samples, origin, setup.finished, run_config(setup));
    summary.token_counts = Some(TokenSources::of(input.recount.is_some()));
    let scores = accuracy::score(&accuracy::expected(data), &answers(events));
    let duration_s = samples.duration_ns as f64 / 1e9;
    entries.push(performance_entry(
        &scores,
        duration_s,
        setup.repeats,
        setup.finished,
    ));
    let file = ScoresFile {
        scores: &scores,
        load_generator: origin.load_generator.as_deref(),
    };
    made.extend([
        (
            "performance/result_summary.json",
            pretty("the summary", &summary)?,
        ),
        ("scores.json", pretty_ascii("the scores", &file)?),
        ("report.txt", report(&summary, entries).into_bytes()),
    ]);
    Ok(scores)
}

/// Sample id → number of the client turn in the data set, from 0, in the order issued.
fn sample_index(
    records: &[TurnRecord],
    data: &Dataset,
) -> Result<Map<String, Value>, EndpointsError> {
    let turns = data.conversations.iter();
    let turns = turns.flat_map(|c| c.turns.iter().map(|t| (c.id.as_str(), t.turn)));
    let places: HashMap<(&str, u32), usize> = turns.zip(0..).collect();
    let mut index = Map::new();
    for (row, record) in records.iter().enumerate() {
        let (id, turn) = (record.conversation_id.as_str(), record.turn);
        let place =
            places
                .get(&(split_repeat(id).0, turn))
                .ok_or_else(|| EndpointsError::UnknownTurn {
                    row: row + 1,
                    conversation_id: id.to_owned(),
                    turn,
                })?;
        index.insert(sample_id(&data.sha256, id, turn), json!(place));
    }
    Ok(index)
}

/// The answers in a log, ours or the reference's: every issued turn, and what was said in it.
#[must_use]
pub fn answers(events: &[Event]) -> Vec<Answer> {
    let of_turns = || {
        let turns = events.iter().filter(|e| !e.conversation_id.is_empty());
        turns.filter_map(|e| e.turn.map(|turn| (e, turn)))
    };
    let issued: HashSet<&str> = of_turns()
        .filter(|(e, _)| e.event_type == EventKind::Issued)
        .map(|(e, _)| e.sample_uuid.as_str())
        .collect();
    let known = of_turns().filter(|(e, _)| issued.contains(e.sample_uuid.as_str()));
    known
        .filter_map(|(event, turn)| {
            let said = match (event.event_type, &event.data) {
                (EventKind::Issued, _) => None,
                (EventKind::Complete, Data::Output(output)) => Some(said(output)),
                _ => return None,
            };
            Some(Answer::issued(&event.conversation_id, turn, said))
        })
        .collect()
}

fn said(output: &TextOutput) -> Said {
    Said {
        content: output.output.joined(),
        reasoning: output
            .reasoning
            .as_ref()
            .map(|r| r.joined())
            .unwrap_or_default(),
        calls: output.calls(),
    }
}

/// Seconds, rounded to milliseconds as the reference rounds durations.
pub(super) fn milliseconds(seconds: f64) -> f64 {
    format!("{seconds:.3}").parse().unwrap_or(seconds)
}

/// The replay's entry of `accuracy_results.json`.
#[must_use]
pub fn performance_entry(scores: &Scores, duration_s: f64, repeats: u32, complete: bool) -> Value {
    let total = scores.turns.issued;
    json!({
        "dataset_name": PERFORMANCE,
        "extractor": null,
        "ground_truth_column": null,
        "score": scores.score,
        "unit_samples": total / repeats.max(1) as usize,
        "num_repeats": repeats,
        "total_samples": total,
        "duration_s": milliseconds(duration_s),
        "complete": complete,
        "dataset_type": PERFORMANCE,
    })
}

/// `accuracy/accuracy_results.json` of these entries.
///
/// # Errors
/// [`EndpointsError::Encode`].
pub fn accuracy_results(
    entries: &[Value],
    load_generator: Option<&str>,
) -> Result<Vec<u8>, EndpointsError> {
    let mut results = Map::new();
    if let Some(average) = average(entries) {
        results.insert("average_accuracy".to_owned(), json!(average));
    }
    let spent: Vec<f64> = entries
        .iter()
        .filter_map(|e| e["osl_tokenize_s"].as_f64())
        .collect();
    if !spent.is_empty() {
        results.insert(
            "osl_tokenization_s".to_owned(),
            json!(spent.iter().sum::<f64>()),
        );
    }
    results.insert("accuracy_scores".to_owned(), json!(entries));
    if let Some(name) = load_generator {
        results.insert("load_generator".to_owned(), json!(name));
    }
    pretty("the accuracy results", &results)
}
