//! How many tokens are drafted ahead: the setting, and how it follows what is kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most tokens that can be drafted per step. Each costs a recurrent state (150 MiB on the 27B).
pub const MOST_DEPTH: u32 = 8;

/// Most tokens that `auto` drafts per step.
const AUTO_DEPTH: u32 = 4;

/// `--mtp`: whether the model's prediction block drafts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Mtp {
    /// It does not, and is not loaded.
    #[default]
    Off,
    /// Up to four tokens, as many as are worth it by what was kept lately.
    Auto,
    /// This many tokens per step.
    Depth(u32),
}

impl Mtp {
    /// Most tokens drafted per step; 0 without drafts.
    #[must_use]
    pub const fn depth(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Auto => AUTO_DEPTH,
            Self::Depth(n) => n,
        }
    }
}

impl fmt::Display for Mtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Auto => f.write_str("auto"),
            Self::Depth(n) => write!(f, "{n}"),
        }
    }
}

impl FromStr for Mtp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            number => match number.parse() {
                Ok(n) if (1..=MOST_DEPTH).contains(&n) => Ok(Self::Depth(n)),
                _ => Err(format!(
                    "found {text:?}, expected off, auto or a number of tokens from 1 to {MOST_DEPTH}"
                )),
            },
        }
    }
}

impl From<Mtp> for String {
    fn from(mtp: Mtp) -> Self {
        mtp.to_string()
    }
}

impl TryFrom<String> for Mtp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Share of drafted tokens kept that is assumed before any was drafted: that of a sound head on tool calls.
const ASSUMED: f64 = 0.7;

/// Weight of one draft in the running share: about the last 32 count.
const WEIGHT: f64 = 1.0 / 32.0;

/// Least probability of being reached and kept with which a further token is worth a row of the verifying pass.
const WORTH: f64 = 0.3;

/// Steps without drafts after the share fell below [`WORTH`], before one step looks again.
const PAUSE: u32 = 16;

/// How many tokens the next step verifies.
///
/// Depends on what was kept alone, so that the same turns lead to the same steps.
#[derive(Debug, Clone)]
pub struct Depth {
    most: usize,
    adaptive: bool,
    /// Running share of drafted tokens kept, of those whose predecessors were.
    share: f64,
    /// Steps left without drafts.
    paused: u32,
}

impl Depth {
    /// As `mtp` says.
    #[must_use]
    pub fn new(mtp: Mtp) -> Self {
        Self {
            most: mtp.depth() as usize,
            adaptive: mtp == Mtp::Auto,
            share: ASSUMED,
            paused: 0,
        }
    }

    /// A new conversation: what others showed is forgotten, so that a turn does not depend on them.
    pub fn reset(&mut self) {
        self.share = ASSUMED;
        self.paused = 0;
    }

    /// Most tokens to verify in the next step.
    #[must_use]
    pub fn ahead(&mut self) -> usize {
        if !self.adaptive {
            return self.most;
        }
        if self.paused > 0 {
            self.paused -= 1;
            return 0;
        }
        let worth = |n: &usize| self.share.powi(i32::try_from(*n).unwrap_or(i32::MAX)) >= WORTH;
        (1..=self.most).rev().find(worth).unwrap_or(1)
    }

    /// `kept` of `drafted` tokens were.
    pub fn learn(&mut self, drafted: usize, kept: usize) {
        if drafted == 0 {
            return;
        }
        for _ in 0..kept {
            self.share += (1.0 - self.share) * WEIGHT;
        }
        if kept < drafted {
            self.share -= self.share * WEIGHT;
        }
        if self.adaptive && self.share < WORTH {
            self.paused = PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_what_was_written() {
        for text in ["off", "auto", "1", "8"] {
            let mtp: Mtp = text.parse().expect("a setting");
            assert_eq!(mtp.to_string(), text);
            let json = serde_json::to_string(&mtp).expect("JSON");
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Mtp>(&json).expect("read back"), mtp);
        }
        for text in ["0", "9", "-1", "on", "", "2.0"] {
            let said = text.parse::<Mtp>().expect_err("none");
            assert!(said.contains("expected off, auto or"), "{said}");
        }
    }

    #[test]
    fn a_fixed_depth_stays() {
        let mut depth = Depth::new(Mtp::Depth(3));
        for _ in 0..100 {
            assert_eq!(depth.ahead(), 3);
            depth.learn(3, 0);
        }
        assert_eq!(Depth::new(Mtp::Off).ahead(), 0);
    }

    #[test]
    fn t3_04_auto_grows_with_what_is_kept_and_stops_drafting_where_nothing_is() {
        let mut depth = Depth::new(Mtp::Auto);
        assert_eq!(depth.ahead(), 3, "0.7³ is worth it, 0.7⁴ is not");
        for _ in 0..40 {
            let n = depth.ahead();
            depth.learn(n, n);
        }
        assert_eq!(depth.ahead(), 4);
        let mut drafting = 0;
        for _ in 0..1000 {
            let n = depth.ahead();
            drafting += usize::from(n > 0);
            depth.learn(n, 0);
        }
        assert!(drafting < 150, "{drafting} of 1000 steps drafted in vain");
        depth.reset();
        assert_eq!(depth.ahead(), 3);
    }
}
