//! Criterion benchmarks: judging outputs, reading the data set, converters on hostile text.
//!
//! The corpus benchmarks need the shared corpora and the BFCL data and are left out without them.
//! With `EDGE_AGENTIC_BENCH_ONCE=1` the visible corpus is judged once and the seconds are
//! printed, for `scripts/bench-bfcl`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use bfcl::convert;
use bfcl::dataset::Dataset;
use bfcl::judge;
use bfcl::value::PyStr;
use criterion::{Criterion, Throughput};

/// The outputs of the visible corpus with the places of their samples.
fn visible(dataset: &Dataset) -> Option<Vec<(usize, String)>> {
    let text = common::corpus("visible.jsonl.gz")?;
    let rows = text.lines().map(|line| {
        let row = common::Row::parse(line);
        let sample = row.text("id").and_then(|id| dataset.index_of(id));
        let output = row.text("output").expect("an output").to_owned();
        (sample.expect("a sample"), output)
    });
    Some(rows.collect())
}

/// Judges every output; the number of right ones.
fn judge_all(dataset: &Dataset, outputs: &[(usize, String)]) -> usize {
    let right = outputs.iter().filter(|(sample, output)| {
        let sample = &dataset.samples()[*sample];
        judge::examine(sample.into(), output).judgement.score() == 1
    });
    right.count()
}

/// Seconds of processor time of this thread, where the system tells (Linux); a busy machine does not
/// show in them.
fn thread_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

/// One pass over the corpus, as `<lines> <right> <seconds>`: the best of 15.
fn print_seconds() {
    let Some(dataset) = common::data() else {
        return;
    };
    let Some(outputs) = visible(dataset) else {
        return;
    };
    let passes = (0..15).map(|_| {
        let (wall, processor) = (Instant::now(), thread_seconds());
        let right = black_box(judge_all(dataset, &outputs));
        let used = thread_seconds()
            .zip(processor)
            .map(|(end, start)| end - start);
        (used.unwrap_or_else(|| wall.elapsed().as_secs_f64()), right)
    });
    let best = passes.min_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, right) = best.expect("15 passes");
    println!("{} {right} {seconds:.6}", outputs.len());
}

fn corpus(criterion: &mut Criterion) {
    let Some(dataset) = common::data() else {
        return;
    };
    let Some(outputs) = visible(dataset) else {
        return;
    };
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10);
    group.throughput(Throughput::Elements(outputs.len() as u64));
    group.bench_function("visible corpus", |bencher| {
        bencher.iter(|| judge_all(dataset, &outputs));
    });
    group.finish();
}

fn converters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("converters");
    for (name, text, expected) in [
        (
            "java list",
            "new ArrayList<String>(Arrays.asList(\"a\", \"b\"))".to_owned(),
            "ArrayList",
        ),
        (
            "java map",
            "new HashMap<String, Integer>() {{ put(\"k\", 1); }}".to_owned(),
            "HashMap",
        ),
        (
            "java map, hostile",
            format!("new HashMap<>() {{{{ {}", "put(\"k\", ".repeat(10_000)),
            "HashMap",
        ),
        (
            "java list, hostile",
            "new ArrayList<".repeat(10_000),
            "ArrayList",
        ),
    ] {
        let text = PyStr::from(text);
        group.bench_function(name, |bencher| {
            bencher.iter(|| convert::java(black_box(&text), expected, None));
        });
    }
    for (name, text, expected) in [
        ("js array", "[[1, 2], [3, 4]]".to_owned(), "array"),
        (
            "js object",
            "{'a': 1, 'b': [x, y], 'c': 'd'}".to_owned(),
            "dict",
        ),
        (
            "js array, hostile",
            format!("[[{}", "],[".repeat(30_000)),
            "array",
        ),
        (
            "js object, hostile",
            format!("{{{}}}", "a:,".repeat(30_000)),
            "dict",
        ),
    ] {
        let text = PyStr::from(text);
        group.bench_function(name, |bencher| {
            bencher.iter(|| convert::javascript(black_box(&text), expected, None));
        });
    }
    group.finish();
}

fn main() {
    if std::env::var_os("EDGE_AGENTIC_BENCH_ONCE").is_some() {
        return print_seconds();
    }
    let mut criterion = Criterion::default().configure_from_args();
    corpus(&mut criterion);
    converters(&mut criterion);
    criterion.final_summary();
}
