//! Tensor element types: numbers, block shapes, byte sizes.
//!
//! Source: `enum ggml_type` and the block structs of ggml (build b11434).

use std::fmt;

/// Element type of a tensor. The numbers are those stored in a GGUF tensor directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
#[allow(missing_docs, non_camel_case_types)] // the field's own names
pub enum TensorType {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
    Q2_0 = 42,
}

use TensorType::*;

impl TensorType {
    /// Every type, in the order of its number.
    pub const ALL: [TensorType; 35] = [
        F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K, IQ2_XXS,
        IQ2_XS, IQ3_XXS, IQ1_S, IQ4_NL, IQ3_S, IQ2_S, IQ4_XS, I8, I16, I32, I64, F64, IQ1_M, BF16,
        TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0,
    ];

    /// Elements per block and bytes per block: a row is stored as whole blocks.
    const fn block(self) -> (u64, u64) {
        match self {
            F32 | I32 => (1, 4),
            F16 | BF16 | I16 => (1, 2),
            I8 => (1, 1),
            I64 | F64 => (1, 8),
            Q4_0 | IQ4_NL => (32, 18),
            Q4_1 => (32, 20),
            Q5_0 => (32, 22),
            Q5_1 => (32, 24),
            Q8_0 => (32, 34),
            // ggml stores two half-precision scales here; older tables give 40 bytes.
            Q8_1 => (32, 36),
            MXFP4 => (32, 17),
            NVFP4 => (64, 36),
            Q2_0 => (64, 18),
            Q1_0 => (128, 18),
            Q2_K => (256, 84),
            Q3_K | IQ3_S => (256, 110),
            Q4_K => (256, 144),
            Q5_K => (256, 176),
            Q6_K => (256, 210),
            Q8_K => (256, 292),
            IQ1_S => (256, 50),
            IQ1_M => (256, 56),
            IQ2_XXS | TQ2_0 => (256, 66),
            IQ2_XS => (256, 74),
            IQ2_S => (256, 82),
            IQ3_XXS => (256, 98),
            IQ4_XS => (256, 136),
            TQ1_0 => (256, 54),
        }
    }

    /// Elements per block (1 for plain number types).
    pub const fn block_size(self) -> u64 {
        self.block().0
    }

    /// Bytes per block.
    pub const fn type_size(self) -> u64 {
        self.block().1
    }

    /// Bits per element, scales included.
    pub fn bits_per_weight(self) -> f64 {
        let (elements, bytes) = self.block();
        bytes as f64 * 8.0 / elements as f64
    }

    /// Bytes of `elements` elements laid out in whole blocks.
    ///
    /// `None` when `elements` is not a multiple of the block size or the size overflows.
    pub const fn bytes_of(self, elements: u64) -> Option<u64> {
        let (block, bytes) = self.block();
        if !elements.is_multiple_of(block) {
            return None;
        }
        (elements / block).checked_mul(bytes)
    }

    /// Bytes of a tensor of these dimensions, the contiguous one first.
    ///
    /// `None` when a row is not a whole number of blocks or the size overflows.
    pub fn tensor_bytes(self, dims: &[u64]) -> Option<u64> {
        let (row, rest) = dims.split_first()?;
        rest.iter()
            .try_fold(self.bytes_of(*row)?, |bytes, &n| bytes.checked_mul(n))
    }

    /// Whether the type is a quantized one (blocks that share a scale).
    pub const fn is_quantized(self) -> bool {
        self.block_size() > 1
    }
}

/// A type number that no current GGUF file may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownTensorType(
    /// The number found.
    pub u32,
);

impl UnknownTensorType {
    /// What the number once meant, with the way out, for the types ggml has removed.
    pub const fn removed(self) -> Option<&'static str> {
        match self.0 {
            4 | 5 => Some("Q4_2 or Q4_3, removed from ggml in 2023; quantize the model again"),
            31..=33 => Some("a pre-repacked Q4_0, removed from GGUF; quantize to Q4_0 instead"),
            36..=38 => Some("a pre-repacked IQ4_NL, removed from GGUF; quantize to IQ4_NL instead"),
            _ => None,
        }
    }
}

impl TryFrom<u32> for TensorType {
    type Error = UnknownTensorType;

    fn try_from(number: u32) -> Result<Self, UnknownTensorType> {
        Self::ALL
            .into_iter()
            .find(|&t| t as u32 == number)
            .ok_or(UnknownTensorType(number))
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_complete_and_in_order() {
        assert!(TensorType::ALL.windows(2).all(|w| w[0] < w[1]));
        for t in TensorType::ALL {
            assert_eq!(TensorType::try_from(t as u32), Ok(t));
        }
        assert!(UnknownTensorType(31).removed().is_some());
        assert_eq!(TensorType::try_from(43), Err(UnknownTensorType(43)));
    }

    #[test]
    fn sizes_are_whole_blocks_and_never_overflow() {
        assert_eq!(
            Q4_K.tensor_bytes(&[5120, 17408]),
            Some(5120 / 256 * 144 * 17408)
        );
        assert_eq!(Q4_K.tensor_bytes(&[100]), None);
        assert_eq!(F32.tensor_bytes(&[u64::MAX, 2]), None);
        assert_eq!(F32.tensor_bytes(&[1 << 32, 1 << 32]), None);
        assert_eq!(F32.tensor_bytes(&[]), None);
        assert_eq!(Q4_K.bits_per_weight(), 4.5);
        assert_eq!(Q6_K.bits_per_weight(), 6.5625);
    }
}
