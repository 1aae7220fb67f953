//! The context's settings, validated before llama.cpp sees them: it asserts on some that it does not like.

use std::fmt;
use std::num::NonZeroU32;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams, LlamaContextType};
use serde::{Deserialize, Serialize};

use super::model::{LoadError, LoadedModel, backend, explanation};

/// When attention runs fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum FlashAttention {
    /// Always, as the reference's server runs.
    On,
    /// Never.
    Off,
    /// As llama.cpp decides for the device.
    Auto,
}

/// Element type of a KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
#[allow(missing_docs)] // llama.cpp's own names
pub enum KvType {
    F32,
    F16,
    Bf16,
    #[value(name = "q8_0")]
    #[serde(rename = "q8_0")]
    Q8_0,
    #[value(name = "q5_1")]
    #[serde(rename = "q5_1")]
    Q5_1,
    #[value(name = "q5_0")]
    #[serde(rename = "q5_0")]
    Q5_0,
    #[value(name = "q4_1")]
    #[serde(rename = "q4_1")]
    Q4_1,
    #[value(name = "q4_0")]
    #[serde(rename = "q4_0")]
    Q4_0,
    #[value(name = "iq4_nl")]
    #[serde(rename = "iq4_nl")]
    Iq4Nl,
}

impl KvType {
    /// The tensor type of the same name.
    #[must_use]
    pub fn tensor_type(self) -> gguf::TensorType {
        use gguf::TensorType as T;
        match self {
            Self::F32 => T::F32,
            Self::F16 => T::F16,
            Self::Bf16 => T::BF16,
            Self::Q8_0 => T::Q8_0,
            Self::Q5_1 => T::Q5_1,
            Self::Q5_0 => T::Q5_0,
            Self::Q4_1 => T::Q4_1,
            Self::Q4_0 => T::Q4_0,
            Self::Iq4Nl => T::IQ4_NL,
        }
    }

    /// Whether it stores blocks, not numbers.
    #[must_use]
    pub fn is_quantized(self) -> bool {
        self.tensor_type().is_quantized()
    }

    fn llama(self) -> KvCacheType {
        match self {
            Self::F32 => KvCacheType::F32,
            Self::F16 => KvCacheType::F16,
            Self::Bf16 => KvCacheType::BF16,
            Self::Q8_0 => KvCacheType::Q8_0,
            Self::Q5_1 => KvCacheType::Q5_1,
            Self::Q5_0 => KvCacheType::Q5_0,
            Self::Q4_1 => KvCacheType::Q4_1,
            Self::Q4_0 => KvCacheType::Q4_0,
            Self::Iq4Nl => KvCacheType::IQ4_NL,
        }
    }
}

impl fmt::Display for KvType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tensor_type().to_string().to_lowercase())
    }
}

/// Everything of the context that a result depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSettings {
    /// Context size, tokens.
    pub ctx_size: u32,
    /// llama.cpp's `n_batch`, at least the micro-batch. Our calls are never larger than that ([`Self::call_size`]).
    pub batch_size: u32,
    /// Most tokens per pass over the weights (`n_ubatch`).
    pub ubatch_size: u32,
    /// Threads for generation and for prompts.
    pub threads: u32,
    /// Fused attention.
    pub flash_attn: FlashAttention,
    /// Element type of the K cache.
    pub cache_type_k: KvType,
    /// Element type of the V cache.
    pub cache_type_v: KvType,
}

impl ContextSettings {
    /// Most tokens of one of our decode calls: at most a micro-batch, so that a deadline is seen between passes.
    #[must_use]
    pub fn call_size(&self) -> usize {
        self.batch_size.min(self.ubatch_size) as usize
    }

    /// Creates the context on `model`, with recurrent states for the last `states` tokens of a call besides the
    /// current one, and room for `outputs` rows of logits.
    pub(super) fn create<'m>(
        &self,
        model: &'m LoadedModel,
        states: u32,
        outputs: u32,
    ) -> Result<LlamaContext<'m>, LoadError> {
        self.with(model, self.params().with_n_rs_seq(states), outputs)
    }

    /// Creates the context that drafts with the model's prediction block, which must have been loaded: llama.cpp
    /// aborts the process otherwise.
    pub(super) fn create_draft<'m>(
        &self,
        model: &'m LoadedModel,
    ) -> Result<LlamaContext<'m>, LoadError> {
        let params = self.params().with_context_type(LlamaContextType::Mtp);
        self.with(model, params, 1)
    }

    fn params(&self) -> LlamaContextParams {
        LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(self.ctx_size))
            .with_n_batch(self.batch_size)
            .with_n_ubatch(self.ubatch_size)
            .with_n_threads(self.threads.cast_signed())
            .with_n_threads_batch(self.threads.cast_signed())
            .with_flash_attention_policy(match self.flash_attn {
                FlashAttention::On => llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_ENABLED,
                FlashAttention::Off => llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_DISABLED,
                FlashAttention::Auto => llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_AUTO,
            })
            .with_type_k(self.cache_type_k.llama())
            .with_type_v(self.cache_type_v.llama())
            .with_no_perf(true)
    }

    fn with<'m>(
        &self,
        model: &'m LoadedModel,
        params: LlamaContextParams,
        outputs: u32,
    ) -> Result<LlamaContext<'m>, LoadError> {
        let refused = |cause: String| LoadError::Context {
            context: self.ctx_size,
            cause,
        };
        let params = outputs::with_outputs_max(params, outputs);
        let context = model
            .model
            .new_context(backend()?, params)
            .map_err(|e| refused(explanation(&e.to_string())))?;
        if context.n_ctx() != self.ctx_size {
            return Err(LoadError::ContextSize {
                asked: self.ctx_size,
                got: context.n_ctx(),
            });
        }
        Ok(context)
    }
}

/// The one parameter that llama-cpp-2 has no setter for: without it the logits buffer is sized for a whole batch of
/// outputs (491 MiB on the 27B), of which a single-stream decoder reads one.
mod outputs {
    #![allow(unsafe_code)] // a by-value conversion between a struct and its only field

    use std::mem::{align_of, size_of, transmute};

    use llama_cpp_2::context::params::LlamaContextParams;
    use llama_cpp_sys_2::llama_context_params;

    const _: () = assert!(size_of::<LlamaContextParams>() == size_of::<llama_context_params>());
    const _: () = assert!(align_of::<LlamaContextParams>() == align_of::<llama_context_params>());

    /// `params` with room for `outputs` rows of logits per decode call.
    pub fn with_outputs_max(params: LlamaContextParams, outputs: u32) -> LlamaContextParams {
        // SAFETY: LlamaContextParams (llama-cpp-2 0.1.160, pinned exactly) has llama_context_params as its single
        // field, and size and alignment are checked above; a plain C struct is valid for every bit pattern its
        // fields are, and only a u32 field changes.
        unsafe {
            let mut raw: llama_context_params = transmute(params);
            raw.n_outputs_max = outputs;
            transmute(raw)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_wrapper_is_its_only_field() {
            let params = LlamaContextParams::default()
                .with_n_batch(777)
                .with_n_ubatch(111);
            let params = with_outputs_max(params, 3);
            assert_eq!((params.n_batch(), params.n_ubatch()), (777, 111));
            // SAFETY: as above.
            let raw: llama_context_params = unsafe { transmute(params) };
            assert_eq!(
                (raw.n_batch, raw.n_ubatch, raw.n_outputs_max),
                (777, 111, 3)
            );
        }
    }
}
