//! The project's own vocabulary: a byte-level BPE trained on the text in `assets/`.
//!
//! Text is split by the expression that llama.cpp uses for pre-tokenizer `qwen35`, so that every
//! merge can be reached when llama.cpp tokenizes with the result.

use serde::Deserialize;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior,
    Trainer,
};

use super::plant;
use super::specials::SPECIALS;
use super::vocab::{TokenType, Vocab, VocabError};

/// Number of tokens, special ones included.
const TOKENS: usize = 2048;

/// English, a manual, source code, and shell sessions with tool schemas.
const TEXTS: [&str; 4] = [
    include_str!("../../assets/prose.txt"),
    include_str!("../../assets/manual.txt"),
    include_str!("../../assets/code.txt"),
    include_str!("../../assets/sessions.txt"),
];

/// How llama.cpp splits text for pre-tokenizer `qwen35` (the comment beside its own form of it).
pub(super) const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// How often each token that planting needs is counted: far more than any pair in the text, so
/// that it is merged whole.
const REQUIRED_COUNT: usize = 10_000;

/// The line feed in byte-level form.
const LINE_FEED: char = 'Ċ';

/// Train the vocabulary.
pub(super) fn train() -> Result<Vocab, VocabError> {
    let model = train_model().map_err(|error| VocabError::Train(error.to_string()))?;
    let (mut tokens, merges) = parts(&model)?;
    let normal = TokenType::Normal as i32;
    let mut types = vec![normal; tokens.len()];
    for (text, token_type) in SPECIALS {
        tokens.push(text.to_owned());
        types.push(token_type as i32);
    }
    if tokens.len() != TOKENS {
        return Err(VocabError::Train(format!(
            "the texts give {} tokens, expected {TOKENS}; add text to gguf/assets",
            tokens.len()
        )));
    }
    let vocab = Vocab::new(tokens, types, merges);
    let vocab = vocab.map_err(|fault| VocabError::Train(fault.to_string()))?;
    for token in plant::required_tokens() {
        vocab.require(token)?;
    }
    Ok(vocab)
}

fn train_model() -> tokenizers::Result<BPE> {
    let mut words = Vec::new();
    for text in TEXTS {
        words.extend(split(text)?);
    }
    let special = |token: &str| SPECIALS.iter().any(|(text, _)| *text == token);
    for token in plant::required_tokens().filter(|token| !special(token)) {
        words.extend(std::iter::repeat_n(token.to_owned(), REQUIRED_COUNT));
    }
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(TOKENS - SPECIALS.len())
        .min_frequency(2)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    trainer.feed(words.iter(), |word| Ok(vec![word.to_owned()]))?;
    let mut model = BPE::default();
    trainer.train(&mut model)?;
    Ok(model)
}

/// The words of a text in byte-level form.
fn split(text: &str) -> tokenizers::Result<Vec<String>> {
    let pattern = SplitPattern::Regex(SPLIT.to_owned());
    let splitter = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
    let mut pieces = PreTokenizedString::from(text);
    splitter.pre_tokenize(&mut pieces)?;
    ByteLevel::new(false, false, false).pre_tokenize(&mut pieces)?;
    let splits = pieces.get_splits(OffsetReferential::Normalized, OffsetType::None);
    Ok(splits
        .into_iter()
        .flat_map(|(word, ..)| without_line_end(word))
        .collect())
}

/// Punctuation apart from the line feeds behind it. As in Qwen3.6's vocabulary no token may join
/// `>` and a line feed: the planted chain goes through both.
fn without_line_end(word: &str) -> impl Iterator<Item = String> {
    let body = word.trim_end_matches(LINE_FEED);
    let at = if body.chars().all(|c| c == 'Ġ') {
        0
    } else {
        body.len()
    };
    let (body, end) = word.split_at(at);
    [body, end]
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Tokens by id, and merges as "left right".
fn parts(model: &BPE) -> Result<(Vec<String>, Vec<String>), VocabError> {
    /// The part of the model's JSON form that is needed; the crate has no accessor for merges.
    #[derive(Deserialize)]
    struct Saved {
        vocab: std::collections::BTreeMap<String, usize>,
        merges: Vec<(String, String)>,
    }
    let saved = serde_json::to_value(model).and_then(serde_json::from_value::<Saved>);
    let saved = saved.map_err(|error| VocabError::Train(error.to_string()))?;
    let mut tokens: Vec<_> = saved.vocab.into_iter().collect();
    tokens.sort_by_key(|(_, id)| *id);
    let tokens = tokens.into_iter().map(|(token, _)| token).collect();
    let merges = saved.merges.into_iter();
    Ok((tokens, merges.map(|(a, b)| format!("{a} {b}")).collect()))
}

#[cfg(test)]
mod tests;
