//! Every rule of the format, each broken by a hand-written row.

use super::testing::{
    assistant, calling, expect, fault_of, faults_of, file, rows, sound, tool, user, with,
};
use super::*;

/// Three client turns of conversation `a`, with line `line` (from 1) replaced.
fn replaced(line: usize, row: String) -> Vec<String> {
    let mut rows = rows("a", 3);
    rows[line - 1] = row;
    rows
}

#[test]
fn sound_rows_become_conversations_in_file_order() {
    let mut all = rows("b", 1);
    all.extend(rows("a", 3));
    let data = sound(&all);
    let ids: Vec<_> = data.conversations.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
    assert_eq!(data.client_turns(), 4);
    let a = data.conversation("a").expect("it was loaded");
    assert_eq!(
        a.turns.iter().map(|t| t.turn).collect::<Vec<_>>(),
        [1, 3, 5]
    );
    assert_eq!(
        (a.index_of(3), a.index_of(2), a.index_of(7)),
        (Some(1), None, None)
    );
    assert_eq!(a.turns[0].delay_seconds, None);
    assert_eq!(a.turns[1].delay_seconds, Some(0.5));
    assert_eq!(a.turns[2].recorded.turn, 6);
    assert_eq!(
        a.turns[2].recorded.tool_calls[0].arguments,
        r#"{"command": "ls"}"#
    );
}

#[test]
fn a_last_line_without_newline_and_crlf_are_accepted() {
    let text = rows("a", 2).join("\r\n");
    let data = parse(text.as_bytes(), "test").expect("white space is no fault");
    assert_eq!(data.client_turns(), 2);
}

#[test]
fn a_torn_last_line_is_named_as_torn_wherever_it_is_cut() {
    let whole = file(&rows("a", 2));
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|&b| b == b'\n')
        .expect("4 lines")
        + 1;
    for cut in last + 1..whole.len() - 1 {
        let faults = faults_of(&whole[..cut]);
        assert_eq!(faults.total(), 1, "cut at {cut}: {faults}");
        assert_eq!(faults.listed()[0].rule, Rule::TornLastLine, "cut at {cut}");
        assert_eq!(faults.listed()[0].place.line, 4);
    }
}

#[test]
fn a_file_cut_between_rows_lacks_the_recorded_reply() {
    expect(&rows("a", 3)[..5], Rule::Reply, 5, 5, "role");
}

#[test]
fn broken_json_in_the_middle_is_one_fault_with_its_byte() {
    let whole = rows("a", 3);
    let line = whole[2].replace(r#""role": "tool","#, r#""role": tool,"#);
    let fault = fault_of(&replaced(3, line.clone()));
    let start = whole[0].len() + whole[1].len() + 2;
    assert_eq!(fault.rule, Rule::Json);
    assert_eq!(fault.place.line, 3);
    // serde_json has read as far as the second letter of `tool`, which could have been `true`.
    let at = start + line.find("tool,").expect("it was put there");
    assert!((at..at + 2).contains(&fault.place.offset), "{fault}");
}

#[test]
fn blank_lines_are_refused() {
    assert_eq!(fault_of(&replaced(3, String::new())).rule, Rule::BlankLine);
}

#[test]
fn a_byte_order_mark_is_refused_by_name() {
    let bytes = [b"\xef\xbb\xbf".as_slice(), &file(&rows("a", 1))].concat();
    assert_eq!(faults_of(&bytes).listed()[0].rule, Rule::ByteOrderMark);
}

#[test]
fn rows_must_be_objects_with_known_fields_given_once() {
    for (row, found) in [
        ("[1, 2]".to_owned(), "sequence"),
        ("3".to_owned(), "integer"),
        (
            with(&tool("a", 3), r#""colour": 1"#),
            "unknown field `colour`",
        ),
        (
            with(&tool("a", 3), r#""turn": 3"#),
            "duplicate field `turn`",
        ),
    ] {
        let fault = fault_of(&replaced(3, row));
        assert_eq!((fault.rule, fault.place.line), (Rule::Shape, 3), "{fault}");
        assert!(fault.found.contains(found), "{fault}");
    }
}

#[test]
fn the_fields_that_place_a_row_are_required() {
    for (field, text) in [
        ("conversation_id", r#""conversation_id": "a", "#),
        ("turn", r#""turn": 3, "#),
        ("role", r#""role": "tool", "#),
    ] {
        let fault = fault_of(&replaced(3, tool("a", 3).replace(text, "")));
        assert_eq!(
            (fault.rule, fault.field.as_str()),
            (Rule::MissingField, field),
            "{fault}"
        );
    }
}

#[test]
fn ids_are_printable_ascii() {
    for id in ["", "é", "a\\u0007", "a\\u007f", "\\ud800"] {
        let faults = faults_of(&file(&rows(id, 1)));
        let rule = faults.listed()[0].rule;
        assert!(
            matches!(rule, Rule::ConversationId | Rule::Json),
            "{faults}"
        );
        assert_eq!(faults.listed()[0].field, "conversation_id");
    }
    let fault = fault_of(&replaced(3, tool("a", 3).replace(r#""a""#, "7")));
    assert_eq!(
        (fault.rule, fault.found.as_str()),
        (Rule::ConversationId, "7")
    );
    sound(&rows("a b~!/:", 1));
}

#[test]
fn turns_are_whole_numbers_without_gap_or_repetition() {
    for turn in ["0", "-1", "3.0", "\"3\"", "4294967296", "[3]"] {
        let row = tool("a", 3).replace("\"turn\": 3", &format!("\"turn\": {turn}"));
        let fault = fault_of(&replaced(3, row));
        assert_eq!(
            (fault.rule, fault.field.as_str()),
            (Rule::TurnNumber, "turn"),
            "{fault}"
        );
    }
    let mut gap = rows("a", 3);
    gap.remove(2);
    let fault = expect(&gap, Rule::TurnNumber, 3, 4, "turn");
    assert_eq!(
        (fault.found.as_str(), fault.expected.as_str()),
        ("turn 4", "turn 3")
    );
    let mut twice = rows("a", 3);
    twice.insert(3, twice[2].clone());
    expect(&twice, Rule::DuplicateTurn, 4, 3, "turn");
    let late: Vec<String> = rows("a", 3).into_iter().skip(2).collect();
    expect(&late, Rule::TurnNumber, 1, 3, "turn");
}

#[test]
fn rows_of_a_conversation_are_consecutive() {
    let (a, b) = (rows("a", 2), rows("b", 2));
    let woven = [&a[..2], &b[..2], &a[2..], &b[2..]].concat();
    let faults = faults_of(&file(&woven));
    let seen: Vec<_> = faults
        .listed()
        .iter()
        .map(|f| (f.rule, f.place.line))
        .collect();
    assert_eq!(
        seen,
        [(Rule::Consecutive, 5), (Rule::Consecutive, 7)],
        "{faults}"
    );
}

#[test]
fn unknown_roles_are_refused() {
    let fault = fault_of(&replaced(
        3,
        tool("a", 3).replace("\"tool\"", "\"function\""),
    ));
    assert_eq!((fault.rule, fault.place.turn), (Rule::Role, Some(3)));
    assert_eq!(fault.found, "\"function\"");
}

#[test]
fn roles_alternate() {
    // Each row is sound by itself; its number is right; only its role is out of place.
    let order = |row: String, line| {
        let mut all = rows("a", 3);
        all.truncate(line);
        all[line - 1] = row;
        let faults = faults_of(&file(&all));
        let first = &faults.listed()[0];
        assert_eq!(
            (first.rule, first.place.line),
            (Rule::RoleOrder, line),
            "{faults}"
        );
    };
    order(assistant("a", 1), 1);
    order(tool("a", 1).replace("c0", "c"), 1);
    order(user("a", 2), 2);
    order(tool("a", 2), 2);
    order(user("a", 3), 3);
    order(assistant("a", 3), 3);
    order(user("a", 4), 4);
}

#[test]
fn a_second_user_row_may_follow_a_reply_without_calls_only() {
    let said = r#"{"conversation_id": "a", "turn": 2, "role": "assistant", "content": "Done."}"#;
    let rows = [
        user("a", 1),
        said.to_owned(),
        user("a", 3),
        assistant("a", 4),
    ];
    let data = sound(&rows);
    assert_eq!(data.conversations[0].turns.len(), 2);
    let after = [
        user("a", 1),
        said.to_owned(),
        tool("a", 3),
        assistant("a", 4),
    ];
    expect(&after, Rule::RoleOrder, 3, 3, "role");
}

#[test]
fn t1_11_every_conversation_that_begins_without_a_user_row_is_reported() {
    let cut = |id| [assistant(id, 1), tool(id, 2), assistant(id, 3)];
    let all = [cut("a").as_slice(), &rows("b", 2), &cut("c")].concat();
    let faults = faults_of(&file(&all));
    let seen: Vec<_> = faults
        .listed()
        .iter()
        .map(|f| (f.rule, f.place.conversation.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [(Rule::RoleOrder, Some("a")), (Rule::RoleOrder, Some("c"))],
        "{faults}"
    );
}

#[test]
fn fields_belong_to_their_role() {
    for (line, fields, field) in [
        (1, r#""tool_results": []"#, "tool_results"),
        (2, r#""delay_seconds": 1"#, "delay_seconds"),
        (3, r#""content": "x""#, "content"),
        (3, r#""tool_calls": []"#, "tool_calls"),
    ] {
        let whole = rows("a", 3);
        let fault = fault_of(&replaced(line, with(&whole[line - 1], fields)));
        assert_eq!(
            (fault.rule, fault.field.as_str()),
            (Rule::FieldNotForRole, field),
            "{fault}"
        );
    }
    sound(&replaced(
        3,
        with(&tool("a", 3), r#""content": null, "system": null"#),
    ));
}

#[test]
fn user_rows_say_something() {
    for (text, rule) in [
        ("\"\"", Rule::EmptyContent),
        ("[\"x\"]", Rule::EmptyContent),
        ("null", Rule::MissingField),
    ] {
        expect(
            &replaced(1, user("a", 1).replace("\"Fix it.\"", text)),
            rule,
            1,
            1,
            "content",
        );
    }
}

#[test]
fn assistant_rows_say_or_call_something() {
    let row =
        |body: &str| format!(r#"{{"conversation_id": "a", "turn": 2, "role": "assistant"{body}}}"#);
    for body in [
        "",
        r#", "content": null"#,
        r#", "content": """#,
        r#", "content": []"#,
    ] {
        expect(
            &replaced(2, row(body)),
            Rule::EmptyContent,
            2,
            2,
            "content, tool_calls",
        );
    }
    expect(
        &replaced(2, row(r#", "content": ["x"]"#)),
        Rule::FieldType,
        2,
        2,
        "content",
    );
    let empty = row(r#", "content": "x", "tool_calls": []"#);
    expect(&replaced(2, empty), Rule::ToolCalls, 2, 2, "tool_calls");
}

#[test]
fn calls_have_id_type_name_and_arguments() {
    for (from, to, rule, field) in [
        (
            r#""id": "c2""#,
            r#""id": """#,
            Rule::ToolCalls,
            "tool_calls[0].id",
        ),
        (r#""id": "c2", "#, "", Rule::Shape, "tool_calls"),
        (
            r#""id": "c2""#,
            r#""id": "c2", "index": 0"#,
            Rule::Shape,
            "tool_calls",
        ),
        (
            r#""type": "function""#,
            r#""type": "x""#,
            Rule::ToolCalls,
            "tool_calls[0].type",
        ),
        (
            r#""name": "bash", "#,
            "",
            Rule::Shape,
            "tool_calls[0].function",
        ),
        (
            r#""bash""#,
            "null",
            Rule::ToolCalls,
            "tool_calls[0].function.name",
        ),
    ] {
        let row = assistant("a", 2).replacen(from, to, 1);
        expect(&replaced(2, row), rule, 2, 2, field);
    }
    let row = assistant("a", 2).replace("[{\"id\"", "[[\"c2\", \"function\", {}], {\"id\"");
    expect(&replaced(2, row), Rule::Shape, 2, 2, "tool_calls");
}

#[test]
fn t1_01_arguments_that_are_no_json_object_name_conversation_and_turn() {
    for arguments in [
        r#""""#,
        r#""{\"command\": ls}""#,
        r#""{\"command\": \"ls\"} {}""#,
        r#""[1]""#,
        r#""3""#,
        "3",
        "null",
        "[]",
        r#""{\"a\": 1e999}""#,
        r#""{\"a\": \"\\ud800\"}""#,
        r#"{"a": "\ud800"}"#,
    ] {
        let row = calling("a", 2, arguments);
        expect(
            &replaced(2, row),
            Rule::Arguments,
            2,
            2,
            "tool_calls[0].function.arguments",
        );
    }
    let deep = format!(r#"{{"a": {}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let fault = fault_of(&replaced(2, calling("a", 2, &deep)));
    assert!(fault.found.contains("recursion limit"), "{fault}");
}

#[test]
fn t1_01_arguments_as_text_and_as_object_give_the_same_messages() {
    let text = sound(&replaced(
        2,
        calling("a", 2, r#""{\"b\": 1.50, \"a\": \"<é>\"}""#),
    ));
    let object = sound(&replaced(2, calling("a", 2, r#"{"b": 1.50, "a": "<é>"}"#)));
    let messages = |data: &Dataset| data.conversations[0].messages(2);
    assert_eq!(messages(&text), messages(&object));
    let call = &object.conversations[0].turns[0].recorded.tool_calls[0];
    assert_eq!(call.arguments, r#"{"b": 1.50, "a": "<é>"}"#);
}

#[test]
fn t1_09_all_calls_of_a_row_are_kept_in_order() {
    let call = |id: &str| {
        format!(
            r#"{{"id": "{id}", "type": "function", "function": {{"name": "bash", "arguments": "{{}}"}}}}"#
        )
    };
    let calls = ["x", "y", "z"].map(call).join(", ");
    let row = format!(
        r#"{{"conversation_id": "a", "turn": 2, "role": "assistant", "tool_calls": [{calls}]}}"#
    );
    let data = sound(&[user("a", 1), row]);
    let ids = data.conversations[0].turns[0]
        .recorded
        .tool_calls
        .iter()
        .map(|c| c.id.as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["x", "y", "z"]);
}

#[test]
fn tool_results_are_complete_and_not_empty() {
    let result = r#"{"tool_call_id": "c2", "content": "a.txt"}"#;
    for (to, rule, field) in [
        ("", Rule::ToolResults, "tool_results"),
        ("{}", Rule::Shape, "tool_results"),
        (r#"{"tool_call_id": "c2"}"#, Rule::Shape, "tool_results"),
        (r#"{"content": ""}"#, Rule::Shape, "tool_results"),
        (
            r#"{"tool_call_id": "", "content": ""}"#,
            Rule::ToolResults,
            "tool_results[0].tool_call_id",
        ),
        (
            r#"{"tool_call_id": "c2", "content": 1}"#,
            Rule::ToolResults,
            "tool_results[0].content",
        ),
    ] {
        expect(
            &replaced(3, tool("a", 3).replace(result, to)),
            rule,
            3,
            3,
            field,
        );
    }
    let absent = tool("a", 3).replace(&format!(r#", "tool_results": [{result}]"#), "");
    expect(
        &replaced(3, absent),
        Rule::MissingField,
        3,
        3,
        "tool_results",
    );
    sound(&replaced(3, tool("a", 3).replace("a.txt", "")));
}

#[test]
fn every_call_is_answered_exactly_once() {
    let result = r#"{"tool_call_id": "c2", "content": "a.txt"}"#;
    let field = "tool_results[].tool_call_id";
    for to in [result.replace("c2", "c9"), format!("{result}, {result}")] {
        let row = tool("a", 3).replace(result, &to);
        expect(&replaced(3, row), Rule::CallAnswered, 3, 3, field);
    }
}

#[test]
fn delays_are_seconds() {
    for delay in ["-0.5", "\"1\"", "[]", "true"] {
        let row = tool("a", 3).replace("0.5", delay);
        expect(&replaced(3, row), Rule::Delay, 3, 3, "delay_seconds");
    }
    sound(&replaced(3, tool("a", 3).replace("0.5", "0")));
}

#[test]
fn t1_02_tools_are_carried_as_they_are_written() {
    let tools = r#"[{"type": "function", "function": {"name": "z", "description": "< > & ' — 中", "parameters": {"b": 1.50, "a": {"z": 1e2, "y": []}}}}]"#;
    let fields = format!(r#""system": "Be brief.", "tools": {tools}"#);
    let data = sound(&replaced(1, with(&user("a", 1), &fields)));
    let a = &data.conversations[0];
    assert_eq!(a.tools.as_ref().map(|t| t.get()), Some(tools));
    assert_eq!(a.system.as_deref(), Some("Be brief."));
}

#[test]
fn tools_are_function_tools_with_names() {
    for (tools, rule, field) in [
        ("{}", Rule::Tools, "tools"),
        ("[]", Rule::Tools, "tools"),
        ("[3]", Rule::Shape, "tools"),
        (
            r#"[{"type": "x", "function": {"name": "b"}}]"#,
            Rule::Tools,
            "tools[0].type",
        ),
        (
            r#"[{"type": "function", "function": {"name": ""}}]"#,
            Rule::Tools,
            "tools[0].function.name",
        ),
        (
            r#"[{"type": "function", "function": {"name": "b", "x": "\ud800"}}]"#,
            Rule::Tools,
            "tools",
        ),
    ] {
        let row = with(&user("a", 1), &format!(r#""tools": {tools}"#));
        expect(&replaced(1, row), rule, 1, 1, field);
    }
}

#[test]
fn tools_stand_on_the_first_row_only() {
    let tools = r#""tools": [{"type": "function", "function": {"name": "b"}}]"#;
    expect(
        &replaced(3, with(&tool("a", 3), tools)),
        Rule::FirstRowOnly,
        3,
        3,
        "tools",
    );
}

#[test]
fn t1_15_every_conversation_with_a_late_system_message_is_listed_in_one_pass() {
    let mut all = Vec::new();
    for n in 0..60 {
        let mut rows = rows(&format!("c{n}"), 3);
        if n % 2 == 1 {
            rows[2] = with(&rows[2], r#""system": "Late.""#);
            rows[4] = with(&rows[4], r#""system": "Later.""#);
        }
        all.extend(rows);
    }
    let role = r#"{"conversation_id": "last", "turn": 3, "role": "system", "content": "Late."}"#;
    all.extend(rows("last", 1));
    all.push(role.to_owned());
    let faults = faults_of(&file(&all));
    let positions: Vec<_> = faults.late_system().iter().map(|l| l.position).collect();
    let expected: Vec<_> = (1..=60).filter(|n| n % 2 == 0).chain([61]).collect();
    assert_eq!(positions, expected);
    assert_eq!(faults.total(), 31, "{faults}");
    assert_eq!(faults.late_system()[0].place.turn, Some(3));
    assert!(
        faults
            .to_string()
            .contains("conversation #2 of the file: line 9"),
        "{faults}"
    );
}

#[test]
fn a_system_row_in_first_place_is_told_where_the_prompt_goes() {
    let system = r#"{"conversation_id": "a", "turn": 1, "role": "system", "content": "Be brief."}"#;
    let fault = expect(&[system.to_owned()], Rule::Role, 1, 1, "role");
    assert!(fault.expected.contains("first row"), "{fault}");
}

#[test]
fn several_faults_are_found_in_one_pass_and_one_lost_row_is_one_fault() {
    let mut all = rows("a", 3);
    all[1] = "{".to_owned();
    all.extend(rows("b", 3));
    all[8] = all[8].replace("\"tool\"", "\"bot\"");
    all[11] = "null".to_owned();
    let faults = faults_of(&file(&all));
    let seen: Vec<_> = faults
        .listed()
        .iter()
        .map(|f| (f.rule, f.place.line))
        .collect();
    assert_eq!(
        seen,
        [(Rule::Json, 2), (Rule::Role, 9), (Rule::Shape, 12)],
        "{faults}"
    );
}

#[test]
fn other_kinds_of_file_are_named() {
    for (bytes, kind) in [
        (b"\n<!DOCTYPE html>".as_slice(), Lookalike::Html),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            Lookalike::LfsPointer,
        ),
        (b"GGUF\x03\0\0\0", Lookalike::Gguf),
        (b"\x1f\x8b\x08\0", Lookalike::Gzip),
        (b"\xff\xfe{\0", Lookalike::Utf16),
        (b"[\n{}\n]", Lookalike::JsonArray),
    ] {
        match parse(bytes, "f") {
            Err(LoadError::OtherKind { found, .. }) => assert_eq!(found, kind),
            other => panic!("{kind}: {other:?}"),
        }
    }
    for bytes in [b"".as_slice(), b" \r\n\n"] {
        assert!(matches!(parse(bytes, "f"), Err(LoadError::Empty { .. })));
    }
}

#[test]
fn paths_that_are_no_file_are_refused() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(matches!(load(here), Err(LoadError::NotAFile { .. })));
    assert!(matches!(
        load(&here.join("no such file")),
        Err(LoadError::Read { .. })
    ));
}
