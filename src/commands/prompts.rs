//! `prompts`: what the model will read, turn by turn, and whether it is what llama-server would make it read.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::{dataset, model, print};
use crate::chat::dialogue::{Dialogue, ids_sha256};
use crate::cli::PromptsArgs;
use crate::conversation::{Conversation, Dataset, json_array};
use crate::engine::llama::ModelSettings;
use crate::exit::{Classify, Exit, Failure};

/// One prompt's digests: a row of `prompts` and of the file that `--check` reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    conversation_id: String,
    turn: u32,
    prompt_sha256: String,
    prompt_bytes: usize,
    n_tokens: usize,
    tokens_sha256: String,
    ideal_new_tokens: usize,
}

/// Runs the command.
///
/// # Errors
/// Where an input is wrong; a digest that differs is exit 1, not an error.
pub fn run(args: &PromptsArgs) -> Result<Exit, Failure> {
    let data = dataset::load(&args.dataset)?;
    model::open(&args.model)?;
    let loaded = model::load(&args.model, &ModelSettings::vocabulary())?;
    let (template, held_back) = model::template(&loaded, &args.model, true)?;
    let mut dialogue = Dialogue::new(&template, &loaded, held_back, true);
    if let Some(turn) = &args.turn {
        return show(&mut dialogue, &data, turn);
    }
    match &args.check {
        Some(file) => check(&mut dialogue, &data, file),
        None => list(&mut dialogue, &data),
    }
}

/// Calls `each` with the row of every client turn, in file order.
fn rows(
    dialogue: &mut Dialogue<'_>,
    data: &Dataset,
    mut each: impl FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for conversation in &data.conversations {
        let mut bytes = 0;
        open(dialogue, conversation)?;
        for (index, turn) in conversation.turns.iter().enumerate() {
            let ideal = advance(dialogue, conversation, index)?;
            bytes += dialogue.rendered().len();
            each(Row {
                conversation_id: conversation.id.clone(),
                turn: turn.turn,
                prompt_sha256: dialogue.seal(),
                prompt_bytes: bytes,
                n_tokens: dialogue.ids().len(),
                tokens_sha256: ids_sha256(dialogue.ids()),
                ideal_new_tokens: ideal,
            })?;
            bytes -= dialogue.format().generation_prompt.len();
        }
    }
    Ok(())
}

fn open(dialogue: &mut Dialogue<'_>, conversation: &Conversation) -> Result<(), Failure> {
    dialogue
        .open(
            &json_array(&conversation.opening()),
            conversation.tools.as_ref().map(|t| t.get()),
        )
        .with_context(|| format!("conversation {:?}", conversation.id))
        .bad_input()
}

/// Renders and tokenizes the turn at `index`; its ideal new tokens.
fn advance(
    dialogue: &mut Dialogue<'_>,
    conversation: &Conversation,
    index: usize,
) -> Result<usize, Failure> {
    let appended = conversation.appended(index).map(|m| json_array(&m));
    dialogue
        .render(appended.as_deref())
        .and_then(|()| dialogue.tokenize().map(|p| p.ideal))
        .with_context(|| {
            format!(
                "conversation {:?}, turn {}",
                conversation.id, conversation.turns[index].turn
            )
        })
        .bad_input()
}

fn show(dialogue: &mut Dialogue<'_>, data: &Dataset, which: &str) -> Result<Exit, Failure> {
    let (id, turn) = which
        .rsplit_once(':')
        .and_then(|(id, turn)| Some((id, turn.parse().ok()?)))
        .ok_or_else(|| {
            anyhow!(
                "--turn {which:?}: expected CONVERSATION:TURN, e.g. {}:1",
                data.conversations[0].id
            )
        })
        .bad_input()?;
    let conversation = data
        .conversation(id)
        .ok_or_else(|| anyhow!("--turn {which:?}: the data set has no conversation {id:?}"))
        .bad_input()?;
    let index = conversation
        .index_of(turn)
        .ok_or_else(|| {
            let last = conversation.turns.last().map_or(1, |t| t.turn);
            anyhow!(
                "--turn {which:?}: no client row {turn}; client rows of {id} are 1, 3, 5, … {last}"
            )
        })
        .bad_input()?;
    open(dialogue, conversation)?;
    let mut text = String::new();
    for i in 0..=index {
        advance(dialogue, conversation, i)?;
        text.push_str(dialogue.rendered());
        if i < index {
            text.truncate(text.len() - dialogue.format().generation_prompt.len());
        }
    }
    print::stdout(&text)?;
    Ok(Exit::Pass)
}

fn list(dialogue: &mut Dialogue<'_>, data: &Dataset) -> Result<Exit, Failure> {
    rows(dialogue, data, |row| {
        let mut line = serde_json::to_string(&row).run_failed()?;
        line.push('\n');
        print::stdout(&line)
    })?;
    Ok(Exit::Pass)
}

fn check(dialogue: &mut Dialogue<'_>, data: &Dataset, file: &Path) -> Result<Exit, Failure> {
    let known = read_digests(file).bad_input()?;
    let mut known = known.into_iter();
    let (mut turns, mut prompts, mut ids) = (0usize, 0usize, 0usize);
    rows(dialogue, data, |row| {
        turns += 1;
        let Some(want) = known.next() else {
            return Ok(());
        };
        let same_place = (&row.conversation_id, row.turn) == (&want.conversation_id, want.turn);
        let same_prompt = same_place
            && (&row.prompt_sha256, row.prompt_bytes) == (&want.prompt_sha256, want.prompt_bytes);
        let same_ids = same_place
            && (&row.tokens_sha256, row.n_tokens) == (&want.tokens_sha256, want.n_tokens);
        prompts += usize::from(same_prompt);
        ids += usize::from(same_ids);
        if !same_prompt || !same_ids {
            let found = serde_json::to_string(&row).run_failed()?;
            let expected = serde_json::to_string(&want).run_failed()?;
            let _ = writeln!(
                std::io::stderr(),
                "differs: found    {found}\n         expected {expected}"
            );
        }
        Ok(())
    })?;
    let left = known.count();
    print::stdout(&format!(
        "prompts equal: {prompts}/{turns}\ntoken-id lists equal: {ids}/{turns}\n"
    ))?;
    if left > 0 {
        let _ = writeln!(
            std::io::stderr(),
            "{left} more digests than turns in {}",
            file.display()
        );
    }
    Ok(if prompts == turns && ids == turns && left == 0 {
        Exit::Pass
    } else {
        Exit::GateFailed
    })
}

fn read_digests(file: &Path) -> anyhow::Result<Vec<Row>> {
    let name = file.display();
    let mut reader = BufReader::new(File::open(file).with_context(|| format!("{name}"))?);
    let gzip = reader
        .fill_buf()
        .with_context(|| format!("{name}"))?
        .starts_with(&[0x1f, 0x8b]);
    let mut text = String::new();
    let read = if gzip {
        MultiGzDecoder::new(reader).read_to_string(&mut text)
    } else {
        reader.read_to_string(&mut text)
    };
    read.with_context(|| format!("{name}: not JSON lines, plain or gzip"))?;
    text.lines()
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_str(line).with_context(|| {
                format!(
                    "{name}, line {}: expected a row as `edge-agentic prompts` prints it",
                    i + 1
                )
            })
        })
        .collect()
}
