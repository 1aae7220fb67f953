//! `--recorded-lengths`: how many tokens each recorded reply has with this model's template and vocabulary.

use anyhow::Context;

use crate::chat::{ChatTemplate, Dialogue};
use crate::conversation::{Dataset, json_array};
use crate::engine::llama::LoadedModel;
use crate::exit::{Classify, Failure};
use crate::replay::Lengths;

/// Counts the recorded replies of all conversations. Not timed: it happens before the replay.
pub fn recorded(
    template: &ChatTemplate,
    model: &LoadedModel,
    data: &Dataset,
) -> Result<Lengths, Failure> {
    let mut dialogue = Dialogue::new(template, model, 0, false);
    let mut lengths = Lengths::new();
    for conversation in &data.conversations {
        let opening = json_array(&conversation.opening());
        let tools = conversation.tools.as_ref().map(|t| t.get());
        let counted = dialogue.open(&opening, tools).and_then(|()| {
            let replies = (0..conversation.turns.len()).filter_map(|i| conversation.reply(i));
            replies
                .map(|reply| dialogue.recorded_tokens(&reply))
                .collect::<Result<Vec<_>, _>>()
        });
        let counted = counted
            .with_context(|| format!("conversation {:?}", conversation.id))
            .bad_input()?;
        lengths.insert(conversation.id.clone(), counted);
    }
    Ok(lengths)
}
