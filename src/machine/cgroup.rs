//! Limits that a control group puts on this process (Linux): containers often have less than the machine.

use std::fs;
use std::path::{Path, PathBuf};

/// Above this a version-1 memory limit means "none": the kernel writes `i64::MAX` rounded down to a page.
const UNLIMITED: u64 = 1 << 60;

/// What the control groups of this process allow. `None`: not restricted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Most memory, bytes: the smallest of the group's limit and those above it.
    pub memory_bytes: Option<u64>,
    /// What is left of it, bytes; the page cache counts as free, since the kernel drops it first.
    pub memory_free_bytes: Option<u64>,
    /// Most processor time, in processors: quota ÷ period.
    pub cpus: Option<f64>,
}

impl Limits {
    /// The limits of this process; `None` where there are no control groups.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        Some(Self::read(Path::new("/sys/fs/cgroup"), &membership))
    }

    /// Reads the limits below the mount point `root` for a process with this `/proc/self/cgroup`.
    fn read(root: &Path, membership: &str) -> Self {
        let mut limits = Self::default();
        for line in membership.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
                continue;
            };
            let has = |name: &str| controllers.split(',').any(|c| c == name);
            if controllers.is_empty() {
                for dir in upwards(root, group) {
                    limits.tighten(version_2(&dir));
                }
            }
            if has("memory") {
                for dir in upwards(&root.join("memory"), group) {
                    limits.tighten(version_1_memory(&dir));
                }
            }
            if has("cpu") {
                for dir in upwards(&root.join(controllers), group) {
                    limits.tighten(version_1_cpu(&dir));
                }
            }
        }
        limits
    }

    fn tighten(&mut self, other: Self) {
        fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            }
        }
        self.memory_bytes = least(self.memory_bytes, other.memory_bytes);
        self.memory_free_bytes = least(self.memory_free_bytes, other.memory_free_bytes);
        self.cpus = least(self.cpus, other.cpus);
    }
}

/// The group's directory and all above it, up to the mount point. Inside a container the path may be that of the
/// host, which is not there; then the mount point alone is looked at.
fn upwards(root: &Path, group: &str) -> Vec<PathBuf> {
    let own = root.join(group.trim_start_matches('/'));
    own.ancestors()
        .take_while(|dir| dir.starts_with(root))
        .map(Path::to_owned)
        .collect()
}

fn version_2(dir: &Path) -> Limits {
    let memory = number(&dir.join("memory.max"));
    let used = number(&dir.join("memory.current"));
    let cache = stat_sum(&dir.join("memory.stat"), &["inactive_file", "active_file"]);
    Limits {
        memory_bytes: memory,
        memory_free_bytes: free(memory, used, cache),
        cpus: text(&dir.join("cpu.max")).and_then(|line| {
            let (quota, period) = line.split_once(' ')?;
            ratio(quota.parse().ok()?, period.parse().ok()?)
        }),
    }
}

fn version_1_memory(dir: &Path) -> Limits {
    let memory = number(&dir.join("memory.limit_in_bytes")).filter(|&bytes| bytes < UNLIMITED);
    let used = number(&dir.join("memory.usage_in_bytes"));
    let cache = stat_sum(
        &dir.join("memory.stat"),
        &["total_inactive_file", "total_active_file"],
    );
    Limits {
        memory_bytes: memory,
        memory_free_bytes: free(memory, used, cache),
        cpus: None,
    }
}

fn version_1_cpu(dir: &Path) -> Limits {
    // A quota of -1 means none, and is no unsigned number.
    let quota = number(&dir.join("cpu.cfs_quota_us"));
    let period = number(&dir.join("cpu.cfs_period_us"));
    Limits {
        cpus: quota.zip(period).and_then(|(q, p)| ratio(q, p)),
        ..Limits::default()
    }
}

fn free(limit: Option<u64>, used: Option<u64>, cache: u64) -> Option<u64> {
    let used = used.unwrap_or(0).saturating_sub(cache);
    Some(limit?.saturating_sub(used))
}

fn ratio(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

/// A file with one line.
fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// A file with one number; `max` is none.
fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Sum of these rows of a `name value` table.
fn stat_sum(path: &Path, names: &[&str]) -> u64 {
    let table = fs::read_to_string(path).unwrap_or_default();
    let rows = table.lines().filter_map(|line| line.split_once(' '));
    rows.filter(|(name, _)| names.contains(name))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, content).expect("a file");
        }
        root
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let root = tree(&[
            ("a/memory.max", "8000\n"),
            ("a/memory.current", "3000\n"),
            (
                "a/memory.stat",
                "anon 500\ninactive_file 1000\nactive_file 1500\n",
            ),
            ("a/cpu.max", "max 100000\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/cpu.max", "150000 100000\n"),
        ]);
        let limits = Limits::read(root.path(), "0::/a/b\n");
        assert_eq!(limits.memory_bytes, Some(8000));
        assert_eq!(limits.memory_free_bytes, Some(7500));
        assert_eq!(limits.cpus, Some(1.5));
    }

    #[test]
    fn version_1_reads_its_own_files() {
        let root = tree(&[
            ("memory/x/memory.limit_in_bytes", "4096"),
            ("memory/x/memory.usage_in_bytes", "1024"),
            ("memory/memory.limit_in_bytes", "9223372036854771712"),
            ("cpu,cpuacct/x/cpu.cfs_quota_us", "200000"),
            ("cpu,cpuacct/x/cpu.cfs_period_us", "100000"),
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1"),
        ]);
        let limits = Limits::read(root.path(), "5:memory:/x\n3:cpu,cpuacct:/x\n");
        assert_eq!(limits.memory_bytes, Some(4096));
        assert_eq!(limits.memory_free_bytes, Some(3072));
        assert_eq!(limits.cpus, Some(2.0));
    }

    #[test]
    fn no_files_and_odd_lines_restrict_nothing() {
        let root = tree(&[("memory.max", "not a number")]);
        let limits = Limits::read(root.path(), "0::/\nodd\n1:memory\n");
        assert_eq!(limits, Limits::default());
    }
}
