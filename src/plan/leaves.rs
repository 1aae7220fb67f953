//! Where two JSON documents differ, value by value.

use serde_json::Value;

/// A value that two documents do not have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Where it stands: `engine.context.threads`, `model.files[0].sha256`.
    pub path: String,
    /// In the first and in the second document; null where it has none.
    pub values: [Value; 2],
}

/// Every value in which two documents differ, in the order of the first.
#[must_use]
pub fn differing_leaves(first: &Value, second: &Value) -> Vec<Leaf> {
    let mut out = Vec::new();
    descend("", [first, second], &mut out);
    out
}

fn descend(path: &str, [first, second]: [&Value; 2], out: &mut Vec<Leaf>) {
    match (first, second) {
        (Value::Object(a), Value::Object(b)) => {
            let added = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(added) {
                let at = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                let of = |object: &'_ serde_json::Map<String, Value>| {
                    object.get(key).cloned().unwrap_or_default()
                };
                descend(&at, [&of(a), &of(b)], out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                descend(&format!("{path}[{i}]"), [x, y], out);
            }
        }
        _ if first != second => out.push(Leaf {
            path: path.to_owned(),
            values: [first.clone(), second.clone()],
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_difference_has_its_path() {
        let a = json!({"same": 1, "gone": 2, "list": [1, {"x": 1}], "long": [1]});
        let b = json!({"same": 1, "list": [1, {"x": 2}], "long": [1, 2], "new": null, "more": 3});
        let found: Vec<String> = differing_leaves(&a, &b)
            .into_iter()
            .map(|leaf| format!("{}: {} {}", leaf.path, leaf.values[0], leaf.values[1]))
            .collect();
        let expected = [
            "gone: 2 null",
            "list[1].x: 1 2",
            "long: [1] [1,2]",
            "more: null 3",
        ];
        assert_eq!(found, expected);
        assert_eq!(differing_leaves(&a, &a), []);
    }
}
