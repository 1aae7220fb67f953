//! The tensors of arch `qwen35`: names, shapes, types.
//!
//! Source: llama.cpp's `qwen35` loader and `ENGINE.md`, "Model facts".

use super::{Shape, Spec};
use crate::types::TensorType;
use crate::write::TensorEntry;

/// Every this many blocks one is attention, the others are Gated DeltaNet.
pub(super) const ATTENTION_EVERY: u32 = 4;
/// Width of the causal convolution before the delta rule, in tokens.
pub(super) const CONV_KERNEL: u64 = 4;
/// Dimensions of each head that rotary embedding turns.
pub(super) const ROPE_DIMS: u32 = 64;

/// The sizes that tell one model of the family from another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dims {
    pub embedding: u64,
    pub ffn: u64,
    /// Blocks without the MTP block.
    pub trunk: u32,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    /// Key heads of the delta rule (`ssm.group_count`).
    pub groups: u64,
    /// Value heads of the delta rule (`ssm.time_step_rank`).
    pub value_heads: u64,
    /// Width of a delta-rule head (`ssm.state_size`).
    pub state: u64,
    /// Whether the output head is the embedding matrix.
    pub tied: bool,
}

impl Dims {
    pub(super) fn of(shape: Shape) -> Self {
        match shape {
            Shape::Tiny => Self {
                embedding: 256,
                ffn: 512,
                trunk: 4,
                heads: 4,
                kv_heads: 2,
                head: 256,
                groups: 2,
                value_heads: 6,
                state: 128,
                tied: true,
            },
            Shape::Qwen36_27B => Self {
                embedding: 5120,
                ffn: 17_408,
                trunk: 64,
                heads: 24,
                kv_heads: 4,
                head: 256,
                groups: 16,
                value_heads: 48,
                state: 128,
                tied: false,
            },
        }
    }

    /// Width of the delta rule's values (`ssm.inner_size`).
    pub(super) fn inner(&self) -> u64 {
        self.state * self.value_heads
    }

    /// Channels of the convolution: queries, keys and values.
    fn conv_channels(&self) -> u64 {
        2 * self.state * self.groups + self.inner()
    }
}

/// What a tensor does; it decides type and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Embedding,
    Output,
    OutputNorm,
    /// Any norm of the trunk whose weights are ones.
    Norm,
    QueryNorm,
    Query,
    Key,
    Value,
    AttentionOut,
    DeltaQkv,
    DeltaGate,
    Conv,
    StepBias,
    Decay,
    Beta,
    Alpha,
    DeltaOut,
    FfnGate,
    FfnUp,
    FfnDown,
    /// Joins the last token's embedding and the trunk's state in the MTP block.
    MtpJoin,
    /// The MTP block's counterpart of `OutputNorm`.
    MtpHeadNorm,
}

/// One tensor of a model.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub name: String,
    /// The contiguous dimension first.
    pub dims: Vec<u64>,
    pub role: Role,
    /// The block it belongs to.
    pub block: Option<u32>,
}

impl Tensor {
    /// Its line in the directory.
    pub(super) fn entry(&self, shape: Shape) -> TensorEntry {
        TensorEntry {
            name: self.name.clone(),
            dims: self.dims.clone(),
            tensor_type: match shape {
                _ if self.is_f32() => TensorType::F32,
                Shape::Tiny => TensorType::F16,
                Shape::Qwen36_27B => self.q4_k_m(Dims::of(shape).trunk),
            },
        }
    }

    /// Vectors and the convolution stay in full precision in every published file.
    pub(super) fn is_f32(&self) -> bool {
        self.dims.len() == 1 || self.role == Role::Conv
    }

    /// The type that the Q4_K_M recipe gives: more bits for the output head and, in the first
    /// and last eighth of the blocks and every third between, for what errors hurt most.
    pub(super) fn q4_k_m(&self, blocks: u32) -> TensorType {
        let favoured = |i: u32| {
            let eighth = blocks / 8;
            i < eighth || i >= 7 * blocks / 8 || (i - eighth) % 3 == 2
        };
        match (self.role, self.block) {
            (Role::Output, _) => TensorType::Q6_K,
            (Role::DeltaQkv | Role::Value | Role::FfnDown, Some(i)) if favoured(i) => {
                TensorType::Q6_K
            }
            _ => TensorType::Q4_K,
        }
    }
}

/// Every tensor of the model, in file order.
pub(super) fn tensors(spec: &Spec) -> Vec<Tensor> {
    let dims = Dims::of(spec.shape);
    let (d, vocabulary) = (dims.embedding, spec.vocab.len() as u64);
    let mut list = List::default();
    list.add("token_embd.weight", &[d, vocabulary], Role::Embedding);
    list.add("output_norm.weight", &[d], Role::OutputNorm);
    if !dims.tied {
        list.add("output.weight", &[d, vocabulary], Role::Output);
    }
    for block in 0..dims.trunk {
        list.block = Some(block);
        list.norms(&dims);
        if (block + 1) % ATTENTION_EVERY == 0 {
            list.attention(&dims);
        } else {
            list.delta(&dims);
        }
        list.ffn(&dims);
    }
    if spec.mtp {
        list.block = Some(dims.trunk);
        list.norms(&dims);
        list.attention(&dims);
        list.ffn(&dims);
        list.add("nextn.eh_proj.weight", &[2 * d, d], Role::MtpJoin);
        list.add("nextn.enorm.weight", &[d], Role::Norm);
        list.add("nextn.hnorm.weight", &[d], Role::Norm);
        list.add("nextn.shared_head_norm.weight", &[d], Role::MtpHeadNorm);
    }
    list.tensors
}

#[derive(Default)]
struct List {
    tensors: Vec<Tensor>,
    block: Option<u32>,
}

impl List {
    fn add(&mut self, name: &str, dims: &[u64], role: Role) {
        self.tensors.push(Tensor {
            name: match self.block {
                Some(block) => format!("blk.{block}.{name}"),
                None => name.to_owned(),
            },
            dims: dims.to_vec(),
            role,
            block: self.block,
        });
    }

    fn norms(&mut self, dims: &Dims) {
        self.add("attn_norm.weight", &[dims.embedding], Role::Norm);
        self.add("post_attention_norm.weight", &[dims.embedding], Role::Norm);
    }

    fn attention(&mut self, dims: &Dims) {
        let d = dims.embedding;
        let (queries, keys) = (dims.head * dims.heads, dims.head * dims.kv_heads);
        // Query and output gate, interleaved per head.
        self.add("attn_q.weight", &[d, 2 * queries], Role::Query);
        self.add("attn_k.weight", &[d, keys], Role::Key);
        self.add("attn_v.weight", &[d, keys], Role::Value);
        self.add("attn_output.weight", &[queries, d], Role::AttentionOut);
        self.add("attn_q_norm.weight", &[dims.head], Role::QueryNorm);
        self.add("attn_k_norm.weight", &[dims.head], Role::Norm);
    }

    fn delta(&mut self, dims: &Dims) {
        let (d, inner, channels) = (dims.embedding, dims.inner(), dims.conv_channels());
        self.add("attn_qkv.weight", &[d, channels], Role::DeltaQkv);
        self.add("attn_gate.weight", &[d, inner], Role::DeltaGate);
        self.add("ssm_conv1d.weight", &[CONV_KERNEL, channels], Role::Conv);
        self.add("ssm_dt.bias", &[dims.value_heads], Role::StepBias);
        self.add("ssm_a", &[dims.value_heads], Role::Decay);
        self.add("ssm_beta.weight", &[d, dims.value_heads], Role::Beta);
        self.add("ssm_alpha.weight", &[d, dims.value_heads], Role::Alpha);
        self.add("ssm_norm.weight", &[dims.state], Role::Norm);
        self.add("ssm_out.weight", &[inner, d], Role::DeltaOut);
    }

    fn ffn(&mut self, dims: &Dims) {
        let (d, ffn) = (dims.embedding, dims.ffn);
        self.add("ffn_gate.weight", &[d, ffn], Role::FfnGate);
        self.add("ffn_up.weight", &[d, ffn], Role::FfnUp);
        self.add("ffn_down.weight", &[ffn, d], Role::FfnDown);
    }
}
