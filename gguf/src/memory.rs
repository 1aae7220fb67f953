//! Sizes for a memory plan: what a token and a sequence cost beside the weights.

use crate::facts::{Block, Facts};
use crate::metadata::MetadataError;
use crate::types::TensorType;

/// Bytes of one element of a recurrent state: llama.cpp keeps them in f32.
const STATE_BYTES: u64 = 4;

impl Facts {
    /// Bytes of keys and values that the full-attention blocks keep for each token of context.
    ///
    /// Cells of the cache only; llama.cpp reserves context-size many, padded to 256.
    ///
    /// # Errors
    /// When the file does not say how wide the heads are, or a head does not fill whole blocks of
    /// the cache type.
    pub fn kv_bytes_per_token(&self, k: TensorType, v: TensorType) -> Result<u64, MetadataError> {
        self.cache_bytes(Block::Attention, k, v)
    }

    /// The same for the prediction blocks, whose cache belongs to the draft context.
    ///
    /// # Errors
    /// As [`Facts::kv_bytes_per_token`].
    pub fn draft_kv_bytes_per_token(
        &self,
        k: TensorType,
        v: TensorType,
    ) -> Result<u64, MetadataError> {
        self.cache_bytes(Block::Mtp, k, v)
    }

    /// Bytes of the recurrent state of one sequence: convolution and state-space part of every
    /// recurrent block. Independent of the context's length; a snapshot takes as much.
    ///
    /// 0 for a model without recurrent blocks.
    ///
    /// # Errors
    /// When there are recurrent blocks but no `ssm` sizes.
    pub fn recurrent_state_bytes(&self) -> Result<u64, MetadataError> {
        let blocks = self.count(Block::Recurrent);
        if blocks == 0 {
            return Ok(0);
        }
        let ssm = self.ssm.ok_or_else(|| self.absent("ssm.state_size"))?;
        let groups = ssm
            .group_count
            .saturating_mul(ssm.state_size)
            .saturating_mul(2);
        let channels = ssm.inner_size.saturating_add(groups);
        let conv = ssm.conv_kernel.saturating_sub(1).saturating_mul(channels);
        let state = ssm.state_size.saturating_mul(ssm.inner_size);
        let elements = conv.saturating_add(state);
        Ok(elements.saturating_mul(STATE_BYTES).saturating_mul(blocks))
    }

    fn cache_bytes(&self, kind: Block, k: TensorType, v: TensorType) -> Result<u64, MetadataError> {
        let blocks = self
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| **block == kind);
        let mut total: u64 = 0;
        for (n, _) in blocks {
            let key = self.row_bytes(n, k, "attention.key_length", self.key_length)?;
            let value = self.row_bytes(n, v, "attention.value_length", self.value_length)?;
            total = total.saturating_add(key).saturating_add(value);
        }
        Ok(total)
    }

    /// Bytes of one token's keys (or values) in block `n`.
    fn row_bytes(
        &self,
        n: usize,
        cache: TensorType,
        name: &str,
        width: Option<u64>,
    ) -> Result<u64, MetadataError> {
        let at = |heads: &Option<crate::facts::PerBlock>| heads.as_ref().and_then(|h| h.at(n));
        let heads = at(&self.head_count).ok_or_else(|| self.absent("attention.head_count"))?;
        // As in llama.cpp: every query head has its own keys, and they share the width, unless the
        // file says otherwise.
        let kv_heads = at(&self.head_count_kv).unwrap_or(heads);
        let shared = || self.embedding_length?.checked_div(heads);
        let width = width.or_else(shared).ok_or_else(|| self.absent(name))?;
        cache
            .bytes_of(width.saturating_mul(kv_heads))
            .ok_or_else(|| MetadataError {
                key: self.key(name),
                found: format!("{width} x {kv_heads} heads"),
                expected: "rows of whole blocks of the cache type; choose another --cache-type",
            })
    }

    fn absent(&self, name: &str) -> MetadataError {
        MetadataError {
            key: self.key(name),
            found: "nothing".to_owned(),
            expected: "a number",
        }
    }
}
