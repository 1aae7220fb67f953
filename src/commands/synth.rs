//! `synth`: a synthetic model, written whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use gguf::synth::{self, Spec, Vocab, Written};
use indicatif::{ProgressBar, ProgressStyle};
use tempfile::{NamedTempFile, TempPath};

use super::print;
use crate::cli::{Shape, SynthArgs, SynthType};
use crate::engine::llama::quantize;
use crate::exit::{Classify, Exit, Failure};
use crate::output::{count, partial_beside};

/// Runs the command.
///
/// # Errors
/// Where an input is wrong or the file cannot be written.
pub fn run(args: &SynthArgs) -> Result<Exit, Failure> {
    if args.out.exists() {
        return Err(Failure::message(
            Exit::BadInput,
            format!(
                "{}: already exists; choose another --out or remove it",
                args.out.display()
            ),
        ));
    }
    if (args.shape, args.tensor_type) == (Shape::Qwen36_27b, SynthType::F16) {
        return Err(Failure::message(
            Exit::BadInput,
            "--type f16: the qwen3.6-27b shape is written as q4_k_m only".to_owned(),
        ));
    }
    let spec = spec(args)?;
    let (file, written) = write(&spec, &args.out)?;
    let quantize = (args.shape, args.tensor_type) == (Shape::Tiny, SynthType::Q4KM);
    let file = if quantize {
        quantized(&file, &args.out)?
    } else {
        file
    };
    file.persist_noclobber(&args.out)
        .with_context(|| format!("{}: cannot be put in place", args.out.display()))
        .setup()?;
    let bytes = fs::metadata(&args.out).map_or(written.bytes, |m| m.len());
    print::stdout(&format!(
        "{}: {} tensors, {} parameters, {} bytes\n",
        args.out.display(),
        written.tensors,
        count(usize::try_from(written.parameters).unwrap_or(usize::MAX)),
        count(usize::try_from(bytes).unwrap_or(usize::MAX)),
    ))?;
    Ok(Exit::Pass)
}

fn spec(args: &SynthArgs) -> Result<Spec, Failure> {
    let shape = match args.shape {
        Shape::Tiny => synth::Shape::Tiny,
        Shape::Qwen36_27b => synth::Shape::Qwen36_27B,
    };
    let mut spec = Spec::builtin(shape).run_failed()?;
    spec.mtp = args.mtp;
    spec.seed = args.seed;
    if let Some(path) = &args.vocab_from {
        spec.vocab = Vocab::from_json_gz(path).bad_input()?;
    }
    if let Some(path) = &args.template {
        spec.template = fs::read_to_string(path)
            .with_context(|| format!("{}: cannot be read as a chat template", path.display()))
            .bad_input()?;
    }
    Ok(spec)
}

/// A temporary file beside `out`, so that putting it in place is a rename.
fn beside(out: &Path) -> Result<NamedTempFile, Failure> {
    partial_beside(out)
        .with_context(|| {
            format!(
                "{}: cannot be created; check that its directory exists and is writable",
                out.display()
            )
        })
        .setup()
}

fn write(spec: &Spec, out: &Path) -> Result<(TempPath, Written), Failure> {
    let (file, path) = beside(out)?.into_parts();
    let bar = bar();
    let shown = bar.clone();
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let written = synth::write(spec, &mut writer, move |done, total| {
        shown.set_length(total);
        shown.set_position(done);
    })
    .map_err(|e| match e {
        synth::SynthError::Vocab(_) | synth::SynthError::Plant(_) => {
            Failure::new(Exit::BadInput, e)
        }
        synth::SynthError::Write(_) => Failure::new(
            Exit::Setup,
            anyhow!(e).context(format!("{}", out.display())),
        ),
    })?;
    let flushed = writer.flush().and_then(|()| writer.get_ref().sync_all());
    flushed
        .with_context(|| format!("{}", out.display()))
        .setup()?;
    bar.finish_and_clear();
    Ok((path, written))
}

/// The same model in Q4_K_M, by llama.cpp's own quantizer.
fn quantized(from: &Path, out: &Path) -> Result<TempPath, Failure> {
    let to = beside(out)?.into_temp_path();
    quantize::to_q4_k_m(from, &to, 1).setup()?;
    File::open(&to)
        .and_then(|f| f.sync_all())
        .with_context(|| format!("{}", out.display()))
        .setup()?;
    Ok(to)
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("writing {bar:40} {bytes}/{total_bytes} {eta}")
        .expect("a valid template");
    ProgressBar::new(0).with_style(style)
}
