//! Whatever the bytes: an answer, never a panic.

use gguf::{Census, Facts, Gguf, Label, Mtp, TensorType, Vocabulary};
use proptest::prelude::*;

use crate::build::{Build, read};
use crate::qwen35::{Shape, qwen35};

/// Asks a model everything that can be asked.
fn ask(model: &Gguf) {
    let census = Census::of(model);
    let _ = (
        census.dominant(),
        census.bits_per_weight(),
        census.by_type(),
    );
    let _ = Label::of(model, &census).map(|label| label.to_string());
    if let Ok(facts) = Facts::of(model) {
        let _ = facts.supported();
        for t in [TensorType::F16, TensorType::Q8_0] {
            let _ = facts.kv_bytes_per_token(t, t);
            let _ = facts.draft_kv_bytes_per_token(t, t);
        }
        let _ = facts.recurrent_state_bytes();
        let _ = Mtp::of(model, &facts);
    }
    if let Ok(vocabulary) = Vocabulary::of(model) {
        let _ = vocabulary.markers(&gguf::template::MARKERS);
    }
    let _ = gguf::template::tool_template(model.metadata());
}

fn open(bytes: &[u8]) -> Option<Gguf> {
    let model = |header| Gguf::from_header(header, bytes.len() as u64);
    read(bytes).and_then(model).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&bytes).map_err(|fault| fault.to_string());
    }

    #[test]
    fn random_bytes_behind_a_header_never_panic(
        tensors in 0_u8..4,
        entries in 0_u8..4,
        rest in proptest::collection::vec(prop_oneof![Just(0_u8), 0_u8..14, any::<u8>()], 0..600),
    ) {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(u64::from(tensors).to_le_bytes());
        bytes.extend(u64::from(entries).to_le_bytes());
        bytes.extend(rest);
        let _ = read(&bytes).map_err(|fault| fault.to_string());
    }

    #[test]
    fn mutations_of_a_sound_file_never_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = qwen35(Shape::TINY).header();
        let size = qwen35(Shape::TINY).bytes().len();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.resize(cut.map_or(size, |cut| cut.index(size)), 0);
        if let Some(model) = open(&bytes) {
            ask(&model);
        }
    }

    #[test]
    fn any_numbers_in_the_metadata_never_panic(
        numbers in proptest::collection::vec(prop_oneof![0_u32..70, any::<u32>()], 12),
    ) {
        const NAMES: [&str; 12] = [
            "block_count", "embedding_length", "attention.head_count", "attention.head_count_kv",
            "attention.key_length", "attention.value_length", "ssm.conv_kernel", "ssm.state_size",
            "ssm.group_count", "ssm.time_step_rank", "ssm.inner_size", "full_attention_interval",
        ];
        let mut build = Build::new().text("general.architecture", "qwen35");
        for (name, number) in NAMES.into_iter().zip(numbers) {
            build = build.u32(&format!("qwen35.{name}"), number);
        }
        let model = open(&build.bytes()).expect("a sound file");
        ask(&model);
    }
}
