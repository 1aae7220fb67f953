use super::data::Inspection;
use super::page;
use super::report::{InspectError, report};
use crate::machine::memory::{Host, Repack};
use crate::output::{Format, render_page};
use gguf::TensorType;
use gguf::value::{Array, Strings, Value};
use gguf::write::{TensorEntry, Writer, file_size};
use std::fs::File;

const TEMPLATE: &str = "{% if tools %}<tool_call></tool_call>{% endif %}<|im_start|>x<|im_end|>";
const HOST: Host = Host {
    available_bytes: Some(8 << 30),
    repack: Repack::Avx2,
};

/// A model to be written: four blocks of the benchmark's kind and a prediction block, all weights zero.
struct Draft {
    metadata: Vec<(String, Value)>,
    tensors: Vec<TensorEntry>,
}

impl Draft {
    fn new() -> Self {
        let mut draft = Self {
            metadata: Vec::new(),
            tensors: Vec::new(),
        };
        draft.describe();
        draft.tensor("token_embd.weight", &[256, 8], TensorType::F16);
        draft.tensor("output_norm.weight", &[256], TensorType::F32);
        for n in 0..5 {
            draft.block(n);
        }
        for (part, dims) in [
            ("eh_proj", &[512, 256][..]),
            ("enorm", &[256]),
            ("hnorm", &[256]),
        ] {
            draft.tensor(&format!("blk.4.nextn.{part}.weight"), dims, TensorType::F32);
        }
        draft
    }

    fn describe(&mut self) {
        self.set("general.architecture", "qwen35".into());
        self.set("general.name", "test-F16".into());
        self.set("general.file_type", 1.into());
        for (key, n) in [
            ("block_count", 5),
            ("context_length", 262_144),
            ("embedding_length", 256),
            ("feed_forward_length", 512),
            ("attention.head_count", 4),
            ("attention.head_count_kv", 2),
            ("attention.key_length", 256),
            ("attention.value_length", 256),
            ("ssm.conv_kernel", 4),
            ("ssm.state_size", 128),
            ("ssm.group_count", 2),
            ("ssm.time_step_rank", 6),
            ("ssm.inner_size", 768),
            ("full_attention_interval", 4),
            ("nextn_predict_layers", 1),
        ] {
            self.set(&format!("qwen35.{key}"), n.into());
        }
        let tokens = [
            "a",
            "b",
            "<|im_start|>",
            "<|im_end|>",
            "<tool_call>",
            "</tool_call>",
        ];
        let tokens: Strings = tokens.into_iter().collect();
        self.set("tokenizer.ggml.tokens", Value::Array(Array::String(tokens)));
        let types = Array::I32(vec![1, 1, 3, 3, 4, 4]);
        self.set("tokenizer.ggml.token_type", Value::Array(types));
        self.set("tokenizer.ggml.eos_token_id", 3.into());
        self.set("tokenizer.chat_template", TEMPLATE.into());
    }

    fn block(&mut self, n: u32) {
        let attention = n >= 3;
        let mut add = |part: &str, dims: &[u64]| {
            let kind = if dims.len() == 1 {
                TensorType::F32
            } else {
                TensorType::F16
            };
            self.tensor(&format!("blk.{n}.{part}"), dims, kind);
        };
        add("attn_norm.weight", &[256]);
        add("post_attention_norm.weight", &[256]);
        if attention {
            for part in ["attn_q", "attn_k", "attn_v", "attn_output"] {
                add(&format!("{part}.weight"), &[256, 256]);
            }
            add("attn_q_norm.weight", &[256]);
            add("attn_k_norm.weight", &[256]);
        } else {
            add("attn_qkv.weight", &[256, 1280]);
            add("ssm_out.weight", &[768, 256]);
        }
        for part in ["ffn_gate", "ffn_up", "ffn_down"] {
            add(&format!("{part}.weight"), &[256, 512]);
        }
    }

    fn tensor(&mut self, name: &str, dims: &[u64], tensor_type: TensorType) {
        self.tensors.push(TensorEntry {
            name: name.to_owned(),
            dims: dims.to_vec(),
            tensor_type,
        });
    }

    fn set(&mut self, key: &str, value: Value) {
        self.unset(key);
        self.metadata.push((key.to_owned(), value));
    }

    fn unset(&mut self, key: &str) {
        self.metadata.retain(|(k, _)| k != key);
    }

    /// Writes the header, then zeros by extending the file.
    fn inspect(self) -> Result<Inspection, InspectError> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("model.gguf");
        let bytes = file_size(&self.metadata, &self.tensors).expect("a sound draft");
        let file = File::create(&path).expect("a file");
        Writer::begin(&file, &self.metadata, self.tensors).expect("a header");
        file.set_len(bytes).expect("zeros");
        report(&path, &[], HOST)
    }
}

#[test]
fn a_sound_model_is_reported_in_all_formats() {
    let inspection = Draft::new().inspect().expect("a report");
    assert_eq!(inspection.problems, [""; 0]);
    assert_eq!(inspection.notes, [""; 0]);
    assert_eq!(inspection.mtp.state, "yes");
    assert_eq!(inspection.model.attention_blocks, 1);
    assert_eq!(inspection.model.recurrent_blocks, 3);
    assert!(inspection.label.agree);
    let end = inspection.end_token.get().expect("an end token");
    assert_eq!((end.id, end.text.as_str()), (3, "<|im_end|>"));
    let document = page::document(&inspection);
    for format in Format::ALL {
        let text = render_page(format, &document, &inspection).expect("a rendering");
        for part in ["qwen35", "262", "<tool_call>", "host"] {
            assert!(text.contains(part), "{format}: no {part:?} in\n{text}");
        }
    }
    let json = render_page(Format::Json, &document, &inspection).expect("JSON");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["census"][0]["type"], "F16");
    assert_eq!(json["memory"]["value"]["pools"][0]["fit"], "fits");
    // Attention is one block of four: 2 KV heads x 256 x 2 bytes x (K and V) x 32,768 tokens.
    let shares = json["memory"]["value"]["shares"]
        .as_array()
        .expect("a list");
    let kv = shares
        .iter()
        .find(|s| s["part"] == "kv_cache")
        .expect("a KV cache");
    assert_eq!(kv["bytes"], 64 << 20);
}

#[test]
fn t6_06_mtp_metadata_without_tensors_is_a_problem_in_the_header() {
    let mut draft = Draft::new();
    draft.tensors.retain(|t| !t.name.contains("nextn"));
    let inspection = draft.inspect().expect("a report");
    assert_eq!(inspection.mtp.state, "inconsistent");
    let said = inspection.problems.join(" ");
    assert!(said.contains("MTP metadata without tensors"), "{said}");
}

#[test]
fn t6_06_mtp_tensors_without_metadata_are_a_problem_too() {
    let mut draft = Draft::new();
    draft.unset("qwen35.nextn_predict_layers");
    let inspection = draft.inspect().expect("a report");
    let said = inspection.problems.join(" ");
    assert!(said.contains("MTP tensors without metadata"), "{said}");
}

#[test]
fn t6_06_a_model_without_mtp_is_sound() {
    let mut draft = Draft::new();
    draft.unset("qwen35.nextn_predict_layers");
    draft.tensors.retain(|t| !t.name.starts_with("blk.4."));
    draft.set("qwen35.block_count", 4.into());
    let inspection = draft.inspect().expect("a report");
    assert_eq!((inspection.mtp.state, inspection.problems.len()), ("no", 0));
}

#[test]
fn t6_07_markers_that_are_split_or_absent_are_listed() {
    let mut draft = Draft::new();
    let types = Array::I32(vec![1, 1, 3, 3, 1, 4]);
    draft.set("tokenizer.ggml.token_type", Value::Array(types));
    let template = format!("{TEMPLATE}<think>");
    draft.set("tokenizer.chat_template", template.as_str().into());
    let inspection = draft.inspect().expect("a report");
    let said = inspection.problems.join(" ");
    for part in [
        "'<tool_call>' is a token of type 1",
        "'<think>' is not in the vocabulary",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("im_start"), "{said}");
}

#[test]
fn t6_09_a_template_that_is_absent_or_without_tools_is_noted_and_hashed() {
    let mut draft = Draft::new();
    draft.unset("tokenizer.chat_template");
    let absent = draft.inspect().expect("a report");
    assert!(absent.template.get().is_none());
    assert!(
        absent
            .notes
            .join(" ")
            .contains("found nothing, expected a chat template")
    );

    let mut draft = Draft::new();
    draft.set("tokenizer.chat_template", "abc".into());
    let without = draft.inspect().expect("a report");
    let template = without.template.get().expect("a template");
    assert!(!template.mentions_tools);
    assert!(template.sha256.starts_with("ba7816bf8f01cfea"));
    assert!(without.notes.join(" ").contains("does not mention tools"));
}

#[test]
fn t6_04_a_label_that_disagrees_is_noted() {
    let mut draft = Draft::new();
    draft.set("general.file_type", 15.into());
    let inspection = draft.inspect().expect("a report");
    assert!(!inspection.label.agree);
    let said = inspection.notes.join(" ");
    assert!(
        said.contains("Q4_K_M (15)") && said.contains("% F16"),
        "{said}"
    );
}

#[test]
fn another_architecture_is_named_and_not_called_damaged() {
    let mut draft = Draft::new();
    draft.set("general.architecture", "llama".into());
    draft.tensors.retain(|t| !t.name.contains("nextn"));
    let inspection = draft.inspect().expect("a report");
    assert!(!inspection.model.supported);
    let said = inspection.notes.join(" ");
    assert!(said.contains("unsupported architecture 'llama'"), "{said}");
    assert!(said.contains("no memory plan") || inspection.memory.get().is_some());
}

#[test]
fn a_model_without_vocabulary_has_a_problem_and_no_panic() {
    let mut draft = Draft::new();
    draft.unset("tokenizer.ggml.tokens");
    let inspection = draft.inspect().expect("a report");
    let said = inspection.problems.join(" ");
    assert!(said.contains("tokenizer.ggml.tokens"), "{said}");
}

#[test]
fn an_end_token_outside_the_vocabulary_is_noted() {
    let mut draft = Draft::new();
    draft.set("tokenizer.ggml.eos_token_id", 99.into());
    let inspection = draft.inspect().expect("a report");
    assert!(
        inspection
            .notes
            .join(" ")
            .contains("is 99, which is no token")
    );
    let mut draft = Draft::new();
    draft.set("tokenizer.ggml.eos_token_id", 0.into());
    let inspection = draft.inspect().expect("a report");
    assert!(inspection.notes.join(" ").contains("ends with 'a' (id 0)"));
}

#[test]
fn t6_02_files_that_are_no_model_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, content) in [
        ("empty", ""),
        ("html", "<!DOCTYPE html><html>"),
        ("lfs", "version https://git-lfs"),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let said = report(&path, &[], HOST).expect_err("no model").to_string();
        assert!(said.contains(name), "{said}");
    }
    assert!(report(&dir.path().join("absent"), &[], HOST).is_err());
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_its_key() {
    let mut draft = Draft::new();
    draft.set("qwen35.block_count", "many".into());
    let said = draft.inspect().expect_err("no number").to_string();
    assert!(
        said.contains("qwen35.block_count") && said.contains("model.gguf"),
        "{said}"
    );
}
