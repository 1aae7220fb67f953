use std::fs::{self, File};
use std::path::{Path, PathBuf};

use gguf::synth::{self, Shape, Spec, Vocab};
use serde_json::{Map, Value, json};

use super::{PROBES, TokenizerCheck, check};
use crate::exit::Exit;

/// The rule that llama.cpp applies for pre-tokenizer `qwen35`.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with up to three digits in a word, as other families have it.
const THREE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// `llama_token_type`.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;

/// A tokenizer.json of the Qwen family's form.
fn tokenizer_json(vocab: &Vocab, split: &str) -> Value {
    let mut words = Map::new();
    let mut added = Vec::new();
    for (id, (text, kind)) in vocab.tokens().iter().zip(vocab.types()).enumerate() {
        // Added tokens too: those that the model's list lacks get ids of the loader's choice.
        words.insert(text.clone(), json!(id));
        if *kind != NORMAL {
            added.push(json!({
                "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": *kind == CONTROL
            }));
        }
    }
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": words, "merges": vocab.merges()}
    })
}

/// The tiny model, and a tokenizer.json beside it.
struct Pair {
    dir: tempfile::TempDir,
    model: PathBuf,
    vocab: Vocab,
}

impl Pair {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let model = dir.path().join("tiny.gguf");
        let spec = Spec::builtin(Shape::Tiny).expect("the built-in vocabulary");
        let file = File::create(&model).expect("a file");
        synth::write(&spec, file, |_, _| ()).expect("a model");
        Self {
            dir,
            model,
            vocab: spec.vocab,
        }
    }

    fn check(&self, tokenizer: &Value) -> TokenizerCheck {
        let path = self.dir.path().join("tokenizer.json");
        fs::write(&path, tokenizer.to_string()).expect("written");
        check(&self.model, &path).expect("both tokenize")
    }
}

#[test]
fn t6_08_a_vocabulary_tokenizes_like_its_own_tokenizer_json() {
    let pair = Pair::new();
    let found = pair.check(&tokenizer_json(&pair.vocab, QWEN35));
    assert_eq!(found.differences, []);
    assert!(found.equal && found.tokens > 300, "{} tokens", found.tokens);
    assert_eq!((found.probes, found.sha256.len()), (PROBES.len(), 64));
}

#[test]
fn t6_08_another_pre_tokenizer_is_found_where_it_differs() {
    let pair = Pair::new();
    let mut vocab = pair.vocab.clone();
    // A word of two digits makes the rule show; the tiny vocabulary has none.
    let (mut tokens, mut types) = (vocab.tokens().to_vec(), vocab.types().to_vec());
    tokens.push("12".to_owned());
    types.push(NORMAL);
    let mut merges = vocab.merges().to_vec();
    merges.push("1 2".to_owned());
    vocab = Vocab::new(tokens, types, merges).expect("a vocabulary");
    assert!(pair.check(&tokenizer_json(&vocab, QWEN35)).equal);

    let found = pair.check(&tokenizer_json(&vocab, THREE_DIGITS));
    assert!(!found.equal);
    let first = &found.differences[0];
    assert_eq!(
        (first.probe, first.index, first.after.as_str()),
        ("digits", 0, "")
    );
    assert_eq!(first.gguf_text.as_deref(), Some("1"));
    let merged = vocab.id("12").and_then(|id| i32::try_from(id).ok());
    assert_eq!(first.tokenizer, merged);
}

#[test]
fn t6_08_special_tokens_that_are_plain_text_are_found() {
    let pair = Pair::new();
    let mut tokenizer = tokenizer_json(&pair.vocab, QWEN35);
    tokenizer["added_tokens"] = json!([]);
    let found = pair.check(&tokenizer);
    let probes: Vec<_> = found.differences.iter().map(|d| d.probe).collect();
    assert!(probes.contains(&"special tokens"), "{probes:?}");
    assert!(!probes.contains(&"prose"), "{probes:?}");
}

#[test]
fn a_file_that_is_no_tokenizer_is_bad_input() {
    let failure = check(Path::new("unused.gguf"), Path::new("absent.json")).expect_err("no file");
    assert_eq!(failure.exit, Exit::BadInput);
    assert!(failure.to_string().contains("absent.json"), "{failure}");
}
