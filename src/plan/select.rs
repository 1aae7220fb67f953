//! Which conversations and turns a run replays.

use super::{PlanError, ReplayPlan, SelectedConversation};
use crate::cli::RunArgs;
use crate::conversation::{Dataset, variant};

/// Which turns are replayed, pass after pass.
pub(super) fn select(
    args: &RunArgs,
    data: &Dataset,
) -> Result<Vec<SelectedConversation>, PlanError> {
    let wanted = args
        .conversations
        .as_deref()
        .map(|c| chosen(c, data))
        .transpose()?;
    let one = data.conversations.iter().enumerate().map(|(i, c)| {
        let turns = u32::try_from(c.turns.len()).unwrap_or(u32::MAX);
        let chosen = wanted.as_ref().is_none_or(|w| w.contains(&i));
        (
            &c.id,
            turns,
            if chosen {
                args.turns.unwrap_or(turns).min(turns)
            } else {
                0
            },
        )
    });
    let passes = (1..=args.repeat).flat_map(|pass| one.clone().map(move |c| (pass, c)));
    Ok(passes
        .map(|(pass, (id, turns, selected))| SelectedConversation {
            id: variant::instance_id(id, pass),
            turns,
            selected,
        })
        .collect())
}

impl ReplayPlan {
    /// The conversations that are replayed, made from those of the data set.
    ///
    /// # Errors
    /// Where one cannot be salted.
    pub fn conversations(&self, data: &Dataset) -> Result<Dataset, PlanError> {
        let mut conversations = Vec::new();
        for (pass, mut conversation) in variant::repeated(data, self.repeat) {
            if self.salt {
                let source = conversation.id.clone();
                let source = source
                    .strip_suffix(&variant::suffix(pass))
                    .unwrap_or(&source);
                variant::salt(&mut conversation, source, pass)?;
            }
            conversations.push(conversation);
        }
        Ok(Dataset {
            sha256: data.sha256.clone(),
            conversations,
        })
    }
}

/// Indices of the conversations that `--conversations` names.
fn chosen(asked: &str, data: &Dataset) -> Result<Vec<usize>, PlanError> {
    let position = |id: &str| data.conversations.iter().position(|c| c.id == id);
    if let (Ok(n), None) = (asked.parse::<usize>(), position(asked)) {
        return if (1..=data.conversations.len()).contains(&n) {
            Ok((0..n).collect())
        } else {
            Err(PlanError::ConversationCount {
                asked: n,
                known: data.conversations.len(),
            })
        };
    }
    asked
        .split(',')
        .map(|id| {
            position(id).ok_or_else(|| PlanError::Conversation {
                asked: id.to_owned(),
                known: data.conversations.iter().map(|c| c.id.clone()).collect(),
            })
        })
        .collect()
}
