//! The one way in which a finished result file comes to be.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::NamedTempFile;

/// Why a result file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The value has no JSON form.
    #[error("{}: cannot be written as JSON: {source}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// What is wrong with the value.
        source: serde_json::Error,
    },
    /// The new content did not reach the device; the name is untouched.
    #[error("{}: cannot {step}: {source}; the file that was there, if any, is unchanged; free space, or name another place", path.display())]
    Replace {
        /// The file.
        path: PathBuf,
        /// What failed.
        step: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The new content is in place, but a power loss may still undo that.
    #[error("{}: written, but its directory cannot be synced: {source}", path.display())]
    SyncDirectory {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// Writes `value` as indented JSON with a final newline; see [`write_atomic`].
///
/// # Errors
/// See [`WriteError`].
pub fn write_json_atomic<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), WriteError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|source| WriteError::Encode {
        path: path.to_owned(),
        source,
    })?;
    bytes.push(b'\n');
    write_bytes_atomic(path, &bytes)
}

/// Writes `bytes`; see [`write_atomic`].
///
/// # Errors
/// See [`WriteError`].
pub fn write_bytes_atomic(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_atomic(path, |out| out.write_all(bytes))
}

/// Writes a file so that its name never stands for partial content.
///
/// `fill` writes to a temporary file in the same directory, which is synced and
/// then renamed over `path`; the directory is synced last. When anything fails,
/// a file that was there before is unchanged.
///
/// # Errors
/// See [`WriteError`].
pub fn write_atomic(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let failed = |step| {
        move |source| WriteError::Replace {
            path: path.to_owned(),
            step,
            source,
        }
    };
    let dir = directory_of(path);
    let temporary = partial_beside(path).map_err(failed("create a temporary file beside it"))?;
    let mut out = BufWriter::new(temporary);
    fill(&mut out).map_err(failed("write"))?;
    let temporary = out
        .into_inner()
        .map_err(|e| failed("write")(e.into_error()))?;
    temporary
        .as_file()
        .sync_all()
        .map_err(failed("sync its content"))?;
    temporary
        .persist(path)
        .map_err(|e| failed("rename the temporary file")(e.error))?;
    sync_directory(dir).map_err(|source| WriteError::SyncDirectory {
        path: path.to_owned(),
        source,
    })
}

/// The directory that holds `path`.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A temporary file in the directory of `path`, to be renamed to it; it
/// disappears unless it is. Its name begins with a dot and ends in `.partial`,
/// so that no reader takes it for a result.
///
/// # Errors
/// Where no file can be created there.
pub fn partial_beside(path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask decides. Temporary files are private.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory_of(path))
}

/// Makes a rename durable. Directories cannot be opened as files on Windows.
fn sync_directory(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        std::fs::read_dir(dir)
            .expect("a directory")
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into())
            .collect()
    }

    #[test]
    fn writes_and_replaces_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("summary.json");
        write_json_atomic(&path, &serde_json::json!({"complete": false})).expect("first");
        write_json_atomic(&path, &serde_json::json!({"complete": true})).expect("second");
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "{\n  \"complete\": true\n}\n");
        assert_eq!(names(dir.path()), ["summary.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn result_files_are_as_readable_as_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let (ours, plain) = (dir.path().join("ours"), dir.path().join("plain"));
        write_bytes_atomic(&ours, b"x").expect("ours");
        std::fs::write(&plain, b"x").expect("plain");
        let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn t8_11_a_full_disk_leaves_the_old_file_and_no_partial_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("summary.json");
        write_bytes_atomic(&path, b"old").expect("the old file");
        let error = write_atomic(&path, |out| {
            out.write_all(b"half of the ne")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .expect_err("the disk is full");
        assert!(matches!(error, WriteError::Replace { step: "write", .. }));
        let text = error.to_string();
        assert!(
            text.contains("summary.json") && text.contains("unchanged"),
            "{text}"
        );
        assert_eq!(std::fs::read(&path).expect("the old file"), b"old");
        assert_eq!(names(dir.path()), ["summary.json"]);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("gone/summary.json");
        let text = write_bytes_atomic(&path, b"x")
            .expect_err("no directory")
            .to_string();
        assert!(text.contains("gone/summary.json"), "{text}");
        assert!(text.contains("temporary file"), "{text}");
    }

    #[test]
    fn t8_11_a_name_that_cannot_be_replaced_leaves_no_partial_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("summary.json");
        std::fs::create_dir(&path).expect("a directory in the way");
        std::fs::write(path.join("kept"), b"x").expect("content");
        let error = write_bytes_atomic(&path, b"new").expect_err("a directory is in the way");
        assert!(error.to_string().contains("rename"), "{error}");
        assert_eq!(names(dir.path()), ["summary.json"]);
    }
}
