//! Which weights llama.cpp copies into another layout for the processor (buffer type `CPU_REPACK`).
//!
//! A repacked tensor lies in anonymous memory, beside the mapped file. Source:
//! `ggml_repack_get_optimal_repack_type` in `ggml-cpu/repack.cpp`, build b11434. AMX and KleidiAI have buffers of
//! their own and are not considered; the crate does not build them.

use gguf::{Tensor, TensorType};
use serde::{Deserialize, Serialize};

/// The vector instructions that ggml's processor backend was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repack {
    /// None that it has layouts for.
    None,
    /// x86 with AVX2.
    Avx2,
    /// x86 with AVX-512.
    Avx512,
    /// Arm with dot products.
    Dotprod,
}

impl Repack {
    /// What the llama.cpp of this program uses on this machine.
    ///
    /// llama-cpp-sys-2 builds for AVX2 on x86 and for the baseline on Arm, for the machine's own processor with
    /// `-C target-cpu=native`, and picks at run time with the feature `dynamic-backends`.
    #[must_use]
    pub fn of_this_program() -> Self {
        if cfg!(feature = "dynamic-backends") {
            return Self::of_this_processor();
        }
        if cfg!(target_feature = "avx512f") {
            Self::Avx512
        } else if cfg!(target_arch = "x86_64") {
            Self::Avx2
        } else if cfg!(all(target_arch = "aarch64", target_feature = "dotprod")) {
            Self::Dotprod
        } else {
            Self::None
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn of_this_processor() -> Self {
        if std::arch::is_x86_feature_detected!("avx512f") {
            Self::Avx512
        } else if std::arch::is_x86_feature_detected!("avx2") {
            Self::Avx2
        } else {
            Self::None
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn of_this_processor() -> Self {
        if std::arch::is_aarch64_feature_detected!("dotprod") {
            Self::Dotprod
        } else {
            Self::None
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn of_this_processor() -> Self {
        Self::None
    }

    /// Whether a weight that is multiplied with (a projection, not an embedding or a norm) is repacked.
    #[must_use]
    pub fn takes(self, tensor: &Tensor) -> bool {
        let ([_, rows] | [_, rows, _]) = *tensor.dims.as_slice() else {
            return false;
        };
        self.rows(tensor.tensor_type)
            .is_some_and(|step| rows.is_multiple_of(step))
    }

    /// Rows that are interleaved for a type; `None` for a type that has no layout.
    fn rows(self, kind: TensorType) -> Option<u64> {
        use TensorType as T;
        match (self, kind) {
            (Self::Avx2 | Self::Avx512, T::Q4_0 | T::Q4_K | T::IQ4_NL | T::MXFP4)
            | (Self::Avx512, T::Q2_K)
            | (Self::Dotprod, T::Q4_K | T::Q5_K | T::Q6_K) => Some(8),
            (Self::Dotprod, T::Q4_0 | T::Q8_0 | T::IQ4_NL | T::MXFP4 | T::Q1_0) => Some(4),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::memory::testing::tensor;

    #[test]
    fn types_and_rows_decide() {
        let q4 = tensor("w", &[256, 48], TensorType::Q4_K);
        let q6 = tensor("w", &[256, 48], TensorType::Q6_K);
        assert!(Repack::Avx2.takes(&q4) && Repack::Dotprod.takes(&q4));
        assert!(!Repack::Avx2.takes(&q6) && Repack::Dotprod.takes(&q6));
        assert!(!Repack::None.takes(&q4));
        assert!(!Repack::Avx2.takes(&tensor("w", &[256, 47], TensorType::Q4_K)));
        assert!(!Repack::Avx2.takes(&tensor("w", &[256], TensorType::Q4_K)));
        assert!(Repack::Avx2.takes(&tensor("w", &[256, 8, 4], TensorType::Q4_K)));
        assert!(Repack::Avx512.takes(&tensor("w", &[256, 8], TensorType::Q2_K)));
    }
}
