//! The models that tests run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gguf::types::TensorType;
use gguf::{Array, Value};

use super::gguf_file::GgufFile;
use super::{Ends, edge, scratch};

/// The tiny model in F16 with the built-in vocabulary: it calls a tool and stops by itself.
///
/// Written once per process and put in place with a rename, so that a second process may do the same at any time.
pub fn tiny() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| {
        let dir = scratch();
        let fresh = dir.path().join("tiny.gguf");
        synth(&[]).arg("--out").arg(&fresh).ends(0);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tiny.gguf");
        fs::rename(&fresh, &path).expect("the model is put in place");
        path
    })
}

/// The tiny model in F16 with a prediction block, whose drafts are right often enough for both paths to be taken.
pub fn tiny_mtp() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| {
        let dir = scratch();
        let fresh = dir.path().join("tiny-mtp.gguf");
        synth(&["--mtp"]).arg("--out").arg(&fresh).ends(0);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tiny-mtp.gguf");
        fs::rename(&fresh, &path).expect("the model is put in place");
        path
    })
}

/// `synth --shape tiny --type f16` with further options; `--out` is still to be given.
pub fn synth(options: &[&str]) -> assert_cmd::Command {
    let mut command = edge("synth");
    command
        .args(["--shape", "tiny", "--type", "f16"])
        .args(options);
    command
}

/// The tiny model with one change, in `dir`.
pub fn changed(dir: &Path, change: impl FnOnce(&mut GgufFile)) -> PathBuf {
    let mut file = GgufFile::read(tiny());
    change(&mut file);
    let path = dir.join("changed.gguf");
    file.write(&path);
    path
}

/// Bytes of the tiny model with one change, in `dir`.
pub fn damaged(dir: &Path, damage: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = fs::read(tiny()).expect("the tiny model");
    damage(&mut bytes);
    let path = dir.join("damaged.gguf");
    fs::write(&path, bytes).expect("the test's directory is writable");
    path
}

/// Width, heads and feed-forward width of [`plain_llama`].
const WIDTH: u64 = 64;
const HEADS: u32 = 2;
const FFN: u64 = 128;

/// A one-block model of architecture `llama` with the tiny model's vocabulary and template: sound, small, and not
/// the benchmark's.
pub fn plain_llama(dir: &Path) -> PathBuf {
    let mut file = GgufFile::read(tiny());
    let tokens = match file.get("tokenizer.ggml.tokens") {
        Some(Value::Array(Array::String(tokens))) => tokens.len() as u64,
        other => panic!("a list of tokens, found {other:?}"),
    };
    file.retain(|key| !key.starts_with("qwen35."));
    file.set("general.architecture", Value::String("llama".to_owned()));
    for (key, value) in [
        ("block_count", 1),
        ("context_length", 4096),
        ("embedding_length", WIDTH as u32),
        ("feed_forward_length", FFN as u32),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", HEADS),
        ("rope.dimension_count", WIDTH as u32 / HEADS),
    ] {
        file.set(&format!("llama.{key}"), Value::U32(value));
    }
    file.set("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5));
    file.tensors.clear();
    for (name, dims) in [
        ("token_embd.weight", vec![WIDTH, tokens]),
        ("output_norm.weight", vec![WIDTH]),
        ("output.weight", vec![WIDTH, tokens]),
        ("blk.0.attn_norm.weight", vec![WIDTH]),
        ("blk.0.attn_q.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_k.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_v.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_output.weight", vec![WIDTH, WIDTH]),
        ("blk.0.ffn_norm.weight", vec![WIDTH]),
        ("blk.0.ffn_gate.weight", vec![WIDTH, FFN]),
        ("blk.0.ffn_up.weight", vec![WIDTH, FFN]),
        ("blk.0.ffn_down.weight", vec![FFN, WIDTH]),
    ] {
        file.push(name, dims, TensorType::F32, noise);
    }
    let path = dir.join("plain-llama.gguf");
    file.write(&path);
    path
}

/// The `n`-th weight: small, different from its neighbours, the same on every machine.
fn noise(n: u64) -> [u8; 4] {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (mixed as f32 / (1u64 << 24) as f32 - 0.5).to_le_bytes()
}
