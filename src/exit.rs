//! How the program ends: exit codes, and errors that know theirs.

use std::fmt;

/// Exit codes, the same for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything asked for was done, and every gate that ran passed.
    Pass = 0,
    /// A gate or a validity check failed.
    GateFailed = 1,
    /// An input is wrong: arguments, data set, model file.
    BadInput = 2,
    /// The machine cannot do it: model does not load, device missing, memory short, directory not writable.
    Setup = 3,
    /// The run itself failed.
    RunFailed = 4,
    /// Interrupted by the user (128 + SIGINT).
    Interrupted = 130,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with the exit code that it deserves.
#[derive(Debug)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What happened; its chain of causes is printed.
    pub error: anyhow::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = String::new();
        for cause in self.error.chain() {
            let text = cause.to_string();
            // Many errors name their cause themselves.
            if said.contains(&text) {
                continue;
            }
            if !said.is_empty() {
                said.push_str(": ");
            }
            said.push_str(&text);
        }
        f.write_str(&said)
    }
}

/// Gives an error its exit code.
pub trait Classify<T> {
    /// The input is wrong.
    ///
    /// # Errors
    /// Exactly where `self` is one.
    fn bad_input(self) -> Result<T, Failure>;
    /// The machine cannot do it.
    ///
    /// # Errors
    /// Exactly where `self` is one.
    fn setup(self) -> Result<T, Failure>;
    /// The run failed.
    ///
    /// # Errors
    /// Exactly where `self` is one.
    fn run_failed(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> Classify<T> for Result<T, E> {
    fn bad_input(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::new(Exit::BadInput, e))
    }

    fn setup(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::new(Exit::Setup, e))
    }

    fn run_failed(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::new(Exit::RunFailed, e))
    }
}

impl Failure {
    /// An error that ends the program with `exit`.
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
        }
    }

    /// An error in words.
    #[must_use]
    pub fn message(exit: Exit, text: String) -> Self {
        Self::new(exit, anyhow::Error::msg(text))
    }
}
