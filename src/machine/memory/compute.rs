//! Sizes of compute buffers, estimated from shapes.
//!
//! llama.cpp reserves them by building the largest graph and letting an allocator overlay tensors that are not
//! alive at the same time; what results depends on holes that only the allocator knows. The estimate counts the
//! tensors alive at the three points where most are, per token of a pass, in f32 elements:
//!
//! - feed-forward: 3 residual widths + 3 feed-forward widths + 2 attention widths,
//! - Gated DeltaNet: 5 residual widths + 3 convolution widths (and two recurrent states, whatever the pass),
//! - attention: 3 residual widths + 5 attention widths, and all scores where attention is not fused,
//!
//! and adds the attention mask (context × pass; f16 when fused, else f32). Held against 35 buffers that llama-server
//! b11434 reported on the processor for models of this architecture (embedding 256 to 5120, context 1K to 128K, pass
//! 64 to 2048; see the tests): between 7 % too small and 36 % too large; on the 27B at 32K 188 MiB for 184 measured.
//! Other backends build the same graph; their buffers are taken to be as large.

use gguf::{Facts, PerBlock};

use super::Settings;

/// Bytes of an f32 element.
const F32: u64 = 4;
/// Bytes of an f16 element.
const F16: u64 = 2;
/// Bytes of llama.cpp's tables per token of the vocabulary: text, hash-map nodes, piece cache. Estimated from the
/// anonymous memory of a server with the 248,320 tokens of Qwen3.6 and a tiny model: 100 MB beside its buffers.
const VOCABULARY_ENTRY: u64 = 400;
/// Widths are cut here, far above any model's, so that a hostile file's sums stay within 64 bits.
const WIDEST: u64 = 1 << 40;

/// Widths of a model's tensors, elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    residual: u64,
    feed_forward: u64,
    /// All query heads together.
    attention: u64,
    heads: u64,
    /// Input of the recurrent layers' convolution.
    convolution: u64,
    /// Recurrent state of one layer.
    state: u64,
    vocabulary: u64,
}

impl Widths {
    /// The widest of every kind; what the file does not say counts as 0.
    pub(super) fn of(facts: &Facts) -> Self {
        let widest = |value: &Option<PerBlock>| match value {
            None => 0,
            Some(PerBlock::Same(n)) => *n,
            Some(PerBlock::Each(list)) => list.iter().copied().max().unwrap_or(0),
        };
        let residual = facts.embedding_length.unwrap_or(0);
        let heads = widest(&facts.head_count);
        let head = facts
            .key_length
            .or_else(|| residual.checked_div(heads))
            .unwrap_or(0);
        Self {
            residual,
            feed_forward: widest(&facts.feed_forward_length),
            attention: heads.saturating_mul(head).min(WIDEST),
            heads,
            convolution: facts.ssm.map_or(0, |ssm| {
                let groups = ssm.group_count.saturating_mul(ssm.state_size);
                ssm.inner_size
                    .saturating_add(groups.saturating_mul(2))
                    .min(WIDEST)
            }),
            state: facts.ssm.map_or(0, |ssm| {
                ssm.state_size.saturating_mul(ssm.inner_size).min(WIDEST)
            }),
            vocabulary: facts.vocab_size.unwrap_or(0),
        }
    }

    /// The main context's buffer, bytes.
    pub(super) fn context(&self, settings: &Settings) -> u64 {
        let feed_forward = 3 * (self.residual + self.feed_forward) + 2 * self.attention;
        let delta_net = match self.convolution {
            0 => 0,
            width => per_pass(settings, 5 * self.residual + 3 * width)
                .saturating_add(self.state.saturating_mul(2 * F32)),
        };
        let mask = mask(settings);
        per_pass(settings, feed_forward)
            .max(delta_net)
            .saturating_add(mask)
            .max(self.attention(settings))
            .max(self.logits(settings).saturating_add(mask))
    }

    /// The draft context's buffer, bytes. It has one block, after whose attention the mask's place is free again:
    /// about two residual widths of it are found to stay.
    pub(super) fn draft(&self, settings: &Settings) -> u64 {
        let feed_forward = 3 * self.residual + 2 * (self.feed_forward + self.attention);
        let kept = mask(settings).min(per_pass(settings, 2 * self.residual));
        per_pass(settings, feed_forward)
            .saturating_add(kept)
            .max(self.attention(settings))
            .max(self.logits(settings))
    }

    /// What stays on the host when all layers are on devices: the mask and the embedded tokens, bytes.
    pub(super) fn inputs(&self, settings: &Settings) -> u64 {
        mask(settings).saturating_add(per_pass(settings, self.residual))
    }

    /// Rows of logits on the host, bytes.
    pub(super) fn output_rows(&self, settings: &Settings) -> u64 {
        (self.vocabulary * F32).saturating_mul(settings.outputs())
    }

    /// llama.cpp's tables of the vocabulary, bytes.
    pub(super) fn vocabulary(&self) -> u64 {
        self.vocabulary * VOCABULARY_ENTRY
    }

    fn logits(&self, settings: &Settings) -> u64 {
        per_pass(settings, self.residual).saturating_add(self.output_rows(settings))
    }

    fn attention(&self, settings: &Settings) -> u64 {
        let widths = per_pass(settings, 3 * self.residual + 5 * self.attention);
        let scores = match settings.flash_attention {
            true => 0,
            false => per_pass(settings, self.heads.saturating_mul(settings.cells())),
        };
        widths.saturating_add(scores).saturating_add(mask(settings))
    }
}

fn per_pass(settings: &Settings, elements: u64) -> u64 {
    elements.saturating_mul(settings.pass() * F32)
}

fn mask(settings: &Settings) -> u64 {
    let element = if settings.flash_attention { F16 } else { F32 };
    let cells = settings.cells().saturating_mul(settings.pass());
    cells.saturating_mul(element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::memory::settings::mib;

    /// Embedding, feed-forward, query heads, head, key heads, value heads (state 128).
    type Dims = [u64; 6];

    fn widths([residual, feed_forward, heads, head, keys, values]: Dims) -> Widths {
        Widths {
            residual,
            feed_forward,
            attention: heads * head,
            heads,
            convolution: 128 * (2 * keys + values),
            state: 128 * 128 * values,
            vocabulary: 248_320,
        }
    }

    fn settings(ctx_size: u32, ubatch_size: u32, flash_attention: bool) -> Settings {
        Settings {
            ctx_size,
            ubatch_size,
            flash_attention,
            ..Settings::default()
        }
    }

    const QWEN27B: Dims = [5120, 17408, 24, 256, 16, 48];
    const QWEN9B: Dims = [4096, 12288, 16, 256, 16, 32];
    const QWEN4B: Dims = [2560, 9216, 16, 256, 16, 32];
    const QWEN08B: Dims = [1024, 3584, 8, 256, 16, 16];
    const TINY: Dims = [256, 512, 4, 256, 2, 6];
    const SMALL: Dims = [1024, 2048, 8, 128, 4, 8];
    const THIN: Dims = [1024, 512, 8, 128, 4, 8];
    const WIDE_STATE: Dims = [1024, 512, 8, 128, 16, 32];

    fn check(name: &str, estimate: u64, measured: f64) {
        let ratio = mib(estimate) / measured;
        let within = (0.93..=1.37).contains(&ratio);
        assert!(within, "{name}: {:.2} MiB for {measured}", mib(estimate));
    }

    /// "CPU compute buffer size" in MiB that llama-server b11434 printed (`-np 1 -fit off`, f16 caches).
    #[test]
    fn contexts_match_what_llama_server_reserved() {
        let measured: &[(Dims, u32, u32, bool, f64)] = &[
            (QWEN27B, 32_768, 512, true, 184.02),
            (QWEN27B, 1024, 512, true, 153.02),
            (QWEN27B, 4096, 512, true, 156.02),
            (QWEN27B, 16_384, 512, true, 168.02),
            (QWEN27B, 65_536, 512, true, 216.02),
            (QWEN27B, 131_072, 512, true, 280.02),
            (QWEN27B, 4096, 512, false, 290.02),
            (QWEN27B, 32_768, 512, false, 1690.02),
            (QWEN27B, 32_768, 128, true, 47.62),
            (QWEN27B, 32_768, 1024, true, 368.05),
            (QWEN9B, 1024, 512, true, 113.02),
            (QWEN9B, 32_768, 512, true, 144.02),
            (QWEN4B, 1024, 512, true, 80.02),
            (QWEN08B, 1024, 512, true, 36.02),
            (TINY, 1024, 512, true, 12.52),
            (TINY, 32_768, 512, true, 43.52),
            (SMALL, 32_768, 64, true, 7.53),
            (SMALL, 32_768, 512, true, 54.02),
            (SMALL, 32_768, 2048, true, 216.09),
            (SMALL, 4096, 512, true, 26.02),
            (SMALL, 4096, 512, false, 87.02),
            (SMALL, 65_536, 512, false, 1167.02),
            (THIN, 1024, 512, true, 19.05),
            (WIDE_STATE, 1024, 512, true, 59.12),
        ];
        for &(dims, context, pass, fused, mib) in measured {
            let name = format!("{dims:?} context {context} pass {pass} fused {fused}");
            check(
                &name,
                widths(dims).context(&settings(context, pass, fused)),
                mib,
            );
        }
    }

    #[test]
    fn draft_contexts_match_what_llama_server_reserved() {
        let measured: &[(Dims, u32, u32, bool, f64)] = &[
            (QWEN27B, 32_768, 512, true, 130.02),
            (QWEN27B, 1024, 512, true, 123.02),
            (QWEN27B, 8192, 512, true, 130.02),
            (QWEN27B, 16_384, 512, true, 148.02),
            (QWEN27B, 65_536, 512, true, 132.02),
            (QWEN27B, 131_072, 512, true, 196.02),
            (QWEN27B, 32_768, 512, false, 1660.01),
            (QWEN27B, 32_768, 1024, true, 260.04),
            (QWEN9B, 32_768, 512, true, 88.02),
            (QWEN4B, 1024, 512, true, 65.02),
            (TINY, 32_768, 512, true, 42.02),
        ];
        for &(dims, context, pass, fused, mib) in measured {
            let name = format!("{dims:?} context {context} pass {pass} fused {fused}");
            check(
                &name,
                widths(dims).draft(&settings(context, pass, fused)),
                mib,
            );
        }
    }

    #[test]
    fn a_model_without_widths_has_only_its_mask() {
        let none = widths([0; 6]);
        let settings = settings(32_768, 512, true);
        assert!(mib(none.context(&settings)) < 33.0);
    }
}
