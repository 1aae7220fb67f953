//! Synthetic acceptance: drafts kept by chance, to see what MTP would gain on a device before the real weights are
//! there. What is generated then means nothing; llama-server has the same under `--spec-synth-rates`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::speculation::MOST_DEPTH;

/// Seed of every turn's chances: the benchmark's, which llama-server's clients send.
const SEED: u32 = 42;

/// For each position of a draft, the share of steps that keep it and all before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AcceptanceRates(Vec<f64>);

impl AcceptanceRates {
    /// Positions that have a rate.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for AcceptanceRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates: Vec<String> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&rates.join(","))
    }
}

impl FromStr for AcceptanceRates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| {
            format!(
                "found {text:?}, expected 1 to {MOST_DEPTH} rates from 0 to 1 that do not grow: {why}"
            )
        };
        let rates: Vec<f64> = text
            .split(',')
            .map(|rate| rate.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|_| refused("one is no number"))?;
        if rates.len() > MOST_DEPTH as usize {
            return Err(refused("there are more"));
        }
        if !rates.iter().all(|rate| (0.0..=1.0).contains(rate)) {
            return Err(refused("one is not in that range"));
        }
        if rates.windows(2).any(|pair| pair[1] > pair[0]) {
            return Err(refused(
                "a later position cannot be kept more often than the one before it",
            ));
        }
        Ok(Self(rates))
    }
}

/// The chances of one engine's turns, llama-server's draw for draw.
pub struct Chance {
    /// For each position, the share of its drafts kept, of those whose predecessors were.
    conditional: Vec<f64>,
    random: Twister,
}

impl Chance {
    /// With these rates.
    #[must_use]
    pub fn new(rates: &AcceptanceRates) -> Self {
        let mut before = 1.0;
        let conditional = rates.0.iter().map(|&rate| {
            let share = if before > 0.0 { rate / before } else { 0.0 };
            before = rate;
            share
        });
        Self {
            conditional: conditional.collect(),
            random: Twister::new(SEED),
        }
    }

    /// A turn begins.
    pub fn begin(&mut self) {
        self.random = Twister::new(SEED);
    }

    /// Draws for a draft's position, all before which were kept.
    pub fn keeps(&mut self, position: usize) -> bool {
        let drawn = self.random.unit();
        self.conditional
            .get(position)
            .is_some_and(|&share| drawn < share)
    }
}

/// Words of the generator's state, and the offset of the word that each is mixed with.
const WORDS: usize = 624;
const OFFSET: usize = 397;

/// MT19937 (Matsumoto and Nishimura 1998), C++'s `std::mt19937`.
struct Twister {
    state: [u32; WORDS],
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; WORDS];
        for i in 1..WORDS {
            let before = state[i - 1];
            let index = u32::try_from(i).unwrap_or_default();
            state[i] = 1_812_433_253u32
                .wrapping_mul(before ^ (before >> 30))
                .wrapping_add(index);
        }
        Self { state, next: WORDS }
    }

    fn renew(&mut self) {
        for i in 0..WORDS {
            let joined =
                (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7fff_ffff);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + OFFSET) % WORDS] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            self.renew();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number in [0, 1), as libstdc++'s `uniform_real_distribution<double>` draws it: two words, the low one first.
    fn unit(&mut self) -> f64 {
        let (low, high) = (self.word(), self.word());
        let word = f64::from(low) + f64::from(high) * 4_294_967_296.0;
        (word / 18_446_744_073_709_551_616.0).min(1.0 - f64::EPSILON / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_standards() {
        let mut twister = Twister::new(5489);
        assert_eq!(twister.word(), 3_499_211_612);
        let last = (1..10_000).map(|_| twister.word()).last();
        assert_eq!(last, Some(4_123_659_995), "C++17 [rand.predef]");
    }

    #[test]
    fn rates_are_those_of_llama_server() {
        let rates: AcceptanceRates = "0.8, 0.6,0.6".parse().expect("rates");
        assert_eq!(
            (rates.positions(), rates.to_string()),
            (3, "0.8,0.6,0.6".to_owned())
        );
        for text in [
            "",
            "0.5,",
            "0.5,0.6",
            "1.1",
            "-0.1",
            "nan",
            "inf",
            "1,1,1,1,1,1,1,1,1",
        ] {
            let said = text.parse::<AcceptanceRates>().expect_err(text);
            assert!(said.contains("rates from 0 to 1"), "{said}");
        }
    }

    #[test]
    fn positions_are_kept_as_often_as_asked() {
        let rates = "0.8,0.6,0".parse().expect("rates");
        let mut chance = Chance::new(&rates);
        chance.begin();
        let steps = 20_000;
        let mut kept = [0; 3];
        for _ in 0..steps {
            for (position, count) in kept.iter_mut().enumerate() {
                if !chance.keeps(position) {
                    break;
                }
                *count += 1;
            }
        }
        for (count, rate) in kept.into_iter().zip([0.8, 0.6, 0.0]) {
            let share = f64::from(count) / f64::from(steps);
            assert!((share - rate).abs() < 0.01, "{share} instead of {rate}");
        }
        assert!(!chance.keeps(3), "no rate, not kept");
    }
}
