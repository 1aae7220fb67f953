//! Models for tests: the shapes of the file that `ENGINE.md`'s figures were measured with.

use gguf::{Block, Facts, PerBlock, QWEN35, Ssm, Tensor, TensorType};

use TensorType::{F32, Q4_K, Q5_K, Q6_K};

/// A tensor at the start of a file.
pub(in crate::machine) fn tensor(name: &str, dims: &[u64], tensor_type: TensorType) -> Tensor {
    Tensor {
        name: name.to_owned(),
        dims: dims.to_vec(),
        tensor_type,
        offset: 0,
        elements: dims.iter().product(),
        bytes: tensor_type.tensor_bytes(dims).expect("whole blocks"),
        part: 0,
    }
}

/// Facts and tensors of a model.
pub(in crate::machine) struct Model {
    pub(in crate::machine) facts: Facts,
    pub(in crate::machine) tensors: Vec<Tensor>,
}

impl Model {
    /// Qwen3.6-27B, Q4_K_M, with its prediction block; the file's mix with Q5_K for the fused projections.
    pub(in crate::machine) fn qwen27b() -> Self {
        const TRUNK: u64 = 64;
        let mut file = FileLayout::default();
        file.add("token_embd.weight", &[5120, 248_320], Q4_K);
        file.add("output_norm.weight", &[5120], F32);
        file.add("output.weight", &[5120, 248_320], Q6_K);
        for n in 0..TRUNK {
            let outer = !(TRUNK / 8..7 * TRUNK / 8).contains(&n);
            let better = outer || (n - TRUNK / 8) % 3 == 2;
            file.block(n, (n + 1) % 4 == 0, if better { Q6_K } else { Q4_K });
        }
        file.block(TRUNK, true, Q6_K);
        file.in_block(TRUNK, "nextn.eh_proj.weight", &[10_240, 5120], Q4_K);
        for norm in ["enorm", "hnorm", "shared_head_norm"] {
            file.in_block(TRUNK, &format!("nextn.{norm}.weight"), &[5120], F32);
        }
        let kind = |n| {
            if (n + 1) % 4 == 0 {
                Block::Attention
            } else {
                Block::Recurrent
            }
        };
        let mut blocks: Vec<Block> = (0..TRUNK).map(kind).collect();
        blocks.push(Block::Mtp);
        Self {
            facts: facts(blocks),
            tensors: file.tensors,
        }
    }
}

fn facts(blocks: Vec<Block>) -> Facts {
    Facts {
        architecture: QWEN35.to_owned(),
        name: None,
        block_count: Some(blocks.len() as u64),
        context_length: Some(262_144),
        embedding_length: Some(5120),
        feed_forward_length: Some(PerBlock::Same(17_408)),
        head_count: Some(PerBlock::Same(24)),
        head_count_kv: Some(PerBlock::Same(4)),
        key_length: Some(256),
        value_length: Some(256),
        rope_dimension_count: Some(64),
        rope_freq_base: Some(1e7),
        ssm: Some(Ssm {
            conv_kernel: 4,
            state_size: 128,
            group_count: 16,
            time_step_rank: 48,
            inner_size: 6144,
        }),
        full_attention_interval: Some(4),
        nextn_predict_layers: 1,
        vocab_size: Some(248_320),
        blocks,
    }
}

/// Tensors one after the other, as in a file.
#[derive(Default)]
struct FileLayout {
    tensors: Vec<Tensor>,
    end: u64,
}

impl FileLayout {
    fn add(&mut self, name: &str, dims: &[u64], tensor_type: TensorType) {
        let tensor = Tensor {
            offset: self.end,
            ..tensor(name, dims, tensor_type)
        };
        self.end = (self.end + tensor.bytes).next_multiple_of(32);
        self.tensors.push(tensor);
    }

    fn in_block(&mut self, n: u64, part: &str, dims: &[u64], tensor_type: TensorType) {
        self.add(&format!("blk.{n}.{part}"), dims, tensor_type);
    }

    fn block(&mut self, n: u64, attention: bool, better: TensorType) {
        self.in_block(n, "attn_norm.weight", &[5120], F32);
        self.in_block(n, "post_attention_norm.weight", &[5120], F32);
        if attention {
            self.in_block(n, "attn_q.weight", &[5120, 12_288], Q4_K);
            self.in_block(n, "attn_k.weight", &[5120, 1024], Q4_K);
            self.in_block(n, "attn_v.weight", &[5120, 1024], better);
            self.in_block(n, "attn_output.weight", &[6144, 5120], Q4_K);
            self.in_block(n, "attn_q_norm.weight", &[256], F32);
            self.in_block(n, "attn_k_norm.weight", &[256], F32);
        } else {
            self.in_block(n, "attn_qkv.weight", &[5120, 10_240], Q5_K);
            self.in_block(n, "attn_gate.weight", &[5120, 6144], Q4_K);
            self.in_block(n, "ssm_conv1d.weight", &[4, 10_240], F32);
            self.in_block(n, "ssm_dt.bias", &[48], F32);
            self.in_block(n, "ssm_a", &[48], F32);
            self.in_block(n, "ssm_beta.weight", &[5120, 48], Q4_K);
            self.in_block(n, "ssm_alpha.weight", &[5120, 48], Q4_K);
            self.in_block(n, "ssm_norm.weight", &[128], F32);
            self.in_block(n, "ssm_out.weight", &[6144, 5120], Q4_K);
        }
        self.in_block(n, "ffn_gate.weight", &[5120, 17_408], Q4_K);
        self.in_block(n, "ffn_up.weight", &[5120, 17_408], Q4_K);
        self.in_block(n, "ffn_down.weight", &[17_408, 5120], better);
    }
}
