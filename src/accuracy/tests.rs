//! The inline checker and the checks on hand-computed cases, and on the benchmark's data set.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;
use crate::conversation::load;

fn truth(conversation: &str, turn: u32, truth: Truth) -> Expected {
    Expected {
        conversation_id: conversation.to_owned(),
        turn,
        assistant_turn: turn + 1,
        truth,
    }
}

fn actions(conversation: &str, turn: u32, names: &[&'static str]) -> Expected {
    truth(conversation, turn, Truth::Actions(names.to_vec()))
}

fn bash(command: &str) -> Said {
    let arguments = serde_json::json!({ "command": command }).to_string();
    Said {
        calls: vec![Call {
            name: "bash".to_owned(),
            arguments,
        }],
        ..Said::default()
    }
}

#[test]
fn scores_are_multiset_iou_by_hand() {
    let expected = [
        actions("a", 1, &["find", "xargs", "head"]),
        actions("a", 3, &["grep", "grep"]),
        actions("a", 5, &["sed"]),
        actions("a", 7, &[]),
        actions("b", 1, &["ls"]),
    ];
    let answers = [
        // 2 of {find, xargs, head, wc}: 0.5
        Answer::issued("a", 1, Some(bash("find . | head; wc x"))),
        // 1 of {grep, grep}: 0.5
        Answer::issued("a", 3, Some(bash("rg x"))),
        Answer::issued("a", 5, None),
        Answer::issued("a", 7, Some(bash("ls"))),
        Answer::issued("b", 1, Some(bash("ls"))),
        // Not of the data set: neither issued nor scored.
        Answer::issued("c", 1, Some(bash("ls"))),
    ];
    let scores = score(&expected, &answers);
    let counts = TurnCounts {
        issued: 5,
        expected: 4,
        observed: 3,
        missing: 1,
        scored: 4,
    };
    assert_eq!(scores.turns, counts);
    // (0.5 + 0.5 + 0 + 1) ÷ 4
    assert_eq!(scores.score, Some(0.5));
    let per_turn: Vec<f64> = scores.per_turn.iter().map(|t| t.score).collect();
    assert_eq!(per_turn, [0.5, 0.5, 0.0, 1.0]);
    assert_eq!(scores.per_turn[2].missing, Some(true));
    assert_eq!(scores.per_turn[0].turn, 2, "the assistant row's number");
    assert_eq!(scores.excluded_turns.len(), 1);
    assert_eq!(scores.excluded_turns[0].turn, 8);
    assert_eq!(scores.domains.workflow, None);
}

#[test]
fn workflow_turns_are_scored_by_intent() {
    let right = BTreeSet::from(["I001".to_owned(), "I002".to_owned()]);
    let expected = [
        truth("sim_1", 1, Truth::Intents(right.clone())),
        truth("sim_1", 3, Truth::Intents(right)),
        truth("sim_1", 5, Truth::Intents(BTreeSet::new())),
    ];
    let say = |content: &str| Said {
        content: content.to_owned(),
        ..Said::default()
    };
    let answers = [
        Answer::issued("sim_1", 1, Some(say("intent: i002"))),
        Answer::issued("sim_1", 3, Some(say("I001, no: I009"))),
        Answer::issued("sim_1", 5, Some(say("I001"))),
    ];
    let scores = score(&expected, &answers);
    assert_eq!((scores.score, scores.turns.scored), (Some(0.5), 2));
    assert_eq!(scores.domains.workflow.map(|d| d.score), Some(0.5));
    let json = serde_json::to_value(&scores.per_turn[1]).expect("a row is an object");
    let keys: Vec<&String> = json.as_object().expect("an object").keys().collect();
    let order = "conversation_id repeat turn domain gt_intents model_intent score";
    assert_eq!(keys, order.split(' ').collect::<Vec<_>>());
    assert_eq!(json["model_intent"], "I009");
}

#[test]
fn repeats_are_turns_of_their_own_and_a_retry_is_not() {
    let expected = [actions("a", 1, &["ls"])];
    let answers = [
        Answer::issued("a__repeat_2", 1, Some(bash("ls"))),
        Answer::issued("a", 1, Some(bash("cat x"))),
        Answer::issued("a", 1, None),
    ];
    let scores = score(&expected, &answers);
    assert_eq!((scores.turns.issued, scores.turns.missing), (2, 0));
    assert_eq!(scores.score, Some(0.5));
    let repeats: Vec<u32> = scores.per_turn.iter().map(|t| t.repeat).collect();
    assert_eq!(repeats, [1, 2]);
}

#[test]
fn nothing_scored_is_null_and_never_zero() {
    let scores = score(&[actions("a", 1, &["ls"])], &[]);
    let json = serde_json::to_value(&scores).expect("scores are an object");
    assert!(json["score"].is_null());
    assert_eq!(json["domains"], serde_json::json!({}));
    assert!(json.get("excluded_turns").is_none());
    assert!(
        !replay_checks(&scores, 1, None, None)
            .iter()
            .any(|c| c.name != "turns_missing" && c.passed)
    );
}

#[test]
fn checks_compare_with_the_data_set() {
    let expected = [actions("a", 1, &["ls"]), actions("a", 3, &["ls"])];
    let all = [
        Answer::issued("a", 1, Some(bash("ls"))),
        Answer::issued("a", 3, Some(bash("ls"))),
    ];
    let passed = |answers: &[Answer], mean, window| {
        let checks = replay_checks(&score(&expected, answers), 2, mean, window);
        checks
            .into_iter()
            .map(|c| (c.name, c.passed))
            .collect::<Vec<_>>()
    };
    let row = |name: &str, passed| (name.to_owned(), passed);
    assert_eq!(
        passed(&all, None, None),
        [
            row("turns_issued", true),
            row("turns_missing", true),
            row("turns_observed", true)
        ]
    );
    // A run that stopped early: the reference's two checks pass, ours does not.
    assert_eq!(passed(&all[..1], None, None)[0], row("turns_issued", false));
    let failed = [all[0].clone(), Answer::issued("a", 3, None)];
    assert_eq!(
        passed(&failed, None, None)[1..],
        [row("turns_missing", false), row("turns_observed", false)]
    );
    let window = "90, 110".parse::<OslWindow>().expect("a window");
    for (mean, inside) in [
        (Some(90.0), true),
        (Some(110.0), true),
        (Some(110.01), false),
        (None, false),
    ] {
        assert_eq!(
            passed(&all, mean, Some(window))[3],
            row("osl_window", inside)
        );
    }
}

#[test]
fn a_window_is_two_ordered_numbers() {
    for text in [
        "", "1", "1,", "2,1", "-1,2", "a,b", "1,inf", "NaN,1", "1,2,3",
    ] {
        let error = text.parse::<OslWindow>().expect_err(text);
        assert!(error.to_string().contains("LO,HI"), "{error}");
    }
    let window = "1.5,2".parse::<OslWindow>().expect("a window");
    assert_eq!(window.to_string(), "1.5,2");
}

/// The benchmark's data set, or a printed reason to skip.
fn benchmark() -> Option<crate::conversation::Dataset> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/agentic_coding_2.5h.jsonl");
    if !path.is_file() {
        println!("skipped: {} is absent", path.display());
        return None;
    }
    Some(load(&path).unwrap_or_else(|e| panic!("{e}")))
}

/// The recorded replies as answers.
fn recorded(data: &crate::conversation::Dataset) -> Vec<Answer> {
    let turns = data
        .conversations
        .iter()
        .flat_map(|c| c.turns.iter().map(|t| (c.id.as_str(), t)));
    turns
        .map(|(id, turn)| {
            let calls = turn.recorded.tool_calls.iter().map(|call| Call {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
            let said = Said {
                calls: calls.collect(),
                ..Said::default()
            };
            Answer::issued(id, turn.turn, Some(said))
        })
        .collect()
}

#[test]
fn the_recorded_calls_score_one_on_1006_turns() {
    let Some(data) = benchmark() else { return };
    let expected = expected(&data);
    let scores = score(&expected, &recorded(&data));
    assert_eq!(scores.score, Some(1.0));
    let turns = &scores.turns;
    assert_eq!((turns.issued, turns.scored, turns.missing), (1007, 1006, 0));
    assert_eq!(scores.excluded_turns.len(), 1);
    assert!(scores.per_turn.iter().all(|t| t.score == 1.0));
    assert!(
        replay_checks(&scores, 1007, None, None)
            .iter()
            .all(|c| c.passed)
    );
}

#[test]
fn known_edits_of_the_recorded_calls_give_the_hand_computed_score() {
    let Some(data) = benchmark() else { return };
    let expected = expected(&data);
    let mut answers = recorded(&data);
    let scored: Vec<usize> = (0..answers.len())
        .filter(|i| !expected[*i].truth.is_empty())
        .collect();
    // 6 turns say nothing, 4 are missing: 996 of 1,006 score 1.
    for index in &scored[..6] {
        answers[*index].said = Some(Said::default());
    }
    for index in &scored[6..10] {
        answers[*index].said = None;
    }
    let scores = score(&expected, &answers);
    assert_eq!(scores.score, Some(0.9901), "996 / 1006 = 0.99006");
    assert_eq!((scores.turns.missing, scores.turns.observed), (4, 1002));
    // One more turn that recorded a single executable says it twice: ½ instead of 1.
    let single = scored[10..]
        .iter()
        .find(|i| matches!(&expected[**i].truth, Truth::Actions(a) if a.len() == 1))
        .expect("most turns have one executable");
    let said = answers[*single].said.as_mut().expect("recorded");
    said.calls.push(said.calls[0].clone());
    let scores = score(&expected, &answers);
    assert_eq!(scores.score, Some(0.9896), "995.5 / 1006 = 0.98956");
}
