//! From the data set's rows to the prompt's bytes: what must not get lost, reordered or escaped on the way.

use edge_agentic::metrics::WarningKind;
use serde_json::{Value, json};

use crate::harness::data::{arguments, bash, call, conversation, lines, write};
use crate::harness::model::{synth, tiny};
use crate::harness::results::Results;
use crate::harness::{Ends, prompts, run, scratch};

/// The rows that `prompts` prints for these data.
fn digests(rows: &[Value]) -> Vec<Value> {
    let dir = scratch();
    let file = write(dir.path(), "data.jsonl", rows);
    prompts(tiny(), &file).ends(0).rows()
}

/// The text of one prompt.
fn text(rows: &str, turn: &str) -> String {
    let dir = scratch();
    let file = dir.path().join("data.jsonl");
    std::fs::write(&file, rows).expect("the test's directory is writable");
    prompts(tiny(), &file).args(["--turn", turn]).ends(0).stdout
}

#[test]
fn t1_01_arguments_as_text_and_as_an_object_give_the_same_bytes_and_ids() {
    let spellings = [
        json!("{\"zeta\": \"a < b\", \"alpha\": {\"y\": [1, 2.50, true, null], \"x\": \"é\"}}"),
        json!({"zeta": "a < b", "alpha": {"y": [1, 2.50, true, null], "x": "é"}}),
    ];
    let [as_text, as_object] = spellings.map(|arguments| {
        let mut rows = conversation("c");
        rows[1]["tool_calls"] = json!([call("c0", &arguments)]);
        digests(&rows)
    });
    assert_eq!(as_text.len(), 2);
    assert_eq!(as_text, as_object);
}

#[test]
fn t1_01_arguments_that_are_no_json_object_are_refused_before_the_model_is_looked_at() {
    for wrong in [
        json!("{\"command\": "),
        json!("ls -l"),
        json!("[1]"),
        json!(7),
        json!(""),
    ] {
        let mut rows = conversation("broken arguments");
        rows[1]["tool_calls"] = json!([call("c0", &wrong)]);
        let dir = scratch();
        let file = write(dir.path(), "data.jsonl", &rows);
        prompts(&dir.path().join("no-such-model.gguf"), &file)
            .ends(2)
            .says(&[
                "data.jsonl",
                "line 2",
                "conversation \"broken arguments\"",
                "turn 2",
                "tool_calls[0].function.arguments",
                "found",
                "expected",
                "restore the recorded arguments",
            ]);
    }
}

/// A tool whose keys are in no alphabetical order and whose texts hold what JSON writers like to escape. The first
/// form is how the file spells it, compact; the second is what Python's `json.dumps(…, ensure_ascii=False)` makes
/// of it, which is what the template's author saw.
const AWKWARD_TOOL: [&str; 2] = [
    r#"{"type":"function","function":{"name":"zap","description":"a <b> & 'c' \"d\" — 漢字 é","parameters":{"type":"object","required":["zeta","alpha"],"properties":{"zeta":{"type":"string","description":"z"},"alpha":{"type":"integer","minimum":1},"mid":{"enum":["x","a"],"type":"string"}}}}}"#,
    r#"{"type": "function", "function": {"name": "zap", "description": "a <b> & 'c' \"d\" — 漢字 é", "parameters": {"type": "object", "required": ["zeta", "alpha"], "properties": {"zeta": {"type": "string", "description": "z"}, "alpha": {"type": "integer", "minimum": 1}, "mid": {"enum": ["x", "a"], "type": "string"}}}}}"#,
];

#[test]
fn t1_02_tools_keep_their_key_order_separators_and_characters() {
    for spelling in AWKWARD_TOOL {
        let tools = bash().to_string();
        let rows = lines(&conversation("c")).replacen(&tools, &format!("[{spelling}]"), 1);
        let prompt = text(&rows, "c:1");
        let listed = prompt
            .split("<tools>\n")
            .nth(1)
            .and_then(|t| t.split("\n</tools>").next());
        assert_eq!(listed, Some(AWKWARD_TOOL[1]));
        assert!(!prompt.contains("\\u"), "{prompt}");
    }
}

#[test]
fn t1_02_arguments_keep_their_key_order_and_characters() {
    let mut rows = conversation("c");
    let arguments = r#"{"zeta": "<x> & 'y' — 漢", "alpha": {"b": 1, "a": [1, 2]}}"#;
    rows[1]["tool_calls"] = json!([call("c0", &json!(arguments))]);
    let prompt = text(&lines(&rows), "c:3");
    let expected = "<tool_call>\n<function=bash>\n<parameter=zeta>\n<x> & 'y' — 漢\n</parameter>\n<parameter=alpha>\n\
                    {\"b\": 1, \"a\": [1, 2]}\n</parameter>\n</function>\n</tool_call>";
    assert!(prompt.contains(expected), "{prompt}");
}

#[test]
fn t1_02_an_unknown_filter_is_an_error_and_no_fallback() {
    let dir = scratch();
    let template = dir.path().join("template.jinja");
    let source = include_str!("../../gguf/assets/chat_template.jinja");
    assert!(source.contains("tool | tojson"));
    std::fs::write(
        &template,
        source.replace("tool | tojson", "tool | to_yaml_please"),
    )
    .expect("writable");
    let model = dir.path().join("model.gguf");
    synth(&[])
        .arg("--template")
        .arg(&template)
        .arg("--out")
        .arg(&model)
        .ends(0);
    let file = write(dir.path(), "data.jsonl", &conversation("c"));
    let ended = prompts(&model, &file).ends(2);
    ended.says(&["to_yaml_please"]);
    assert_eq!(ended.stdout, "");
}

#[test]
fn t1_10_four_spellings_of_no_content_render_the_same_and_lose_no_message() {
    let spellings = [None, Some(Value::Null), Some(json!("")), Some(json!([]))];
    let rendered = spellings.map(|content| {
        let mut rows = conversation("c");
        if let Some(content) = content {
            rows[1]["content"] = content;
        }
        text(&lines(&rows), "c:3")
    });
    for other in &rendered[1..] {
        assert_eq!(&rendered[0], other);
    }
    // system, user, assistant, tool result (a user's turn in this template), and the reply's beginning.
    assert_eq!(
        rendered[0].matches("<|im_start|>").count(),
        5,
        "{}",
        rendered[0]
    );
    for part in [
        "Be brief.",
        "List the files.",
        "<parameter=command>\nls\n</parameter>",
        "a.txt",
    ] {
        assert_eq!(
            rendered[0].matches(part).count(),
            1,
            "{part:?} in {}",
            rendered[0]
        );
    }
}

#[test]
fn every_call_of_a_reply_and_every_result_is_rendered_in_order() {
    let mut rows = conversation("c");
    rows[1]["tool_calls"] = json!([
        call("c0", &arguments()),
        call("c1", &json!("{\"command\": \"pwd\"}"))
    ]);
    rows[2]["tool_results"] = json!([
        {"tool_call_id": "c0", "content": "first"},
        {"tool_call_id": "c1", "content": "second"},
    ]);
    let prompt = text(&lines(&rows), "c:3");
    let places: Vec<_> = ["ls\n", "pwd\n", "first", "second"]
        .iter()
        .map(|p| prompt.find(p))
        .collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} in {prompt}"
    );
}

#[test]
fn t1_14_a_chinese_description_is_rendered_as_it_is_and_costs_what_it_should() {
    let describe = |text: &str| {
        let mut rows = conversation("c");
        rows[0]["tools"][0]["function"]["description"] = json!(text);
        rows
    };
    let chinese = describe("在沙箱中运行一条命令，并返回其输出");
    let prompt = text(&lines(&chinese), "c:1");
    assert!(
        prompt.contains("在沙箱中运行一条命令，并返回其输出") && !prompt.contains("\\u"),
        "{prompt}"
    );
    // Escapes would be six ASCII characters for each of the 17: many more tokens than the characters' own bytes.
    let escaped = describe(&"\\u5728".repeat(17));
    let tokens = |rows: &[Value]| digests(rows)[0]["n_tokens"].as_u64().expect("a count");
    assert!(
        tokens(&chinese) < tokens(&escaped),
        "{} and {} tokens",
        tokens(&chinese),
        tokens(&escaped)
    );
    let bytes = digests(&chinese)[0]["prompt_bytes"].as_u64();
    assert_eq!(bytes, Some(prompt.len() as u64));
}

#[test]
fn t1_19_one_character_messages_and_long_pieces_need_no_larger_buffer() {
    let mut rows = conversation("c");
    rows[0]["content"] = json!("x");
    rows[0]["system"] = json!("y");
    rows[2]["tool_results"][0]["content"] = json!("z");
    let prompt = text(&lines(&rows), "c:3");
    for part in ["<|im_start|>user\nx<|im_end|>", "\nz\n"] {
        assert!(prompt.contains(part), "{part:?} in {prompt}");
    }
    // A piece of 40 bytes and more: a run of spaces is one token in many vocabularies.
    rows[0]["content"] = json!(format!("a{}b", " ".repeat(200)));
    let prompt = text(&lines(&rows), "c:1");
    assert!(prompt.contains(&" ".repeat(200)));
    assert_eq!(
        digests(&rows)[0]["prompt_bytes"].as_u64(),
        Some(prompt.len() as u64)
    );
}

#[test]
fn t2_13_a_template_that_rewrites_history_is_named_with_the_message_and_not_taken_for_a_cache_fault()
 {
    let dir = scratch();
    let template = dir.path().join("template.jinja");
    let source = include_str!("../../gguf/assets/chat_template.jinja");
    let keeps = "(preserve_thinking is defined and preserve_thinking is true) or loop.index0";
    assert!(source.contains(keeps));
    std::fs::write(&template, source.replace(keeps, "loop.index0")).expect("writable");
    let model = dir.path().join("model.gguf");
    let mut command = synth(&[]);
    command.arg("--template").arg(&template);
    command.arg("--out").arg(&model).ends(0);
    // tool, tool, user: the last one makes the template drop what was thought before it.
    let mut rows = conversation("c");
    rows[1]["reasoning_content"] = json!("I look at every file there is, one by one. ".repeat(12));
    rows.push(json!({"conversation_id": "c", "turn": 5, "role": "user", "content": "And now?"}));
    rows.push(json!({"conversation_id": "c", "turn": 6, "role": "assistant", "content": "Done."}));
    let data = write(dir.path(), "data.jsonl", &rows);
    let out = dir.path().join("out");
    let mut command = run(&model, &out);
    command.args(["--profile", "none", "--max-new-tokens", "4", "--dataset"]);
    let ended = command.arg(&data).ends(0);
    ended.says(&["does not render incrementally"]);
    let results = Results::read(&out);
    let turns = &results.turns.records;
    assert_eq!(turns[1].rewritten, None, "a tool's answer rewrites nothing");
    let left = turns[2].rewritten.expect("the second question does");
    let shared = turns[2].prompt_tokens.zip(turns[2].ideal_tokens);
    assert_eq!(shared.map(|(all, new)| all - new), Some(left.token));
    assert_eq!(
        left.message, 3,
        "system, user, and the reply without its thoughts"
    );
    let warnings = &results.summary.warnings;
    assert!(
        warnings
            .iter()
            .any(|w| w.kind == WarningKind::RewrittenHistory && w.message.contains("turn 5")),
        "{warnings:?}"
    );
}
