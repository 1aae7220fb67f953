//! `prompts`: equal to llama-server's on the real data, pinned on the sample, equal to whole renders on both.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use edge_agentic::chat::dialogue::ids_sha256;
use edge_agentic::chat::{ChatTemplate, Vocab, prefix};
use edge_agentic::conversation::{self, Dataset, SAMPLE, SAMPLE_NAME, json_array};
use edge_agentic::engine::llama::{LoadedModel, ModelSettings};
use serde_json::Value;

use crate::harness::model::{synth, tiny};
use crate::harness::{Ends, PROGRAM, edge, environment, prompts, scratch, shared};

const GOLDEN: &str = include_str!("../golden/sample_prompts.jsonl");

fn sample_prompts() -> assert_cmd::Command {
    let mut command = edge("prompts");
    command.arg("--sample").arg("--model").arg(tiny());
    command
}

fn vocabulary(model: &Path) -> LoadedModel {
    LoadedModel::load(model, &ModelSettings::vocabulary(), |_| {}).expect("the model loads")
}

/// Asserts that every row that `prompts` printed is what one whole render and one whole tokenization give.
#[track_caller]
fn equal_whole_renders(rows: &[Value], data: &Dataset, model: &Path) {
    let vocab = vocabulary(model);
    let (bos, eos) = vocab.bos_eos();
    let source = vocab.chat_template().expect("the model has a template");
    let template = ChatTemplate::new(&source, &bos, &eos, false).expect("the template parses");
    let mut rows = rows.iter();
    for conversation in &data.conversations {
        let tools = conversation.tools.as_ref().map(|t| t.get());
        let mut before = Vec::new();
        for (index, turn) in conversation.turns.iter().enumerate() {
            let messages = conversation.messages(index).expect("the turn is there");
            let prompt = template
                .render(&json_array(&messages), tools)
                .expect("the template renders");
            let ids = vocab.tokenize(&prompt);
            let row = rows.next().expect("a row for every client turn");
            assert_eq!(row["conversation_id"], conversation.id);
            assert_eq!(row["turn"], turn.turn);
            assert_eq!(row["prompt_bytes"], prompt.len());
            assert_eq!(row["prompt_sha256"], sha256(prompt.as_bytes()));
            assert_eq!(row["n_tokens"], ids.len());
            assert_eq!(row["tokens_sha256"], ids_sha256(&ids));
            assert_eq!(
                row["ideal_new_tokens"],
                ids.len() - prefix::common_prefix(&before, &ids)
            );
            before = ids;
        }
    }
    assert!(rows.next().is_none(), "no further rows");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    edge_agentic::chat::dialogue::hex(&Sha256::digest(bytes))
}

#[test]
fn all_1007_prompts_and_token_ids_equal_llama_servers() {
    let (Some(vocab), Some(template), Some(data), Some(digests)) = (
        shared("data/qwen3.6/vocab.json.gz"),
        shared("data/qwen3.6/chat_template.jinja"),
        shared("data/agentic_coding_2.5h.jsonl"),
        shared("data/qwen3.6/prompt_digests.jsonl.gz"),
    ) else {
        return;
    };
    let dir = scratch();
    let model = dir.path().join("real-vocabulary.gguf");
    let mut synth = synth(&[]);
    synth
        .arg("--vocab-from")
        .arg(vocab)
        .arg("--template")
        .arg(template);
    synth.arg("--out").arg(&model).ends(0);
    let ended = prompts(&model, &data).arg("--check").arg(digests).ends(0);
    assert!(
        ended.stdout.contains("prompts equal: 1007/1007"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("token-id lists equal: 1007/1007"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_samples_prompts_are_the_pinned_ones() {
    let printed = sample_prompts().ends(0).stdout;
    assert_eq!(
        printed, GOLDEN,
        "where the change is meant: `edge-agentic prompts --sample --model TINY > tests/golden/sample_prompts.jsonl`"
    );
}

#[test]
fn the_samples_prompts_equal_whole_renders() {
    let data = conversation::parse(SAMPLE, SAMPLE_NAME).expect("the sample is sound");
    equal_whole_renders(&sample_prompts().ends(0).rows(), &data, tiny());
}

#[test]
fn the_text_of_a_turn_has_the_digest_of_its_row() {
    for row in sample_prompts().ends(0).rows() {
        let turn = format!(
            "{}:{}",
            row["conversation_id"].as_str().expect("an id"),
            row["turn"]
        );
        let text = sample_prompts().args(["--turn", &turn]).ends(0).stdout;
        assert_eq!(row["prompt_sha256"], sha256(text.as_bytes()), "{turn}");
    }
}

#[test]
fn digests_check_against_themselves_and_a_changed_one_fails() {
    let dir = scratch();
    let file = dir.path().join("digests.jsonl");
    std::fs::write(&file, GOLDEN).expect("writable");
    let ended = sample_prompts().arg("--check").arg(&file).ends(0);
    assert!(
        ended.stdout.contains("prompts equal: 11/11"),
        "{}",
        ended.stdout
    );
    let changed = GOLDEN.replacen("\"n_tokens\":", "\"n_tokens\":1", 1);
    std::fs::write(&file, changed).expect("writable");
    let ended = sample_prompts().arg("--check").arg(&file).ends(1);
    assert!(
        ended.stdout.contains("token-id lists equal: 10/11"),
        "{}",
        ended.stdout
    );
    ended.says(&["differs", "sample__slugs-1"]);
}

#[test]
fn fewer_digests_than_turns_fail_the_check() {
    let dir = scratch();
    let file = dir.path().join("digests.jsonl");
    let all_but_one: String = GOLDEN.split_inclusive('\n').take(10).collect();
    std::fs::write(&file, all_but_one).expect("writable");
    let ended = sample_prompts().arg("--check").arg(&file).ends(1);
    assert!(ended.stdout.contains("10/11"), "{}", ended.stdout);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    for lines in [0, 1] {
        let mut child = Command::new(PROGRAM)
            .envs(environment())
            .args(["prompts", "--sample", "--model"])
            .arg(tiny())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program under test starts");
        let reader = BufReader::new(child.stdout.take().expect("a pipe"));
        assert_eq!(reader.lines().take(lines).count(), lines);
        let output = child.wait_with_output().expect("it ends");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{messages}");
        assert_eq!(messages, "");
    }
}
