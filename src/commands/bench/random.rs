//! Token ids without meaning, the same ones every time: the speed of a dense model does not depend on them.

use crate::chat::Token;
use crate::random::SplitMix;

/// The fixed seed.
const SEED: u64 = 42;

/// An endless row of token ids.
#[derive(Debug)]
pub struct Tokens {
    random: SplitMix,
    vocabulary: u64,
}

impl Tokens {
    /// Ids below `vocabulary`.
    pub fn new(vocabulary: usize) -> Self {
        Self {
            random: SplitMix::new(SEED),
            vocabulary: (vocabulary as u64).max(1),
        }
    }
}

impl Iterator for Tokens {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let id = self.random.bits() % self.vocabulary;
        Some(Token::try_from(id).expect("a vocabulary has fewer than 2^31 tokens"))
    }
}
