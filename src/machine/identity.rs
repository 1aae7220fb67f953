//! Which model a result belongs to: the sha256 of every file of it, in order.
//!
//! A model in one file is identified by that file's digest, which is also what its publisher prints. A split model
//! has one digest per part; no digest of digests is made up, since nobody could compare it with anything.

mod cache;

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use cache::{Cache, Stamp};

/// Bytes per read: large enough that the calls cost nothing beside the hashing.
const CHUNK: usize = 4 << 20;

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileIdentity {
    /// File name, without its directory: results are published.
    pub name: String,
    /// Size, bytes.
    pub bytes: u64,
    /// sha256 of the content, in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Why a file has no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file cannot be read.
    #[error("{}: cannot {step}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What failed.
        step: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The file is not what it was when reading began.
    #[error(
        "{}: changed while it was read (found {found} bytes, expected {expected}, or a newer time of change); wait \
         until nothing writes to it, then try again", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Size at the end, bytes.
        found: u64,
        /// Size at the beginning, bytes.
        expected: u64,
    },
}

/// Identifies a model by its files, in order (all parts of a split model).
///
/// Digests are remembered in the user's cache directory by path, size and time of change, so only the first run reads
/// the whole model. A damaged cache entry is computed again; a cache that cannot be written is done without.
/// `progress` receives bytes done and bytes in all, at least once, at the end.
///
/// # Errors
/// See [`IdentityError`].
pub fn identify(
    files: &[PathBuf],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<FileIdentity>, IdentityError> {
    identify_with(&Cache::of_user(), files, progress)
}

fn identify_with(
    cache: &Cache,
    files: &[PathBuf],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<FileIdentity>, IdentityError> {
    let sizes = files.iter().map(|path| Ok(metadata(path)?.len()));
    let total = sizes.sum::<Result<u64, _>>()?;
    let mut done = 0;
    let mut identities = Vec::with_capacity(files.len());
    for path in files {
        let before = done;
        let identity = identify_file(cache, path, &mut |bytes| progress(before + bytes, total))?;
        done = before + identity.bytes;
        progress(done, total);
        identities.push(identity);
    }
    Ok(identities)
}

fn identify_file(
    cache: &Cache,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<FileIdentity, IdentityError> {
    let failed = |step| {
        move |source| IdentityError::Read {
            path: path.to_owned(),
            step,
            source,
        }
    };
    let real = path.canonicalize().map_err(failed("find it"))?;
    let stamp = stamp(&metadata(&real)?);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let identity = |sha256| FileIdentity {
        name: name.into_owned(),
        bytes: stamp.bytes,
        sha256,
    };
    if let Some(sha256) = cache.find(&real, stamp) {
        return Ok(identity(sha256));
    }
    let mut file = File::open(&real).map_err(failed("open it"))?;
    let sha256 = digest(&mut file, progress).map_err(failed("read it"))?;
    let after = self::stamp(&metadata(&real)?);
    if after != stamp {
        return Err(IdentityError::Changed {
            path: path.to_owned(),
            found: after.bytes,
            expected: stamp.bytes,
        });
    }
    cache.keep(&real, stamp, &sha256);
    Ok(identity(sha256))
}

fn metadata(path: &Path) -> Result<Metadata, IdentityError> {
    std::fs::metadata(path).map_err(|source| IdentityError::Read {
        path: path.to_owned(),
        step: "look at it",
        source,
    })
}

fn stamp(metadata: &Metadata) -> Stamp {
    let modified = metadata.modified().ok();
    let since_epoch = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Stamp {
        bytes: metadata.len(),
        // 584 years of nanoseconds fit.
        modified_ns: since_epoch.and_then(|d| u64::try_from(d.as_nanos()).ok()),
    }
}

fn digest(file: &mut impl Read, progress: &mut dyn FnMut(u64)) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut done = 0;
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(format!("{:x}", hasher.finalize())),
            Ok(n) => {
                hasher.update(&chunk[..n]);
                done += n as u64;
                progress(done);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// sha256 of "abc", from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    struct Bench {
        dir: tempfile::TempDir,
        cache: Cache,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let cache = Cache::at(dir.path().join("cache/edge-agentic"));
            Self { dir, cache }
        }

        fn file(&self, name: &str, content: &str) -> PathBuf {
            let path = self.dir.path().join(name);
            fs::write(&path, content).expect("a file");
            path
        }

        /// The digest, and whether it was computed.
        fn digest(&self, path: &Path) -> (String, bool) {
            let mut reports = 0;
            let found = identify_with(&self.cache, &[path.to_owned()], &mut |_, _| reports += 1);
            // One report when hashing, one at the end.
            (found.expect("an identity")[0].sha256.clone(), reports > 1)
        }

        fn entries(&self) -> Vec<PathBuf> {
            let dir = fs::read_dir(self.dir.path().join("cache/edge-agentic"));
            let entries = dir
                .into_iter()
                .flatten()
                .map(|e| e.expect("an entry").path());
            entries.collect()
        }
    }

    #[test]
    fn a_single_file_has_its_own_digest_and_is_read_once() {
        let bench = Bench::new();
        let path = bench.file("model.gguf", "abc");
        assert_eq!(bench.digest(&path), (ABC.to_owned(), true));
        assert_eq!(bench.digest(&path), (ABC.to_owned(), false));
    }

    #[test]
    fn t6_03_all_parts_in_order_with_progress_over_all() {
        let bench = Bench::new();
        let parts = [
            bench.file("m-00001-of-00002.gguf", "abc"),
            bench.file("m-00002-of-00002.gguf", ""),
        ];
        let mut reports = Vec::new();
        let found = identify_with(&bench.cache, &parts, &mut |done, total| {
            reports.push((done, total));
        });
        let found = found.expect("identities");
        assert_eq!(found[0].name, "m-00001-of-00002.gguf");
        assert_eq!((found[0].bytes, found[0].sha256.as_str()), (3, ABC));
        assert!(found[1].sha256.starts_with("e3b0c44298fc1c14"));
        assert_eq!(reports.last(), Some(&(3, 3)));
        assert!(reports.iter().all(|&(done, total)| done <= total));
    }

    #[test]
    fn another_content_is_read_again() {
        let bench = Bench::new();
        let path = bench.file("model.gguf", "other");
        assert_ne!(bench.digest(&path).0, ABC);
        bench.file("model.gguf", "abc");
        assert_eq!(bench.digest(&path), (ABC.to_owned(), true));
    }

    #[test]
    fn the_same_size_at_another_time_is_read_again() {
        let bench = Bench::new();
        let path = bench.file("model.gguf", "abd");
        assert_ne!(bench.digest(&path).0, ABC);
        bench.file("model.gguf", "abc");
        let file = File::options().write(true).open(&path).expect("the file");
        let later = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        file.set_modified(later).expect("a time");
        assert_eq!(bench.digest(&path), (ABC.to_owned(), true));
    }

    #[test]
    fn a_damaged_cache_is_computed_again() {
        let bench = Bench::new();
        let path = bench.file("model.gguf", "abc");
        bench.digest(&path);
        for damage in ["", "{", "null", "{\"schema\":1}", &"x".repeat(100_000)] {
            for entry in bench.entries() {
                fs::write(entry, damage).expect("damage");
            }
            assert_eq!(bench.digest(&path), (ABC.to_owned(), true), "{damage:.20}");
            assert_eq!(bench.digest(&path), (ABC.to_owned(), false));
        }
        let entry = bench.entries().remove(0);
        let text = fs::read_to_string(&entry).expect("an entry");
        fs::write(&entry, text.replace(ABC, "not hexadecimal")).expect("damage");
        assert_eq!(bench.digest(&path), (ABC.to_owned(), true));
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_done_without() {
        let mut bench = Bench::new();
        // A file stands where the cache's directory should be.
        bench.cache = Cache::at(bench.file("blocked", "").join("cache"));
        let path = bench.file("model.gguf", "abc");
        assert_eq!(bench.digest(&path), (ABC.to_owned(), true));
        assert_eq!(bench.digest(&path), (ABC.to_owned(), true));
    }

    #[test]
    fn a_missing_file_is_named() {
        let bench = Bench::new();
        let path = bench.dir.path().join("absent.gguf");
        let said = identify_with(&bench.cache, &[path], &mut |_, _| {}).expect_err("no file");
        assert!(said.to_string().contains("absent.gguf"), "{said}");
    }
}
