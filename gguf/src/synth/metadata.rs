//! The metadata of a synthetic model, in file order.

use super::arch::{ATTENTION_EVERY, CONV_KERNEL, Dims, ROPE_DIMS};
use super::{Shape, Spec, VocabError};
use crate::value::{Array, Value};

/// llama.cpp's file types (`llama_ftype`): mostly F16, mostly Q4_K medium.
const FILE_TYPE_F16: u32 = 1;
const FILE_TYPE_Q4_K_M: u32 = 15;

/// Layout of quantized blocks (`GGML_QNT_VERSION`).
const QUANTIZATION_VERSION: u32 = 2;

/// Rotary dimensions per section; arch `qwen35` requires the key.
const ROPE_SECTIONS: [i32; 4] = [11, 11, 10, 0];

pub(super) fn metadata(spec: &Spec) -> Result<Vec<(String, Value)>, VocabError> {
    let mut list = general(spec);
    list.extend(sizes(spec));
    list.extend(tokenizer(spec)?);
    Ok(list)
}

fn general(spec: &Spec) -> Vec<(String, Value)> {
    let (name, file_type) = match spec.shape {
        Shape::Tiny => ("tiny-qwen35", FILE_TYPE_F16),
        Shape::Qwen36_27B => ("synthetic-27b", FILE_TYPE_Q4_K_M),
    };
    let description = format!(
        "synthetic weights, not a trained model (seed {})",
        spec.seed
    );
    let mut list = vec![
        key("general.architecture", "qwen35"),
        key("general.type", "model"),
        key("general.name", name),
        key("general.description", description.as_str()),
        key("general.file_type", file_type),
    ];
    if spec.shape == Shape::Qwen36_27B {
        list.push(key("general.quantization_version", QUANTIZATION_VERSION));
    }
    list
}

fn sizes(spec: &Spec) -> Vec<(String, Value)> {
    let dims = Dims::of(spec.shape);
    let size = |name: &str, value: u64| {
        let value = u32::try_from(value).expect("the shapes' sizes are small constants");
        key(&format!("qwen35.{name}"), value)
    };
    let mut list = vec![
        size("block_count", u64::from(dims.trunk) + u64::from(spec.mtp)),
        size("context_length", spec.context_length.into()),
        size("embedding_length", dims.embedding),
        size("feed_forward_length", dims.ffn),
        size("attention.head_count", dims.heads),
        size("attention.head_count_kv", dims.kv_heads),
        size("attention.key_length", dims.head),
        size("attention.value_length", dims.head),
        key("qwen35.attention.layer_norm_rms_epsilon", Value::F32(1e-6)),
        key("qwen35.rope.freq_base", Value::F32(1e7)),
        size("rope.dimension_count", ROPE_DIMS.into()),
        key(
            "qwen35.rope.dimension_sections",
            Value::Array(Array::I32(ROPE_SECTIONS.to_vec())),
        ),
        size("ssm.conv_kernel", CONV_KERNEL),
        size("ssm.state_size", dims.state),
        size("ssm.group_count", dims.groups),
        size("ssm.time_step_rank", dims.value_heads),
        size("ssm.inner_size", dims.inner()),
        size("full_attention_interval", ATTENTION_EVERY.into()),
    ];
    if spec.mtp {
        list.push(size("nextn_predict_layers", 1));
    }
    list
}

fn tokenizer(spec: &Spec) -> Result<Vec<(String, Value)>, VocabError> {
    let vocab = &spec.vocab;
    let strings = |list: &[String]| Value::Array(Array::String(list.iter().collect()));
    Ok(vec![
        key("tokenizer.ggml.model", "gpt2"),
        key("tokenizer.ggml.pre", "qwen35"),
        key("tokenizer.ggml.tokens", strings(vocab.tokens())),
        key(
            "tokenizer.ggml.token_type",
            Value::Array(Array::I32(vocab.types().to_vec())),
        ),
        key("tokenizer.ggml.merges", strings(vocab.merges())),
        key("tokenizer.ggml.eos_token_id", vocab.require("<|im_end|>")?),
        key(
            "tokenizer.ggml.padding_token_id",
            vocab.require("<|endoftext|>")?,
        ),
        key("tokenizer.ggml.add_bos_token", Value::Bool(false)),
        key("tokenizer.chat_template", spec.template.as_str()),
    ])
}

fn key(name: &str, value: impl Into<Value>) -> (String, Value) {
    (name.to_owned(), value.into())
}
