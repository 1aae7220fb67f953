//! The report for people.

use super::data::{CensusLine, EndToken, Inspection};
use super::tokens::{Difference, TokenizerCheck};
use crate::machine::Known;
use crate::output::{Align, Block, Column, Document, Table, count, decimal, percent};

/// What stands where the file says nothing.
const ABSENT: &str = "–";

/// The report as a document.
pub(super) fn document(inspection: &Inspection) -> Document {
    let mut page = Document::default();
    page.section("Model", vec![Block::Pairs(model(inspection))]);
    page.section("Tensors", vec![Block::Table(census(&inspection.census))]);
    page.section("Quantization", vec![Block::Pairs(label(inspection))]);
    page.section("Chat", vec![Block::Pairs(chat(inspection))]);
    let heading = "Memory with the benchmark's settings on this machine (~ estimate)";
    let plan = inspection.memory.get().map(|plan| {
        let settings = &plan.settings;
        let caches = (settings.cache_type_k, settings.cache_type_v);
        let line = format!(
            "context {}, pass {}, caches {} / {}, {} snapshot, no MTP",
            number(settings.ctx_size.into()),
            settings.ubatch_size,
            caches.0.to_string().to_lowercase(),
            caches.1.to_string().to_lowercase(),
            settings.snapshots
        );
        vec![Block::Lines(vec![line]), Block::Table(plan.table())]
    });
    page.section(heading, plan.unwrap_or_default());
    if let Some(check) = &inspection.tokenizer {
        page.section("Tokenizer", vec![Block::Lines(tokenizer(check))]);
    }
    for (heading, lines) in [
        ("Problems", &inspection.problems),
        ("Notes", &inspection.notes),
    ] {
        let blocks = match lines.is_empty() {
            true => Vec::new(),
            false => vec![Block::Lines(lines.clone())],
        };
        page.section(heading, blocks);
    }
    page
}

fn model(inspection: &Inspection) -> Vec<(String, String)> {
    let model = &inspection.model;
    let bytes: u64 = inspection.files.iter().map(|f| f.bytes).sum();
    let mut pairs = vec![
        pair("file", inspection.path.display().to_string()),
        pair(
            "size",
            format!("{} bytes, GGUF v{}", number(bytes), inspection.gguf_version),
        ),
    ];
    if inspection.files.len() > 1 {
        let parts = inspection
            .files
            .iter()
            .map(|f| format!("{} ({})", f.name, number(f.bytes)));
        pairs.push(pair("parts", parts.collect::<Vec<_>>().join(", ")));
    }
    let supported = if model.supported {
        ""
    } else {
        " (not the benchmark's)"
    };
    pairs.extend([
        pair("architecture", format!("{}{supported}", model.architecture)),
        pair(
            "name",
            model.name.clone().unwrap_or_else(|| ABSENT.to_owned()),
        ),
        pair("parameters", number(model.parameters)),
        pair("bits per weight", decimal(model.bits_per_weight, 2)),
        pair("context length", optional(model.context_length)),
        pair("vocabulary", optional(model.vocabulary)),
        pair(
            "blocks",
            format!(
                "{} attention, {} recurrent, {} MTP",
                model.attention_blocks, model.recurrent_blocks, model.mtp_blocks
            ),
        ),
        pair("MTP", inspection.mtp.state.to_owned()),
    ]);
    pairs
}

fn census(lines: &[CensusLine]) -> Table {
    let headings = ["role", "type", "tensors", "weights", "MiB", "bits/weight"];
    let columns = headings.iter().enumerate().map(|(n, heading)| Column {
        heading: (*heading).to_owned(),
        align: if n < 2 { Align::Left } else { Align::Right },
    });
    let row = |role: &str, kind: &str, tensors: u64, elements: u64, bytes: u64, bits| {
        let mib = bytes as f64 / f64::from(1 << 20);
        let sizes = [
            number(tensors),
            number(elements),
            decimal(Some(mib), 1),
            decimal(bits, 2),
        ];
        let mut cells = vec![role.to_owned(), kind.to_owned()];
        cells.extend(sizes);
        cells
    };
    let mut rows: Vec<Vec<String>> = lines
        .iter()
        .map(|l| {
            row(
                l.role,
                &l.kind,
                l.tensors,
                l.elements,
                l.bytes,
                Some(l.bits_per_weight),
            )
        })
        .collect();
    let sum = |of: fn(&CensusLine) -> u64| lines.iter().map(of).fold(0, u64::saturating_add);
    let (elements, bytes) = (sum(|l| l.elements), sum(|l| l.bytes));
    let bits = (elements > 0).then(|| bytes as f64 * 8.0 / elements as f64);
    rows.push(row("sum", "", sum(|l| l.tensors), elements, bytes, bits));
    Table {
        columns: columns.collect(),
        rows,
    }
}

fn label(inspection: &Inspection) -> Vec<(String, String)> {
    let label = &inspection.label;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| ABSENT.to_owned());
    let dominant = match &label.dominant_type {
        Some(kind) => format!(
            "{kind}, {} of the projections",
            percent(label.dominant_share)
        ),
        None => ABSENT.to_owned(),
    };
    vec![
        pair("file_type field", text(&label.file_type)),
        pair("name", text(&label.named)),
        pair("most weights", dominant),
        pair("agree", yes_no(label.agree)),
    ]
}

fn chat(inspection: &Inspection) -> Vec<(String, String)> {
    let reason = |known: Option<&str>| format!("none: {}", known.unwrap_or_default());
    let mut pairs = match inspection.template.get() {
        Some(template) => vec![
            pair("template sha256", template.sha256.clone()),
            pair("template size", format!("{} bytes", count(template.bytes))),
            pair("mentions tools", yes_no(template.mentions_tools)),
        ],
        None => vec![pair("template", reason(inspection.template.reason()))],
    };
    let markers = inspection.markers.iter().map(|m| match m.id.get() {
        Some(id) => format!("{} {id}", m.marker),
        None => format!("{} BROKEN", m.marker),
    });
    let markers: Vec<String> = markers.collect();
    if !markers.is_empty() {
        pairs.push(pair("special tokens", markers.join(", ")));
    }
    let end = |known: &Known<EndToken>| match known.get() {
        Some(end) => format!("{} {}", end.text, end.id),
        None => reason(known.reason()),
    };
    pairs.push(pair("end token", end(&inspection.end_token)));
    pairs
}

fn tokenizer(check: &TokenizerCheck) -> Vec<String> {
    let texts = format!(
        "{} probe texts, {} tokens",
        check.probes,
        number(check.tokens as u64)
    );
    if check.equal {
        return vec![format!("[PASS] tokenizes like {}: {texts}", check.file)];
    }
    let differ = check.differences.len();
    let mut lines = vec![format!(
        "[FAIL] does not tokenize like {}: differs in {differ} of {texts}; the model was converted with another \
         pre-tokenizer, or the tokenizer.json is another model's",
        check.file
    )];
    lines.extend(check.differences.iter().map(difference));
    lines
}

fn difference(d: &Difference) -> String {
    let id = |id: Option<i32>| id.map_or_else(|| "the end".to_owned(), |id| id.to_string());
    let text = d
        .gguf_text
        .as_ref()
        .map_or_else(String::new, |t| format!(" {t:?}"));
    // The last characters say where; the whole text may be long.
    let tail = d.after.chars().count().saturating_sub(20);
    let after: String = d.after.chars().skip(tail).collect();
    format!(
        "{}: token {} after {after:?} is {}{text} in the GGUF, {} in the tokenizer.json",
        d.probe,
        d.index,
        id(d.gguf),
        id(d.tokenizer)
    )
}

fn pair(name: &str, value: String) -> (String, String) {
    (name.to_owned(), value)
}

fn yes_no(value: bool) -> String {
    if value { "yes" } else { "NO" }.to_owned()
}

fn number(value: u64) -> String {
    usize::try_from(value).map_or_else(|_| value.to_string(), count)
}

fn optional(value: Option<u64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), number)
}
