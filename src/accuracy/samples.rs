//! BFCL samples as conversations of one turn, and the text of a reply that is judged.

use bfcl::dataset::{Dataset as Samples, Message, Sample};
use bfcl::sampling::Selection;
use bfcl::score::verdict;
use serde_json::value::RawValue;

use crate::conversation::{Call, ClientTurn, Conversation, Dataset, Recorded, TurnInput};
use crate::record::{SCHEMA, SampleRecord, TurnRecord};

/// What cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Another list of messages than those of the single-turn subsets.
    #[error(
        "sample {id:?}: found messages of {roles}, expected one of the user, after one of the system or none"
    )]
    Messages {
        /// The sample.
        id: String,
        /// The roles, in order.
        roles: String,
    },
    /// Tools without JSON text.
    #[error("sample {id:?}: its tools have no JSON text: {source}")]
    Tools {
        /// The sample.
        id: String,
        /// Why not.
        source: serde_json::Error,
    },
}

/// The selected samples, each a conversation of one turn with the sample's tools.
///
/// # Errors
/// See [`SampleError`].
pub fn conversations(samples: &Samples, selection: &Selection) -> Result<Dataset, SampleError> {
    let conversations = selection.samples(samples).map(conversation);
    Ok(Dataset {
        sha256: selection.ids_sha256(samples),
        conversations: conversations.collect::<Result<_, _>>()?,
    })
}

fn conversation(sample: &Sample) -> Result<Conversation, SampleError> {
    let id = sample.id().to_owned();
    let roles = |messages: &[Message]| {
        let roles: Vec<&str> = messages.iter().map(|m| m.role.as_str()).collect();
        roles.join(", ")
    };
    let (system, user) = match sample.messages() {
        [user] if user.role == "user" => (None, user),
        [system, user] if system.role == "system" && user.role == "user" => {
            (Some(system.content.clone()), user)
        }
        other => {
            let roles = roles(other);
            return Err(SampleError::Messages { id, roles });
        }
    };
    let tools = serde_json::to_string(sample.tools()).and_then(RawValue::from_string);
    Ok(Conversation {
        system,
        tools: match tools {
            Ok(tools) => Some(tools),
            Err(source) => return Err(SampleError::Tools { id, source }),
        },
        turns: vec![ClientTurn {
            turn: 1,
            input: TurnInput::User(user.content.clone()),
            delay_seconds: None,
            recorded: Recorded::default(),
        }],
        id,
    })
}

/// The text of a reply that the reference judges: its calls as JSON, if there are any, else reasoning and content with
/// nothing between. `None` where the turn did not complete, or nobody could parse its reply: such a sample has no
/// output.
#[must_use]
pub fn output_text(turn: &TurnRecord) -> Option<String> {
    let content = turn
        .content
        .as_ref()
        .filter(|_| turn.state.is_completed())?;
    if turn.tool_calls.is_empty() {
        let reasoning = turn.reasoning_content.as_deref().unwrap_or_default();
        return Some(format!("{reasoning}{content}"));
    }
    let calls = turn.tool_calls.iter();
    let calls: Vec<Call<'_>> = calls
        .map(|call| Call::new(None, &call.name, &call.arguments))
        .collect();
    Some(serde_json::to_string(&calls).expect("names and texts are JSON"))
}

/// Judges a turn that asked `sample`.
#[must_use]
pub fn judged(sample: &Sample, turn: TurnRecord) -> SampleRecord {
    let output = output_text(&turn);
    let verdict = verdict(sample, output.as_deref());
    SampleRecord {
        schema: SCHEMA,
        id: verdict.id,
        subset: verdict.subset,
        output,
        score: verdict.score,
        error_type: verdict.error_type,
        reason: verdict.reason,
        turn,
    }
}
