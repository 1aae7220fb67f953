//! The directory of a run's results, made sure of before anything is measured.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes written to learn whether the directory takes files.
const PROBE_BYTES: usize = 64 * 1024;

/// Why results cannot go to a directory.
#[derive(Debug, thiserror::Error)]
pub enum OutDirError {
    /// Something else has the name.
    #[error("{}: is not a directory; choose another --out", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Results of another run may be there; nothing is overwritten.
    #[error("{}: is not empty (found {found:?}); choose another --out, remove the directory, or continue its run with --resume", path.display())]
    NotEmpty {
        /// The path.
        path: PathBuf,
        /// One of the names in it.
        found: String,
    },
    /// The directory cannot be made or looked into.
    #[error("{}: cannot {step} the directory: {source}; choose an --out where you may create files", path.display())]
    Unusable {
        /// The path.
        path: PathBuf,
        /// What failed.
        step: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The directory takes no files.
    #[error("{}: cannot create files in it: {source}; make it writable, free space, or choose another --out", path.display())]
    NotWritable {
        /// The path.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// Makes `dir` (and what leads to it), or accepts it when it is empty, and
/// proves that files can be created in it.
///
/// # Errors
/// See [`OutDirError`]. Nothing that exists is changed.
pub fn create_out_dir(dir: &Path) -> Result<(), OutDirError> {
    let path = || dir.to_owned();
    let unusable = |step| {
        move |source| OutDirError::Unusable {
            path: dir.to_owned(),
            step,
            source,
        }
    };
    match fs::metadata(dir) {
        Ok(found) if !found.is_dir() => return Err(OutDirError::NotADirectory { path: path() }),
        Ok(_) => {
            let mut entries = fs::read_dir(dir).map_err(unusable("look into"))?;
            if let Some(entry) = entries.next() {
                let name = entry.map_err(unusable("look into"))?.file_name();
                return Err(OutDirError::NotEmpty {
                    path: path(),
                    found: name.to_string_lossy().into_owned(),
                });
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(dir).map_err(unusable("create"))?;
        }
        Err(source) => return Err(unusable("look at")(source)),
    }
    probe_writable(dir)
}

/// Proves that files can be created in `dir` by writing one, syncing it and
/// removing it again: permissions, read-only mounts and full disks all answer.
///
/// # Errors
/// [`OutDirError::NotWritable`].
pub fn probe_writable(dir: &Path) -> Result<(), OutDirError> {
    let probe = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".probe.")
            .suffix(".partial")
            .tempfile_in(dir)?;
        file.write_all(&[0; PROBE_BYTES])?;
        file.as_file().sync_all()?;
        file.close()
    };
    probe().map_err(|source| OutDirError::NotWritable {
        path: dir.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_nested_directories_and_leaves_them_empty() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("a/b");
        create_out_dir(&dir).expect("made");
        assert_eq!(fs::read_dir(&dir).expect("there").count(), 0);
        create_out_dir(&dir).expect("empty, so accepted again");
    }

    #[test]
    fn refuses_a_directory_with_results() {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join("turns.jsonl"), b"x").expect("a result");
        let error = create_out_dir(root.path()).expect_err("not empty");
        let text = error.to_string();
        assert!(
            text.contains("turns.jsonl") && text.contains("--resume"),
            "{text}"
        );
        let kept = fs::read(root.path().join("turns.jsonl")).expect("kept");
        assert_eq!(kept, b"x");
    }

    #[test]
    fn refuses_a_file() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("r1");
        fs::write(&file, b"x").expect("a file");
        let error = create_out_dir(&file).expect_err("a file");
        assert!(matches!(error, OutDirError::NotADirectory { .. }));
        let below = create_out_dir(&file.join("r2")).expect_err("below a file");
        assert!(below.to_string().contains("choose an --out"), "{below}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_a_place_that_takes_no_files() {
        // Even root cannot create files in procfs.
        let text = create_out_dir(Path::new("/proc/edge-agentic-out"))
            .expect_err("procfs")
            .to_string();
        assert!(text.contains("/proc/edge-agentic-out"), "{text}");
        let text = probe_writable(Path::new("/proc"))
            .expect_err("procfs")
            .to_string();
        assert!(text.contains("make it writable"), "{text}");
    }
}
