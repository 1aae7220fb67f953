//! Result files, read back with the library's own types: a field that these do not know is an error.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use edge_agentic::machine::Machine;
use edge_agentic::metrics::Summary;
use edge_agentic::plan::Plan;
use edge_agentic::record::{ReadBack, TurnRecord, read_records};
use serde::de::DeserializeOwned;

use super::model::tiny;
use super::tree::tree;
use super::{Ended, Ends, run_sample, scratch};

/// The results of a run.
#[derive(Debug)]
pub struct Results {
    pub plan: Plan,
    pub machine: Machine,
    pub summary: Summary,
    pub turns: ReadBack<TurnRecord>,
}

impl Results {
    #[track_caller]
    pub fn read(dir: &Path) -> Self {
        Self {
            plan: json(&dir.join("plan.json")),
            machine: json(&dir.join("machine.json")),
            summary: json(&dir.join("summary.json")),
            turns: read_records(&dir.join("turns.jsonl")).expect("every row is readable"),
        }
    }
}

/// A JSON file of a known type.
#[track_caller]
pub fn json<T: DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()))
}

/// One whole run of the embedded sample, shared by the tests that only look at it.
#[derive(Debug)]
pub struct SampleRun {
    pub ended: Ended,
    pub results: Results,
    /// The result files and directories, by name within the results.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
}

pub fn sample_run() -> &'static SampleRun {
    static RUN: OnceLock<SampleRun> = OnceLock::new();
    RUN.get_or_init(|| {
        let dir = scratch();
        let out = dir.path().join("out");
        let ended = run_sample(tiny(), &out).ends(0);
        let prefix = format!("{}/", out.display());
        let files = tree(&out)
            .into_iter()
            .map(|(name, bytes)| (name[prefix.len()..].to_owned(), bytes))
            .collect();
        SampleRun {
            ended,
            results: Results::read(&out),
            files,
        }
    })
}

/// What two runs with the same plan have in common: which turn, what was asked, what was answered.
pub fn identity(row: &TurnRecord) -> (&str, u32, Option<&str>, Option<&str>, &[i32]) {
    (
        &row.conversation_id,
        row.turn,
        row.prompt_sha256.as_deref(),
        row.prompt_ids_sha256.as_deref(),
        &row.output_ids,
    )
}
