//! `prompts`: what the model will read, turn by turn, and whether it is what llama-server would make it read.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use bfcl::dataset::Dataset as Samples;
use bfcl::sampling::Selection;
use bfcl::subset::Subset;
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{dataset, model, print};
use crate::accuracy::conversations;
use crate::chat::dialogue::{Dialogue, ids_sha256};
use crate::cli::PromptsArgs;
use crate::conversation::{Conversation, Dataset, json_array};
use crate::engine::llama::ModelSettings;
use crate::exit::{Classify, Exit, Failure};

/// A turn's digests: a row of `prompts` and of the file that `--check` reads.
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

/// The same of a BFCL sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SampleRow {
    id: String,
    subset: Subset,
    prompt_sha256: String,
    prompt_bytes: usize,
    n_tokens: usize,
    tokens_sha256: String,
}

/// What two rows are compared by.
trait Digests: Serialize + DeserializeOwned {
    /// What the row is about.
    fn place(&self) -> (&str, u32);
    /// Digest and length of the prompt's bytes.
    fn prompt(&self) -> (&str, usize);
    /// Digest and number of its token ids.
    fn ids(&self) -> (&str, usize);
}

impl Digests for Row {
    fn place(&self) -> (&str, u32) {
        (&self.conversation_id, self.turn)
    }

    fn prompt(&self) -> (&str, usize) {
        (&self.prompt_sha256, self.prompt_bytes)
    }

    fn ids(&self) -> (&str, usize) {
        (&self.tokens_sha256, self.n_tokens)
    }
}

impl Digests for SampleRow {
    fn place(&self) -> (&str, u32) {
        (&self.id, 1)
    }

    fn prompt(&self) -> (&str, usize) {
        (&self.prompt_sha256, self.prompt_bytes)
    }

    fn ids(&self) -> (&str, usize) {
        (&self.tokens_sha256, self.n_tokens)
    }
}

/// Runs the command.
///
/// # Errors
/// Where an input is wrong; a digest that differs is exit 1, not an error.
pub fn run(args: &PromptsArgs) -> Result<Exit, Failure> {
    let source = Source::load(args)?;
    model::open(&args.model)?;
    let loaded = model::load(&args.model, &ModelSettings::vocabulary())?;
    let (template, held_back) = model::template(&loaded, &args.model, true, false)?;
    match &source {
        Source::Samples(samples) => {
            // Samples share nothing, so there is nothing to render step by step.
            let mut dialogue = Dialogue::new(&template, &loaded, held_back, false);
            all(args.check.as_deref(), |each| {
                sample_rows(&mut dialogue, samples, each)
            })
        }
        Source::Conversations(data) => {
            let mut dialogue = Dialogue::new(&template, &loaded, held_back, true);
            match &args.turn {
                Some(turn) => show(&mut dialogue, data, turn),
                None => all(args.check.as_deref(), |each| {
                    rows(&mut dialogue, data, each)
                }),
            }
        }
    }
}

/// Whose prompts.
enum Source {
    Conversations(Dataset),
    Samples(Samples),
}

impl Source {
    fn load(args: &PromptsArgs) -> Result<Self, Failure> {
        match &args.data {
            Some(dir) => dataset::samples(Some(dir)).map(Self::Samples),
            None => dataset::load(&args.dataset).map(Self::Conversations),
        }
    }
}

/// Lists the rows that `produce` makes, or compares them with a file of digests.
fn all<R: Digests>(
    file: Option<&Path>,
    produce: impl FnOnce(&mut dyn FnMut(R) -> Result<(), Failure>) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let Some(file) = file else {
        produce(&mut |row| {
            let mut line = serde_json::to_string(&row).run_failed()?;
            line.push('\n');
            print::stdout(&line)
        })?;
        return Ok(Exit::Pass);
    };
    let known: Vec<R> = read_digests(file).bad_input()?;
    let mut comparison = Comparison::default();
    let mut known = known.into_iter();
    produce(&mut |row| comparison.see(&row, known.next().as_ref()))?;
    comparison.end(known.count(), file)
}

/// Calls `each` with the row of every sample of the gate, in order.
fn sample_rows(
    dialogue: &mut Dialogue<'_>,
    samples: &Samples,
    each: &mut dyn FnMut(SampleRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let gate = Selection::gate(samples);
    let asked = conversations(samples, &gate).bad_input()?;
    for (conversation, sample) in asked.conversations.iter().zip(gate.samples(samples)) {
        open(dialogue, conversation)?;
        advance(dialogue, conversation, 0)?;
        each(SampleRow {
            id: conversation.id.clone(),
            subset: sample.subset(),
            prompt_bytes: dialogue.rendered().len(),
            prompt_sha256: dialogue.seal(),
            n_tokens: dialogue.ids().len(),
            tokens_sha256: ids_sha256(dialogue.ids()),
        })?;
    }
    Ok(())
}

/// Calls `each` with the row of every client turn, in file order.
fn rows(
    dialogue: &mut Dialogue<'_>,
    data: &Dataset,
    each: &mut dyn FnMut(Row) -> Result<(), Failure>,
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

/// How many rows are as expected.
#[derive(Default)]
struct Comparison {
    rows: usize,
    prompts: usize,
    ids: usize,
}

impl Comparison {
    fn see<R: Digests>(&mut self, row: &R, want: Option<&R>) -> Result<(), Failure> {
        self.rows += 1;
        let Some(want) = want else {
            return Ok(());
        };
        let same_place = row.place() == want.place();
        let same_prompt = same_place && row.prompt() == want.prompt();
        let same_ids = same_place && row.ids() == want.ids();
        self.prompts += usize::from(same_prompt);
        self.ids += usize::from(same_ids);
        if !same_prompt || !same_ids {
            let found = serde_json::to_string(row).run_failed()?;
            let expected = serde_json::to_string(want).run_failed()?;
            let _ = writeln!(
                std::io::stderr(),
                "differs: found    {found}\n         expected {expected}"
            );
        }
        Ok(())
    }

    /// The outcome; `left` digests had no row.
    fn end(&self, left: usize, file: &Path) -> Result<Exit, Failure> {
        let Self { rows, prompts, ids } = *self;
        print::stdout(&format!(
            "prompts equal: {prompts}/{rows}\ntoken-id lists equal: {ids}/{rows}\n"
        ))?;
        if left > 0 {
            let _ = writeln!(
                std::io::stderr(),
                "{left} more digests than prompts in {}",
                file.display()
            );
        }
        Ok(if prompts == rows && ids == rows && left == 0 {
            Exit::Pass
        } else {
            Exit::GateFailed
        })
    }
}

fn read_digests<R: Digests>(file: &Path) -> anyhow::Result<Vec<R>> {
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
