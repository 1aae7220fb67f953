//! Greedy choice over a vocabulary of logits.

/// Logits per block; a block's maximum is computed without branches, so that the compiler vectorises it.
const BLOCK: usize = 256;
const LANES: usize = 16;

/// Index of the largest logit, the lowest index among equals; `None` where no logit is above −∞ (NaN counts as −∞).
#[must_use]
pub fn argmax(logits: &[f32]) -> Option<usize> {
    let mut best = f32::NEG_INFINITY;
    let mut at = None;
    for (i, block) in logits.chunks(BLOCK).enumerate() {
        let m = maximum(block);
        if m > best {
            best = m;
            at = Some(i * BLOCK);
        }
    }
    let start = at?;
    logits[start..].iter().position(|&x| x == best).map(|i| start + i)
}

/// The largest value; NaN is passed over.
fn maximum(block: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = block.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = if x > *lane { x } else { *lane };
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |m, &x| if x > m { x } else { m })
}

/// Indices of the `n` largest logits in descending order, lower index first among equals; NaN and −∞ left out.
#[must_use]
pub fn largest(logits: &[f32], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..logits.len()).filter(|&i| logits[i] > f32::NEG_INFINITY).collect();
    let descending = |a: &usize, b: &usize| logits[*b].total_cmp(&logits[*a]).then(a.cmp(b));
    if order.len() > n {
        order.select_nth_unstable_by(n, descending);
        order.truncate(n);
    }
    order.sort_unstable_by(descending);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The obvious loop.
    fn plain(logits: &[f32]) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (i, &x) in logits.iter().enumerate() {
            if x > best.map_or(f32::NEG_INFINITY, |b| logits[b]) {
                best = Some(i);
            }
        }
        best
    }

    proptest::proptest! {
        #[test]
        fn equals_the_obvious_loop(v in proptest::collection::vec(
            proptest::prop_oneof![-3i8..3, proptest::strategy::Just(100), proptest::strategy::Just(-100)], 0..2000)) {
            let logits: Vec<f32> = v.iter().map(|&x| match x { 100 => f32::NAN, -100 => f32::NEG_INFINITY, x => f32::from(x) }).collect();
            proptest::prop_assert_eq!(argmax(&logits), plain(&logits));
        }

        #[test]
        fn largest_is_a_stable_descending_sort(v in proptest::collection::vec(-5i8..5, 0..300), n in 0usize..50) {
            let logits: Vec<f32> = v.iter().map(|&x| f32::from(x)).collect();
            let mut want: Vec<usize> = (0..logits.len()).collect();
            want.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
            want.truncate(n);
            proptest::prop_assert_eq!(largest(&logits, n), want);
        }
    }
}
