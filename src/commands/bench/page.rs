//! The report for people: llama-bench's columns, then where turns spend their time.

use super::data::{BenchReport, TestRow};
use crate::output::{Align, Block, Document, Table, decimal, milliseconds};

/// The report as a document.
pub fn document(report: &BenchReport) -> Document {
    let mut document = Document::default();
    document.section("Settings", vec![Block::Pairs(settings(report))]);
    document.section("Tests", vec![Block::Table(tests(report))]);
    if report.tests.iter().any(|row| row.phases.is_some()) {
        document.section("Turns (mean, ms)", vec![Block::Table(turns(report))]);
    }
    document
}

fn settings(report: &BenchReport) -> Vec<(String, String)> {
    let context = &report.plan.engine.context;
    let software = &report.machine.software;
    let brand = report.machine.cpu.brand.get();
    let rows = [
        ("version", software.edge_agentic.clone()),
        ("llama.cpp", software.llama_cpp.clone()),
        ("started", report.started_at.to_string()),
        (
            "processor",
            brand.cloned().unwrap_or_else(|| "unknown".to_owned()),
        ),
        ("context", context.ctx_size.to_string()),
        (
            "batch / micro-batch",
            format!("{} / {}", context.batch_size, context.ubatch_size),
        ),
        (
            "KV cache",
            format!("{} / {}", context.cache_type_k, context.cache_type_v),
        ),
        ("boundaries", report.plan.engine.boundaries.to_string()),
        ("repetitions", report.plan.repetitions.to_string()),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).into()
}

fn tests(report: &BenchReport) -> Table {
    let headings = [
        "model", "size", "params", "backend", "threads", "test", "t/s", "ms",
    ];
    let mut table = Table::numbers(&headings);
    for index in [3, 5] {
        table.columns[index].align = Align::Left;
    }
    let model = &report.model;
    for row in &report.tests {
        table.push(vec![
            model.model_type.clone(),
            size(model.model_size),
            parameters(model.model_n_params),
            report.backends.clone(),
            report.plan.engine.context.threads.to_string(),
            row.test.clone(),
            spread(row.avg_ts, row.stddev_ts, |v| decimal(v, 2)),
            spread(row.avg_ns, row.stddev_ns, milliseconds),
        ]);
    }
    table
}

fn turns(report: &BenchReport) -> Table {
    let headings = [
        "test", "latency", "ttft", "restore", "prefill", "first", "decode", "driver",
    ];
    let mut table = Table::numbers(&headings);
    let phases = |row: &TestRow| {
        let phases = row.phases.as_ref()?;
        let times = [
            row.avg_ns,
            phases.ttft,
            phases.restore,
            phases.prefill,
            phases.first_sample,
            phases.decode,
            phases.driver,
        ];
        let cells = times.map(milliseconds);
        Some([row.test.clone()].into_iter().chain(cells).collect())
    };
    for row in report.tests.iter().filter_map(phases) {
        table.push(row);
    }
    table
}

/// Mean ± σ; the mean alone where there is no σ.
fn spread(mean: Option<f64>, sigma: Option<f64>, shown: impl Fn(Option<f64>) -> String) -> String {
    match sigma {
        Some(_) => format!("{} ± {}", shown(mean), shown(sigma)),
        None => shown(mean),
    }
}

/// Bytes as llama-bench prints them.
fn size(bytes: u64) -> String {
    let mib = bytes as f64 / (1 << 20) as f64;
    if mib >= 1024.0 {
        format!("{:.2} GiB", mib / 1024.0)
    } else {
        format!("{mib:.2} MiB")
    }
}

/// A number of weights as llama-bench prints it.
fn parameters(count: u64) -> String {
    let millions = count as f64 / 1e6;
    if millions >= 1000.0 {
        format!("{:.2} B", millions / 1000.0)
    } else {
        format!("{millions:.2} M")
    }
}
