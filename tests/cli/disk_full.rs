//! A disk that fills up in the middle of a run: the run stops at the first row that cannot be kept, with exit 4, the
//! rows before it are whole, and the summary still says that the run is not complete.

use std::path::Path;
use std::process::Command;

use crate::harness::model::tiny;
use crate::harness::results::Results;
use crate::harness::{PROGRAM, environment, scratch};

/// In a mount namespace of its own: a small file system, a run on it, and, once the run has begun, a file that takes
/// all the space that is left. The results are copied out before the namespace ends.
const SCRIPT: &str = r#"
set -u
disk=$1 kept=$2 program=$3 model=$4
mount -t tmpfs -o size=192k tmpfs "$disk" || exit 99
"$program" run --performance-only --sample --threads 1 --model "$model" --out "$disk/out" &
run=$!
until [ -e "$disk/out/turns.jsonl" ]; do kill -0 $run || break; sleep 0.01; done
cat /dev/zero > "$disk/filler" 2>/dev/null
wait $run
code=$?
cp -r "$disk/out" "$kept"
exit $code
"#;

/// Whether this user may mount in a namespace of its own; not everywhere in a container.
fn may_mount(dir: &Path) -> bool {
    let mut probe = Command::new("unshare");
    probe
        .args(["-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(dir);
    probe.output().is_ok_and(|output| output.status.success())
}

#[cfg(target_os = "linux")]
#[test]
fn exit_4_t8_11_a_full_disk_stops_the_run_and_keeps_every_row_before() {
    let dir = scratch();
    let (disk, kept) = (dir.path().join("disk"), dir.path().join("kept"));
    std::fs::create_dir(&disk).expect("writable");
    if !may_mount(&disk) {
        println!("skipped: no file system can be mounted here");
        return;
    }
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", SCRIPT, "sh"])
        .arg(&disk)
        .arg(&kept)
        .arg(PROGRAM)
        .arg(tiny());
    let output = command
        .envs(environment())
        .output()
        .expect("unshare starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{messages}");
    assert!(
        messages.contains("turns.jsonl: cannot write row"),
        "{messages}"
    );
    assert!(messages.contains("No space left"), "{messages}");
    let Results { summary, turns, .. } = Results::read(&kept);
    assert!(!summary.complete && !summary.valid);
    let failed = format!("cannot write row {}", turns.records.len() + 1);
    assert!(messages.contains(&failed), "{messages}");
    let left: Vec<_> = std::fs::read_dir(&kept)
        .expect("the results")
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.contains("partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
