//! Headers of the architecture this project runs, tiny and in the real size.

use gguf::TensorType::{self, F16, F32, Q4_K, Q6_K};

use crate::build::{Build, I32};

/// Sizes of a model; the names are those of the metadata.
#[derive(Clone, Copy)]
pub struct Shape {
    pub blocks: u64,
    pub mtp: bool,
    pub embedding: u64,
    pub feed_forward: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head: u64,
    pub groups: u64,
    pub rank: u64,
    pub state: u64,
    pub vocabulary: usize,
    pub quantized: bool,
}

impl Shape {
    pub const TINY: Self = Self {
        blocks: 4,
        mtp: true,
        embedding: 64,
        feed_forward: 64,
        heads: 2,
        kv_heads: 1,
        head: 32,
        groups: 1,
        rank: 2,
        state: 16,
        vocabulary: 16,
        quantized: false,
    };
    /// Qwen3.6-27B: see "Model facts" in ENGINE.md.
    pub const FULL: Self = Self {
        blocks: 64,
        mtp: false,
        embedding: 5120,
        feed_forward: 17_408,
        heads: 24,
        kv_heads: 4,
        head: 256,
        groups: 16,
        rank: 48,
        state: 128,
        vocabulary: 248_320,
        quantized: true,
    };

    fn weight(self, many_bits: bool) -> TensorType {
        match (self.quantized, many_bits) {
            (false, _) => F16,
            (true, false) => Q4_K,
            (true, true) => Q6_K,
        }
    }
}

/// A model of this shape.
pub fn qwen35(shape: Shape) -> Build {
    let mut build = vocabulary(metadata(shape), shape.vocabulary);
    let (e, v) = (shape.embedding, shape.vocabulary as u64);
    build = build
        .tensor("token_embd.weight", &[e, v], shape.weight(false))
        .tensor("output_norm.weight", &[e], F32)
        .tensor("output.weight", &[e, v], shape.weight(true));
    for n in 0..shape.blocks {
        build = block(build, shape, n, (n + 1) % 4 == 0);
    }
    if shape.mtp {
        let n = shape.blocks;
        build = block(build, shape, n, true);
        build = build.tensor(
            &format!("blk.{n}.nextn.eh_proj.weight"),
            &[2 * e, e],
            shape.weight(false),
        );
        for norm in ["enorm", "hnorm", "shared_head_norm"] {
            build = build.tensor(&format!("blk.{n}.nextn.{norm}.weight"), &[e], F32);
        }
    }
    build
}

fn metadata(shape: Shape) -> Build {
    let mut build = Build::new()
        .text("general.architecture", "qwen35")
        .text("general.name", "made-by-hand")
        .u32("general.file_type", if shape.quantized { 15 } else { 1 });
    let numbers = [
        ("block_count", shape.blocks + u64::from(shape.mtp)),
        ("context_length", 262_144),
        ("embedding_length", shape.embedding),
        ("feed_forward_length", shape.feed_forward),
        ("attention.head_count", shape.heads),
        ("attention.head_count_kv", shape.kv_heads),
        ("attention.key_length", shape.head),
        ("attention.value_length", shape.head),
        ("rope.dimension_count", shape.head / 4),
        ("ssm.conv_kernel", 4),
        ("ssm.state_size", shape.state),
        ("ssm.group_count", shape.groups),
        ("ssm.time_step_rank", shape.rank),
        ("ssm.inner_size", shape.rank * shape.state),
        ("full_attention_interval", 4),
    ];
    for (name, number) in numbers {
        build = build.u32(&format!("qwen35.{name}"), number as u32);
    }
    if shape.mtp {
        build = build.u32("qwen35.nextn_predict_layers", 1);
    }
    build.text(
        "tokenizer.chat_template",
        "{% if tools %}<tool_call>{% endif %}<|im_start|>",
    )
}

/// The markers first, then plain tokens as long as real ones, and as many merges.
fn vocabulary(build: Build, size: usize) -> Build {
    let markers = gguf::template::MARKERS;
    let tokens: Vec<String> = (0..size)
        .map(|n| {
            markers
                .get(n)
                .map_or_else(|| format!("tok{n:x}"), |m| (*m).to_owned())
        })
        .collect();
    let kind = |n: usize| if n < markers.len() { 4_i32 } else { 1 };
    let types: Vec<u8> = (0..size).flat_map(|n| kind(n).to_le_bytes()).collect();
    let merges: Vec<String> = (0..size).map(|n| format!("tok{n:x} en")).collect();
    build
        .text("tokenizer.ggml.pre", "qwen35")
        .texts("tokenizer.ggml.tokens", &tokens)
        .array("tokenizer.ggml.token_type", I32, size as u64, &types)
        .texts("tokenizer.ggml.merges", &merges)
}

fn block(build: Build, shape: Shape, n: u64, attention: bool) -> Build {
    let blocks = shape.blocks;
    let more = n < blocks / 8 || n >= 7 * blocks / 8 || (n - blocks / 8) % 3 == 2;
    let (plain, rich) = (shape.weight(false), shape.weight(more));
    let name = |part: &str| format!("blk.{n}.{part}");
    let e = shape.embedding;
    let mut build = build.tensor(&name("attn_norm.weight"), &[e], F32).tensor(
        &name("post_attention_norm.weight"),
        &[e],
        F32,
    );
    if attention {
        let (q, kv) = (shape.head * shape.heads, shape.head * shape.kv_heads);
        build = build
            .tensor(&name("attn_q.weight"), &[e, 2 * q], plain)
            .tensor(&name("attn_k.weight"), &[e, kv], plain)
            .tensor(&name("attn_v.weight"), &[e, kv], rich)
            .tensor(&name("attn_output.weight"), &[q, e], plain)
            .tensor(&name("attn_q_norm.weight"), &[shape.head], F32)
            .tensor(&name("attn_k_norm.weight"), &[shape.head], F32);
    } else {
        let (inner, rank) = (shape.rank * shape.state, shape.rank);
        let channels = inner + 2 * shape.groups * shape.state;
        build = build
            .tensor(&name("attn_qkv.weight"), &[e, channels], rich)
            .tensor(&name("attn_gate.weight"), &[e, inner], plain)
            .tensor(&name("ssm_conv1d.weight"), &[4, channels], F32)
            .tensor(&name("ssm_dt.bias"), &[rank], F32)
            .tensor(&name("ssm_a"), &[rank], F32)
            .tensor(&name("ssm_beta.weight"), &[e, rank], plain)
            .tensor(&name("ssm_alpha.weight"), &[e, rank], plain)
            .tensor(&name("ssm_norm.weight"), &[shape.state], F32)
            .tensor(&name("ssm_out.weight"), &[inner, e], plain);
    }
    build
        .tensor(&name("ffn_gate.weight"), &[e, shape.feed_forward], plain)
        .tensor(&name("ffn_up.weight"), &[e, shape.feed_forward], plain)
        .tensor(&name("ffn_down.weight"), &[shape.feed_forward, e], rich)
}
