//! Logits in descending order, as far as they are asked for.
//!
//! Greedy choice needs the first; a grammar that refuses it needs the next few. One pass over the vocabulary finds
//! each block's maximum, and from then on a candidate costs one look at the maxima and one at a block.

/// Logits per block: few enough blocks that folding their lanes costs nothing, short enough to look through again.
const BLOCK: usize = 1024;
/// Independent maxima of a block. 32 fill the vector registers of every processor that llama.cpp's own build for it
/// runs on; more spill.
const LANES: usize = 32;

/// Walks logits from the largest down, lower index first among equals. NaN and −∞ never come up.
#[derive(Debug, Default)]
pub struct Ranking {
    /// Of each block, the largest logit not yet given out.
    maxima: Vec<f32>,
}

impl Ranking {
    /// Starts over with `logits`; index of the largest.
    pub fn first(&mut self, logits: &[f32]) -> Option<usize> {
        self.maxima.clear();
        self.maxima.extend(logits.chunks(BLOCK).map(maximum));
        self.best(logits, 0)
    }

    /// Index of the one after `last`, which this ranking of the same `logits` gave out just before.
    pub fn next(&mut self, logits: &[f32], last: usize) -> Option<usize> {
        let value = logits[last];
        let block = last / BLOCK;
        let start = block * BLOCK;
        let left = logits[start..].iter().take(BLOCK).enumerate();
        self.maxima[block] = left
            .filter(|&(i, &x)| x < value || (x == value && start + i > last))
            .fold(f32::NEG_INFINITY, |m, (_, &x)| if x > m { x } else { m });
        // Everything equal to `value` before `last` has been given out already.
        let equal_left = self.maxima[block..].contains(&value);
        self.best(logits, if equal_left { last + 1 } else { 0 })
    }

    /// The first index at or after `from` that holds the largest of the maxima.
    fn best(&self, logits: &[f32], from: usize) -> Option<usize> {
        let largest = maximum(&self.maxima);
        if largest == f32::NEG_INFINITY {
            return None;
        }
        let block = from / BLOCK
            + self.maxima[from / BLOCK..]
                .iter()
                .position(|&m| m == largest)?;
        let start = from.max(block * BLOCK);
        logits[start..]
            .iter()
            .position(|&x| x == largest)
            .map(|i| start + i)
    }
}

/// The largest value; NaN is passed over. Free of branches, so that the compiler vectorises it: a vocabulary of
/// 248,320 takes 12 µs, the time that reading its megabyte of logits takes.
fn maximum(values: &[f32]) -> f32 {
    let larger = |m: f32, x: f32| if x > m { x } else { m };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, x);
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = larger(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    rest.iter().copied().fold(lanes[0], larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranked(logits: &[f32]) -> Vec<usize> {
        let mut ranking = Ranking::default();
        let mut at = ranking.first(logits);
        let mut out = Vec::new();
        while let Some(i) = at {
            out.push(i);
            at = ranking.next(logits, i);
        }
        out
    }

    fn sorted(logits: &[f32]) -> Vec<usize> {
        let mut want: Vec<usize> = (0..logits.len())
            .filter(|&i| logits[i] > f32::NEG_INFINITY)
            .collect();
        want.sort_by(|&a, &b| {
            logits[b]
                .partial_cmp(&logits[a])
                .expect("no NaN is above -inf")
                .then(a.cmp(&b))
        });
        want
    }

    fn logit() -> impl Strategy<Value = f32> {
        prop_oneof![
            10 => (-3i8..3).prop_map(f32::from),
            10 => -10.0f32..10.0,
            1 => Just(f32::NAN),
            1 => Just(f32::NEG_INFINITY),
            1 => Just(0.0f32),
            1 => Just(-0.0f32),
        ]
    }

    proptest! {
        #[test]
        fn equals_a_stable_descending_sort(logits in prop::collection::vec(logit(), 0..5000)) {
            prop_assert_eq!(ranked(&logits), sorted(&logits));
        }
    }

    #[test]
    fn nothing_to_choose_is_none() {
        assert_eq!(Ranking::default().first(&[]), None);
        assert_eq!(
            Ranking::default().first(&[f32::NAN, f32::NEG_INFINITY]),
            None
        );
    }

    #[test]
    fn ties_go_to_the_lowest_id() {
        let mut logits = vec![1.0f32; 2400];
        logits[300] = 2.0;
        logits[2399] = 2.0;
        assert_eq!(ranked(&logits)[..4], [300, 2399, 0, 1]);
    }
}
