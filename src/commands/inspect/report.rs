//! From a header to the report.

use std::path::{Path, PathBuf};

use gguf::template::{self, TemplateFault};
use gguf::{
    Block, Census, Facts, Gguf, Label, MetadataError, Mtp, OpenError, TensorType, Vocabulary,
};
use sha2::{Digest, Sha256};

use super::data::{
    CensusLine, EndToken, Inspection, LabelFacts, Marker, ModelFacts, ModelFile, MtpFacts,
    TemplateFacts,
};
use crate::machine::memory::{Host, MemoryPlan, Request, Settings};
use crate::machine::{Device, Known};

/// Layout version of [`Inspection`].
const SCHEMA: u32 = 1;
/// Where a vocabulary says which token ends a reply.
const EOS: &str = "tokenizer.ggml.eos_token_id";
/// The token that ends a message in Qwen's format.
const END_OF_MESSAGE: &str = "<|im_end|>";

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file is not a sound GGUF.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its metadata do not describe a model.
    #[error("{}: {source}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: MetadataError,
    },
}

/// Reads the header of the model at `path`, and plans its memory for these devices and this host.
///
/// # Errors
/// See [`InspectError`]. A sound file with an unusable model is a report with [`Inspection::problems`].
pub fn report(path: &Path, devices: &[Device], host: Host) -> Result<Inspection, InspectError> {
    let model = Gguf::open(path)?;
    let metadata_fault = |source| InspectError::Metadata {
        path: path.to_owned(),
        source,
    };
    inspect(&model, devices, host).map_err(metadata_fault)
}

fn inspect(model: &Gguf, devices: &[Device], host: Host) -> Result<Inspection, MetadataError> {
    let facts = Facts::of(model)?;
    let census = Census::of(model);
    let label = Label::of(model, &census)?;
    let text = template::chat_template(model.metadata())?;
    let vocabulary = Vocabulary::of(model);
    let markers = markers(text.unwrap_or_default(), vocabulary.as_ref().ok());
    let mut inspection = Inspection {
        schema: SCHEMA,
        path: model.path().to_owned(),
        files: files(model),
        gguf_version: model.version(),
        model: model_facts(&facts, &census),
        census: census_lines(&census),
        label: label_facts(&label),
        template: template_facts(text),
        markers,
        end_token: end_token(model, vocabulary.as_ref().ok())?,
        mtp: mtp_facts(&Mtp::of(model, &facts)),
        memory: memory(model, &facts, devices, host),
        tokenizer: None,
        problems: vocabulary.err().iter().map(ToString::to_string).collect(),
        notes: Vec::new(),
    };
    inspection.problems.extend(problems(&inspection));
    inspection.notes = notes(
        &inspection,
        &facts,
        &label,
        template::tool_template(model.metadata()).err(),
    );
    Ok(inspection)
}

fn files(model: &Gguf) -> Vec<ModelFile> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let file = |part: &gguf::Part| ModelFile {
        name: name(&part.path),
        bytes: part.bytes,
    };
    model.parts().iter().map(file).collect()
}

fn model_facts(facts: &Facts, census: &Census) -> ModelFacts {
    ModelFacts {
        architecture: facts.architecture.clone(),
        supported: facts.supported().is_ok(),
        name: facts.name.clone(),
        parameters: census.elements(),
        bits_per_weight: census.bits_per_weight(),
        context_length: facts.context_length,
        vocabulary: facts.vocab_size,
        attention_blocks: facts.count(Block::Attention),
        recurrent_blocks: facts.count(Block::Recurrent),
        mtp_blocks: facts.count(Block::Mtp),
    }
}

fn census_lines(census: &Census) -> Vec<CensusLine> {
    let line = |row: &gguf::CensusRow| CensusLine {
        role: row.role.name(),
        kind: row.tensor_type.to_string(),
        tensors: row.tensors,
        elements: row.elements,
        bytes: row.bytes,
        bits_per_weight: row.bits_per_weight(),
    };
    census.rows.iter().map(line).collect()
}

fn label_facts(label: &Label) -> LabelFacts {
    let kind = |(kind, _): (TensorType, f64)| kind.to_string();
    LabelFacts {
        file_type: label.file_type.map(|t| t.to_string()),
        named: label.named.clone(),
        dominant_type: label.dominant.map(kind),
        dominant_share: label.dominant.map(|(_, share)| share),
        agree: label.agrees(),
    }
}

fn template_facts(text: Option<&str>) -> Known<TemplateFacts> {
    let facts = text.map(|text| TemplateFacts {
        sha256: format!("{:x}", Sha256::digest(text)),
        bytes: text.len(),
        mentions_tools: template::mentions_tools(text),
    });
    Known::or_reason(facts, "the file has no chat template")
}

fn markers(text: &str, vocabulary: Option<&Vocabulary>) -> Vec<Marker> {
    let id = |marker| match vocabulary.map(|v| v.markers(&[marker])) {
        None => Known::unknown("no usable vocabulary"),
        Some(Ok(ids)) => Known::or_reason(ids.first().copied(), "not in the vocabulary"),
        Some(Err(fault)) => {
            let problem = fault
                .problems
                .first()
                .map(|(_, problem)| problem.to_string());
            Known::unknown(problem.unwrap_or_default())
        }
    };
    let used = template::markers_in(text).into_iter();
    used.map(|marker| Marker {
        marker,
        id: id(marker),
    })
    .collect()
}

fn end_token(
    model: &Gguf,
    vocabulary: Option<&Vocabulary>,
) -> Result<Known<EndToken>, MetadataError> {
    let Some(id) = model.metadata().u64(EOS)? else {
        return Ok(Known::unknown(format!("the file has no '{EOS}'")));
    };
    let text = u32::try_from(id).ok().and_then(|id| vocabulary?.token(id));
    let token = text.map(|text| EndToken {
        id,
        text: String::from_utf8_lossy(text).into_owned(),
    });
    Ok(Known::or_reason(
        token,
        &format!("'{EOS}' is {id}, which is no token of the vocabulary"),
    ))
}

fn mtp_facts(mtp: &Mtp) -> MtpFacts {
    let (state, reason) = match mtp {
        Mtp::No => ("no", None),
        Mtp::Yes { .. } => ("yes", None),
        Mtp::Inconsistent(fault) => ("inconsistent", Some(fault.to_string())),
    };
    MtpFacts { state, reason }
}

fn memory(model: &Gguf, facts: &Facts, devices: &[Device], host: Host) -> Known<MemoryPlan> {
    let request = Request {
        facts,
        tensors: model.tensors(),
        settings: Settings::default(),
        host,
        devices,
        device_names: &[],
    };
    match MemoryPlan::new(&request) {
        Ok(plan) => Known::new(plan),
        Err(fault) => Known::unknown(fault.to_string()),
    }
}

/// What makes the model unusable for any run.
fn problems(inspection: &Inspection) -> Vec<String> {
    let mut problems: Vec<String> = inspection.mtp.reason.iter().cloned().collect();
    let broken = |m: &Marker| Some(format!("'{}' is {}", m.marker, m.id.reason()?));
    let broken: Vec<String> = inspection.markers.iter().filter_map(broken).collect();
    if !broken.is_empty() {
        problems.push(format!(
            "markers of the chat template that are not exactly one special token each: {}; the vocabulary was \
             converted without its added tokens: convert the model again",
            broken.join(", ")
        ));
    }
    problems
}

fn notes(
    inspection: &Inspection,
    facts: &Facts,
    label: &Label,
    tools: Option<TemplateFault>,
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(facts.supported().err().map(|fault| fault.to_string()));
    if !label.agrees() {
        notes.push(format!(
            "the quantization's label and content disagree: {label}"
        ));
    }
    notes.extend(tools.map(|fault| fault.to_string()));
    let uses_end = inspection
        .markers
        .iter()
        .any(|m| m.marker == END_OF_MESSAGE);
    match inspection.end_token.get() {
        Some(end) if uses_end && end.text != END_OF_MESSAGE => notes.push(format!(
            "the reply ends with '{}' (id {}), expected '{END_OF_MESSAGE}', which the template writes; generation may \
             not stop",
            end.text, end.id
        )),
        Some(_) => {}
        None => notes.extend(inspection.end_token.reason().map(str::to_owned)),
    }
    match inspection.memory.get() {
        None => notes.extend(
            inspection
                .memory
                .reason()
                .map(|r| format!("no memory plan: {r}")),
        ),
        Some(plan) => {
            notes.extend(plan.refusal());
            notes.extend(plan.warnings());
        }
    }
    notes
}
