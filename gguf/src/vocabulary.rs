//! The vocabulary in a header: tokens by id, and whether markers are single tokens.

use crate::file::Gguf;
use crate::metadata::MetadataError;
use crate::value::{Array, Strings};

/// Kinds of token (`llama_token_type`) that the tokenizer finds whole in a text.
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

/// The tokens of a model, as its header lists them.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    tokens: &'a Strings,
    /// Empty when the file has no types.
    types: &'a [i32],
    pre: Option<&'a str>,
}

/// Markers that the tokenizer would split into pieces, so that neither template nor grammar work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "markers that are not exactly one special token each: {}; the vocabulary was converted without \
     its added tokens: convert the model again",
    list(problems)
)]
pub struct MarkerFault {
    /// Each marker with what is wrong.
    pub problems: Vec<(String, MarkerProblem)>,
}

/// What is wrong with a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarkerProblem {
    /// No token has this text.
    #[error("not in the vocabulary")]
    Absent,
    /// Several tokens have this text.
    #[error("in the vocabulary {0} times")]
    Repeated(usize),
    /// The token has this type, so that it is not found whole in a text.
    #[error("a token of type {0}, not control (3) or user-defined (4)")]
    NotSpecial(i32),
}

impl<'a> Vocabulary<'a> {
    /// The vocabulary of a model.
    ///
    /// # Errors
    /// When there is none, or its lists do not fit together.
    pub fn of(model: &'a Gguf) -> Result<Self, MetadataError> {
        const TOKENS: &str = "tokenizer.ggml.tokens";
        const TYPES: &str = "tokenizer.ggml.token_type";
        let metadata = model.metadata();
        let fault = |key: &str, found: String, expected| MetadataError {
            key: key.to_owned(),
            found,
            expected,
        };
        let tokens = metadata
            .strings(TOKENS)?
            .ok_or_else(|| fault(TOKENS, "nothing".to_owned(), "an array of strings"))?;
        let types: &[i32] = match metadata.array(TYPES)? {
            None => &[],
            Some(Array::I32(types)) if types.len() == tokens.len() => types,
            Some(other) => {
                let found = format!("{} x {}", other.len(), other.value_type());
                return Err(fault(TYPES, found, "one i32 per token"));
            }
        };
        Ok(Self {
            tokens,
            types,
            pre: metadata.str("tokenizer.ggml.pre")?,
        })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Name of the pre-tokenizer (`tokenizer.ggml.pre`), `qwen35` for Qwen3.6.
    pub fn pre_tokenizer(&self) -> Option<&'a str> {
        self.pre
    }

    /// The stored bytes of token `id` (byte-level vocabularies store them in their own alphabet).
    pub fn token(&self, id: u32) -> Option<&'a [u8]> {
        self.tokens.get(id as usize)
    }

    /// The type number of token `id` (`llama_token_type`); 1, normal, when the file has no types.
    pub fn token_type(&self, id: u32) -> Option<i32> {
        self.token(id)?;
        Some(self.types.get(id as usize).copied().unwrap_or(1))
    }

    /// The id of the first token with exactly this stored text.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.ids_of(text).next()
    }

    /// Ids of the markers, each of which must be exactly one control or user-defined token.
    ///
    /// # Errors
    /// With all markers that are not, and why.
    pub fn markers(&self, markers: &[&str]) -> Result<Vec<u32>, MarkerFault> {
        let mut ids = Vec::with_capacity(markers.len());
        let mut problems = Vec::new();
        for &marker in markers {
            match self.marker(marker) {
                Ok(id) => ids.push(id),
                Err(problem) => problems.push((marker.to_owned(), problem)),
            }
        }
        if problems.is_empty() {
            return Ok(ids);
        }
        Err(MarkerFault { problems })
    }

    fn marker(&self, marker: &str) -> Result<u32, MarkerProblem> {
        let mut ids = self.ids_of(marker);
        let id = ids.next().ok_or(MarkerProblem::Absent)?;
        let more = ids.count();
        if more > 0 {
            return Err(MarkerProblem::Repeated(more + 1));
        }
        match self.token_type(id) {
            Some(CONTROL | USER_DEFINED) => Ok(id),
            other => Err(MarkerProblem::NotSpecial(other.unwrap_or(0))),
        }
    }

    fn ids_of<'t>(&self, text: &'t str) -> impl Iterator<Item = u32> + use<'a, 't> {
        let tokens = self.tokens.iter().enumerate();
        // A header's size bounds the number of tokens far below 2^32.
        tokens
            .filter(move |(_, token)| *token == text.as_bytes())
            .map(|(id, _)| id as u32)
    }
}

fn list(problems: &[(String, MarkerProblem)]) -> String {
    let texts = problems
        .iter()
        .map(|(marker, problem)| format!("'{marker}' is {problem}"));
    texts.collect::<Vec<_>>().join(", ")
}
