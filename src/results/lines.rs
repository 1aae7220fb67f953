//! Files that grow by a line of JSON: self-checks, and readings of the machine.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The append-only writer of such a file.
#[derive(Debug)]
pub struct Lines {
    file: File,
}

impl Lines {
    /// Opens the file, which may hold the lines of an earlier start. A last line that a kill cut short is removed: the
    /// next one would otherwise continue it.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64)?;
            file.seek(SeekFrom::End(0))?;
        }
        Ok(Self { file })
    }

    /// Appends one line and makes it durable.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn append(&mut self, row: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

/// Reads the whole lines of `text`; a line that a kill cut short is left out.
///
/// # Errors
/// Where a whole line is not what it should be; with its number.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().enumerate();
    lines
        .map(|(i, line)| serde_json::from_str(line).map_err(|e| format!("line {}: {e}", i + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_after_a_torn_one_stands_by_itself() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, "1\n2\n[3,").expect("written");
        let mut lines = Lines::open(&path).expect("opened");
        lines.append(&4).expect("appended");
        let text = std::fs::read_to_string(&path).expect("there");
        assert_eq!(text, "1\n2\n4\n");
        assert_eq!(read::<u32>(&text), Ok(vec![1, 2, 4]));
        assert_eq!(read::<u32>("1\n2"), Ok(vec![1]));
        let error = read::<u32>("1\nx\n").expect_err("damaged");
        assert!(error.starts_with("line 2:"), "{error}");
    }
}
