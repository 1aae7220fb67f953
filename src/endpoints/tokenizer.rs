//! A Hugging Face `tokenizer.json`.

use std::path::{Path, PathBuf};

use tokenizers::Tokenizer;

use super::tokens::Recount;

/// Why a `tokenizer.json` cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: not a usable tokenizer.json: {what}; give the file of that name from the model's own repository", path.display())]
pub struct TokenizerError {
    path: PathBuf,
    what: String,
}

/// A loaded `tokenizer.json`.
pub struct HfTokenizer {
    inner: Tokenizer,
}

impl HfTokenizer {
    /// Loads the file.
    ///
    /// # Errors
    /// [`TokenizerError`] when it cannot be read or understood.
    pub fn load(path: &Path) -> Result<Self, TokenizerError> {
        match Tokenizer::from_file(path) {
            Ok(inner) => Ok(Self { inner }),
            Err(e) => Err(TokenizerError {
                path: path.to_owned(),
                what: e.to_string(),
            }),
        }
    }

    /// Token ids of `text`, special tokens not added; `None` where it cannot be encoded.
    #[must_use]
    pub fn ids(&self, text: &str) -> Option<Vec<u32>> {
        let encoding = self.inner.encode_fast(text, false).ok()?;
        Some(encoding.get_ids().to_vec())
    }
}

impl Recount for HfTokenizer {
    fn text(&self, text: &str) -> Option<u64> {
        let encoding = self.inner.encode_fast(text, false).ok()?;
        u64::try_from(encoding.len()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = r#"{
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}
    }"#;

    #[test]
    fn text_is_counted() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("tokenizer.json");
        std::fs::write(&path, WORDS).expect("written");
        let tokenizer = HfTokenizer::load(&path).expect("sound");
        assert_eq!(tokenizer.text("a b c"), Some(3));
        assert_eq!(tokenizer.ids("b a"), Some(vec![1, 0]));
        assert_eq!(tokenizer.text(""), Some(0));
    }

    #[test]
    fn another_file_is_refused_with_its_path() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("tokenizer.json");
        for bytes in ["", "{}", "<html>"] {
            std::fs::write(&path, bytes).expect("written");
            let error = HfTokenizer::load(&path).err().expect("refused").to_string();
            assert!(error.contains("tokenizer.json: not a usable"), "{error}");
        }
        let absent = HfTokenizer::load(&dir.path().join("none")).err();
        assert!(absent.is_some());
    }
}
