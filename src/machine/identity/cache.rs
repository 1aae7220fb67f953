//! Digests of files that have not changed since they were computed.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Layout version of an entry.
const SCHEMA: u32 = 1;
/// An entry takes a few hundred bytes; nothing longer is read.
const MAX_ENTRY: u64 = 16 << 10;

/// What tells a file from another one of the same path without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stamp {
    /// Size, bytes.
    pub(super) bytes: u64,
    /// Time of the last change, nanoseconds since 1970; such a file is cached only where there is one.
    pub(super) modified_ns: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    schema: u32,
    /// For a reader's eyes and against collisions; paths that are not Unicode are approximated.
    path: String,
    stamp: Stamp,
    sha256: String,
}

/// A directory with one small JSON file per hashed file.
pub(super) struct Cache {
    /// `None` where the user has no cache directory.
    dir: Option<PathBuf>,
}

impl Cache {
    /// `edge-agentic` in `$XDG_CACHE_HOME`, or in `~/.cache`.
    pub(super) fn of_user() -> Self {
        let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        // The specification says that relative values are to be ignored.
        let xdg = set("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute());
        let base = xdg.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")));
        Self {
            dir: base.map(|base| base.join("edge-agentic")),
        }
    }

    #[cfg(test)]
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir: Some(dir) }
    }

    /// The digest of the file at the absolute `path`, if it is known and the file has not changed.
    pub(super) fn find(&self, path: &Path, stamp: Stamp) -> Option<String> {
        let file = self.file(path)?;
        if fs::metadata(&file).ok()?.len() > MAX_ENTRY {
            return None;
        }
        let entry: Entry = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        let hexadecimal = entry.sha256.len() == 64
            && entry
                .sha256
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let same = entry.schema == SCHEMA
            && entry.path == path.to_string_lossy()
            && entry.stamp == stamp
            && stamp.modified_ns.is_some();
        (same && hexadecimal).then_some(entry.sha256)
    }

    /// Remembers a digest. Failing to is no error: the next run computes it again.
    pub(super) fn keep(&self, path: &Path, stamp: Stamp, sha256: &str) {
        let entry = Entry {
            schema: SCHEMA,
            path: path.to_string_lossy().into_owned(),
            stamp,
            sha256: sha256.to_owned(),
        };
        let _ = self.write(path, &entry);
    }

    fn write(&self, path: &Path, entry: &Entry) -> Option<()> {
        let file = self.file(path)?;
        let dir = file.parent()?;
        fs::create_dir_all(dir).ok()?;
        // Renamed into place, so that another run never reads half an entry.
        let mut temporary = tempfile::NamedTempFile::new_in(dir).ok()?;
        temporary.write_all(&serde_json::to_vec(entry).ok()?).ok()?;
        temporary.persist(file).ok()?;
        Some(())
    }

    fn file(&self, path: &Path) -> Option<PathBuf> {
        let key = Sha256::digest(path.as_os_str().as_encoded_bytes());
        Some(self.dir.as_ref()?.join(format!("{key:x}.json")))
    }
}
