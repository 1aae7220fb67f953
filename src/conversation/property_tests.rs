//! Properties over random and damaged input.

use super::testing::{calling, file, rows, sound, tool, user};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};

/// Loads hostile bytes: whatever comes of it can be printed, or used.
fn exercise(bytes: &[u8]) {
    let data = match parse(bytes, "test") {
        Ok(data) => data,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(data.client_turns() > 0);
    for conversation in &data.conversations {
        assert!(!conversation.turns.is_empty());
        for (index, turn) in conversation.turns.iter().enumerate() {
            assert_eq!(turn.turn as usize, 2 * index + 1);
            let messages = conversation.messages(index).expect("the index is in range");
            assert_eq!(Some(messages.len()), conversation.message_count(index));
        }
    }
}

/// One way to damage a file.
#[derive(Debug, Clone)]
enum Damage {
    Overwrite(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    Copy(Index, Index, usize),
    Cut(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    // Bytes that mean something to the format are the likeliest to reach its corners.
    let byte = prop_oneof![
        prop::sample::select(b"{}[]\",:\\\n\r 01-eult".to_vec()),
        any::<u8>()
    ];
    prop_oneof![
        (at(), byte.clone()).prop_map(|(i, b)| Damage::Overwrite(i, b)),
        (at(), vec(byte, 1..8)).prop_map(|(i, b)| Damage::Insert(i, b)),
        (at(), 1_usize..400).prop_map(|(i, n)| Damage::Delete(i, n)),
        (at(), at(), 1_usize..400).prop_map(|(i, j, n)| Damage::Copy(i, j, n)),
        at().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match damage {
        Damage::Overwrite(i, b) => bytes[i.index(len)] = *b,
        Damage::Insert(i, new) => {
            let at = i.index(len);
            bytes.splice(at..at, new.iter().copied());
        }
        Damage::Delete(i, n) => {
            let at = i.index(len);
            bytes.drain(at..len.min(at + n));
        }
        Damage::Copy(i, j, n) => {
            let (from, to) = (i.index(len), j.index(len));
            let piece = bytes[from..len.min(from + n)].to_vec();
            bytes.splice(to..to, piece);
        }
        Damage::Cut(i) => bytes.truncate(i.index(len)),
    }
}

/// Any JSON value a call's arguments can hold.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((any::<String>(), inner), 0..6).prop_map(|fields| object(fields).into()),
        ]
    })
}

fn object(fields: Vec<(String, Value)>) -> Map<String, Value> {
    fields.into_iter().collect()
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..600)) {
        exercise(&bytes);
    }

    #[test]
    fn damaged_files_never_panic_and_lose_no_message(damages in vec(damage(), 1..6)) {
        let mut bytes = SAMPLE.to_vec();
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        exercise(&bytes);
    }

    #[test]
    fn damaged_small_files_never_panic(damages in vec(damage(), 1..4)) {
        let mut bytes = file(&[rows("a", 2), rows("b", 1)].concat());
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        exercise(&bytes);
    }

    #[test]
    fn a_row_dropped_repeated_or_moved_is_always_refused(i in 0_usize..6, j in 0_usize..6) {
        let whole = rows("a", 3);
        let mut dropped = whole.clone();
        dropped.remove(i);
        prop_assert!(parse(&file(&dropped), "test").is_err());
        let mut repeated = whole.clone();
        repeated.insert(j, whole[i].clone());
        prop_assert!(parse(&file(&repeated), "test").is_err());
        let mut swapped = whole;
        swapped.swap(i, j);
        prop_assert_eq!(parse(&file(&swapped), "test").is_err(), i != j);
    }

    #[test]
    fn arguments_as_text_and_as_object_are_the_same_call(
        fields in vec((any::<String>(), json()), 0..6)
    ) {
        let arguments = Value::from(object(fields)).to_string();
        let quoted = Value::from(arguments.clone()).to_string();
        let load = |form: &str| sound(&[user("a", 1), calling("a", 2, form), tool("a", 3)
            , calling("a", 4, "{}")]);
        let (text, object) = (load(&quoted), load(&arguments));
        let call = &text.conversations[0].turns[0].recorded.tool_calls[0];
        prop_assert_eq!(&call.arguments, &arguments);
        prop_assert_eq!(text.conversations[0].messages(1), object.conversations[0].messages(1));
    }

    #[test]
    fn any_text_survives_into_its_message(said in ".{1,40}", got in any::<String>()) {
        let quote = |text: &str| Value::from(text).to_string();
        let first = user("a", 1).replace("\"Fix it.\"", &quote(&said));
        let third = tool("a", 3).replace("\"a.txt\"", &quote(&got));
        let data = sound(&[first, calling("a", 2, "{}"), third, calling("a", 4, "{}")]);
        let messages = json_array(&data.conversations[0].messages(1).expect("turn 3"));
        let read: Value = serde_json::from_str(&messages).expect("messages are JSON");
        prop_assert_eq!(&read[0]["content"], &Value::from(said));
        prop_assert_eq!(&read[2]["content"], &Value::from(got));
    }
}
