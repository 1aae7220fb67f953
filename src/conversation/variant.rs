//! Data sets made from a data set: salted prompts and repeated passes, as the reference makes them.

use blake2::Blake2bVar;
use blake2::digest::{Update, VariableOutput};
use thiserror::Error;

use super::dataset::{Conversation, Dataset};

/// Why a data set cannot be salted.
#[derive(Debug, Error)]
#[error(
    "conversation {id:?} has no system prompt; expected one in every conversation, since the salt is put around it"
)]
pub struct SaltError {
    /// The conversation.
    pub id: String,
}

/// The id of a conversation in a pass.
#[must_use]
pub fn instance_id(id: &str, pass: u32) -> String {
    format!("{id}{}", suffix(pass))
}

/// What a pass appends to ids: nothing in the first.
#[must_use]
pub fn suffix(pass: u32) -> String {
    if pass == 1 {
        String::new()
    } else {
        format!("__repeat_{pass}")
    }
}

/// `passes` passes over the conversations. Those of the first keep their ids, later ones are called
/// `<id>__repeat_<pass>`.
#[must_use]
pub fn repeated(data: &Dataset, passes: u32) -> Vec<(u32, Conversation)> {
    let mut out = Vec::with_capacity(data.conversations.len() * passes as usize);
    for pass in 1..=passes {
        out.extend(data.conversations.iter().map(|c| {
            let mut copy = c.clone();
            copy.id = instance_id(&c.id, pass);
            (pass, copy)
        }));
    }
    out
}

/// Puts the reference's salt around the system prompt, so that no two trajectories share a prefix:
/// `[salt: <pass>]`, the prompt, `[salt: <conversation>]`, with empty lines between; each salt is the 2-byte BLAKE2b
/// of the pass's number, or of the conversation's id in the data set, in hexadecimal.
///
/// # Errors
/// Where there is no system prompt to put it around.
pub fn salt(conversation: &mut Conversation, source_id: &str, pass: u32) -> Result<(), SaltError> {
    let Some(system) = &mut conversation.system else {
        return Err(SaltError {
            id: conversation.id.clone(),
        });
    };
    let (of_pass, of_conversation) = (
        digest(pass.to_string().as_bytes()),
        digest(source_id.as_bytes()),
    );
    *system = format!("[salt: {of_pass}]\n\n{system}\n\n[salt: {of_conversation}]");
    Ok(())
}

/// BLAKE2b with a digest of 2 bytes, hexadecimal.
fn digest(bytes: &[u8]) -> String {
    let mut hasher = Blake2bVar::new(2).expect("BLAKE2b has digests of 1 to 64 bytes");
    hasher.update(bytes);
    let mut out = [0; 2];
    hasher
        .finalize_variable(&mut out)
        .expect("the buffer has the digest's size");
    format!("{:02x}{:02x}", out[0], out[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{SAMPLE, SAMPLE_NAME, parse};

    #[test]
    fn the_salt_is_the_references() {
        // hashlib.blake2b(b"1", digest_size=2), and of the data set's first id.
        assert_eq!(digest(b"1"), "4461");
        assert_eq!(digest(b"django__django-16899"), "edc0");
        let data = parse(SAMPLE, SAMPLE_NAME).expect("the sample is valid");
        let mut conversation = data.conversations[0].clone();
        conversation.system = Some("S".to_owned());
        salt(&mut conversation, "django__django-16899", 1).expect("there is a system prompt");
        assert_eq!(
            conversation.system.as_deref(),
            Some("[salt: 4461]\n\nS\n\n[salt: edc0]")
        );
        conversation.system = None;
        assert!(salt(&mut conversation, "x", 1).is_err());
    }

    #[test]
    fn later_passes_have_ids_of_their_own() {
        let data = parse(SAMPLE, SAMPLE_NAME).expect("the sample is valid");
        let all = repeated(&data, 3);
        assert_eq!(all.len(), 3 * data.conversations.len());
        assert_eq!(all[0].1.id, data.conversations[0].id);
        let last = all.last().expect("some");
        assert_eq!(
            (last.0, last.1.id.as_str()),
            (3, &*format!("{}__repeat_3", data.conversations[1].id))
        );
    }
}
