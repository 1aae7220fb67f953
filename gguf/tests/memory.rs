//! How much memory a header may cost: one test in a process of its own, since the counting
//! allocator counts for all threads.

use gguf::Header;
use peak_alloc::PeakAlloc;
use proptest::test_runner::{Config, TestRunner};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes a directory or metadata entry may take in memory for each byte in the file: the
/// smallest entry has 14 bytes there and, while its list grows, up to three copies here.
const SMALL_ENTRIES: usize = 24;
/// Bytes allowed for anything that does not depend on the file: messages, test machinery.
const SLACK: usize = 8 << 10;

fn string(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

fn start(tensors: u64, entries: u64) -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(tensors.to_le_bytes());
    bytes.extend(entries.to_le_bytes());
    bytes
}

/// A file with one array of `count` (as it says) elements of a type, and `payload` behind it.
fn array(kind: u32, count: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = start(0, 1);
    bytes.extend(string(b"list"));
    bytes.extend(9_u32.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(payload);
    bytes
}

/// Most bytes allocated at one time while the header is read, beyond those at the start.
fn peak(bytes: &[u8]) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let _ = Header::read(bytes, bytes.len() as u64);
    MEMORY.peak_usage() - before
}

#[track_caller]
fn within(bytes: &[u8], times: usize) {
    let (peak, allowed) = (peak(bytes), times * bytes.len() + SLACK);
    assert!(
        peak <= allowed,
        "{peak} > {allowed} for a file of {} bytes",
        bytes.len()
    );
}

#[test]
fn a_header_costs_no_more_memory_than_its_file_can_fill() {
    // Lies about counts and lengths cost nothing.
    for count in [100, 1 << 20, 1 << 27, 1 << 40, u64::MAX] {
        for kind in 0..=12 {
            within(&array(kind, count, &[0; 1000]), 1);
        }
        within(&start(count, 0), 1);
        within(&start(0, count), 1);
    }
    // Long values: the read-ahead buffer, the value, and one copy while it grows.
    let words: Vec<u8> = (0..200_000)
        .flat_map(|n| string(format!("{n}").as_bytes()))
        .collect();
    within(&array(8, 200_000, &words), 2);
    within(&array(8, 500_000, &vec![0; 4_000_000]), 2);
    within(&array(8, 1, &string(&vec![b'x'; 4_000_000])), 2);
    within(&array(5, 1_000_000, &vec![0; 4_000_000]), 2);
    within(&array(7, 4_000_000, &vec![1; 4_000_000]), 3);
    // Many small entries.
    let mut many = start(0, 60_000);
    for n in 0..60_000_u32 {
        many.extend(string(format!("{n:x}").as_bytes()));
        many.extend([0, 0, 0, 0, 1]);
    }
    within(&many, SMALL_ENTRIES);
    assert!(Header::read(many.as_slice(), many.len() as u64).is_ok());
    // Random bytes behind a plausible start.
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let bytes = proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..2000);
    let counts = (0_u64..100, 0_u64..100, bytes);
    let outcome = runner.run(&counts, |(tensors, entries, rest)| {
        let bytes = [start(tensors, entries), rest].concat();
        within(&bytes, SMALL_ENTRIES);
        Ok(())
    });
    outcome.unwrap();
}
