//! Outputs made to break an extractor: they end in an answer or in the reference's exception, in
//! time that grows with their length.

use bfcl::extract::{extract, extract_json, has_native_tool_calls};
use bfcl::pyjson;
use bfcl::raised::Exception;
use proptest::prelude::*;

/// Bytes of each hostile text.
const A_LOT: usize = 1 << 17;

fn repeat(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

/// What the extraction ends in: the calls' JSON, `"[]"` for none, or the exception's name.
fn outcome(text: &str) -> String {
    match extract_json(text) {
        Ok(calls) => calls.unwrap_or_else(|| "[]".to_owned()),
        Err(raised) => raised.exception.name().to_owned(),
    }
}

/// Quadratic behaviour takes minutes on these, and recursion overflows the stack.
#[test]
fn a_lot_of_anything_is_survived() {
    let pieces = [
        "(",
        ")",
        "[",
        "{",
        "f(",
        "f()",
        "f(a=",
        "f(a=(",
        "f('",
        "f(\"",
        "'",
        "\"",
        "\\",
        "'\\",
        "f(a=1,",
        "f(a=1)",
        "a ",
        "f ",
        "- ",
        "not ",
        "x.",
        "[[",
        "{\"a\":",
        "[{\"name\":1},",
        "f(a=[",
        "lambda:",
        "f'{",
        "é(",
        "\u{85}",
        "f(x if x else ",
        "*",
        "**",
        "'''",
        "\"\"\"",
        "f(a='\"",
        "1,",
        "0",
        "9",
        "\r",
        "#",
        "f(a=1 #",
        "\u{0}",
    ];
    for piece in pieces {
        for (head, tail) in [
            ("", ""),
            ("f(a=", ")"),
            ("f(", ")"),
            ("[", "]"),
            ("f(a='''", "''')"),
        ] {
            let text = format!("{head}{}{tail}", repeat(piece, A_LOT));
            let _ = extract(&text);
            let _ = has_native_tool_calls(&text);
        }
    }
}

#[test]
fn deep_sources_end_as_in_cpython() {
    let nested =
        |open: &str, n: usize, close: &str| format!("f(a={}1{})", open.repeat(n), close.repeat(n));
    assert!(outcome(&nested("(", 199, ")")).ends_with("{\"a\": 1}}]"));
    assert!(outcome(&nested("(", 200, ")")).contains("_raw"));
    assert!(outcome(&nested("[", 199, "]")).contains("{\"a\": [[["));
    assert!(outcome(&nested("[", 200, "]")).contains("_raw"));
    assert!(outcome(&nested("-", 328, "")).contains("{\"a\": \"---"));
    assert_eq!(outcome(&nested("-", 329, "")), "RecursionError");
    assert_eq!(outcome(&nested("-", 500_000, "")), "RecursionError");
    assert_eq!(
        outcome(&format!("f(a=x{})", ".a".repeat(330))),
        "RecursionError"
    );
    assert_eq!(
        outcome(&format!("f(a=1{})", "+1".repeat(3_000))),
        "RecursionError"
    );
    assert!(outcome(&format!("f(a=1{})", "+1".repeat(300))).contains("1 + 1"));
    // Long, but flat.
    assert!(outcome(&format!("f(a=[{}])", "-1, ".repeat(100_000))).contains("-1, -1"));
    assert!(outcome(&format!("f(a={})", "'a' ".repeat(20_000))).contains("aaaa"));
    // Deep, and no syntax: the words of a long sentence.
    assert!(outcome(&format!("f({})", "well - known ".repeat(3_000))).contains("_raw"));
}

#[test]
fn deep_json_raises_as_in_cpython() {
    let list = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let native = |arguments: &str| {
        format!("[{{\"function\": {{\"name\": \"f\", \"arguments\": {arguments}}}}}]")
    };
    assert_eq!(outcome(&list(pyjson::MAX_READ_DEPTH)), "[]");
    assert_eq!(outcome(&list(pyjson::MAX_READ_DEPTH + 1)), "RecursionError");
    assert!(outcome(&native(&list(1_490))).contains("[[["));
    assert!(outcome(&native(&format!("\"{}\"", list(1_494)))).contains("[[["));
    assert_eq!(
        outcome(&native(&format!("\"{}\"", list(1_495)))),
        "RecursionError"
    );
    let raised = has_native_tool_calls(&native(&format!("\"{}\"", list(1_495))));
    assert_eq!(
        raised.map_err(|raised| raised.exception),
        Err(Exception::RecursionError)
    );
}

#[test]
fn integers_beyond_python_s_digit_limit() {
    let nines = "9".repeat(4_301);
    assert!(outcome(&format!("f(a={nines})")).contains("_raw"));
    assert!(outcome(&format!("f({nines}, a=1)")).contains("_raw"));
    assert!(outcome(&format!("f(a='{nines}')")).contains("{\"a\": \"999"));
    assert_eq!(
        outcome(&format!("f(a=0x{})", "f".repeat(4_000))),
        "ValueError"
    );
    assert!(outcome(&format!("f(a=x+0x{})", "f".repeat(4_000))).contains("_raw"));
    assert_eq!(
        outcome(&format!("f(a={}+1j)", "9".repeat(400))),
        "OverflowError"
    );
    // The JSON reader refuses it, so the text path looks for calls.
    assert_eq!(
        outcome(&format!(
            "[{{\"name\": \"f\", \"arguments\": {{\"a\": {nines}}}}}]"
        )),
        "[]"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = extract(&text);
    }

    #[test]
    fn no_python_makes_it_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "f(", "a=", "(", ")", "[", "]", "{", "}", "'", "\"", "'''", "f'", "{x", "!r", ":", "=", ",", "*", "**",
                " for ", " in ", " if ", " else ", "lambda ", "x", "1", "1.5", "2j", "0x", "b'", "\\", "\\u", "\\ud800",
                "\\N{", "\n", "\r", "#", "é", "😀", "\u{FFFD}", "set()", "...", " := ", "await ", "yield ", "-", "not ", ".", "/",
            ]),
            0..24,
        )
    ) {
        let text = format!("f(a={})", pieces.concat());
        let _ = extract(&text);
    }

    #[test]
    fn what_is_extracted_is_json(text in "[a-z(){}\\[\\]'\", =:.0-9-]{0,60}") {
        if let Ok(Some(calls)) = extract_json(&text) {
            prop_assert!(pyjson::loads(&calls).is_ok());
        }
    }

    #[test]
    fn json_round_trips(text in "[\\[\\]{},:\"a\\\\u0-9.eE+-]{0,30}") {
        if let Ok(value) = pyjson::loads(&text) {
            let written = pyjson::dumps(&value).expect("JSON can be written");
            prop_assert_eq!(pyjson::loads(&written), Ok(value));
        }
    }
}
