//! Data sets that tests write.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The tools of every conversation made here.
pub fn bash() -> Value {
    json!([{"type": "function", "function": {"name": "bash", "description": "Run a command", "parameters": {
        "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}}])
}

/// A call of `bash` with these arguments.
pub fn call(id: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}})
}

/// Arguments as recorded: JSON text.
pub fn arguments() -> Value {
    json!("{\"command\": \"ls\"}")
}

/// A conversation of two client turns: user → call → result → closing words.
pub fn conversation(id: &str) -> Vec<Value> {
    vec![
        json!({"conversation_id": id, "turn": 1, "role": "user", "content": "List the files.", "system": "Be brief.",
               "tools": bash()}),
        json!({"conversation_id": id, "turn": 2, "role": "assistant", "reasoning_content": "I list them.",
               "tool_calls": [call("c0", &arguments())]}),
        json!({"conversation_id": id, "turn": 3, "role": "tool", "delay_seconds": 0.5,
               "tool_results": [{"tool_call_id": "c0", "content": "a.txt"}]}),
        json!({"conversation_id": id, "turn": 4, "role": "assistant", "content": "There is a.txt."}),
    ]
}

/// Rows as JSON lines.
pub fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Writes rows to `dir/name`.
pub fn write(dir: &Path, name: &str, rows: &[Value]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, lines(rows)).expect("the test's directory is writable");
    path
}
