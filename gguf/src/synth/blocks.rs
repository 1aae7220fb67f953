//! Weights of the 27B shape: quantized blocks taken from small pools.
//!
//! Sixteen gigabytes of random numbers would take longer than writing them. A pool of some
//! megabytes per type is made once, and every tensor is a walk through it from a place of its own:
//! the cost per byte is that of the copy to the kernel.

use std::io::{self, Write};

use half::f16;

use super::arch::{Role, Tensor};
use super::random::Stream;
use super::{Shape, arch::Dims};
use crate::types::TensorType;

/// Standard deviation of every matrix's weights; norms keep activations in range whatever it is.
const DEVIATION: f32 = 0.02;

/// Blocks per pool: 9 to 14 MB.
const POOL_BLOCKS: u64 = 1 << 16;

/// Decay rate per step of every value head.
const DECAY: f32 = -0.05;

/// Standard deviation of the convolution's weights.
const CONV: f32 = 0.3;

/// One pool of blocks per quantized type in use.
#[derive(Debug)]
pub(super) struct Pools {
    seed: u64,
    q4_k: Vec<u8>,
    q6_k: Vec<u8>,
}

impl Pools {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            q4_k: pool(seed, TensorType::Q4_K, stamp_q4_k),
            q6_k: pool(seed, TensorType::Q6_K, stamp_q6_k),
        }
    }

    /// Write a tensor's data.
    pub(super) fn fill(&self, tensor: &Tensor, out: &mut impl Write) -> io::Result<()> {
        if tensor.is_f32() {
            let values = self.vector(tensor);
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            return out.write_all(&bytes);
        }
        let tensor_type = tensor.q4_k_m(Dims::of(Shape::Qwen36_27B).trunk);
        let pool = match tensor_type {
            TensorType::Q6_K => &self.q6_k,
            _ => &self.q4_k,
        };
        let bytes = tensor_type.tensor_bytes(&tensor.dims);
        let mut left = bytes.expect("the shape's rows are whole blocks");
        let first = Stream::new(self.seed, &tensor.name, 0).bits() % POOL_BLOCKS;
        let mut from = (first * tensor_type.type_size()) as usize;
        while left > 0 {
            let take = left.min((pool.len() - from) as u64) as usize;
            out.write_all(&pool[from..from + take])?;
            left -= take as u64;
            from = 0;
        }
        Ok(())
    }

    fn vector(&self, tensor: &Tensor) -> Vec<f32> {
        let n = tensor.dims.iter().product::<u64>() as usize;
        match tensor.role {
            Role::Conv => Stream::new(self.seed, &tensor.name, 0).normals(n, CONV),
            Role::StepBias => vec![0.0; n],
            Role::Decay => vec![DECAY; n],
            _ => vec![1.0; n],
        }
    }
}

/// Random blocks with sane scales.
fn pool(seed: u64, tensor_type: TensorType, stamp: fn(&mut [u8])) -> Vec<u8> {
    let mut stream = Stream::new(seed, &tensor_type.to_string(), 0);
    let bytes = POOL_BLOCKS * tensor_type.type_size();
    let mut pool: Vec<u8> = (0..bytes / 8)
        .flat_map(|_| stream.bits().to_le_bytes())
        .collect();
    pool.chunks_exact_mut(tensor_type.type_size() as usize)
        .for_each(stamp);
    pool
}

/// Q4_K: d, dmin (f16), twelve bytes of packed 6-bit scales and minima, 128 of 4-bit quants.
/// A weight is `d · scale · q − dmin · min`; with all scales and minima equal and dmin = 7.5 d
/// the uniform q in 0..16 has mean 0.
fn stamp_q4_k(block: &mut [u8]) {
    const SCALE: f32 = 32.0;
    let spread = (255.0_f32 / 12.0).sqrt(); // of a uniform integer in 0..16
    let d = DEVIATION / (SCALE * spread);
    block[0..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    block[2..4].copy_from_slice(&f16::from_f32(7.5 * d).to_le_bytes());
    // Sixteen values of 32 = 0b10_0000. The first four scales and minima are the low six bits
    // of a byte each, whose top two bits are the top two (0b10) of the last four scales and
    // minima; the low four bits (0) of those are the nibbles of the last four bytes.
    block[4..12].fill(0b1010_0000);
    block[12..16].fill(0);
}

/// Q6_K: 192 bytes of 6-bit quants, sixteen 8-bit scales, d (f16). A weight is
/// `d · scale · (q − 32)`; q is uniform in 0..64, and signs that alternate take its mean away.
fn stamp_q6_k(block: &mut [u8]) {
    const SCALE: i8 = 64;
    let spread = (4095.0_f32 / 12.0).sqrt(); // of a uniform integer in 0..64
    let d = DEVIATION / (f32::from(SCALE) * spread);
    for (i, scale) in block[192..208].iter_mut().enumerate() {
        let signed = if i % 2 == 0 { SCALE } else { -SCALE };
        *scale = signed.to_le_bytes()[0];
    }
    block[208..210].copy_from_slice(&f16::from_f32(d).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(bytes: &[u8]) -> f32 {
        f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
    }

    /// Weights of a Q4_K block, from ggml's definition of the format.
    fn q4_k(block: &[u8]) -> Vec<f32> {
        let (d, dmin) = (half(&block[0..]), half(&block[2..]));
        let packed = &block[4..16];
        let scale_and_min = |j: usize| {
            if j < 4 {
                (packed[j] & 63, packed[j + 4] & 63)
            } else {
                let (low, high) = (packed[j + 4] & 15, packed[j + 4] >> 4);
                (low | packed[j - 4] >> 6 << 4, high | packed[j] >> 6 << 4)
            }
        };
        let quants = block[16..].chunks_exact(32).enumerate();
        quants
            .flat_map(|(pair, bytes)| {
                let half = move |part: usize| {
                    let (scale, min) = scale_and_min(2 * pair + part);
                    let quant = move |b: &u8| f32::from(b >> (4 * part) & 15);
                    bytes
                        .iter()
                        .map(move |b| d * f32::from(scale) * quant(b) - dmin * f32::from(min))
                };
                half(0).chain(half(1))
            })
            .collect()
    }

    /// Weights of a Q6_K block, in another order than ggml's.
    fn q6_k(block: &[u8]) -> Vec<f32> {
        let d = half(&block[208..]);
        (0..256)
            .map(|i| {
                // Weight i of 256: halves of 128, quarters of 32 within, scales of 16.
                let (part, quarter, l) = (i / 128, i / 32 % 4, i % 32);
                let low = block[64 * part + 32 * (quarter % 2) + l] >> (4 * (quarter / 2)) & 15;
                let high = block[128 + 32 * part + l] >> (2 * quarter) & 3;
                let scale = i8::from_le_bytes([block[192 + i / 16]]);
                d * f32::from(scale) * (f32::from(low | high << 4) - 32.0)
            })
            .collect()
    }

    #[test]
    fn weights_have_mean_zero_and_the_chosen_deviation() {
        let pools = Pools::new(1);
        let q4 = pools
            .q4_k
            .chunks_exact(144)
            .take(1000)
            .flat_map(q4_k)
            .collect::<Vec<_>>();
        let q6 = pools
            .q6_k
            .chunks_exact(210)
            .take(1000)
            .flat_map(q6_k)
            .collect::<Vec<_>>();
        for weights in [q4, q6] {
            let n = weights.len() as f32;
            let mean = weights.iter().sum::<f32>() / n;
            let deviation = (weights.iter().map(|w| w * w).sum::<f32>() / n).sqrt();
            assert!(mean.abs() < 0.02 * DEVIATION, "{mean}");
            assert!((deviation / DEVIATION - 1.0).abs() < 0.02, "{deviation}");
        }
    }
}
