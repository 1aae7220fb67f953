//! A byte-level BPE vocabulary: tokens, their types, merges.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::builtin;

/// Most bytes that a vocabulary file may unpack to; the real one has 11 MB.
const MAX_UNPACKED: u64 = 256 << 20;

/// Kind of a token, with llama.cpp's numbers (`llama_token_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // llama.cpp's own names
pub(super) enum TokenType {
    Normal = 1,
    Control = 3,
    UserDefined = 4,
}

/// The numbers that `llama_token_type` defines.
const TOKEN_TYPES: std::ops::RangeInclusive<i32> = 1..=6;

/// Tokens by id, with what tokenizing needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocab {
    tokens: Vec<String>,
    types: Vec<i32>,
    merges: Vec<String>,
}

/// Why a vocabulary cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VocabError {
    /// The file could not be read or unpacked.
    #[error("vocabulary {path}: cannot be read as gzip; expected a .json.gz file")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The unpacked text has another form.
    #[error(
        "vocabulary {path}: expected JSON [tokens, types, merges]: two lists of strings around a list of integers"
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// The cause, with its place.
        source: serde_json::Error,
    },
    /// The parts contradict each other.
    #[error("vocabulary {path}: {fault}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        fault: VocabFault,
    },
    /// A token that the model cannot do without.
    #[error("the vocabulary has no token `{0}`; a vocabulary of the Qwen family is needed")]
    Missing(&'static str),
    /// The built-in vocabulary could not be trained.
    #[error("training the built-in vocabulary failed: {0}")]
    Train(String),
}

/// A contradiction inside a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VocabFault {
    /// No tokens, or more than ids can number.
    #[error("{0} tokens, expected 1 to 2^31 - 1")]
    Count(usize),
    /// One type per token is needed.
    #[error("{types} token types for {tokens} tokens, expected one each")]
    Lengths {
        /// Number of tokens.
        tokens: usize,
        /// Number of types.
        types: usize,
    },
    /// A type outside llama.cpp's set.
    #[error("token {id} has type {found}, expected 1 to 6 (llama_token_type)")]
    Type {
        /// The token's id.
        id: usize,
        /// Its type.
        found: i32,
    },
    /// The same text twice.
    #[error("token {id} repeats the text `{text}` of an earlier token; tokens must differ")]
    Duplicate {
        /// The later token's id.
        id: usize,
        /// The text.
        text: String,
    },
    /// A merge that is not "left right" of two tokens that join to a third.
    #[error(
        "merge {line} is `{text}`, expected two tokens and one space between, joining to a token"
    )]
    Merge {
        /// The merge's index.
        line: usize,
        /// The merge.
        text: String,
    },
}

impl Vocab {
    /// The project's own vocabulary of 4,096 tokens, trained on the text in `assets/`.
    ///
    /// Training takes a tenth of a second and gives the same result each time.
    ///
    /// # Errors
    /// Training failed, which its tests exclude.
    pub fn builtin() -> Result<Self, VocabError> {
        builtin::train()
    }

    /// Read a gzipped JSON file `[tokens, types, merges]` and check it.
    ///
    /// # Errors
    /// The file cannot be read, has another form, or contradicts itself.
    pub fn from_json_gz(path: &Path) -> Result<Self, VocabError> {
        let read = |source| VocabError::Read {
            path: path.to_owned(),
            source,
        };
        let file = BufReader::new(File::open(path).map_err(read)?);
        let mut json = Vec::new();
        let mut unpacked = GzDecoder::new(file).take(MAX_UNPACKED);
        unpacked.read_to_end(&mut json).map_err(read)?;
        let (tokens, types, merges) =
            serde_json::from_slice(&json).map_err(|source| VocabError::Json {
                path: path.to_owned(),
                source,
            })?;
        Self::new(tokens, types, merges).map_err(|fault| VocabError::Invalid {
            path: path.to_owned(),
            fault,
        })
    }

    /// A vocabulary from its parts, checked.
    ///
    /// # Errors
    /// The parts contradict each other.
    pub fn new(
        tokens: Vec<String>,
        types: Vec<i32>,
        merges: Vec<String>,
    ) -> Result<Self, VocabFault> {
        if tokens.is_empty() || i32::try_from(tokens.len()).is_err() {
            return Err(VocabFault::Count(tokens.len()));
        }
        if tokens.len() != types.len() {
            return Err(VocabFault::Lengths {
                tokens: tokens.len(),
                types: types.len(),
            });
        }
        if let Some(id) = types.iter().position(|t| !TOKEN_TYPES.contains(t)) {
            return Err(VocabFault::Type {
                id,
                found: types[id],
            });
        }
        check_texts(&tokens, &merges)?;
        Ok(Self {
            tokens,
            types,
            merges,
        })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are no tokens (never: an empty vocabulary is refused).
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Tokens by id, in the printable form of byte-level BPE (`Ġ` is a space, `Ċ` a line feed).
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Types by id, with llama.cpp's numbers.
    pub fn types(&self) -> &[i32] {
        &self.types
    }

    /// Merges, the most frequent first, as "left right".
    pub fn merges(&self) -> &[String] {
        &self.merges
    }

    /// The id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        let id = self.tokens.iter().position(|t| t == token)?;
        u32::try_from(id).ok()
    }

    /// The id of a token that must be there.
    pub(super) fn require(&self, token: &'static str) -> Result<u32, VocabError> {
        self.id(token).ok_or(VocabError::Missing(token))
    }
}

fn check_texts(tokens: &[String], merges: &[String]) -> Result<(), VocabFault> {
    let mut known = HashSet::with_capacity(tokens.len());
    for (id, text) in tokens.iter().enumerate() {
        if !known.insert(text.as_str()) {
            let text = text.clone();
            return Err(VocabFault::Duplicate { id, text });
        }
    }
    let mut joined = String::new();
    for (line, text) in merges.iter().enumerate() {
        let sound = text.split_once(' ').is_some_and(|(left, right)| {
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            [left, right, &joined]
                .into_iter()
                .all(|t| known.contains(t))
        });
        if !sound {
            let text = text.clone();
            return Err(VocabFault::Merge { line, text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
