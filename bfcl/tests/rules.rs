//! The verdict rules and the refusal of bad data, on a small data set of our own. Needs no files.
//!
//! Tests whose name begins with `t5_` answer to the entry of that number among the field's faults.

use bfcl::check::ErrorType;
use bfcl::dataset::{Dataset, DatasetError, Sample, parse_subset};
use bfcl::judge::{self, Judgement};
use bfcl::outputs::{Issue, Outputs};
use bfcl::score::{MISSING, REFERENCE_RAISES, Scored, score};
use bfcl::subset::{Category, Subset};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A data line with one function of the given parameters.
fn line(id: &str, name: &str, properties: &Value, required: &[&str]) -> Value {
    json!({
        "id": id,
        "question": [[{"role": "user", "content": "How far is it?"}]],
        "function": [{"name": name, "description": "d.", "parameters": {
            "type": "dict", "properties": properties, "required": required,
        }}],
    })
}

fn answer(id: &str, calls: &Value) -> Value {
    json!({"id": id, "ground_truth": calls})
}

fn one(subset: Subset, data: &Value, answer: Option<&Value>) -> Sample {
    let answers = answer.map(Value::to_string);
    let mut samples =
        parse_subset(subset, &data.to_string(), answers.as_deref()).expect("a good sample");
    samples.remove(0)
}

/// A `simple_python` sample of one parameter.
fn simple(schema: &Value, allowed: &Value) -> Sample {
    let id = "simple_python_0";
    let data = line(id, "geo.distance", &json!({"x": schema}), &["x"]);
    let answer = answer(id, &json!([{"geo.distance": {"x": allowed}}]));
    one(Subset::SimplePython, &data, Some(&answer))
}

/// A native tool call with the arguments as JSON text.
fn call(name: &str, arguments: &str) -> String {
    json!([{"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}])
        .to_string()
}

/// Score and error type of `{"x": value}`.
fn verdict(sample: &Sample, value: &str) -> (u8, Option<ErrorType>) {
    let output = call("geo_distance", &format!("{{\"x\": {value}}}"));
    let judgement = judge::examine(sample.into(), &output).judgement;
    let error_type = match &judgement {
        Judgement::Wrong(wrong) => wrong.error_type,
        _ => None,
    };
    (judgement.score(), error_type)
}

fn refusal(subset: Subset, data: &str, answers: Option<&str>) -> String {
    let error = parse_subset(subset, data, answers).expect_err("bad data");
    assert!(matches!(error, DatasetError::Malformed { .. }));
    error.to_string()
}

#[test]
fn t5_02_relevance_wants_a_call_and_irrelevance_none() {
    let properties = json!({"x": {"type": "integer", "description": "d"}});
    let data = line("live_relevance_0-0-0", "f", &properties, &[]);
    let relevance = one(Subset::LiveRelevance, &data, None);
    let data = line("irrelevance_0", "f", &properties, &[]);
    let irrelevance = one(Subset::Irrelevance, &data, None);
    let scores = |output: &str| {
        [&relevance, &irrelevance]
            .map(|sample| judge::examine(sample.into(), output).judgement.score())
    };
    assert_eq!(scores(&call("f", "{}")), [1, 0]);
    assert_eq!(scores("I cannot help with that."), [0, 1]);
    // White space that JSON does not know hides a call from this check, and only from this one.
    assert_eq!(scores(&format!("\u{a0}{}", call("f", "{}"))), [0, 1]);
}

#[test]
fn t5_03_one_mapping_of_names_for_prompt_and_checker() {
    let sample = simple(&json!({"type": "integer", "description": "d"}), &json!([7]));
    assert_eq!(sample.tools()[0]["function"]["name"], "geo_distance");
    assert_eq!(verdict(&sample, "7"), (1, None));
    let dotted = judge::examine((&sample).into(), &call("geo.distance", "{\"x\": 7}"));
    assert_eq!(dotted.judgement.score(), 0);
    assert!(dotted.unknown_name);
    let data = json!({
        "id": "multiple_0", "question": [[{"role": "user", "content": "q"}]],
        "function": [
            {"name": "a.b", "description": "d", "parameters": {"properties": {}, "required": []}},
            {"name": "a_b", "description": "d", "parameters": {"properties": {}, "required": []}},
        ],
    });
    let answers = answer("multiple_0", &json!([{"a.b": {}}])).to_string();
    let refused = refusal(Subset::Multiple, &data.to_string(), Some(&answers));
    assert!(refused.contains("offered under one name"), "{refused}");
}

#[test]
fn t5_03_names_that_were_not_on_offer_raise_an_alarm() {
    let scored = run(&[
        call("geo.distance", "{\"x\": 7}"),
        call("geo_distance", "{\"x\": 7}"),
    ]);
    let non_live = &scored.report.categories[&Category::NonLive];
    assert_eq!((non_live.unknown_names, non_live.tally.total), (1, 2));
    let warnings = &scored.report.warnings;
    assert!(
        warnings.iter().any(|text| text.contains("not on offer")),
        "{warnings:?}"
    );
    let right = vec![call("geo_distance", "{\"x\": 7}"); 2];
    assert!(run(&right).report.warnings.is_empty());
}

/// Scores outputs of `simple_python` samples whose answer is 7.
fn run(outputs: &[String]) -> Scored {
    let mut data = String::new();
    let mut answers = String::new();
    for index in 0..outputs.len() {
        let id = format!("simple_python_{index}");
        let schema = json!({"x": {"type": "integer", "description": "d"}});
        data += &format!("{}\n", line(&id, "geo.distance", &schema, &["x"]));
        answers += &format!("{}\n", answer(&id, &json!([{"geo.distance": {"x": [7]}}])));
    }
    let samples = parse_subset(Subset::SimplePython, &data, Some(&answers)).expect("good data");
    let issues = outputs.iter().enumerate().map(|(sample, output)| Issue {
        sample,
        output: Some(output.clone()),
    });
    score(
        &Dataset::from_samples(samples),
        &Outputs::new(issues.collect()),
    )
}

#[test]
fn t5_04_a_float_takes_an_integer_and_an_integer_no_float() {
    let float = simple(&json!({"type": "float", "description": "d"}), &json!([5.0]));
    assert_eq!(verdict(&float, "5"), (1, None));
    assert_eq!(verdict(&float, "5.0"), (1, None));
    assert_eq!(verdict(&float, "\"5\""), (0, Some(ErrorType::Type)));
    assert_eq!(verdict(&float, "false"), (0, Some(ErrorType::Type)));
    let integer = simple(
        &json!({"type": "integer", "description": "d"}),
        &json!([5, 1]),
    );
    assert_eq!(verdict(&integer, "5"), (1, None));
    for wrong in ["5.0", "5e0", "true", "\"5\""] {
        assert_eq!(
            verdict(&integer, wrong),
            (0, Some(ErrorType::Type)),
            "{wrong}"
        );
    }
}

#[test]
fn t5_04_types_inside_lists_and_dictionaries() {
    let schema = json!({"type": "array", "description": "d", "items": {"type": "integer"}});
    let list = simple(&schema, &json!([[1, 2]]));
    assert_eq!(verdict(&list, "[1, 2]"), (1, None));
    assert_eq!(verdict(&list, "[1, 2.0]"), (0, Some(ErrorType::NestedType)));
    assert_eq!(verdict(&list, "[2, 1]"), (0, Some(ErrorType::List)));
    let schema = json!({"type": "dict", "description": "d"});
    let dict = simple(&schema, &json!([{"k": [1], "o": ["", "w"]}]));
    for right in ["{\"k\": 1}", "{\"k\": true}", "{\"o\": \"W.\", \"k\": 1.0}"] {
        assert_eq!(verdict(&dict, right), (1, None), "{right}");
    }
    assert_eq!(
        verdict(&dict, "{\"k\": \"1\"}"),
        (0, Some(ErrorType::DictValue))
    );
    assert_eq!(
        verdict(&dict, "{\"o\": \"w\"}"),
        (0, Some(ErrorType::DictKey))
    );
}

#[test]
fn strings_are_normalized_unless_the_answer_has_another_type() {
    let text = simple(
        &json!({"type": "string", "description": "d"}),
        &json!(["New York", ""]),
    );
    for right in ["\"new-york\"", "\"NEW, YORK.\"", "\"\""] {
        assert_eq!(verdict(&text, right), (1, None), "{right}");
    }
    assert_eq!(verdict(&text, "\"York\""), (0, Some(ErrorType::String)));
    // The answer is a text where the schema has an integer: raw comparison, either type.
    let variable = simple(
        &json!({"type": "integer", "description": "d"}),
        &json!(["size", 4]),
    );
    assert_eq!(verdict(&variable, "\"size\""), (1, None));
    assert_eq!(verdict(&variable, "\"Size\""), (0, Some(ErrorType::Other)));
    assert_eq!(verdict(&variable, "4"), (1, None));
}

#[test]
fn t5_06_other_bytes_are_refused_by_digest() {
    let dir = tempfile::tempdir().expect("a directory");
    let missing = Dataset::open(dir.path()).expect_err("no files");
    assert!(matches!(missing, DatasetError::Missing { .. }));
    assert!(
        missing.to_string().contains("scripts/fetch-data"),
        "{missing}"
    );
    let file = dir.path().join("BFCL_v4_simple_python.json");
    std::fs::write(&file, "{}").expect("writable");
    let wrong = Dataset::open(dir.path()).expect_err("other bytes");
    assert!(matches!(wrong, DatasetError::WrongBytes { .. }));
    let text = wrong.to_string();
    assert!(
        text.contains("44136fa3") && text.contains("82dd63ba"),
        "{text}"
    );
}

#[test]
fn malformed_data_is_refused_with_its_place() {
    let schema = json!({"x": {"type": "integer", "description": "d"}});
    let good = line("simple_python_0", "f", &schema, &["x"]);
    let right = answer("simple_python_0", &json!([{"f": {"x": [1]}}])).to_string();
    let refused = |data: &Value, answers: &str| {
        refusal(Subset::SimplePython, &data.to_string(), Some(answers))
    };
    let changed = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed[key] = value;
        changed
    };
    for (data, problem) in [
        (
            changed("id", json!("simple_java_0")),
            "expected an id `simple_python_<number>`",
        ),
        (changed("id", json!("simple_python_1")), "has no answer"),
        (changed("id", json!(7)), "expected a text `id`"),
        (changed("question", json!([])), "no message"),
        (
            changed("function", json!([])),
            "expected a list of functions",
        ),
        (
            changed("function", json!([{"name": "f"}])),
            "parameters.required",
        ),
        (json!([1]), "expected a JSON object"),
    ] {
        let text = refused(&data, &right);
        assert!(text.contains(problem) && text.contains("line 1"), "{text}");
    }
    for (calls, problem) in [
        (json!([]), "at least one call"),
        (json!("f(x=1)"), "at least one call"),
        (json!([{}]), "one function per call, found 0"),
        (
            json!([{"f": {}, "g": {}}]),
            "one function per call, found 2",
        ),
        (json!([{"f": [1]}]), "expected an object of parameters"),
        (
            json!([{"f": {"x": 1}}]),
            "expected a list of allowed values",
        ),
        (json!([{"g": {"x": [1]}}]), "not on offer"),
    ] {
        let text = refused(&good, &answer("simple_python_0", &calls).to_string());
        assert!(text.contains(problem), "{text}");
    }
    let twice = format!("{good}\n\n{good}");
    let text = refusal(Subset::SimplePython, &twice, Some(&right));
    assert!(
        text.contains("line 3: the id \"simple_python_0\" stands here a second time"),
        "{text}"
    );
    let twice = format!("{right}\n{right}");
    assert!(refused(&good, &twice).contains("line 2: the id"));
    let more = format!("{right}\n{}", right.replace("python_0", "python_9"));
    let text = refused(&good, &more);
    assert!(
        text.contains("line 2: \"simple_python_9\" is no sample"),
        "{text}"
    );
    assert!(refused(&good, "{").contains("possible_answer/BFCL_v4_simple_python.json, line 1"));
    assert!(refusal(Subset::SimplePython, &good.to_string(), None).contains("no answers given"));
}

#[test]
fn t5_09_malformed_replies_score_0_and_the_others_as_before() {
    let right = call("geo_distance", "{\"x\": 7}");
    let broken = [
        "null",
        "7",
        "[]",
        "[\"text\"]",
        "[{\"function\": \"geo_distance\"}]",
        "[{\"function\": {\"name\": \"geo_distance\", \"arguments\": null}}]",
        "[{\"function\": {\"name\": [], \"arguments\": {}}}]",
        "geo_distance(x={1, 2})",
        "",
        "\u{0}",
    ];
    let mut outputs: Vec<String> = broken.iter().map(|text| (*text).to_owned()).collect();
    outputs.push(right);
    let scored = run(&outputs);
    let (last, others) = scored.verdicts.split_last().expect("verdicts");
    assert_eq!(last.score, 1);
    assert!(
        others
            .iter()
            .all(|verdict| verdict.score == 0 && verdict.reason.is_some())
    );
    let raises = others
        .iter()
        .filter(|verdict| verdict.error_type.as_deref() == Some(REFERENCE_RAISES));
    assert_eq!(raises.count(), 3);
    assert_eq!(scored.report.reference_raises, 3);
}

#[test]
fn unparsed_attempts_are_counted_beside_the_score() {
    let data = line("irrelevance_0", "f", &json!({}), &[]);
    let sample = one(Subset::Irrelevance, &data, None);
    let broken = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\n</tool_call>";
    let issues = vec![Issue {
        sample: 0,
        output: Some(broken.to_owned()),
    }];
    let scored = score(&Dataset::from_samples(vec![sample]), &Outputs::new(issues));
    assert_eq!(scored.verdicts[0].score, 1);
    assert_eq!(scored.report.unparsed_attempts, 1);
    assert_eq!(scored.report.warnings.len(), 1);
}

#[test]
fn t5_11_parallel_calls_match_in_any_order_and_number_exactly() {
    let id = "parallel_0";
    let schema = json!({"x": {"type": "integer", "description": "d"}});
    let data = line(id, "f", &schema, &["x"]);
    let calls = |values: &[i64]| {
        let calls = values
            .iter()
            .map(|x| json!({"function": {"name": "f", "arguments": {"x": x}}}));
        Value::from_iter(calls).to_string()
    };
    let expected = json!([{"f": {"x": [1]}}, {"f": {"x": [2]}}]);
    let sample = one(Subset::Parallel, &data, Some(&answer(id, &expected)));
    let score = |values: &[i64]| {
        judge::examine((&sample).into(), &calls(values))
            .judgement
            .score()
    };
    assert_eq!((score(&[1, 2]), score(&[2, 1])), (1, 1));
    assert_eq!((score(&[1]), score(&[1, 2, 3]), score(&[1, 1])), (0, 0, 0));
    let twins = json!([{"f": {"x": [1]}}, {"f": {"x": [1]}}]);
    let sample = one(Subset::Parallel, &data, Some(&answer(id, &twins)));
    let produced = |values: &[i64]| {
        judge::examine((&sample).into(), &calls(values))
            .judgement
            .score()
    };
    assert_eq!((produced(&[1]), produced(&[1, 1])), (0, 1));
    // Greedy: the first expected call takes the only call that the second one would accept.
    let greedy = json!([{"f": {"x": [1, 2]}}, {"f": {"x": [1]}}]);
    let sample = one(Subset::Parallel, &data, Some(&answer(id, &greedy)));
    let ordered = |values: &[i64]| {
        judge::examine((&sample).into(), &calls(values))
            .judgement
            .score()
    };
    assert_eq!((ordered(&[2, 1]), ordered(&[1, 2])), (1, 0));
}

#[test]
fn t5_11_java_and_javascript_arguments_are_source_text() {
    let source = |subset: Subset, schema: Value, allowed: Value, value: &str| {
        let id = format!("{subset}_0");
        let data = line(&id, "f", &json!({"x": schema}), &["x"]);
        let answer = answer(&id, &json!([{"f": {"x": allowed}}]));
        let sample = one(subset, &data, Some(&answer));
        let output = call("f", &json!({"x": value}).to_string());
        judge::examine((&sample).into(), &output).judgement.score()
    };
    let java = |schema, allowed, value| source(Subset::SimpleJava, schema, allowed, value);
    let list = || json!({"type": "ArrayList", "description": "d", "items": {"type": "String"}});
    let text = "new ArrayList<String>(Arrays.asList(\"a\", \"b\"))";
    assert_eq!(java(list(), json!([["a", "b"]]), text), 1);
    assert_eq!(java(list(), json!([["a", "c"]]), text), 0);
    let map = "new HashMap<String, Object>() {{ put(\"k\", \"v\"); }}";
    assert_eq!(
        java(
            json!({"type": "HashMap", "description": "d"}),
            json!([{"k": ["v"]}]),
            map
        ),
        1
    );
    let long = || json!({"type": "long", "description": "d"});
    assert_eq!(
        (
            java(long(), json!([5]), "5L"),
            java(long(), json!([5]), "5")
        ),
        (1, 0)
    );
    let js = |schema, allowed, value| source(Subset::SimpleJavascript, schema, allowed, value);
    let boolean = || json!({"type": "Boolean", "description": "d"});
    assert_eq!(
        (
            js(boolean(), json!([true]), "true"),
            js(boolean(), json!([true]), "True")
        ),
        (1, 0)
    );
    let array = json!({"type": "array", "description": "d", "items": {"type": "String"}});
    assert_eq!(js(array, json!([["a", "it's"]]), "['a', \"it's\"]"), 1);
}

#[test]
fn t5_14_subsets_without_answers_load_and_partial_runs_are_no_gate_runs() {
    for subset in [
        Subset::Irrelevance,
        Subset::LiveIrrelevance,
        Subset::LiveRelevance,
    ] {
        let data = line(&format!("{subset}_0"), "f", &json!({}), &[]);
        assert_eq!(one(subset, &data, None).answer(), None);
    }
    let scored = run(&[call("geo_distance", "{\"x\": 7}")]);
    assert_eq!(scored.report.overall.rounded, 100.0);
    assert_eq!(scored.report.categories.len(), 1);
    assert!(!scored.report.passed());
    let samples_gate = &scored.report.gates[0];
    assert!(samples_gate.detail.is_some(), "{samples_gate:?}");
}

#[test]
fn samples_without_an_output_count_as_wrong() {
    let sample = simple(&json!({"type": "integer", "description": "d"}), &json!([7]));
    let issue = |output: Option<&str>| Issue {
        sample: 0,
        output: output.map(str::to_owned),
    };
    let dataset = Dataset::from_samples(vec![sample]);
    let right = call("geo_distance", "{\"x\": 7}");
    let half = Outputs::new(vec![issue(Some(&right)), issue(None)]);
    let scored = score(&dataset, &half);
    assert_eq!((scored.report.issued, scored.report.scored), (2, 1));
    assert_eq!(scored.report.overall.rounded, 50.0);
    assert_eq!(scored.verdicts[1].error_type.as_deref(), Some(MISSING));
    let none = score(&dataset, &Outputs::new(vec![issue(None)]));
    assert!(none.report.subsets.is_empty() && none.report.overall.rounded == 0.0);
}

#[test]
fn reports_and_verdicts_read_back_as_written() {
    let scored = run(&[call("geo_distance", "{\"x\": 7}"), "null".to_owned()]);
    let text = serde_json::to_string(&scored.report).expect("plain data");
    assert_eq!(
        serde_json::from_str::<bfcl::report::Report>(&text).expect("reads"),
        scored.report
    );
    let row = serde_json::to_value(&scored.verdicts[1]).expect("plain data");
    let keys: Vec<&String> = row.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["id", "subset", "score", "error_type", "reason"]);
}

/// Types that the schemas of Java and JavaScript know, and one they do not.
const TYPES: [&str; 14] = [
    "integer",
    "long",
    "float",
    "double",
    "boolean",
    "char",
    "String",
    "any",
    "Array",
    "ArrayList",
    "HashMap",
    "array",
    "dict",
    "Queue",
];

/// Text that would make a backtracking or rescanning converter take minutes, 4,000 times.
#[test]
fn converters_take_linear_time_on_hostile_text() {
    let pieces = [
        "new ArrayList<",
        "new HashMap<>() {{ ",
        "put(\"k\", ",
        "add(",
        "add(1)\n",
        "new int[]{",
        "[[1],",
        "[",
        "],[",
        "{a:,",
        "a:b,",
        ":",
        ",",
        " ",
        "{",
        "}",
        "new Array(",
        "\"",
        "9",
        "1_",
        "-",
    ];
    let heads = [
        "",
        "new HashMap<>() {{ ",
        "new ArrayList<>() {{ ",
        "[[",
        "{",
        "new int[]{",
    ];
    for piece in pieces {
        for head in heads {
            let body = piece.repeat(30_000 / piece.len());
            for tail in ["", "\n}}", "]", "}"] {
                let text = bfcl::value::PyStr::from(format!("{head}{body}{tail}"));
                for expected in ["integer", "double", "Array", "ArrayList", "HashMap"] {
                    let _ = bfcl::convert::java(&text, expected, None);
                }
                for expected in ["Bigint", "array", "dict"] {
                    let _ = bfcl::convert::javascript(&text, expected, None);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn converters_never_panic(
        text in r#"(new |Array|ArrayList<>|HashMap<>|\(|\)|\{|\}|\[|\]|put\("|add\(|",|:|,|'|"|\n|é|1|L|.){0,60}"#,
        expected in proptest::sample::select(&TYPES[..]),
        nested in proptest::option::of(proptest::sample::select(&TYPES[..])),
    ) {
        let text = bfcl::value::PyStr::from(text);
        let _ = bfcl::convert::java(&text, expected, nested);
        let _ = bfcl::convert::javascript(&text, expected, nested);
    }

    #[test]
    fn any_output_gets_a_verdict(output in ".{0,200}") {
        let sample = simple(&json!({"type": "integer", "description": "d"}), &json!([7]));
        prop_assert_eq!(judge::examine((&sample).into(), &output).judgement.score(), 0);
    }
}
