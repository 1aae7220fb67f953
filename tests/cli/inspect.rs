//! `inspect`: what a header says, and what is wrong with it, without loading anything.

use gguf::Value;
use serde_json::Value as Json;

use crate::harness::gguf_file::GgufFile;
use crate::harness::model::{changed, plain_llama, synth, tiny};
use crate::harness::{Ends, edge, scratch};

/// `inspect` of `model`, as JSON.
fn inspected(model: &std::path::Path, code: i32) -> Json {
    let ended = edge("inspect")
        .arg(model)
        .args(["--format", "json"])
        .ends(code);
    serde_json::from_str(&ended.stdout).expect("strict JSON")
}

#[test]
fn a_sound_model_is_described() {
    let report = inspected(tiny(), 0);
    assert_eq!(report["model"]["architecture"], "qwen35");
    assert_eq!(report["problems"], Json::Array(Vec::new()));
    let table = edge("inspect").arg(tiny()).ends(0).stdout;
    for part in ["qwen35", "F16", "<tool_call>", "MTP"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
}

#[test]
fn t6_06_three_answers_to_whether_there_is_a_prediction_head() {
    let dir = scratch();
    let with = dir.path().join("mtp.gguf");
    synth(&["--mtp"]).arg("--out").arg(&with).ends(0);
    let without = changed(dir.path(), |file| {
        file.set("qwen35.nextn_predict_layers", Value::U32(1));
        file.set("qwen35.block_count", Value::U32(5));
    });
    let headless = dir.path().join("headless.gguf");
    let mut file = GgufFile::read(&with);
    file.retain(|key| key != "qwen35.nextn_predict_layers");
    file.write(&headless);
    let answers = [
        inspected(tiny(), 0)["mtp"].clone(),
        inspected(&with, 0)["mtp"].clone(),
        inspected(&without, 2)["mtp"].clone(),
    ];
    assert!(
        answers[0] != answers[1] && answers[1] != answers[2] && answers[0] != answers[2],
        "{answers:?}"
    );
    for (model, says) in [
        (&without, "MTP metadata without tensors"),
        (&headless, "MTP tensors without metadata"),
    ] {
        edge("inspect").arg(model).ends(2).says(&[says]);
    }
}

#[test]
fn t6_11_another_architecture_is_a_sound_file() {
    let dir = scratch();
    let ended = edge("inspect").arg(plain_llama(dir.path())).ends(0);
    assert!(ended.stdout.contains("llama"), "{}", ended.stdout);
}

#[test]
fn what_is_no_model_is_refused() {
    let dir = scratch();
    let path = dir.path().join("page.gguf");
    std::fs::write(&path, "<html>").expect("writable");
    let ended = edge("inspect").arg(&path).ends(2);
    ended.says(&["page.gguf", "<html>"]);
    assert_eq!(ended.stdout, "");
}
