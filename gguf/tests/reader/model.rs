//! What a model says about itself: facts, prediction head, markers, label, sizes.

use gguf::TensorType::{F16, F32, Q4_K, Q6_K, Q8_0};
use gguf::{
    Block, Census, Facts, Gguf, Label, Mtp, MtpFault, PerBlock, Role, Vocabulary, template,
};

use crate::build::{Build, I32, says};
use crate::qwen35::{Shape, qwen35};

fn open(build: &Build) -> Gguf {
    let dir = tempfile::tempdir().unwrap();
    Gguf::open(build.write(&dir.path().join("model.gguf"))).unwrap()
}

fn mtp(build: &Build) -> Mtp {
    let model = open(build);
    Mtp::of(&model, &Facts::of(&model).unwrap())
}

#[track_caller]
fn mtp_fault(build: &Build) -> MtpFault {
    match mtp(build) {
        Mtp::Inconsistent(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_27b_shape_has_the_known_facts() {
    let model = open(&qwen35(Shape::FULL));
    let facts = Facts::of(&model).unwrap();
    assert_eq!(facts.supported(), Ok(()));
    assert_eq!(facts.head_count_kv, Some(PerBlock::Same(4)));
    assert_eq!(
        (facts.vocab_size, facts.key_length),
        (Some(248_320), Some(256))
    );
    assert_eq!(
        (facts.count(Block::Attention), facts.count(Block::Recurrent)),
        (16, 48)
    );
    assert_eq!(facts.blocks[3], Block::Attention);
    // 48 x 3.27 MB = 149.6 MiB, and 64 KiB per token: measured in llama.cpp.
    assert_eq!(facts.recurrent_state_bytes(), Ok(156_893_184));
    assert_eq!(facts.kv_bytes_per_token(F16, F16), Ok(64 << 10));
    assert_eq!(
        facts.kv_bytes_per_token(Q8_0, Q8_0),
        Ok(16 * 2 * 1024 / 32 * 34)
    );
    assert_eq!(facts.draft_kv_bytes_per_token(F16, F16), Ok(0));
    let census = Census::of(&model);
    assert_eq!(census.tensors(), 851);
    let f32s: u64 = census
        .rows
        .iter()
        .filter(|r| r.tensor_type == F32)
        .map(|r| r.tensors)
        .sum();
    assert_eq!(f32s, 353);
    assert_eq!(census.dominant().unwrap().0, Q4_K);
    assert_eq!(
        census.role_bytes(Role::Output),
        Q6_K.tensor_bytes(&[5120, 248_320]).unwrap()
    );
    assert_eq!(census.role_bytes(Role::Other), 0);
    assert_eq!(census.bytes(), model.tensor_bytes());
    assert!((26.8e9..27.0e9).contains(&(census.elements() as f64)));
    assert!(Label::of(&model, &census).unwrap().agrees());
    assert_eq!(mtp(&qwen35(Shape::FULL)), Mtp::No);
}

#[test]
fn a_head_has_its_own_cache_and_role() {
    let model = open(&qwen35(Shape {
        mtp: true,
        ..Shape::FULL
    }));
    let facts = Facts::of(&model).unwrap();
    assert_eq!(model.tensors().len(), 866);
    assert_eq!((facts.block_count, facts.trunk()), (Some(65), 64));
    assert_eq!(facts.recurrent_state_bytes(), Ok(156_893_184));
    assert_eq!(facts.kv_bytes_per_token(F16, F16), Ok(64 << 10));
    assert_eq!(facts.draft_kv_bytes_per_token(F16, F16), Ok(4 << 10));
    let rows = Census::of(&model).rows;
    let head: u64 = rows
        .iter()
        .filter(|r| r.role == Role::Mtp)
        .map(|r| r.tensors)
        .sum();
    assert_eq!(head, 15);
}

#[test]
fn t6_06_head_and_metadata_must_agree() {
    let sound = qwen35(Shape::TINY);
    assert_eq!(mtp(&sound), Mtp::Yes { layers: 1 });
    assert_eq!(
        mtp(&qwen35(Shape {
            mtp: false,
            ..Shape::TINY
        })),
        Mtp::No
    );

    let no_tensors = qwen35(Shape {
        mtp: false,
        ..Shape::TINY
    })
    .without_entry("qwen35.block_count")
    .u32("qwen35.block_count", 5)
    .u32("qwen35.nextn_predict_layers", 1);
    let fault = mtp_fault(&no_tensors);
    says(
        &fault,
        &[
            "MTP metadata without tensors",
            "nextn_predict_layers' is 1",
            "blk.4.nextn",
        ],
    );

    let no_metadata = sound.clone().without_entry("qwen35.nextn_predict_layers");
    says(
        mtp_fault(&no_metadata),
        &["MTP tensors without metadata", "blk.4.nextn.eh_proj.weight"],
    );
}

#[test]
fn t6_06_half_a_head_is_named() {
    let sound = qwen35(Shape::TINY);
    let part = sound.clone().without_entry("qwen35.nextn_predict_layers");
    says(
        mtp_fault(&part.u32("qwen35.nextn_predict_layers", 2)),
        &["incomplete", "'blk.3.nextn"],
    );
    let all = sound.clone().without_entry("qwen35.nextn_predict_layers");
    says(
        mtp_fault(&all.u32("qwen35.nextn_predict_layers", 5)),
        &["is 5", "the 5 blocks"],
    );
    let moved = sound
        .without_entry("qwen35.block_count")
        .u32("qwen35.block_count", 9);
    says(
        mtp_fault(&moved),
        &["'blk.4.nextn.eh_proj.weight' outside the last 1 of 9 blocks"],
    );
    let cut = qwen35(Shape {
        mtp: false,
        ..Shape::TINY
    });
    let cut = cut
        .without_entry("qwen35.block_count")
        .u32("qwen35.block_count", 5);
    says(mtp_fault(&cut), &["'block_count' is 5", "end with block 4"]);
}

#[test]
fn t6_07_markers_must_be_single_special_tokens() {
    let model = open(&qwen35(Shape::TINY));
    let vocabulary = Vocabulary::of(&model).unwrap();
    let wanted = template::markers_in(template::tool_template(model.metadata()).unwrap());
    assert_eq!(vocabulary.markers(&wanted), Ok(vec![0, 3]));
    assert_eq!(vocabulary.find("<think>"), Some(7));
    assert_eq!(vocabulary.pre_tokenizer(), Some("qwen35"));

    let broken = Build::new()
        .texts(
            "tokenizer.ggml.tokens",
            &["<think>", "</think>", "</think>", "<|im_end|>"],
        )
        .array(
            "tokenizer.ggml.token_type",
            I32,
            4,
            &[1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0],
        );
    let model = open(&broken);
    let vocabulary = Vocabulary::of(&model).unwrap();
    let fault = vocabulary.markers(&["<tool_call>", "<think>", "</think>", "<|im_end|>"]);
    let fault = fault.unwrap_err();
    says(
        &fault,
        &[
            "'<tool_call>' is not in the vocabulary",
            "'<think>' is a token of type 1",
        ],
    );
    says(&fault, &["'</think>' is in the vocabulary 2 times"]);
    assert_eq!(fault.problems.len(), 3);
}

#[test]
fn t6_09_a_template_without_tools_is_refused() {
    let none = open(&Build::new());
    says(
        template::tool_template(none.metadata()).unwrap_err(),
        &["found nothing"],
    );
    let plain = Build::new().text("tokenizer.chat_template", "{{ messages }}");
    says(
        template::tool_template(open(&plain).metadata()).unwrap_err(),
        &["14 bytes", "tools"],
    );
}

#[test]
fn t6_11_an_unknown_architecture_is_not_called_corrupt() {
    let model = open(&Build::new().text("general.architecture", "mamba9"));
    let fault = Facts::of(&model).unwrap().supported().unwrap_err();
    says(
        &fault,
        &[
            "unsupported architecture 'mamba9' (the file is sound)",
            "qwen35",
        ],
    );
    let model = open(&Build::new());
    says(
        Facts::of(&model).unwrap_err(),
        &["'general.architecture': found nothing"],
    );
}

#[test]
fn facts_out_of_range_are_refused() {
    let with = |key: &str, n: u32| {
        let build = qwen35(Shape::TINY).without_entry(key).u32(key, n);
        Facts::of(&open(&build)).unwrap_err()
    };
    says(
        with("qwen35.block_count", 513),
        &["block_count", "513", "at most 512"],
    );
    says(
        with("qwen35.full_attention_interval", 0),
        &["found 0", "at least 1"],
    );
    let some = qwen35(Shape::TINY).without_entry("qwen35.ssm.state_size");
    says(
        Facts::of(&open(&some)).unwrap_err(),
        &["ssm.state_size", "found nothing"],
    );
    let text = Build::new()
        .text("general.architecture", "x")
        .text("x.block_count", "four");
    says(
        Facts::of(&open(&text)).unwrap_err(),
        &["x.block_count", "\"four\"", "integer"],
    );
}

#[test]
fn numbers_per_block_are_read_from_arrays() {
    let heads: Vec<u8> = [2_i32, 0, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    let build = Build::new()
        .text("general.architecture", "other")
        .u32("other.block_count", 3)
        .u32("other.embedding_length", 64)
        .u32("other.attention.head_count", 4)
        .array("other.attention.head_count_kv", I32, 3, &heads);
    let facts = Facts::of(&open(&build)).unwrap();
    assert_eq!(facts.head_count_kv, Some(PerBlock::Each(vec![2, 0, 4])));
    // Heads are 64 / 4 wide; 2 + 0 + 4 of them, keys and values, 2 bytes each.
    assert_eq!(facts.kv_bytes_per_token(F16, F16), Ok(6 * 16 * 2 * 2));
    says(
        facts
            .kv_bytes_per_token(Q8_0, F16)
            .err()
            .map_or(String::new(), |e| e.to_string()),
        &[],
    );
    let short = build
        .without_entry("other.block_count")
        .u32("other.block_count", 2);
    says(
        Facts::of(&open(&short)).unwrap_err(),
        &["head_count_kv", "3 x i32", "one 32-bit number"],
    );
}

#[test]
fn t6_04_label_and_contents_are_compared() {
    let model = open(
        &qwen35(Shape::TINY)
            .without_entry("general.file_type")
            .u32("general.file_type", 14),
    );
    let label = Label::of(&model, &Census::of(&model)).unwrap();
    assert!(!label.agrees());
    says(
        label,
        &[
            "file_type Q4_K_S (14)",
            "name says nothing",
            "% F16",
            "DISAGREE",
        ],
    );
}
