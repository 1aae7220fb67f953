//! What every test needs: the program under test, its models, its result files.

pub mod data;
pub mod gguf_file;
pub mod model;
pub mod results;
pub mod tree;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use tempfile::TempDir;

/// Longest time that any one command may take on a busy machine. A command that hangs fails its test.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_edge-agentic");

/// Environment of every run: one thread (two that spin on a busy machine are far slower than one), plain text, and
/// a cache of our own, so that no test reads or writes the user's.
pub fn environment() -> [(&'static str, &'static OsStr); 3] {
    [
        ("OMP_NUM_THREADS", OsStr::new("1")),
        ("NO_COLOR", OsStr::new("1")),
        ("XDG_CACHE_HOME", OsStr::new(env!("CARGO_TARGET_TMPDIR"))),
    ]
}

/// The program with a verb.
pub fn edge(verb: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.envs(environment()).timeout(LIMIT).arg(verb);
    command
}

/// `run --performance-only` with one thread; the data set is still to be given.
pub fn run(model: &Path, out: &Path) -> Command {
    let mut command = edge("run");
    command.args(["--performance-only", "--threads", "1"]);
    command.arg("--model").arg(model).arg("--out").arg(out);
    command
}

/// A replay of the embedded sample.
pub fn run_sample(model: &Path, out: &Path) -> Command {
    let mut command = run(model, out);
    command.arg("--sample");
    command
}

/// The first two turns of the sample's first conversation on the tiny model, with up to so many tokens each.
pub fn run_two_turns(out: &Path, max_new_tokens: &str) -> Command {
    let mut command = run_sample(model::tiny(), out);
    command.args(["--conversations", "1", "--turns", "2"]);
    command.args(["--max-new-tokens", max_new_tokens]);
    command
}

/// `prompts` over a data set.
pub fn prompts(model: &Path, dataset: &Path) -> Command {
    let mut command = edge("prompts");
    command
        .arg("--model")
        .arg(model)
        .arg("--dataset")
        .arg(dataset);
    command
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
}

/// Running a command to its end.
pub trait Ends {
    /// Runs it and asserts its exit code; nothing that the program does may panic.
    fn ends(&mut self, code: i32) -> Ended;
}

impl Ends for Command {
    #[track_caller]
    fn ends(&mut self, code: i32) -> Ended {
        let output = self.output().expect("the program under test starts");
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        let ended = Ended {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert_eq!(
            output.status.code(),
            Some(code),
            "{self:?}\n{}\n{}",
            ended.stdout,
            ended.stderr
        );
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended
    }
}

impl Ended {
    /// Asserts that the messages hold all these parts.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "{part:?} is not in:\n{}",
                self.stderr
            );
        }
        self
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub fn rows(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a JSON line"))
            .collect()
    }
}

/// A directory for one test.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build directory is writable")
}

/// A file of the data that lies outside this repository, or a word on why the test proves nothing.
pub fn shared(file: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(file);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: ../shared/{file} is not there");
    None
}
