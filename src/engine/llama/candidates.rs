//! The most likely token, of all or of those that a grammar lets through.
//!
//! A grammar is asked about the most likely token alone; only where it refuses that one about the next few in one
//! call, since a call costs far more than a token in it; and only where it refuses all of those about the whole
//! vocabulary, which it then need not be asked again at the same place. The token found is always the one that masking
//! the whole vocabulary gives.

use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

use super::grammar::Grammar;
use super::ranking::Ranking;
use crate::chat::Token;
use crate::clock::{Clock, Nanos};

/// Candidates asked about before the whole vocabulary is.
const FEW: usize = 64;

/// Room to rank a vocabulary in, allocated once.
pub struct Candidates {
    ranking: Ranking,
    few: LlamaTokenDataArray,
    all: LlamaTokenDataArray,
}

impl Default for Candidates {
    fn default() -> Self {
        Self::new()
    }
}

impl Candidates {
    /// Room for any vocabulary.
    pub fn new() -> Self {
        Self {
            ranking: Ranking::default(),
            few: LlamaTokenDataArray::new(Vec::with_capacity(FEW), false),
            all: LlamaTokenDataArray::new(Vec::new(), false),
        }
    }

    /// The most likely token, the lowest among equals; `None` where no logit is a number.
    pub fn best(&mut self, logits: &[f32]) -> Option<Token> {
        self.ranking.first(logits).map(id)
    }

    /// The most likely token that `grammar` lets through; `inside` grows by the time spent in llama.cpp.
    pub fn best_allowed(
        &mut self,
        logits: &[f32],
        grammar: &mut Grammar,
        clock: &dyn Clock,
        inside: &mut Nanos,
    ) -> Option<Token> {
        let known = grammar.known().map(|allowed| allowed.iter().copied());
        if let Some(best) = known.and_then(|allowed| best_of(logits, allowed)) {
            return Some(best);
        }
        let mut mask = |grammar: &mut Grammar, of: &mut LlamaTokenDataArray| {
            let begin = clock.now();
            grammar.mask(of);
            *inside += clock.now() - begin;
        };
        let mut candidate = self.ranking.first(logits);
        for size in [1, FEW - 1] {
            self.few.data.clear();
            while let Some(i) = candidate.filter(|_| self.few.data.len() < size) {
                let data = LlamaTokenData::new(LlamaToken(id(i)), logits[i], 0.0);
                self.few.data.push(data);
                candidate = self.ranking.next(logits, i);
            }
            if self.few.data.is_empty() {
                return None;
            }
            mask(grammar, &mut self.few);
            if let Some(best) = self.few.data.iter().find(|d| allowed(d)) {
                return Some(best.id().0);
            }
        }
        candidate?; // None are left.
        if self.all.data.len() == logits.len() {
            self.all.data.iter_mut().for_each(|d| d.set_logit(0.0));
        } else {
            let ids = (0..logits.len()).map(id);
            self.all.data = ids
                .map(|i| LlamaTokenData::new(LlamaToken(i), 0.0, 0.0))
                .collect();
        }
        mask(grammar, &mut self.all);
        let let_through = || {
            self.all
                .data
                .iter()
                .filter(|d| allowed(d))
                .map(|d| d.id().0)
        };
        grammar.learn(let_through());
        best_of(logits, let_through())
    }
}

/// The most likely of some tokens in ascending order, the lowest among equals; `None` where no logit is a number.
fn best_of(logits: &[f32], tokens: impl Iterator<Item = Token>) -> Option<Token> {
    let mut best = (f32::NEG_INFINITY, None);
    for token in tokens {
        let logit = logits[usize::try_from(token).expect("a token of the vocabulary")];
        if logit > best.0 {
            best = (logit, Some(token));
        }
    }
    best.1
}

/// Whether a grammar left the candidate its logit.
fn allowed(data: &LlamaTokenData) -> bool {
    data.logit() > f32::NEG_INFINITY
}

/// A vocabulary index as a token id; vocabularies are far below 2³¹.
fn id(index: usize) -> Token {
    Token::try_from(index).expect("a vocabulary has fewer than 2^31 tokens")
}
