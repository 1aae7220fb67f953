use tokenizers::models::bpe::{self, BPE};
use tokenizers::{Model, Token};

use super::{SPECIALS, TEXTS, TOKENS, Vocab, split, train};
use crate::synth::CHAT_TEMPLATE;
use crate::synth::plant::required_tokens;

#[test]
fn training_gives_the_same_vocabulary_each_time() {
    let vocab = train().unwrap();
    assert_eq!(vocab.len(), TOKENS);
    assert_eq!(vocab, train().unwrap());
}

#[test]
fn special_tokens_stand_at_the_end_with_their_types() {
    let vocab = train().unwrap();
    let first = TOKENS - SPECIALS.len();
    for (index, (text, token_type)) in SPECIALS.iter().enumerate() {
        assert_eq!(vocab.tokens()[first + index], *text);
        assert_eq!(vocab.types()[first + index], *token_type as i32);
    }
    assert!(vocab.types()[..first].iter().all(|&t| t == 1));
}

#[test]
fn planted_tokens_are_whole_and_line_feeds_join_nothing() {
    let vocab = train().unwrap();
    for token in required_tokens() {
        assert!(vocab.id(token).is_some(), "{token}");
    }
    let joined = |token: &&String| token.contains('Ċ') && token.chars().any(|c| !"ĊĠ".contains(c));
    assert_eq!(vocab.tokens().iter().find(joined), None);
}

/// Tokenize with the vocabulary alone, as llama.cpp does.
fn tokenize(vocab: &Vocab, text: &str) -> Vec<String> {
    let numbered = vocab.tokens().iter().cloned().zip(0_u32..).collect();
    let merges = vocab.merges().iter().map(|merge| {
        let (left, right) = merge.split_once(' ').unwrap();
        (left.to_owned(), right.to_owned())
    });
    let model = BPE::builder()
        .vocab_and_merges::<bpe::Vocab>(numbered, merges.collect())
        .build()
        .unwrap();
    let words = split(text).unwrap();
    let tokens = words.iter().flat_map(|word| model.tokenize(word).unwrap());
    tokens.map(|Token { value, .. }| value).collect()
}

#[test]
fn texts_become_few_tokens_and_come_back() {
    let vocab = train().unwrap();
    for text in TEXTS
        .into_iter()
        .chain([CHAT_TEMPLATE, "größer ≥ 3 µs 漢字 🦀\r\n\tx"])
    {
        let tokens = tokenize(&vocab, text);
        let bytes: String = split(text).unwrap().concat();
        assert_eq!(tokens.concat(), bytes);
    }
    let tokens = tokenize(&vocab, TEXTS[0]).len();
    let per_token = TEXTS[0].len() as f64 / tokens as f64;
    assert!(per_token > 3.0, "{per_token:.2} bytes per token");
    assert_eq!(
        tokenize(&vocab, "</parameter>\nls -la\n\n"),
        ["</", "parameter", ">", "Ċ", "ls", "Ġ-", "la", "ĊĊ"]
    );
}
