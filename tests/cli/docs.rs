//! The pages under `docs/` say what the program does: their commands run, the reference of the command line is
//! generated, and every field and file has a line.

mod block;
mod reference;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use bfcl::dataset::default_dir;
use serde_json::Value;

use self::block::{Block, Step, blocks};
use crate::harness::{Ends, PROGRAM, edge, environment, run_two_turns, scratch};

const REPLAY: &str = "agentic_coding_2.5h.jsonl";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(page: &str) -> String {
    let path = root().join(page);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A directory as commands of a page find it: empty but for links to what data there is.
struct Desk {
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let dir = scratch();
        let data = dir.path().join("data");
        fs::create_dir(&data).expect("a directory");
        let beside = |path: &str| root().join("..").join(path);
        let bfcl = [default_dir(), Some(beside("bfcl-data"))];
        let bfcl = bfcl.into_iter().flatten().find(|dir| dir.exists());
        let replay = Some(beside("shared/data").join(REPLAY)).filter(|file| file.is_file());
        let link = |from: Option<PathBuf>, name: &str| {
            if let Some(from) = from {
                symlink(from, data.join(name)).expect("a link");
            }
        };
        link(bfcl, "bfcl");
        link(replay, REPLAY);
        Self { dir }
    }

    fn has(&self, needs: &str) -> bool {
        let name = match needs {
            "bfcl" => "bfcl",
            "replay" => REPLAY,
            other => panic!("unknown need {other:?}; there are bfcl and replay"),
        };
        self.dir.path().join("data").join(name).exists()
    }

    /// Runs a command as its reader would, with the program on the path; returns its code and all that it printed.
    fn run(&self, step: &Step) -> (Option<i32>, String) {
        let programs = Path::new(PROGRAM).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {}\n}} 2>&1", step.command)])
            .current_dir(self.dir.path())
            .envs(environment())
            .env("EDGE_AGENTIC_DATA", "data")
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    }
}

/// Runs the commands of a page in one directory, from its top to its end.
#[track_caller]
fn runs(page: &str) {
    let desk = Desk::new();
    let blocks = blocks(&read(page));
    assert!(!blocks.is_empty(), "{page}: no block is marked for testing");
    for Block { needs, steps } in blocks {
        if let Some(absent) = needs.iter().find(|need| !desk.has(need)) {
            println!("skipped: {page}: the data {absent:?} are not there");
            continue;
        }
        for step in steps {
            let (code, output) = desk.run(&step);
            let at = format!("{page}:{}: {}", step.line, step.command);
            assert_eq!(code, Some(step.exit), "{at}\n{output}");
            if let Some(line) = step.missing(&output) {
                panic!("{at}\ndoes not print\n{line}\nbut\n{output}");
            }
        }
    }
}

#[test]
fn setup_runs() {
    runs("docs/setup.md");
}

#[test]
fn replay_runs() {
    runs("docs/replay.md");
}

#[test]
fn accuracy_runs() {
    runs("docs/accuracy.md");
}

#[test]
fn models_runs() {
    runs("docs/models.md");
}

#[test]
fn performance_runs() {
    runs("docs/performance.md");
}

#[test]
fn results_runs() {
    runs("docs/results.md");
}

#[test]
fn the_command_line_is_documented_whole() {
    let (path, page) = (root().join("docs/cli.md"), reference::page());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).expect("docs/ is writable");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/cli.md is not what --help prints; UPDATE_GOLDEN=1 writes it anew"
    );
}

/// Keys of an object and of the objects in it, as far as the page lists them.
fn keys(value: &Value) -> BTreeSet<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn every_result_file_and_field_has_a_line() {
    let page = read("docs/results.md");
    let dir = scratch();
    let out = dir.path().join("out");
    run_two_turns(&out, "40")
        .args(["--self-check", "1", "--warmup", "1"])
        .ends(0);
    let named = |name: &str| page.contains(&format!("`{name}`"));
    let mut open = vec![out.clone()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(&out)
                .expect("below")
                .display()
                .to_string();
            if path.is_dir() {
                open.push(path);
            } else {
                assert!(
                    named(&name),
                    "docs/results.md does not name the file {name}"
                );
            }
        }
    }
    let json = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let text = |name: &str| fs::read_to_string(out.join(name)).expect("a result file");
    let rows = text("turns.jsonl");
    let row = json(rows.lines().next().expect("a row"));
    let mut fields = vec![("turns.jsonl", row.clone())];
    fields.push(("turns.jsonl", row["phases_ns"].clone()));
    let check = json(text("self-checks.jsonl").lines().next().expect("a check"));
    fields.push(("self-checks.jsonl", check["check"].clone()));
    fields.push(("self-checks.jsonl", check));
    fields.push(("turns.jsonl", row["tool_calls"][0].clone()));
    for file in ["plan.json", "machine.json", "summary.json", "verdict.json"] {
        fields.push((file, json(&text(file))));
    }
    fields.push((
        "summary.json",
        json(&text("summary.json"))["latency_ns"].clone(),
    ));
    for (file, value) in &fields {
        for key in keys(value) {
            assert!(
                named(key),
                "docs/results.md does not name the field {key} of {file}"
            );
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let docs = fs::read_dir(root().join("docs")).expect("docs/");
    let mut pages: Vec<PathBuf> = docs.map(|e| e.expect("an entry").path()).collect();
    pages.push(root().join("README.md"));
    let readme = read("README.md");
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            let target = page.parent().expect("a directory").join(file);
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
        }
        let name = page
            .strip_prefix(root())
            .expect("below")
            .display()
            .to_string();
        assert!(
            name == "README.md" || readme.contains(&name),
            "README.md does not name {name}"
        );
    }
}

#[test]
fn every_shell_gets_completions_with_every_verb() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = edge("completions").arg(shell).ends(0).stdout;
        for word in ["inspect", "doctor", "ctx-size"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    edge("completions").arg("teapot").ends(2).says(&["teapot"]);
}

/// Asked as bash asks it: the words, the one to complete, the one before it.
#[cfg(unix)]
#[test]
fn bash_completes_the_options_of_a_verb_and_their_values() {
    let script = edge("completions").arg("bash").ends(0).stdout;
    let completes = |words: &str, last: &str, before: &str| {
        let asks = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _edge__agentic edge-agentic {last:?} {before}; echo \"${{COMPREPLY[@]}}\""
        );
        let bash = std::process::Command::new("bash")
            .args(["-c", &asks])
            .output();
        String::from_utf8(bash.expect("bash starts").stdout).expect("text")
    };
    assert_eq!(completes("edge-agentic ru", "ru", "edge-agentic"), "run\n");
    let option = completes("edge-agentic run --inj", "--inj", "run");
    assert_eq!(option, "--inject-delays\n");
    let value = completes("edge-agentic run --overflow ''", "", "--overflow");
    assert_eq!(value, "fail drop-oldest\n");
}

#[test]
fn every_verb_has_a_manual_page() {
    let page = edge("man").ends(0).stdout;
    assert!(page.contains(".TH edge-agentic 1"), "{page}");
    for verb in ["run", "inspect", "doctor", "man"] {
        let page = edge("man").arg(verb).ends(0).stdout;
        assert!(
            page.contains(&format!(".TH edge-agentic-{verb} 1")),
            "{page}"
        );
    }
    edge("man")
        .arg("walk")
        .ends(2)
        .says(&["walk", "run, prompts"]);
}
