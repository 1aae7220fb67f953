//! Model files that are not what they should be: refused from the header, each in its own words.

use std::fs;
use std::path::Path;

use gguf::Value;

use crate::harness::gguf_file::{GgufFile, set_offset};
use crate::harness::model::{changed, damaged, plain_llama, synth, tiny};
use crate::harness::results::Results;
use crate::harness::tree::tree;
use crate::harness::{Ended, Ends, edge, run_sample, scratch};

/// Asserts that `run` and `prompts` refuse the model with exit 2 and leave no result behind; returns `run`'s words.
#[track_caller]
fn refused(model: &Path, parts: &[&str]) -> Ended {
    edge("prompts")
        .arg("--sample")
        .arg("--model")
        .arg(model)
        .ends(2)
        .says(parts);
    run_refuses(model, parts)
}

#[track_caller]
fn run_refuses(model: &Path, parts: &[&str]) -> Ended {
    let dir = scratch();
    let out = dir.path().join("out");
    let ended = run_sample(model, &out).ends(2);
    ended.says(parts);
    assert_eq!(ended.stdout, "");
    assert!(
        tree(dir.path()).values().all(Option::is_none),
        "no file is left"
    );
    ended
}

#[test]
fn t6_01_a_file_cut_short_is_refused_with_both_sizes() {
    let whole = fs::metadata(tiny()).expect("the model").len();
    for left in [whole - 1, whole - (1 << 20), whole / 2, 4096, 23, 5] {
        let dir = scratch();
        let path = damaged(dir.path(), |bytes| bytes.truncate(left as usize));
        refused(&path, &["damaged.gguf", &left.to_string()]);
    }
    let dir = scratch();
    let path = damaged(dir.path(), |bytes| bytes.truncate(whole as usize - 1));
    refused(
        &path,
        &[
            "damaged.gguf",
            &(whole - 1).to_string(),
            &whole.to_string(),
            "fetch",
        ],
    );
}

#[test]
fn t6_02_page_empty_file_and_pointer_get_three_distinct_messages() {
    let dir = scratch();
    let path = dir.path().join("model.gguf");
    let pointer =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 16817243904\n";
    let cases = [
        (
            "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>",
            "<!DOCTYPE html>",
        ),
        ("", "empty (0 bytes)"),
        (pointer, "16817243904"),
        ("{\"error\": \"not found\"}", "JSON"),
    ];
    let mut messages: Vec<String> = cases
        .iter()
        .map(|(content, part)| {
            fs::write(&path, content).expect("writable");
            refused(&path, &["model.gguf", part]).stderr
        })
        .collect();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), cases.len());
}

#[test]
fn t6_02_absent_file_and_directory_are_named() {
    let dir = scratch();
    refused(
        &dir.path().join("absent.gguf"),
        &["absent.gguf", "no such file"],
    );
    refused(dir.path(), &["directory", ".gguf file"]);
}

#[test]
fn t6_03_a_split_model_runs_from_its_first_part_only() {
    let dir = scratch();
    let parts = GgufFile::read(tiny()).write_split(dir.path(), 3);
    let whole = edge("prompts")
        .arg("--sample")
        .arg("--model")
        .arg(tiny())
        .ends(0)
        .stdout;
    let split = edge("prompts")
        .arg("--sample")
        .arg("--model")
        .arg(&parts[0])
        .ends(0)
        .stdout;
    assert_eq!(whole, split);
    refused(&parts[1], &["part 2 of 3", "model-00001-of-00003.gguf"]);

    let out = dir.path().join("out");
    run_sample(&parts[0], &out).args(["--turns", "1"]).ends(0);
    let files = Results::read(&out).plan.model.files;
    let names: Vec<_> = files.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "model-00001-of-00003.gguf",
            "model-00002-of-00003.gguf",
            "model-00003-of-00003.gguf"
        ]
    );
    assert!(files.iter().all(|f| f.sha256.len() == 64), "{files:?}");

    fs::remove_file(&parts[2]).expect("removable");
    refused(
        &parts[0],
        &["1 of 3 parts missing", "model-00003-of-00003.gguf"],
    );
}

#[test]
fn t6_03_parts_joined_with_cat_are_refused() {
    let dir = scratch();
    let parts = GgufFile::read(tiny()).write_split(dir.path(), 2);
    let joined: Vec<u8> = parts
        .iter()
        .flat_map(|p| fs::read(p).expect("a part"))
        .collect();
    let path = dir.path().join("joined.gguf");
    fs::write(&path, joined).expect("writable");
    let ended = edge("prompts")
        .arg("--sample")
        .arg("--model")
        .arg(&path)
        .ends(2);
    ended.says(&["joined.gguf"]);
}

#[test]
fn t6_05_overlapping_and_short_tensors_are_refused_by_name() {
    let dir = scratch();
    let path = damaged(dir.path(), |bytes| {
        set_offset(bytes, "output_norm.weight", 0)
    });
    refused(&path, &["damaged.gguf", "output_norm.weight"]);
    let path = damaged(dir.path(), |bytes| {
        set_offset(bytes, "output_norm.weight", 1 << 40)
    });
    refused(&path, &["damaged.gguf", "output_norm.weight"]);
    let path = damaged(dir.path(), |bytes| {
        set_offset(bytes, "output_norm.weight", u64::MAX - 31)
    });
    refused(&path, &["damaged.gguf", "output_norm.weight"]);
}

#[test]
fn t6_05_absurd_counts_are_refused_without_allocating_for_them() {
    let dir = scratch();
    for at in [8, 16] {
        let path = damaged(dir.path(), |bytes| {
            bytes[at..at + 8].copy_from_slice(&(1u64 << 60).to_le_bytes())
        });
        refused(&path, &["damaged.gguf", "1152921504606846976"]);
    }
}

#[test]
fn t6_06_mtp_metadata_without_tensors_is_refused_before_loading() {
    let dir = scratch();
    let path = changed(dir.path(), |file| {
        file.set("qwen35.nextn_predict_layers", Value::U32(1));
        file.set("qwen35.block_count", Value::U32(5));
    });
    run_refuses(
        &path,
        &[
            "MTP metadata without tensors",
            "qwen35.nextn_predict_layers",
        ],
    );
}

#[test]
fn t6_06_mtp_tensors_without_metadata_are_refused_before_loading() {
    let dir = scratch();
    let path = dir.path().join("mtp.gguf");
    synth(&["--mtp"]).arg("--out").arg(&path).ends(0);
    let mut file = GgufFile::read(&path);
    file.retain(|key| key != "qwen35.nextn_predict_layers");
    file.write(&path);
    run_refuses(&path, &["MTP tensors without metadata"]);
}

#[test]
fn t6_06_a_model_with_a_head_runs_without_using_it() {
    let dir = scratch();
    let path = dir.path().join("mtp.gguf");
    synth(&["--mtp"]).arg("--out").arg(&path).ends(0);
    let out = dir.path().join("out");
    run_sample(&path, &out).args(["--turns", "1"]).ends(0);
    let Results { summary, turns, .. } = Results::read(&out);
    assert_eq!(summary.turns.completed, 2);
    assert!(turns.records.iter().all(|r| r.drafted_tokens == 0));
}

#[test]
fn t6_09_a_missing_or_tool_less_template_is_refused() {
    let dir = scratch();
    let path = changed(dir.path(), |file| {
        file.retain(|key| key != "tokenizer.chat_template")
    });
    refused(&path, &["changed.gguf", "template"]);
    let plain = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                 {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let path = changed(dir.path(), |file| {
        file.set("tokenizer.chat_template", Value::String(plain.to_owned()));
    });
    refused(&path, &["changed.gguf", "template", "tools"]);
    let path = changed(dir.path(), |file| {
        file.set(
            "tokenizer.chat_template",
            Value::String("{% for m in messages".to_owned()),
        );
    });
    refused(&path, &["changed.gguf"]);
}

#[test]
fn t6_11_another_architecture_is_named_and_never_called_corrupt() {
    let dir = scratch();
    let path = plain_llama(dir.path());
    let ended = run_refuses(
        &path,
        &["architecture", "llama", "qwen35", "--profile none"],
    );
    assert!(
        !ended.stderr.contains("corrupt") && !ended.stderr.contains("damaged"),
        "{}",
        ended.stderr
    );
}

#[test]
fn another_architecture_runs_without_the_profile_as_a_named_deviation() {
    let dir = scratch();
    let path = plain_llama(dir.path());
    let out = dir.path().join("out");
    let mut run = run_sample(&path, &out);
    run.args(["--profile", "none", "--turns", "2", "--max-new-tokens", "8"])
        .ends(0);
    let Results { plan, summary, .. } = Results::read(&out);
    assert_eq!(
        (plan.profile.as_str(), plan.model.architecture.as_str()),
        ("none", "llama")
    );
    assert_eq!(summary.turns.completed + summary.turns.completed_length, 4);
    assert!(
        plan.deviations
            .iter()
            .any(|d| d.name == "model-architecture"),
        "{:?}",
        plan.deviations
    );
}

#[test]
fn t6_11_an_architecture_that_llama_cpp_does_not_know_is_no_damage() {
    let dir = scratch();
    let path = changed(dir.path(), |file| {
        file.set("general.architecture", Value::String("zebra".to_owned()));
    });
    run_refuses(&path, &["zebra", "qwen35"]);
    let out = dir.path().join("out");
    let ended = run_sample(&path, &out).args(["--profile", "none"]).ends(3);
    ended.says(&["zebra"]);
}
