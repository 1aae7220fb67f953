//! The rules of extraction, one by one, on original examples; those that answer a field fault carry
//! its id.

use bfcl::extract::{extract, extract_json, has_native_tool_calls};
use bfcl::value::{Dict, Int, Value};

/// The calls as JSON; `"[]"` for none, `"!Name"` for an exception.
fn calls(text: &str) -> String {
    match extract_json(text) {
        Ok(calls) => calls.unwrap_or_else(|| "[]".to_owned()),
        Err(raised) => format!("!{}", raised.exception.name()),
    }
}

/// The arguments of a single text call, as JSON.
fn arguments(inside: &str) -> String {
    let found = calls(&format!("f({inside})"));
    let body = found
        .strip_prefix("[{\"name\": \"f\", \"arguments\": ")
        .and_then(|rest| rest.strip_suffix("}]"));
    body.unwrap_or(&found).to_owned()
}

#[test]
fn the_three_forms_are_tried_in_order() {
    let native = r#"[{"id":"c","type":"function","name":"no","function":{"name":"f","arguments":"{\"a\":1}"}}]"#;
    assert_eq!(calls(native), r#"[{"name": "f", "arguments": {"a": 1}}]"#);
    assert_eq!(
        calls(r#"[{"name":"g","arguments":"{\"a\":1}"}]"#),
        r#"[{"name": "g", "arguments": "{\"a\":1}"}]"#
    );
    assert_eq!(
        calls("I would call g(a=1)."),
        r#"[{"name": "g", "arguments": {"a": 1}}]"#
    );
    assert_eq!(calls("[]"), "[]");
    // One bad item, and the list is none of the first two.
    assert_eq!(calls(r#"[{"name":"g"}, 5]"#), "[]");
    assert_eq!(calls(r#"[{"function":{"name":"f"}}, {"name":"g"}]"#), "[]");
}

#[test]
fn string_arguments_are_decoded_twice_at_most() {
    let one = |text: &str| {
        extract(text)
            .expect("no exception")
            .expect("calls")
            .remove(0)
            .into_arguments()
    };
    let a1 = Value::Dict(Dict::from_iter([(
        Value::str("a"),
        Value::Int(Int::from(1)),
    )]));
    assert_eq!(
        one(r#"[{"function":{"arguments":"{\"a\":1}"}}]"#),
        Ok(a1.clone())
    );
    assert_eq!(
        one(r#"[{"function":{"arguments":"\"{\\\"a\\\":1}\""}}]"#),
        Ok(a1)
    );
    assert_eq!(
        one(r#"[{"function":{"arguments":"\"\\\"{}\\\"\""}}]"#),
        Ok(Value::str("{}"))
    );
    assert_eq!(
        one(r#"[{"function":{"arguments":"{a:1}"}}]"#),
        Ok(Value::Dict(Dict::new()))
    );
    assert_eq!(one(r#"[{"function":{}}]"#), Ok(Value::Dict(Dict::new())));
}

#[test]
fn white_space_is_stripped_for_extraction_only() {
    let padded = "\u{a0}\u{1c}[{\"function\":{\"name\":\"f\"}}]\u{2003}";
    assert_eq!(calls(padded), r#"[{"name": "f", "arguments": {}}]"#);
    assert_eq!(has_native_tool_calls(padded), Ok(false));
    assert_eq!(has_native_tool_calls(" [{\"function\":{}}]\n"), Ok(true));
    assert_eq!(has_native_tool_calls("[{\"name\":\"f\"}]"), Ok(false));
    assert_eq!(calls("\u{feff}[{\"name\":\"f\"}]"), "[]");
}

#[test]
fn text_arguments_are_python_literals() {
    assert_eq!(
        arguments("a=(1, None), b={'k': True, 2: -1.5}, a=0x1F"),
        r#"{"a": 31, "b": {"k": true, "2": -1.5}}"#
    );
    assert_eq!(arguments("5, *x, **y, a='it''s'"), r#"{"a": "its"}"#);
    assert_eq!(arguments("a=1e400, b=007"), r#"{"_raw": "a=1e400, b=007"}"#);
    assert_eq!(
        arguments("a=r'\\n', b='\\ud83d\\ude00', c='\\ud800'"),
        r#"{"a": "\\n", "b": "\ud83d\ude00", "c": "\ud800"}"#
    );
    assert_eq!(arguments("\u{fb01}=1"), r#"{"fi": 1}"#);
    assert_eq!(arguments("a='x\r\ny'"), r#"{"_raw": "a='x\r\ny'"}"#);
    assert_eq!(arguments("a='''x\r\ny'''"), r#"{"a": "x\ny"}"#);
    assert_eq!(arguments("a=\"x\u{0}\""), r#"{"_raw": "a=\"x\u0000\""}"#);
    assert_eq!(arguments("a=t'x'"), r#"{"_raw": "a=t'x'"}"#);
}

#[test]
fn what_is_no_literal_becomes_source_text() {
    for (source, printed) in [
        ("inf", "inf"),
        ("--1", "--1"),
        ("1+2", "1 + 2"),
        ("(1+2)*3**-x", "(1 + 2) * 3 ** (-x)"),
        ("-x**2", "-x ** 2"),
        ("not a==b", "not a == b"),
        ("a and b and c<d", "a and b and (c < d)"),
        ("x if y else z", "x if y else z"),
        ("lambda *a,b=1,**k:a", "lambda *a, b=1, **k: a"),
        ("[x for x,y in z if x]", "[x for x, y in z if x]"),
        ("g(x for x in y)", "g((x for x in y))"),
        ("x[1:2,::3]", "x[1:2, ::3]"),
        ("1 .real", "1 .real"),
        ("u'a'+b\"'\"", "u'a' + b\"'\""),
        ("f'{x!r:>{w}}{{' 'y'", "f'{x!r:>{w}}{{y'"),
        ("f\"{x=}\"", "f'x={x!r}'"),
        ("{**a,1:2}", "{**a, 1: 2}"),
        ("(y:=1e400)", "(y := 1e309)"),
        ("{*()}", "{*()}"),
    ] {
        let call = extract(&format!("f(a={source})"))
            .expect("no exception")
            .expect("a call")
            .remove(0);
        let value = call
            .arguments
            .as_dict()
            .and_then(|dict| dict.get("a"))
            .cloned();
        assert_eq!(value, Some(Value::str(printed)), "{source}");
    }
}

#[test]
fn values_that_json_cannot_hold_raise() {
    for raising in [
        "{1, 2}",
        "b'x'",
        "1j",
        "...",
        "set()",
        "{[1]: 2}",
        "{(1,): 2}",
        "{b'a': 1}",
    ] {
        assert_eq!(
            arguments(&format!("a={raising}")),
            "!TypeError",
            "{raising}"
        );
    }
}

#[test]
fn prose_is_not_a_call() {
    for prose in [
        "Note (see below)",
        "f(city)",
        "f(x: int, y: str)",
        "print(a=1)",
        "f(a=1",
        "1f(a=1)",
        "éf(a=1)",
    ] {
        assert_eq!(calls(prose), "[]", "{prose}");
    }
    assert_eq!(
        calls("f(a=g(b=1))"),
        r#"[{"name": "f", "arguments": {"a": "g(b=1)"}}]"#
    );
    assert_eq!(
        calls("f('a)', b=')')"),
        r#"[{"name": "f", "arguments": {"b": ")"}}]"#
    );
}

/// The opening tag is lost, the function block stays: prose to the reference, and so no call.
#[test]
fn t1_05_bare_function_block_is_no_call() {
    let text = "Let me look.\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>";
    assert_eq!(calls(text), "[]");
    assert_eq!(has_native_tool_calls(text), Ok(false));
}

/// What the server files as reasoning is scored with the content: a call in Python syntax counts,
/// one in the chat template's syntax does not.
#[test]
fn t1_07_unclosed_think_with_a_tagged_call_is_no_call() {
    let text = "<think>I need the weather.\n<tool_call>\n<function=get_weather>\n</function>\n</tool_call>";
    assert_eq!(calls(text), "[]");
}

/// The reference does search reasoning prose; irrelevance is decided without it.
#[test]
fn t1_08_calls_quoted_in_reasoning_count_for_the_checker_only() {
    let text = "One could call get_weather(city='Rome').</think>There is no need to.";
    assert_eq!(
        calls(text),
        r#"[{"name": "get_weather", "arguments": {"city": "Rome"}}]"#
    );
    assert_eq!(has_native_tool_calls(text), Ok(false));
}

#[test]
fn t1_12_a_bad_value_keeps_the_call() {
    for bad in [
        "\"2026-01-15\"",
        "\"\"",
        "\"007\"",
        "1e3",
        "true",
        "\"{broken\"",
    ] {
        let found = calls(&format!(
            r#"[{{"function":{{"name":"f","arguments":{{"n":{bad},"m":1}}}}}}]"#
        ));
        assert!(
            found.starts_with(r#"[{"name": "f", "arguments": {"n": "#),
            "{found}"
        );
        assert!(found.ends_with(r#", "m": 1}}]"#), "{found}");
    }
}

#[test]
fn t1_13_arguments_keep_the_model_s_order() {
    let native = r#"[{"function":{"name":"f","arguments":"{\"z\":1,\"unknown\":2,\"a\":3}"}}]"#;
    assert_eq!(
        calls(native),
        r#"[{"name": "f", "arguments": {"z": 1, "unknown": 2, "a": 3}}]"#
    );
    assert_eq!(
        calls("f(z=1, a=3)"),
        r#"[{"name": "f", "arguments": {"z": 1, "a": 3}}]"#
    );
}

#[test]
fn t5_09_malformed_replies_are_no_calls() {
    for reply in [
        "",
        " ",
        "null",
        "5",
        "[]",
        "[\"f\"]",
        "[{\"function\":\"f\"}]",
        "[null]",
        "{}",
        "[[]]",
    ] {
        assert_eq!(calls(reply), "[]", "{reply}");
        assert_eq!(has_native_tool_calls(reply), Ok(false), "{reply}");
    }
}
