//! Random numbers addressed by what they are for.
//!
//! Each row of each tensor has a stream of its own, found from seed, name and row. A weight does
//! not depend on the order of writing, so rows can be made twice (once to plant, once to write)
//! without holding the matrix.

/// A stream of random numbers (SplitMix64: a counter and a mixer, fast and the same everywhere).
#[derive(Debug, Clone)]
pub(super) struct Stream(u64);

/// SplitMix64's step: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Stream {
    /// The stream of row `row` of `name` under `seed`.
    pub(super) fn new(seed: u64, name: &str, row: u64) -> Self {
        // FNV-1a of the name; the mixer spreads what FNV leaves clustered.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| {
            (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mix(mix(seed ^ hash).wrapping_add(row.wrapping_mul(STEP))))
    }

    /// 64 uniform bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Uniform in [0, 1).
    pub(super) fn uniform(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 24) as f32
    }

    /// Close to standard normal: the sum of four uniform 16-bit numbers, scaled.
    ///
    /// Integer arithmetic up to one final rounding, so the value is the same on every machine;
    /// tails end at 3.46, which weights do not miss.
    pub(super) fn normal(&mut self) -> f32 {
        let bits = self.bits();
        let sum: u64 = (0..4).map(|i| bits >> (16 * i) & 0xffff).sum();
        // Mean 2 × 65,535; standard deviation 65,536 / √3.
        (sum as f32 - 131_070.0) * (3.0_f32.sqrt() / 65_536.0)
    }

    /// `n` normal numbers of standard deviation `scale`.
    pub(super) fn normals(&mut self, n: usize, scale: f32) -> Vec<f32> {
        (0..n).map(|_| scale * self.normal()).collect()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_zero_and_deviation_one() {
        let values = Stream::new(1, "w", 0).normals(1 << 16, 1.0);
        let n = values.len() as f64;
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let square = values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n;
        assert!(mean.abs() < 0.02, "mean {mean}");
        assert!((square - 1.0).abs() < 0.02, "mean square {square}");
    }

    #[test]
    fn seed_name_and_row_each_give_another_stream() {
        let first = Stream::new(1, "w", 0).bits();
        for other in [("w", 1, 1), ("w", 2, 0), ("v", 1, 0)] {
            assert_ne!(
                Stream::new(other.1, other.0, other.2).bits(),
                first,
                "{other:?}"
            );
        }
        assert_eq!(Stream::new(1, "w", 0).bits(), first);
    }
}
