//! Where facts about the machine come from: files below a root, and two programs. Tests bring a tree of their own.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

use super::Known;

/// Files of `/sys` and `/proc` are short; whatever is longer is not one of them.
const LONGEST: u64 = 64 << 10;

/// Runs a program and returns what it prints, or why it does not.
type Programs = fn(&str, &[&str]) -> Result<String, String>;

/// The system whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// `/sys` and `/proc`.
    Linux,
    /// `pmset`.
    Mac,
    /// Nothing is read by hand.
    Other,
}

/// A machine to look at.
#[derive(Debug, Clone)]
pub struct Source {
    root: PathBuf,
    programs: Programs,
    /// Its system.
    pub platform: Platform,
    /// Whether it is the machine that this program runs on.
    pub here: bool,
}

impl Source {
    /// The machine that this program runs on.
    #[must_use]
    pub fn this_machine() -> Self {
        let platform = match std::env::consts::OS {
            "linux" => Platform::Linux,
            "macos" => Platform::Mac,
            _ => Platform::Other,
        };
        Self {
            root: PathBuf::from("/"),
            programs: run,
            platform,
            here: true,
        }
    }

    /// A machine whose files lie below `root`.
    #[cfg(test)]
    pub fn fake(root: &std::path::Path, platform: Platform, programs: Programs) -> Self {
        Self {
            root: root.to_owned(),
            programs,
            platform,
            here: false,
        }
    }

    /// The text of a file, without white space and zero bytes around it; `path` is relative to the root.
    pub fn text(&self, path: &str) -> Result<String, String> {
        let because = |what: &str| format!("/{path}: {what}");
        let read = || -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            File::open(self.root.join(path))?
                .take(LONGEST)
                .read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|e| match e.kind() {
            ErrorKind::NotFound => because("not there"),
            ErrorKind::PermissionDenied => because("not readable without privileges"),
            _ => because(&e.to_string()),
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        match text.is_empty() {
            true => Err(because("empty")),
            false => Ok(text.to_owned()),
        }
    }

    /// The text of a file, or why there is none.
    pub fn known(&self, path: &str) -> Known<String> {
        into_known(self.text(path))
    }

    /// The number in a file.
    pub fn number<T: FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.text(path)?;
        text.parse()
            .map_err(|_| format!("/{path}: found {text:?}, expected a number"))
    }

    /// Names in a directory that begin with `prefix`, in the order of their numbers; none where it is not there.
    pub fn names(&self, dir: &str, prefix: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(dir)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .filter(|name| name.starts_with(prefix))
            .collect();
        names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        names
    }

    /// What a program prints.
    pub fn output(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        (self.programs)(program, arguments)
    }
}

/// A value, or the reason of the failure.
pub fn into_known<T>(result: Result<T, String>) -> Known<T> {
    match result {
        Ok(value) => Known::new(value),
        Err(reason) => Known::unknown(reason),
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| match e.kind() {
            ErrorKind::NotFound => format!("no program {program}"),
            _ => format!("{program}: {e}"),
        })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    // nvidia-smi explains itself on stdout.
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &text;
    let first = said.lines().find(|line| !line.trim().is_empty());
    Err(format!(
        "{program} failed ({}): {}",
        output.status,
        first.unwrap_or("it says nothing").trim()
    ))
}
