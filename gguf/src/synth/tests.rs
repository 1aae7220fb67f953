use std::io;
use std::path::PathBuf;

use super::{
    CHAT_TEMPLATE, Shape, Spec, SynthError, Vocab, VocabError, Written, arch, size, write,
};
use crate::{Gguf, Header, TensorType};

fn spec(shape: Shape, mtp: bool) -> Spec {
    Spec {
        mtp,
        ..Spec::builtin(shape).unwrap()
    }
}

fn bytes(spec: &Spec) -> Vec<u8> {
    let mut out = Vec::new();
    let written = write(spec, &mut out, |_, _| ()).unwrap();
    assert_eq!(out.len() as u64, written.bytes);
    assert_eq!(written.bytes, size(spec).unwrap());
    out
}

/// Qwen3.6's vocabulary and template; absent in a checkout without the shared data.
fn real_parts() -> Option<(Vocab, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/qwen3.6");
    if !folder.exists() {
        println!("skipped: no shared data");
        return None;
    }
    let vocab = Vocab::from_json_gz(&folder.join("vocab.json.gz")).unwrap();
    let template = std::fs::read_to_string(folder.join("chat_template.jinja")).unwrap();
    Some((vocab, template))
}

#[test]
fn the_same_spec_gives_the_same_bytes() {
    let first = bytes(&spec(Shape::Tiny, true));
    assert!(first == bytes(&spec(Shape::Tiny, true)));
    let other = Spec {
        seed: 2,
        ..spec(Shape::Tiny, true)
    };
    assert!(first != bytes(&other));
}

#[test]
fn tiny_is_read_back_with_its_blocks() {
    for (mtp, tensors, blocks) in [(false, 55, 4), (true, 70, 5)] {
        let bytes = bytes(&spec(Shape::Tiny, mtp));
        let len = bytes.len() as u64;
        let file = Gguf::from_header(Header::read(&bytes[..], len).unwrap(), len).unwrap();
        assert_eq!(file.tensors().len(), tensors);
        let metadata = file.metadata();
        assert_eq!(metadata.u64("qwen35.block_count"), Ok(Some(blocks)));
        let predicted = metadata.u64("qwen35.nextn_predict_layers");
        assert_eq!(predicted, Ok(mtp.then_some(1)));
        assert_eq!(
            metadata.str("tokenizer.chat_template"),
            Ok(Some(CHAT_TEMPLATE))
        );
    }
}

#[test]
fn progress_ends_with_the_whole_file() {
    let mut seen = Vec::new();
    let written = write(&spec(Shape::Tiny, false), io::sink(), |done, all| {
        seen.push((done, all))
    });
    let all = written.unwrap().bytes;
    assert_eq!(seen.len(), 55);
    assert!(seen.is_sorted() && seen.iter().all(|&(_, a)| a == all));
    assert_eq!(seen.last(), Some(&(all, all)));
}

#[test]
fn every_seed_of_eight_can_be_planted() {
    for seed in 0..8 {
        let spec = Spec {
            seed,
            ..spec(Shape::Tiny, false)
        };
        write(&spec, io::sink(), |_, _| ()).unwrap();
    }
}

/// Source: `ENGINE.md`, "Model facts".
#[test]
fn the_27b_shape_has_the_tensors_of_the_real_model() {
    for (mtp, tensors, f32s) in [(false, 851, 353), (true, 866, 360)] {
        let spec = spec(Shape::Qwen36_27B, mtp);
        let list = arch::tensors(&spec);
        let of = |tensor_type| {
            let types = list.iter().map(|t| t.entry(spec.shape).tensor_type);
            types.filter(|t| *t == tensor_type).count()
        };
        assert_eq!(list.len(), tensors);
        assert_eq!(of(TensorType::F32), f32s);
        let (q4, q6) = (of(TensorType::Q4_K), of(TensorType::Q6_K));
        assert_eq!(q4 + q6, tensors - f32s);
        // The output head; 32 favoured blocks of 64 with a down projection and either values
        // or a joint query-key-value projection; with MTP two more.
        assert_eq!(q6, 1 + 2 * 32 + if mtp { 2 } else { 0 });
    }
}

/// The whole 16.5 GB go through the writer, which checks every tensor's size; a sink keeps none.
#[test]
fn the_27b_shape_is_written_whole() {
    let Some((vocab, template)) = real_parts() else {
        return;
    };
    for (mtp, parameters, bytes) in [
        (false, 26_895_998_464, 16_536_406_016),
        (true, 27_320_697_856, 16_799_719_424),
    ] {
        let spec = Spec {
            shape: Shape::Qwen36_27B,
            mtp,
            vocab: vocab.clone(),
            template: template.clone(),
            seed: 1,
            context_length: Spec::CONTEXT_LENGTH,
        };
        let written: Written = write(&spec, io::sink(), |_, _| ()).unwrap();
        assert_eq!(written.parameters, parameters);
        let header = written.bytes - bytes;
        assert!((10_000_000..12_000_000).contains(&header), "{header}");
    }
}

#[test]
fn tiny_takes_the_real_vocabulary() {
    let Some((vocab, template)) = real_parts() else {
        return;
    };
    assert_eq!((vocab.len(), vocab.merges().len()), (248_320, 247_556));
    assert_eq!(vocab.id("<|im_end|>"), Some(248_046));
    let spec = Spec {
        vocab,
        template,
        ..spec(Shape::Tiny, false)
    };
    let written = write(&spec, io::sink(), |_, _| ()).unwrap();
    assert_eq!(written.parameters, 68_381_860);
}

#[test]
fn a_vocabulary_without_the_needed_tokens_is_refused() {
    let tokens = ["a", "<|im_end|>", "<|endoftext|>"]
        .map(str::to_owned)
        .to_vec();
    let spec = Spec {
        vocab: Vocab::new(tokens, vec![1, 3, 3], Vec::new()).unwrap(),
        ..spec(Shape::Tiny, false)
    };
    let mut out = Vec::new();
    let error = write(&spec, &mut out, |_, _| ()).unwrap_err();
    assert!(matches!(error, SynthError::Plant(_)), "{error}");
    assert!(error.to_string().contains("`ĊĊ`"), "{error}");
    assert!(out.is_empty());
    let nameless = Spec {
        vocab: Vocab::new(vec!["a".to_owned()], vec![1], Vec::new()).unwrap(),
        ..spec
    };
    let error = write(&nameless, &mut out, |_, _| ()).unwrap_err();
    assert!(matches!(
        error,
        SynthError::Vocab(VocabError::Missing("<|im_end|>"))
    ));
}
