//! The diagnosis for people.

use super::conditions;
use super::data::Presence;
use super::diagnosis::Diagnosis;
use super::findings::Finding;
use crate::machine::{Device, Known};
use crate::output::{Align, Block, Column, Document, Table, count, decimal};

/// The diagnosis as a document.
pub(super) fn document(diagnosis: &Diagnosis) -> Document {
    let mut page = Document::default();
    page.section("Machine", vec![Block::Pairs(machine(diagnosis))]);
    page.section(
        "Devices that llama.cpp sees",
        vec![Block::Table(devices(&diagnosis.machine.devices))],
    );
    page.section("Build", vec![Block::Pairs(build(diagnosis))]);
    page.section("Data", vec![Block::Pairs(data(diagnosis))]);
    page.section("`run` would use", vec![Block::Pairs(choice(diagnosis))]);
    let plan = diagnosis.model.as_ref().and_then(|m| m.memory.get());
    let plan = plan.map(|plan| Block::Table(plan.table()));
    page.section(
        "Memory with the benchmark's settings (~ estimate)",
        plan.into_iter().collect(),
    );
    let lines = diagnosis.findings.iter().flat_map(lines).collect();
    page.section("Findings", vec![Block::Lines(lines)]);
    let verdict = match (diagnosis.ready, diagnosis.data.bfcl.state) {
        (true, Presence::Right) => "nothing is missing that `run` needs",
        (true, _) => "nothing is missing that `run --performance-only` needs",
        (false, _) => "`run` needs what is marked [MISSING]",
    };
    page.section("Verdict", vec![Block::Lines(vec![verdict.to_owned()])]);
    page
}

fn machine(diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let machine = &diagnosis.machine;
    let (os, cpu, memory, limits) = (&machine.os, &machine.cpu, &machine.memory, &machine.limits);
    let cores = format!(
        "{} physical, {} logical, {} for this process",
        text(&cpu.physical_cores),
        text(&cpu.logical_cores),
        text(&cpu.available_cores)
    );
    let limit = format!(
        "memory {}, processors {}",
        limit_of(&limits.memory_bytes, |&n| mib(n)),
        limit_of(&limits.cpus, f64::to_string)
    );
    let disk = match machine.disk.get() {
        Some(disk) => format!("{}, {} free", disk.file_system, mib(disk.free_bytes)),
        None => format!("unknown ({})", machine.disk.reason().unwrap_or_default()),
    };
    let mut pairs = vec![
        pair(
            "system",
            format!(
                "{} {}, kernel {}",
                text(&os.name),
                text(&os.version),
                text(&os.kernel)
            ),
        ),
        pair("processor", format!("{} ({})", text(&cpu.brand), cpu.arch)),
        pair("cores", cores),
        pair(
            "memory",
            format!(
                "{}, {} available",
                bytes(&memory.total_bytes),
                bytes(&memory.available_bytes)
            ),
        ),
        pair("limits", limit),
        pair("disk here", disk),
        pair("board", text(&machine.board.name())),
    ];
    pairs.extend(conditions::pairs(&machine.conditions));
    pairs
}

fn devices(devices: &[Device]) -> Table {
    let headings = ["device", "backend", "kind", "memory", "free", "description"];
    let columns = headings.map(|heading| Column {
        heading: heading.to_owned(),
        align: match heading {
            "memory" | "free" => Align::Right,
            _ => Align::Left,
        },
    });
    let row = |d: &Device| {
        vec![
            d.name.clone(),
            d.backend.clone(),
            d.kind.label().to_owned(),
            cell(&d.memory_total_bytes),
            cell(&d.memory_free_bytes),
            d.description.clone(),
        ]
    };
    Table {
        columns: columns.into(),
        rows: devices.iter().map(row).collect(),
    }
}

fn build(diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let software = &diagnosis.machine.software;
    let features = match diagnosis.build.features.is_empty() {
        true => "none: the processor only".to_owned(),
        false => diagnosis.build.features.join(", "),
    };
    let libraries = match software.backend_libraries.get() {
        Some(names) if !names.is_empty() => names.join(", "),
        Some(_) => "none loaded".to_owned(),
        None => format!(
            "none: {}",
            software.backend_libraries.reason().unwrap_or_default()
        ),
    };
    vec![
        pair("edge-agentic", software.edge_agentic.clone()),
        pair(
            "llama.cpp",
            format!("{} ({})", software.llama_cpp, software.crates),
        ),
        pair("device features", features),
        pair("backend libraries", libraries),
    ]
}

fn data(diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let data = &diagnosis.data;
    let directory = match data.directory.get() {
        Some(path) => path.display().to_string(),
        None => format!("unknown ({})", data.directory.reason().unwrap_or_default()),
    };
    vec![
        pair("directory", directory),
        pair("replay data set", data.replay.detail.clone()),
        pair("BFCL files", data.bfcl.detail.clone()),
    ]
}

fn choice(diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let run = &diagnosis.run;
    let offload = match run.devices.is_empty() {
        true => "nothing: the processor computes all layers".to_owned(),
        false => format!(
            "up to {} layers to {}",
            run.n_gpu_layers,
            run.devices.join(", ")
        ),
    };
    vec![
        pair("threads", run.threads.to_string()),
        pair("offload", offload),
        pair(
            "context",
            format!("{} tokens", count(run.ctx_size as usize)),
        ),
        pair(
            "batch / micro-batch",
            format!("{} / {}", run.batch_size, run.ubatch_size),
        ),
    ]
}

fn lines(finding: &Finding) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {}: {}",
        finding.standing.label(),
        finding.name,
        finding.detail
    )];
    lines.extend(
        finding
            .command
            .iter()
            .map(|command| format!("    {command}")),
    );
    lines
}

pub(super) fn text<T: ToString>(known: &Known<T>) -> String {
    match known.get() {
        Some(value) => value.to_string(),
        None => format!("unknown ({})", known.reason().unwrap_or_default()),
    }
}

/// A limit, or why there is none.
fn limit_of<T>(known: &Known<T>, show: impl Fn(&T) -> String) -> String {
    match known.get() {
        Some(value) => show(value),
        None => known.reason().unwrap_or_default().to_owned(),
    }
}

/// Without the reason, which would make its column the widest.
fn cell(known: &Known<u64>) -> String {
    known
        .get()
        .map_or_else(|| "unknown".to_owned(), |&bytes| mib(bytes))
}

fn bytes(known: &Known<u64>) -> String {
    match known.get() {
        Some(&bytes) => mib(bytes),
        None => format!("unknown ({})", known.reason().unwrap_or_default()),
    }
}

fn mib(bytes: u64) -> String {
    format!(
        "{} MiB",
        decimal(Some(bytes as f64 / f64::from(1 << 20)), 0)
    )
}

pub(super) fn pair(name: &str, value: String) -> (String, String) {
    (name.to_owned(), value)
}
