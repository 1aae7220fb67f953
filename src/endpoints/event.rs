//! One event of the reference's log, and `events.jsonl`.

use std::path::Path;

use serde::de::Error as _;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::EndpointsError;
use super::output::TextOutput;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventKind {
    /// The session began.
    #[serde(rename = "session.started")]
    Started,
    /// From here on, issued samples are measured.
    #[serde(rename = "session.start_performance_tracking")]
    StartTracking,
    /// Samples issued from here on are not measured.
    #[serde(rename = "session.stop_performance_tracking")]
    StopTracking,
    /// Nothing more will be issued.
    #[serde(rename = "session.stop_loadgen")]
    StopLoadgen,
    /// The session is over.
    #[serde(rename = "session.ended")]
    Ended,
    /// A sample was handed over; before the client's own work.
    #[serde(rename = "sample.issued")]
    Issued,
    /// The first content-bearing delta came.
    #[serde(rename = "sample.recv_first")]
    RecvFirst,
    /// A later delta came.
    #[serde(rename = "sample.recv_non_first")]
    RecvNonFirst,
    /// The sample ended, well or not.
    #[serde(rename = "sample.complete")]
    Complete,
    /// A sample failed; written before its `Complete`.
    #[serde(rename = "error.generic")]
    Error,
    /// The load generator failed.
    #[serde(rename = "error.loadgen")]
    ErrorLoadgen,
    /// The session failed.
    #[serde(rename = "error.session")]
    ErrorSession,
    /// The client failed.
    #[serde(rename = "error.client")]
    ErrorClient,
}

impl EventKind {
    /// Whether this is one of the `error.*` events.
    #[must_use]
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Self::Error | Self::ErrorLoadgen | Self::ErrorSession | Self::ErrorClient
        )
    }
}

/// A line of `events.jsonl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub event_type: EventKind,
    /// When, ns on the monotonic clock of the session.
    pub timestamp_ns: u64,
    /// The sample, 32 hex digits; empty for events of the session.
    #[serde(default)]
    pub sample_uuid: String,
    /// The sample's conversation; empty where there is none.
    #[serde(default)]
    pub conversation_id: String,
    /// The client row's number: 1, 3, 5, …
    #[serde(default)]
    pub turn: Option<u32>,
    /// What the event carries.
    #[serde(default)]
    pub data: Data,
    /// Why generation stopped: `stop`, `length`, `tool_calls`, …; absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The client's worker; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<u32>,
}

impl Event {
    /// An event of the session.
    #[must_use]
    pub fn session(event_type: EventKind, timestamp_ns: u64) -> Self {
        Self {
            event_type,
            timestamp_ns,
            sample_uuid: String::new(),
            conversation_id: String::new(),
            turn: None,
            data: Data::None,
            finish_reason: None,
            worker_id: None,
        }
    }
}

/// What an event carries.
#[derive(Debug, Clone, Default)]
pub enum Data {
    /// Nothing.
    #[default]
    None,
    /// The prompt, as the text of the reference's array: no figure is taken from it here.
    Prompt(Box<RawValue>),
    /// The model's output.
    Output(TextOutput),
    /// An error.
    Error {
        /// Its kind.
        kind: String,
        /// Its message.
        message: String,
    },
}

const PROMPT: &str = "PromptData";
const OUTPUT: &str = "TextModelOutput";
const ERROR: &str = "ErrorData";

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::Prompt(raw) => raw.serialize(serializer),
            Self::Output(output) => {
                let fields = output.fields();
                let mut seq = serializer.serialize_seq(Some(1 + fields))?;
                seq.serialize_element(OUTPUT)?;
                output.serialize_into(&mut seq)?;
                seq.end()
            }
            Self::Error { kind, message } => (ERROR, kind, message).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get() == "null" {
            return Ok(Self::None);
        }
        let fields: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        let tag: &str = match fields.first() {
            Some(tag) => serde_json::from_str(tag.get()).map_err(D::Error::custom)?,
            None => {
                return Err(D::Error::custom(
                    "data is an empty array, expected a tagged one",
                ));
            }
        };
        match tag {
            PROMPT => Ok(Self::Prompt(raw)),
            OUTPUT => TextOutput::from_fields(&fields[1..])
                .map(Self::Output)
                .map_err(D::Error::custom),
            ERROR => {
                let (_, kind, message): (String, String, String) =
                    serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
                Ok(Self::Error { kind, message })
            }
            other => Err(D::Error::custom(format!(
                "data tagged {other:?}, expected {PROMPT}, {OUTPUT} or {ERROR}"
            ))),
        }
    }
}

/// Reads an `events.jsonl`; `path` is used in errors only. Blank lines are passed over.
///
/// # Errors
/// [`EndpointsError::Line`] at the first line that is no event.
pub fn read_events(path: &Path, text: &str) -> Result<Vec<Event>, EndpointsError> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| EndpointsError::Line {
                path: path.to_owned(),
                line: index + 1,
                source,
            })
        })
        .collect()
}

/// Writes an `events.jsonl`: one compact object a line.
///
/// # Errors
/// [`EndpointsError::Encode`].
pub fn write_events(events: &[Event]) -> Result<Vec<u8>, EndpointsError> {
    let mut bytes = Vec::new();
    for event in events {
        serde_json::to_writer(&mut bytes, event).map_err(|source| EndpointsError::Encode {
            what: "an event",
            source,
        })?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}
