//! The next token, as llama-server chooses it at temperature 0.
//!
//! Greedy, with the tool-call grammar by rejection (see `candidates.rs`). A generated reasoning block suspends a lazy grammar until it
//! ends (llama.cpp `common_sampler`, b11434).

use std::rc::Rc;

use super::super::EngineError;
use super::candidates::Candidates;
use super::grammar::Grammar;
use super::model::LoadedModel;
use crate::chat::{ReplyFormat, Token, Vocab};
use crate::clock::{Clock, Nanos};

/// Chooses tokens for one reply format; reusable for any number of turns.
pub struct Sampler {
    format: Option<Rc<ReplyFormat>>,
    grammar: Option<Grammar>,
    /// Whether the grammar has no say for the rest of the turn.
    released: bool,
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
            grammar: None,
            released: false,
            lazy: false,
            thinking: None,
            generation_prompt: Vec::new(),
            inside: 0,
        };
        if let Some(format) = format {
            sampler.lazy = format.lazy;
            sampler.grammar = Grammar::new(model, format)?;
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
        self.released = false;
        if let Some(grammar) = &mut self.grammar {
            grammar.begin();
        }
        if let Some(thinking) = &mut self.thinking {
            thinking.reset();
            for &token in &self.generation_prompt {
                thinking.advance(token);
            }
        }
        if let (Some(grammar), false) = (&mut self.grammar, self.lazy) {
            for &token in &self.generation_prompt {
                grammar.accept(token)?;
            }
        }
        Ok(())
    }

    /// Lets go of the grammar for the rest of the turn.
    pub fn release(&mut self) {
        self.released = true;
    }

    fn grammar_binds(&self) -> bool {
        self.grammar.is_some()
            && !self.released
            && !self.thinking.as_ref().is_some_and(|t| t.inside)
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
            && !self.released
            && let Some(grammar) = &mut self.grammar
        {
            // The sequence that ended the block may itself be a trigger.
            for &token in end {
                grammar.accept(token)?;
            }
        }
        if let (true, Some(grammar)) = (bound, &mut self.grammar) {
            grammar.accept(token)?;
        }
        self.inside += clock.now() - begin;
        Ok(())
    }
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
}
