//! From generated text to calls: llama.cpp's parser, as the program sets it up for a request.

use edge_agentic::chat::{ChatTemplate, Reply, ReplyFormat};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::data::bash;
use crate::harness::shared;

const OURS: &str = include_str!("../../gguf/assets/chat_template.jinja");

/// Our own template, and the real one where it is at hand.
fn templates() -> Vec<ChatTemplate> {
    let real = shared("data/qwen3.6/chat_template.jinja")
        .map(|p| std::fs::read_to_string(p).expect("the template"));
    let sources = [Some(OURS.to_owned()), real];
    let parse = |source: String| {
        ChatTemplate::new(&source, "", "<|im_end|>", false).expect("the template parses")
    };
    sources.into_iter().flatten().map(parse).collect()
}

fn opening() -> Vec<Value> {
    vec![
        json!({"role": "system", "content": "s"}),
        json!({"role": "user", "content": "u"}),
    ]
}

fn format(template: &ChatTemplate) -> ReplyFormat {
    template
        .format(
            &Value::from(opening()).to_string(),
            Some(&bash().to_string()),
        )
        .expect("a format for replies")
}

fn calls(reply: &Reply) -> Vec<(&str, Value)> {
    let parsed = |c: &str| serde_json::from_str(c).expect("arguments are JSON");
    reply
        .tool_calls
        .iter()
        .map(|c| (c.name.as_str(), parsed(&c.arguments)))
        .collect()
}

/// How the template writes a reply that calls `bash` with `command`: what a model that copies it would say.
fn written(template: &ChatTemplate, command: &str) -> String {
    let tools = bash().to_string();
    let mut messages = opening();
    let prompt = template
        .render(&Value::from(messages.clone()).to_string(), Some(&tools))
        .expect("renders");
    messages.push(
        json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {
        "name": "bash", "arguments": json!({"command": command}).to_string()}}]}),
    );
    let whole = template
        .render_history(&Value::from(messages).to_string(), Some(&tools))
        .expect("renders");
    let reply = whole
        .strip_prefix(&prompt)
        .expect("the history continues the prompt");
    reply
        .strip_suffix("<|im_end|>\n")
        .expect("the reply ends its turn")
        .to_owned()
}

#[track_caller]
fn survives(templates: &[(ChatTemplate, ReplyFormat)], command: &str) -> Result<(), TestCaseError> {
    for (template, format) in templates {
        let text = written(template, command);
        let reply = format
            .parse(&text)
            .map_err(|e| TestCaseError::fail(format!("{e}: {text:?}")))?;
        prop_assert_eq!(
            calls(&reply),
            [("bash", json!({"command": command}))],
            "{:?}",
            text
        );
        prop_assert_eq!(reply.content, "");
    }
    Ok(())
}

fn with_formats() -> Vec<(ChatTemplate, ReplyFormat)> {
    templates()
        .into_iter()
        .map(|template| {
            let format = format(&template);
            (template, format)
        })
        .collect()
}

#[test]
fn t1_03_white_space_in_a_parameter_is_data() {
    let templates = with_formats();
    for command in [
        "",
        " ",
        "\n",
        "\n\n\n",
        "    indented",
        "\ttabbed\t",
        "\u{a0}no-break\u{a0}",
        "one\n",
        "two\n\n",
        "\n\nlead",
        "  a\n    b\n  ",
        "\r\n",
        "<",
        "a </b> <c=d>\n",
        "{\"a\": 1}",
        "12",
        "true",
        "null",
        "\"quoted\"",
        "漢字 é 🙂",
    ] {
        survives(&templates, command).unwrap_or_else(|e| panic!("{command:?}: {e}"));
    }
}

#[test]
fn t1_03_any_text_of_awkward_characters_survives() {
    let templates = with_formats();
    let character = prop::sample::select(vec![
        ' ', '\t', '\n', '\u{a0}', '\r', 'a', 'é', '漢', '🙂', '"', '\'', '\\', '<', '>', '=', '/',
        '{', '}', '[', '0',
    ]);
    let text = prop::collection::vec(character, 0..24).prop_map(String::from_iter);
    let around = (" *\n*", text, "[ \t\n\u{a0}]*").prop_map(|(a, b, c)| a + &b + &c);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&around, |command| survives(&templates, &command))
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn t1_09_every_one_of_several_calls_is_found() {
    for template in templates() {
        let format = format(&template);
        for between in ["\n", "", "\n\n"] {
            for prose in ["", "Let me look.", "Two things:\n\n1. this\n2. that"] {
                let blocks = ["ls", "pwd", "id"].map(|command| {
                    format!(
                        "<tool_call>\n<function=bash>\n<parameter=command>\n{command}\n</parameter>\n</function>\n\
                         </tool_call>"
                    )
                });
                let gap = if prose.is_empty() { "" } else { "\n\n" };
                let text = format!("{prose}{gap}{}", blocks.join(between));
                let reply = format
                    .parse(&text)
                    .unwrap_or_else(|e| panic!("{text:?}: {e}"));
                let expected =
                    ["ls", "pwd", "id"].map(|command| ("bash", json!({"command": command})));
                assert_eq!(calls(&reply), expected, "{text:?}");
                assert_eq!(reply.content.trim_end(), prose, "{text:?}");
            }
        }
    }
}

#[test]
fn a_reply_without_calls_is_all_content() {
    for template in templates() {
        let reply = format(&template).parse("Nothing to do.").expect("parses");
        assert_eq!(
            (reply.content.as_str(), reply.tool_calls.len()),
            ("Nothing to do.", 0)
        );
    }
}
