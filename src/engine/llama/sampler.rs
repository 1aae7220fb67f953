//! The next token, as llama-server chooses it at temperature 0.
//!
//! Greedy, with the tool-call grammar by rejection (see `candidates.rs`). A generated reasoning block suspends a lazy grammar until it
//! ends (llama.cpp `common_sampler`, b11434).

use std::rc::Rc;

use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;

use super::super::EngineError;
use super::candidates::Candidates;
use super::model::LoadedModel;
use crate::chat::format::Trigger;
use crate::chat::{ReplyFormat, Token, Vocab};
use crate::clock::{Clock, Nanos};

/// Chooses tokens for one reply format; reusable for any number of turns.
pub struct Sampler {
    format: Option<Rc<ReplyFormat>>,
    /// The grammar as it is before the first token; cloned per turn, which spares parsing it again.
    pristine: Option<LlamaSampler>,
    grammar: Option<LlamaSampler>,
    lazy: bool,
    thinking: Option<Thinking>,
    generation_prompt: Vec<Token>,
    /// Time spent in llama.cpp since the turn's start, ns.
    pub inside: Nanos,
}

impl Sampler {
    /// Builds the grammar of `format`; without one, plain greedy choice.
    pub fn new(model: &LoadedModel, format: Option<&Rc<ReplyFormat>>) -> Result<Self, EngineError> {
        let mut sampler = Self {
            format: format.cloned(),
            pristine: None,
            grammar: None,
            lazy: false,
            thinking: None,
            generation_prompt: Vec::new(),
            inside: 0,
        };
        if let Some(format) = format {
            sampler.lazy = format.lazy;
            sampler.pristine = grammar(model, format)?;
            sampler.generation_prompt = model.tokenize(&format.generation_prompt);
            sampler.thinking = format.lazy.then(|| Thinking::new(model, format)).flatten();
        }
        Ok(sampler)
    }

    /// Whether this sampler serves `format`.
    pub fn serves(&self, format: Option<&Rc<ReplyFormat>>) -> bool {
        match (&self.format, format) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Prepares for a turn: what the generation prompt already holds counts as said.
    pub fn begin(&mut self) -> Result<(), EngineError> {
        self.inside = 0;
        self.grammar.clone_from(&self.pristine);
        if let Some(thinking) = &mut self.thinking {
            thinking.reset();
            for &token in &self.generation_prompt {
                thinking.advance(token);
            }
        }
        if let (Some(grammar), false) = (&mut self.grammar, self.lazy) {
            for &token in &self.generation_prompt {
                accept(grammar, token)?;
            }
        }
        Ok(())
    }

    /// Lets go of the grammar for the rest of the turn.
    pub fn release(&mut self) {
        self.grammar = None;
    }

    fn grammar_binds(&self) -> bool {
        self.grammar.is_some() && !self.thinking.as_ref().is_some_and(|t| t.inside)
    }

    /// The next token for `logits`; `position` is for the error only.
    pub fn pick(
        &mut self,
        candidates: &mut Candidates,
        logits: &[f32],
        position: usize,
        clock: &dyn Clock,
    ) -> Result<Token, EngineError> {
        let binds = self.grammar_binds();
        match (&mut self.grammar, binds) {
            (Some(grammar), true) => candidates
                .best_allowed(logits, grammar, clock, &mut self.inside)
                .ok_or_else(|| {
                    if candidates.best(logits).is_none() {
                        return EngineError::Logits { position };
                    }
                    EngineError::Grammar(format!("no token is allowed after position {position}"))
                }),
            _ => candidates
                .best(logits)
                .ok_or(EngineError::Logits { position }),
        }
    }

    /// Records a chosen token.
    pub fn accept(&mut self, token: Token, clock: &dyn Clock) -> Result<(), EngineError> {
        let begin = clock.now();
        let bound = self.grammar_binds();
        if let Some(thinking) = &mut self.thinking
            && let Some(end) = thinking.advance(token)
            && !bound
            && let Some(grammar) = &mut self.grammar
        {
            // The sequence that ended the block may itself be a trigger.
            for &token in end {
                accept(grammar, token)?;
            }
        }
        if let (true, Some(grammar)) = (bound, &mut self.grammar) {
            accept(grammar, token)?;
        }
        self.inside += clock.now() - begin;
        Ok(())
    }
}

fn accept(grammar: &mut LlamaSampler, token: Token) -> Result<(), EngineError> {
    grammar
        .try_accept(LlamaToken(token))
        .map_err(|e| EngineError::Grammar(format!("token {token} was refused on acceptance: {e}")))
}

/// The grammar sampler of a format, with its triggers as llama-server resolves them.
fn grammar(model: &LoadedModel, format: &ReplyFormat) -> Result<Option<LlamaSampler>, EngineError> {
    if format.grammar.is_empty() {
        return Ok(None);
    }
    let failed =
        |e: &dyn std::fmt::Display| EngineError::Grammar(format!("llama.cpp cannot build it: {e}"));
    if !format.lazy {
        return LlamaSampler::grammar(&model.model, &format.grammar, "root")
            .map(Some)
            .map_err(|e| failed(&e));
    }
    let (mut patterns, mut tokens) = (Vec::new(), Vec::new());
    for trigger in &format.triggers {
        match trigger {
            Trigger::Token(t) => tokens.push(LlamaToken(*t)),
            Trigger::Word(word) => match model.single(word) {
                Some(t) if format.preserved.contains(word) => tokens.push(LlamaToken(t)),
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
    LlamaSampler::grammar_lazy_patterns(&model.model, &format.grammar, "root", &patterns, &tokens)
        .map(Some)
        .map_err(|e| failed(&e))
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

/// Whether generation is inside a reasoning block.
struct Thinking {
    start: Vec<Token>,
    ends: Vec<Vec<Token>>,
    recent: Vec<Token>,
    inside: bool,
}

impl Thinking {
    /// `None` where the format knows no reasoning.
    fn new(model: &LoadedModel, format: &ReplyFormat) -> Option<Self> {
        let start = model.tokenize(&format.thinking_start);
        let ends: Vec<_> = format
            .thinking_ends
            .iter()
            .map(|e| model.tokenize(e))
            .filter(|e| !e.is_empty())
            .collect();
        (!start.is_empty() && !ends.is_empty()).then(|| Self {
            start,
            ends,
            recent: Vec::new(),
            inside: false,
        })
    }

    fn reset(&mut self) {
        self.recent.clear();
        self.inside = false;
    }

    /// Takes in a token; the sequence that it completes where that ends a block.
    fn advance(&mut self, token: Token) -> Option<&[Token]> {
        let longest = self
            .ends
            .iter()
            .map(Vec::len)
            .max()
            .unwrap_or(0)
            .max(self.start.len());
        if self.recent.len() == longest {
            self.recent.remove(0);
        }
        self.recent.push(token);
        if self.inside {
            let end = self
                .ends
                .iter()
                .filter(|e| self.recent.ends_with(e))
                .max_by_key(|e| e.len())?;
            self.inside = false;
            self.recent.clear();
            return Some(end);
        }
        if self.recent.ends_with(&self.start) {
            self.inside = true;
            self.recent.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reasoning_block_starts_and_ends_at_its_sequences() {
        let mut t = Thinking {
            start: vec![1],
            ends: vec![vec![2], vec![7, 8]],
            recent: Vec::new(),
            inside: false,
        };
        assert_eq!(t.advance(2), None);
        assert_eq!(t.advance(1), None);
        assert!(t.inside);
        assert_eq!(t.advance(7), None);
        assert_eq!(t.advance(8), Some(&[7, 8][..]));
        assert!(!t.inside);
    }

    #[test]
    fn patterns_are_escaped_and_anchored() {
        assert_eq!(escaped("<a.b>(x)"), "<a\\.b>\\(x\\)");
        assert_eq!(anchored("a$"), "^a$");
        assert_eq!(anchored("^a"), "^a$");
    }
}
