//! Whether a model file's vocabulary cuts text as a `tokenizer.json` does.
//!
//! A conversion that picks the wrong pre-tokenizer leaves every token in place and still gives other ids: the model
//! then reads text that it never saw in training. Only tokenizing shows it.

use std::path::Path;

use anyhow::anyhow;
use serde::Serialize;

use crate::chat::{Token, Vocab};
use crate::commands::{model, tokenizer};
use crate::endpoints::HfTokenizer;
use crate::engine::llama::ModelSettings;
use crate::exit::{Classify, Failure};

/// Texts on which wrong rules differ, by what they contain.
///
/// All of it is in Unicode's composed form (NFC). Tokenizers of Qwen's family compose first and llama.cpp does not,
/// so other text would differ for every model, rightly converted ones included.
pub(super) const PROBES: [(&str, &str); 12] = [
    (
        "prose",
        "The quick brown fox, it's said, jumps over 'lazy' dogs; I'LL see—won't you?",
    ),
    (
        "digits",
        "1234567890 3.14159 2026-11-30 0xFF 1,000,000 7 42 ２０２６ ٤٢",
    ),
    (
        "accents",
        "naïve café Ångström señor Übergröße façade Łódź İstanbul œuvre",
    ),
    (
        "CJK",
        "你好，世界！東京タワーは333メートル。한국어 문장입니다.",
    ),
    (
        "other scripts",
        "Привет, мир! Γειά σου שלום مرحبا हिन्दी में ภาษาไทย",
    ),
    ("emoji", "🙂 👩‍💻🏳️‍🌈 ok👍🏽!! ∑∫√ → ★"),
    (
        "code",
        "fn main() {\n    let x: Vec<u8> = vec![0x1f; 16]; // é\n\tif x[0] != y && a_b-c {}\n}\n",
    ),
    (
        "JSON",
        "{\"command\": \"ls -la /tmp\", \"n\": [1, 2.5e-3, null], \"path\": \"C:\\\\x\"}\n",
    ),
    ("CRLF", "one\r\ntwo\r\n\r\nthree\rfour\n\n\nfive"),
    (
        "spaces",
        "  two   three    four\ttab \t mixed \u{a0}hard\u{3000}wide   ",
    ),
    (
        "special tokens",
        "<|im_start|>user\nhi<|im_end|>\n<tool_call>\n</tool_call><think>\n\n</think><|endoftext|>",
    ),
    ("near specials", "<|im_start <tool_calls> |im_end|> <think"),
];

/// Whether a vocabulary tokenizes like a `tokenizer.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenizerCheck {
    /// File name.
    pub file: String,
    /// sha256 of the file.
    pub sha256: String,
    /// Whether all ids are equal.
    pub equal: bool,
    /// Probe texts.
    pub probes: usize,
    /// Tokens that llama.cpp cuts them into.
    pub tokens: usize,
    /// The first difference of every probe text that has one.
    pub differences: Vec<Difference>,
}

/// Where two lists of tokens part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What the probe text contains.
    pub probe: &'static str,
    /// Index of the token.
    pub index: usize,
    /// The text before it.
    pub after: String,
    /// llama.cpp's token; null at the end of its list.
    pub gguf: Option<Token>,
    /// Its text.
    pub gguf_text: Option<String>,
    /// The `tokenizer.json`'s token; null at the end of its list.
    pub tokenizer: Option<Token>,
}

/// Tokenizes the probe texts with both.
///
/// The caller has found no problem in the model's header: llama.cpp ends the process on some.
pub(super) fn check(model: &Path, tokenizer: &Path) -> Result<TokenizerCheck, Failure> {
    let theirs = HfTokenizer::load(tokenizer).bad_input()?;
    let file = tokenizer::identity(Some(tokenizer))?
        .ok_or_else(|| anyhow!("{}: no identity", tokenizer.display()))
        .run_failed()?;
    let ours = model::load(model, &ModelSettings::vocabulary())?;
    let mut check = TokenizerCheck {
        file: file.name,
        sha256: file.sha256,
        equal: true,
        probes: PROBES.len(),
        tokens: 0,
        differences: Vec::new(),
    };
    for (probe, text) in PROBES {
        let theirs = theirs
            .ids(text)
            .ok_or_else(|| anyhow!("{}: cannot encode {text:?}", tokenizer.display()))
            .bad_input()?;
        let here = ours.tokenize(text);
        check.tokens += here.len();
        check
            .differences
            .extend(difference(probe, &here, &theirs, &ours));
    }
    check.equal = check.differences.is_empty();
    Ok(check)
}

/// The first difference of two lists.
pub(super) fn difference(
    probe: &'static str,
    ours: &[Token],
    theirs: &[u32],
    vocab: &dyn Vocab,
) -> Option<Difference> {
    // An id beyond i32 is none of ours; -1 is no id at all.
    let theirs: Vec<Token> = theirs
        .iter()
        .map(|&id| Token::try_from(id).unwrap_or(-1))
        .collect();
    let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let (gguf, tokenizer) = (ours.get(same).copied(), theirs.get(same).copied());
    (gguf != tokenizer).then(|| Difference {
        probe,
        index: same,
        after: text(vocab, &ours[..same]),
        gguf,
        gguf_text: gguf.map(|id| text(vocab, &[id])),
        tokenizer,
    })
}

fn text(vocab: &dyn Vocab, ids: &[Token]) -> String {
    let mut bytes = Vec::new();
    for &id in ids {
        vocab.piece(id, true, &mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
