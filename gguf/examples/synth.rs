//! Writes a synthetic model: `synth tiny|qwen3.6-27b OUT [--mtp] [--seed N] [--vocab-from FILE] [--template FILE]`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use gguf::synth::{self, Shape, Spec, Vocab};

const USAGE: &str =
    "usage: synth tiny|qwen3.6-27b OUT [--mtp] [--seed N] [--vocab-from FILE] [--template FILE]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let shape = match args.next().as_deref() {
        Some("tiny") => Shape::Tiny,
        Some("qwen3.6-27b") => Shape::Qwen36_27B,
        _ => return Err(USAGE.into()),
    };
    let out = args.next().ok_or(USAGE)?;
    let mut spec = Spec::builtin(shape)?;
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or(USAGE);
        match option.as_str() {
            "--mtp" => spec.mtp = true,
            "--seed" => spec.seed = value()?.parse()?,
            "--vocab-from" => spec.vocab = Vocab::from_json_gz(Path::new(&value()?))?,
            "--template" => spec.template = std::fs::read_to_string(value()?)?,
            _ => return Err(USAGE.into()),
        }
    }
    let file = BufWriter::with_capacity(1 << 20, File::create(&out)?);
    let written = synth::write(&spec, file, |_, _| ())?;
    println!(
        "{out}: {} tensors, {} parameters, {} bytes",
        written.tensors, written.parameters, written.bytes
    );
    Ok(())
}
