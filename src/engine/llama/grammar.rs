//! A reply format's grammar: llama.cpp's, and what it was found to allow.
//!
//! What a grammar allows next depends on nothing but the tokens that it has taken in. Where few tokens are allowed, as
//! in the fixed parts of a tool call, they are remembered under the tokens that led there: every call of the same tool
//! passes the same places, and llama.cpp needs milliseconds to test a whole vocabulary.

use std::collections::HashMap;

use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

use super::super::EngineError;
use super::model::LoadedModel;
use crate::chat::format::Trigger;
use crate::chat::{ReplyFormat, Token, Vocab};

/// Most allowed tokens of a place that is remembered; more are found sooner by asking about the most likely ones.
const FEW_ALLOWED: usize = 1024;
/// Most places remembered: with as many tokens each, 4 MiB.
const PLACES: usize = 1024;

/// A grammar, as far as the turn has come in it.
pub struct Grammar {
    /// As it is before the first token; cloned per turn, which spares parsing it again.
    pristine: LlamaSampler,
    now: LlamaSampler,
    /// Tokens that start a lazy grammar whatever precedes them; none where patterns of text may start it, too.
    triggers: Vec<Token>,
    started: bool,
    /// What `now` depends on: the tokens taken in, from the trigger where there is one.
    path: Vec<Token>,
    /// Allowed tokens by path, in ascending order.
    places: HashMap<Box<[Token]>, Box<[Token]>>,
}

impl Grammar {
    /// Builds the grammar of `format`, where it has one, with its triggers as llama-server resolves them.
    pub fn new(model: &LoadedModel, format: &ReplyFormat) -> Result<Option<Self>, EngineError> {
        if format.grammar.is_empty() {
            return Ok(None);
        }
        let (patterns, triggers) = if format.lazy {
            triggers(model, format)?
        } else {
            Default::default()
        };
        let build = || {
            let (grammar, root) = (format.grammar.as_str(), "root");
            if !format.lazy {
                return LlamaSampler::grammar(&model.model, grammar, root);
            }
            let ids: Vec<_> = triggers.iter().copied().map(LlamaToken).collect();
            LlamaSampler::grammar_lazy_patterns(&model.model, grammar, root, &patterns, &ids)
        };
        let failed = |e| EngineError::Grammar(format!("llama.cpp cannot build it: {e}"));
        let pristine = build().map_err(failed)?;
        let tokens_alone = patterns.is_empty();
        Ok(Some(Self {
            now: pristine.clone(),
            pristine,
            triggers: if tokens_alone { triggers } else { Vec::new() },
            started: false,
            path: Vec::new(),
            places: HashMap::new(),
        }))
    }

    /// Starts over.
    pub fn begin(&mut self) {
        self.now.clone_from(&self.pristine);
        self.started = false;
        self.path.clear();
    }

    /// Takes in a token.
    pub fn accept(&mut self, token: Token) -> Result<(), EngineError> {
        self.now.try_accept(LlamaToken(token)).map_err(|e| {
            EngineError::Grammar(format!("token {token} was refused on acceptance: {e}"))
        })?;
        if !self.started && self.triggers.contains(&token) {
            self.started = true;
            self.path.clear();
        }
        self.path.push(token);
        Ok(())
    }

    /// Takes away the candidates that are not allowed next: their logits become −∞.
    pub fn mask(&mut self, candidates: &mut LlamaTokenDataArray) {
        self.now.apply(candidates);
    }

    /// All tokens that are allowed next, where they are known.
    pub fn known(&self) -> Option<&[Token]> {
        if self.places.is_empty() {
            return None;
        }
        self.places.get(self.path.as_slice()).map(AsRef::as_ref)
    }

    /// Remembers all tokens that are allowed next, in ascending order, if they are few.
    pub fn learn(&mut self, allowed: impl Iterator<Item = Token>) {
        let few: Box<[Token]> = allowed.take(FEW_ALLOWED + 1).collect();
        if few.len() > FEW_ALLOWED {
            return;
        }
        if self.places.len() == PLACES {
            self.places.clear();
        }
        self.places.insert(self.path.as_slice().into(), few);
    }
}

/// Patterns and tokens that start a lazy grammar.
fn triggers(
    model: &LoadedModel,
    format: &ReplyFormat,
) -> Result<(Vec<String>, Vec<Token>), EngineError> {
    let (mut patterns, mut tokens) = (Vec::new(), Vec::new());
    for trigger in &format.triggers {
        match trigger {
            Trigger::Token(t) => tokens.push(*t),
            Trigger::Word(word) => match model.single(word) {
                Some(t) if format.preserved.contains(word) => tokens.push(t),
                Some(_) => {
                    return Err(EngineError::Grammar(format!(
                        "trigger {word:?} is not among the preserved tokens"
                    )));
                }
                None => patterns.push(escaped(word)),
            },
            Trigger::Pattern(p) => patterns.push(p.clone()),
            Trigger::PatternFull(p) => patterns.push(anchored(p)),
        }
    }
    Ok((patterns, tokens))
}

/// `word` as a regular expression that matches just it.
fn escaped(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 4);
    for c in word.chars() {
        if ".^$|()*+?[]{}\\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// `pattern` for the whole text.
fn anchored(pattern: &str) -> String {
    let start = if pattern.starts_with('^') { "" } else { "^" };
    let end = if pattern.ends_with('$') { "" } else { "$" };
    format!("{start}{pattern}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_escaped_and_anchored() {
        assert_eq!(escaped("<a.b>(x)"), "<a\\.b>\\(x\\)");
        assert_eq!(anchored("a$"), "^a$");
        assert_eq!(anchored("^a"), "^a$");
    }
}
