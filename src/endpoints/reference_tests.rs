//! The reference's own artifacts, reproduced from its own events: proof of the lower layer.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::block::Block;
use super::config::{LoadPattern, RunConfig, Warmup};
use super::*;
use crate::accuracy;
use crate::conversation::{Dataset, load};

/// Tokens of one sample as the reference counted them: prompt, output, output after first chunk.
/// The log does not hold them. Outputs and prompts follow from total, percentiles and deviation of
/// its summary; the third is the only divisor that gives the recorded TPOT to the last digit.
type Counted = (u64, Option<u64>, Option<u64>);

struct Run {
    name: &'static str,
    dir: PathBuf,
    counted: &'static [Counted],
}

/// Prompts are the same in every run of this data set.
const CLEAN: [Counted; 8] = [
    (1317, Some(46), Some(45)),
    (1599, Some(45), Some(44)),
    (1921, None, None),
    (2464, Some(43), Some(42)),
    (1347, Some(48), Some(47)),
    (1770, Some(45), Some(44)),
    (1940, None, None),
    (2511, Some(48), Some(47)),
];
const TOOLS: [Counted; 8] = [
    (1317, Some(99), Some(97)),
    (1599, Some(43), Some(43)),
    (1921, Some(31), Some(32)),
    (2464, Some(37), Some(38)),
    (1347, Some(128), Some(129)),
    (1770, Some(45), Some(45)),
    (1940, Some(31), Some(32)),
    (2511, Some(35), Some(36)),
];
const OVERFLOW: [Counted; 6] = [
    (1317, Some(46), Some(45)),
    (1599, None, None),
    (0, None, None),
    (0, None, None),
    (1347, Some(47), Some(46)),
    (1770, None, None),
];

/// The runs, or a printed reason to skip.
fn runs() -> Vec<Run> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/endpoints");
    let all: [(&'static str, &'static [Counted]); 3] = [
        ("run_clean", &CLEAN),
        ("run_tools", &TOOLS),
        ("run_overflow", &OVERFLOW),
    ];
    let runs = all.into_iter().map(|(name, counted)| Run {
        name,
        dir: root.join(name),
        counted,
    });
    let (there, absent): (Vec<Run>, Vec<Run>) = runs.partition(|run| run.dir.is_dir());
    for run in absent {
        println!("skipped: {} is absent", run.dir.display());
    }
    there
}

impl Run {
    fn text(&self, file: &str) -> String {
        let path = self.dir.join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.text(file)).expect("the reference writes JSON")
    }

    fn events(&self) -> Vec<Event> {
        let path = self.dir.join("events.jsonl");
        read_events(&path, &self.text("events.jsonl")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Ids of the replay's samples, in the order issued.
    fn samples(&self) -> Vec<String> {
        let events = self.events().into_iter();
        events
            .filter(|e| e.event_type == EventKind::Issued && e.turn.is_some())
            .map(|e| e.sample_uuid)
            .collect()
    }

    fn tokens(&self) -> TokenTable {
        let counts = self
            .counted
            .iter()
            .map(|(input, output, after_first)| SampleTokens {
                input: Some(*input).filter(|n| *n > 0),
                output: *output,
                after_first: *after_first,
            });
        self.samples().into_iter().zip(counts).collect()
    }

    fn summary(&self) -> ResultSummary {
        let origin = Origin {
            version: "0.1.0".to_owned(),
            git_sha: Some("ea33275".to_owned()),
            load_generator: None,
        };
        let config = RunConfig {
            load_pattern: LoadPattern {
                kind: "agentic_inference".to_owned(),
                target_qps: None,
                target_concurrency: 1,
            },
            warmup: Warmup {
                enabled: false,
                n_requests: None,
                salt: false,
                drain: false,
                warmup_random_seed: Some(42),
            },
            scheduler_random_seed: Some(42),
            dataloader_random_seed: Some(42),
        };
        let samples = track(&self.events(), &self.tokens()).unwrap_or_else(|e| panic!("{e}"));
        ResultSummary::new(&samples, &origin, true, config)
    }

    fn scores(&self, data: &Dataset) -> accuracy::Scores {
        accuracy::score(&accuracy::expected(data), &answers(&self.events()))
    }
}

/// The data set of the runs.
fn small(run: &Run) -> Dataset {
    load(&run.dir.join("../agentic_small.jsonl")).unwrap_or_else(|e| panic!("{e}"))
}

/// Compares JSON texts, and says where they first differ.
#[track_caller]
fn same(name: &str, ours: &[u8], theirs: &str) {
    let ours = std::str::from_utf8(ours).expect("text");
    for (number, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(a, b, "{name}: line {}", number + 1);
    }
    assert!(
        ours == theirs,
        "{name}: lengths {} and {}",
        ours.len(),
        theirs.len()
    );
}

#[test]
fn events_are_read_and_written_byte_for_byte() {
    for run in runs() {
        let bytes = write_events(&run.events()).expect("events are JSON");
        same(run.name, &bytes, &run.text("events.jsonl"));
    }
}

/// Every byte of the file: keys and their order, counts, sums, percentiles, deviations, estimates
/// and histograms. Logarithms differ in the last digit between C libraries; the reference ran on
/// glibc, so elsewhere the edges of the histograms are compared to twelve digits.
#[test]
fn result_summary_is_reproduced_from_the_references_events() {
    for run in runs() {
        let ours = text::pretty("the summary", &run.summary()).expect("JSON");
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            same(
                run.name,
                &ours,
                &run.text("performance/result_summary.json"),
            );
        } else {
            let ours: Value = serde_json::from_slice(&ours).expect("JSON");
            close(
                run.name,
                &ours,
                &run.json("performance/result_summary.json"),
            );
        }
    }
}

/// Equal but for the last digits of floats.
#[track_caller]
fn close(name: &str, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{name}: {a:?} {b:?}");
            a.values()
                .zip(b.values())
                .for_each(|(a, b)| close(name, a, b));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{name}");
            a.iter().zip(b).for_each(|(a, b)| close(name, a, b));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            assert!(
                (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
                "{name}: {a} {b}"
            );
        }
        (a, b) => assert_eq!(a, b, "{name}"),
    }
}

#[test]
fn scores_are_reproduced_from_the_references_events() {
    for run in runs() {
        let ours = text::pretty_ascii("scores", &run.scores(&small(&run))).expect("JSON");
        same(run.name, &ours, &run.text("scores.json"));
    }
}

#[test]
fn report_is_reproduced_from_the_references_events() {
    for run in runs() {
        let accuracy = run.json("accuracy/accuracy_results.json");
        let entries = accuracy["accuracy_scores"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ours = report(&run.summary(), &entries);
        same(run.name, ours.as_bytes(), &run.text("report.txt"));
    }
}

#[test]
fn accuracy_results_are_reproduced_with_our_entry_of_the_replay() {
    for run in runs() {
        let theirs = run.json("accuracy/accuracy_results.json");
        let mut entries = theirs["accuracy_scores"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        // Last, and with the wall time of the phase, which is in no event.
        let replay = entries.pop().expect("it is scored");
        let seconds = replay["duration_s"].as_f64().expect("seconds");
        entries.push(performance_entry(
            &run.scores(&small(&run)),
            seconds,
            1,
            true,
        ));
        let ours = accuracy_results(&entries, None).expect("JSON");
        same(run.name, &ours, &run.text("accuracy/accuracy_results.json"));
    }
}

#[test]
fn sample_index_is_in_the_order_issued() {
    for run in runs() {
        let theirs = run.json("sample_idx_map.json");
        let index = theirs["performance"].as_object().expect("ids");
        assert!(index.keys().eq(run.samples().iter()), "{}", run.name);
        assert!(index.values().enumerate().all(|(i, v)| *v == json!(i)));
    }
}

#[test]
fn config_is_laid_out_as_the_reference_does() {
    for run in runs() {
        let theirs = run.text("config.yaml");
        let client = json!({
            "num_workers": 1, "log_level": "INFO", "warmup_connections": 0,
            "auto_warmup_budget_fraction": 0.25, "max_concurrent_warmup_connects": 128,
            "max_connections": 1,
            "transport": {
                "type": "zmq", "recv_buffer_size": 16_777_216, "send_buffer_size": 16_777_216,
                "io_threads": 4, "worker_io_threads": 1, "high_water_mark": 0, "linger": -1,
                "immediate": 1,
            },
        });
        let lines = yaml::document(&json!({ "settings": { "client": client } }));
        let lines = lines
            .strip_prefix("settings:\n")
            .expect("it is the first key");
        assert!(theirs.contains(lines), "{}: {lines}", run.name);
        let lists = yaml::document(&json!({
            "endpoint_config": { "endpoints": ["http://127.0.0.1:18080"], "api_type": "openai" },
            "report_dir": format!("PATH/{}", run.name),
            "timeout": 21600.0,
        }));
        let port = |text: &str| text.replace("18081", "18080").replace("18082", "18080");
        assert!(port(&theirs).contains(&lists), "{}: {lists}", run.name);
    }
}

/// Our own `config.yaml` has no line that the reference's would spell otherwise.
#[test]
fn our_config_has_the_references_lines() {
    for run in runs() {
        let theirs = run.text("config.yaml");
        let setup = Setup {
            model: "SmolLM2-135M-Instruct.Q4_1".to_owned(),
            tokenizer: Some("PATH/qwen3".to_owned()),
            dataset: Some("PATH/agentic_small.jsonl".to_owned()),
            conversations: 2,
            max_new_tokens: if run.name == "run_tools" { 128 } else { 48 },
            time_cap_s: Some(14_400.0),
            ..turns_tests::setup()
        };
        let ours = config_yaml(&setup);
        let own = ["name:", "version:", "load_generator:"];
        for line in ours
            .lines()
            .filter(|line| !own.iter().any(|key| line.starts_with(key)))
        {
            let known = theirs.lines().any(|theirs| theirs == line);
            assert!(known, "{}: {line}", run.name);
        }
    }
}

#[test]
fn damaged_logs_are_refused_with_their_line() {
    let good = r#"{"event_type":"session.started","timestamp_ns":1}"#;
    let cases = [
        ("{", "EOF"),
        (
            r#"{"event_type":"sample.lost","timestamp_ns":1}"#,
            "unknown variant",
        ),
        (r#"{"event_type":"sample.issued"}"#, "timestamp_ns"),
        (
            r#"{"event_type":"sample.issued","timestamp_ns":1,"data":["X"]}"#,
            "tagged \"X\"",
        ),
        (
            r#"{"event_type":"sample.issued","timestamp_ns":1,"data":[]}"#,
            "empty",
        ),
        (r#"{"event_type":"sample.issued","timestamp_ns":-1}"#, "-1"),
    ];
    for (line, what) in cases {
        let log = format!("{good}\n\n{line}\n");
        let error = read_events(Path::new("r/events.jsonl"), &log).expect_err("damaged");
        let text = error.to_string();
        assert!(text.starts_with("r/events.jsonl: line 3: "), "{text}");
        assert!(text.contains(what), "{what} in {text}");
    }
    let backwards = r#"{"event_type":"session.start_performance_tracking","timestamp_ns":1}
{"event_type":"sample.issued","timestamp_ns":9,"sample_uuid":"s","turn":1}
{"event_type":"sample.complete","timestamp_ns":8,"sample_uuid":"s","turn":1}"#;
    let events = read_events(Path::new("x"), backwards).expect("well-formed");
    let error = track(&events, &TokenTable::new()).expect_err("it ends before it begins");
    assert!(
        error.to_string().contains("sample s: end at 8 ns"),
        "{error}"
    );
}

#[test]
fn estimates_at_the_benchmarks_count() {
    let values: Vec<u64> = (1..=1007).collect();
    let block = Block::of_integers(&values, true);
    let grid = &block.estimates().expect("a latency").0;
    let of = |key: &str| grid.iter().find(|(k, _)| *k == key).and_then(|(_, v)| *v);
    // 3rd, 78th and 466th highest of 1,007.
    assert_eq!(of("99.9"), None);
    assert_eq!(of("99.0"), Some(1005.0));
    assert_eq!(of("90.0"), Some(930.0));
    assert_eq!(of("50.0"), Some(542.0));
}

/// A log of the reference's shape, of which any bytes can be overwritten.
const LOG: &str = r#"{"event_type":"session.start_performance_tracking","timestamp_ns":1}
{"event_type":"sample.issued","timestamp_ns":2,"sample_uuid":"s","conversation_id":"a","turn":1,"data":["PromptData",null]}
{"event_type":"sample.recv_first","timestamp_ns":3,"sample_uuid":"s","conversation_id":"a","turn":1,"data":null}
{"event_type":"sample.complete","timestamp_ns":9,"sample_uuid":"s","conversation_id":"a","turn":1,"data":["TextModelOutput",["a"],"b",[[{"index":0,"function":{"name":"bash","arguments":"{}"}}]]],"finish_reason":"stop"}
"#;

proptest! {
    #[test]
    fn no_log_makes_the_reader_panic(at in 0..LOG.len(), with in "[0-9\\[\\]{}\",a-z]{0,4}") {
        let mut log = LOG.to_owned();
        let end = (at + with.len()).min(log.len());
        log.replace_range(at..end, &with);
        if let Ok(events) = read_events(Path::new("x"), &log) {
            let tokens = SampleTokens { input: Some(1), output: Some(1), after_first: Some(1) };
            let table = TokenTable::from([("s".to_owned(), tokens)]);
            let _ = answers(&events);
            if let Ok(samples) = track(&events, &table) {
                prop_assert!(samples.completed <= samples.issued);
            }
        }
    }
}
