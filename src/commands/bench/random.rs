//! Token ids without meaning, the same ones every time: the speed of a dense model does not depend on them.

use crate::chat::Token;

/// The fixed seed.
const SEED: u64 = 42;

/// An endless row of token ids (SplitMix64).
#[derive(Debug)]
pub struct Tokens {
    state: u64,
    vocabulary: u64,
}

impl Tokens {
    /// Ids below `vocabulary`.
    pub fn new(vocabulary: usize) -> Self {
        Self {
            state: SEED,
            vocabulary: (vocabulary as u64).max(1),
        }
    }
}

impl Iterator for Tokens {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        Some(Token::try_from(x % self.vocabulary).expect("a vocabulary has fewer than 2^31 tokens"))
    }
}
