//! The renderings of a small run, compared whole.

use serde_json::json;

use super::*;
use crate::metrics::{ConversationFacts, Deviation, RunFacts};
use crate::record::{Phases, StopReason, TurnRecord};

fn turn(number: u32, start: u64) -> TurnRecord {
    TurnRecord {
        prompt_tokens: Some(1500 * number as usize),
        reused_tokens: Some(1500 * (number as usize - 1)),
        evaluated_tokens: Some(1500),
        ideal_tokens: Some(1500),
        decode_calls: Some(3),
        output_ids: vec![1, 2],
        output_tokens: Some(2),
        step_tokens: vec![1, 1],
        stop_reason: Some(StopReason::EndOfGeneration),
        started_ns: Some(start),
        ttft_ns: Some(1_000_000_000),
        latency_ns: Some(1_050_000_000),
        phases_ns: Some(Phases {
            render: 3_000_000,
            prefill: 990_000_000,
            decode: 40_000_000,
            ..Phases::default()
        }),
        driver_ns: Some(420_000),
        token_ns: vec![1_000_000_000, 1_040_000_000],
        ..TurnRecord::new("s|1", number, TurnState::Completed)
    }
}

fn facts() -> RunFacts {
    RunFacts {
        conversations: vec![ConversationFacts {
            conversation_id: "s|1".to_owned(),
            turns: 1003,
            selected: 2,
        }],
        deviations: vec![Deviation {
            name: "--turns".to_owned(),
            expected: json!("all"),
            actual: json!(2),
        }],
        finished: true,
        context_tokens: 32_768,
        ..RunFacts::default()
    }
}

fn settings() -> Settings {
    let value = json!({"model": "tiny.gguf", "ctx-size": 32768, "note": "a|b, \"c\""});
    match value {
        Value::Object(settings) => settings,
        _ => Settings::new(),
    }
}

fn summary() -> Summary {
    let rows = [turn(1, 0), turn(3, 2_000_000_000)];
    Summary::compute(&rows, &facts()).expect("rows and facts agree")
}

fn rendered(format: Format) -> String {
    render(format, &result(settings(), summary())).expect("it renders")
}

fn result(settings: Settings, summary: Summary) -> RunResult {
    RunResult {
        settings,
        summary,
        accuracy: None,
        osl_window: None,
    }
}

const TABLE: &str = r#"Settings
  model     tiny.gguf
  ctx-size  32768
  note      a|b, "c"

Result
  VALID, not compliant: --turns 2 (expected all)

Turns
  state                  turns
  completed                  2
  not_selected           1,001
  sum (data set: 1,003)  1,003

Metrics over completed turns (times in ms)
  metric        n  excl.     mean        σ    min    p50    p90    p95    p99  p99.9    max
  latency       2      0    1,050    0.000  1,050  1,050  1,050  1,050  1,050  1,050  1,050
  ttft          2      0    1,000    0.000  1,000  1,000  1,000  1,000  1,000  1,000  1,000
  tpot          2      0    40.00    0.000  40.00  40.00  40.00  40.00  40.00  40.00  40.00
  driver        2      0    0.420    0.000  0.420  0.420  0.420  0.420  0.420  0.420  0.420
  isl (tokens)  2      0  3,000.0  2,121.3  1,500  1,500  1,500  1,500  1,500  1,500  4,500
  osl (tokens)  2      0      2.0      0.0      2      2      2      2      2      2      2

Phases (ms)
  phase          mean   share    p50    p90    p99    max
  render        3.000   0.3 %  3.000  3.000  3.000  3.000
  tokenize      0.000   0.0 %  0.000  0.000  0.000  0.000
  restore       0.000   0.0 %  0.000  0.000  0.000  0.000
  prefill       990.0  94.3 %  990.0  990.0  990.0  990.0
  first_sample  0.000   0.0 %  0.000  0.000  0.000  0.000
  decode        40.00   3.8 %  40.00  40.00  40.00  40.00
  parse         0.000   0.0 %  0.000  0.000  0.000  0.000

Tokens
  prompt        6,000
  reused        3,000 (50.0 %)
  evaluated     3,000
  ideal         3,000 (evaluated ÷ ideal 1.0000)
  decode calls  6
  tokens/s      prefill 1,515.2, decode 25.0, overall 1.3
  duration      3.050 s
"#;

#[test]
fn table_is_as_expected() {
    assert_eq!(rendered(Format::Table), TABLE);
}

#[test]
fn t4_12_markdown_defines_every_metric() {
    let text = rendered(Format::Md);
    for definition in DEFINITIONS {
        assert!(text.contains(definition.text), "{}", definition.name);
    }
    assert!(text.contains("| s\\|1 | 2 | 2 | 1,003 | 3.050 |"), "{text}");
    assert!(text.contains("| note | a\\|b, \"c\" |"), "{text}");
}

#[test]
fn json_starts_with_the_settings_and_holds_the_summary() {
    let mut value: Value = serde_json::from_str(&rendered(Format::Json)).expect("strict JSON");
    let members = value.as_object_mut().expect("an object");
    assert_eq!(members.keys().next().map(String::as_str), Some("settings"));
    members.shift_remove("settings");
    let back: Summary = serde_json::from_value(value).expect("the summary");
    // Not the whole: floats may move by one digit when they are read back.
    let summary = summary();
    assert_eq!(back.latency_ns, summary.latency_ns);
    assert_eq!(
        (back.turns, back.deviations),
        (summary.turns, summary.deviations)
    );
}

#[test]
fn csv_has_one_line_per_value() {
    let text = rendered(Format::Csv);
    let lines: Vec<&str> = text.lines().collect();
    for line in [
        "key,value",
        "settings.ctx-size,32768",
        "settings.note,\"a|b, \"\"c\"\"\"",
        "turns.total,1003",
        "turns.not_selected,1001",
        "deviations.0.name,--turns",
        "latency_ns.mean,1050000000.0",
        "inline_score,",
    ] {
        assert!(lines.contains(&line), "{line} in\n{text}");
    }
}

#[test]
fn verdicts_name_what_is_wrong() {
    let line = verdict_line(&result(settings(), summary()));
    assert_eq!(line, "VALID, not compliant: --turns 2 (expected all)");
    let mut stopped = facts();
    stopped.finished = false;
    stopped.deviations.clear();
    let summary = Summary::compute(&[turn(1, 0)], &stopped).expect("rows and facts agree");
    assert_eq!(
        verdict_line(&result(settings(), summary.clone())),
        "NOT VALID, INCOMPLETE: 1 of 2 selected turns were not issued; continue the run with --resume"
    );
    let text = render(Format::Table, &result(Settings::new(), summary)).expect("it renders");
    assert!(
        text.contains("[FAIL] 1 of 2 selected turns were not issued"),
        "{text}"
    );
}
