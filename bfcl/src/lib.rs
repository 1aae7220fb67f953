//! BFCL v4 single-turn function calling, evaluated exactly as the MLPerf reference does.
//!
//! The reference is mlcommons/endpoints at commit ea33275, which calls `bfcl-eval` 2026.3.23 on
//! CPython 3.12. This crate reads the same data ([`dataset`]), offers the same samples and tools
//! ([`sampling`], [`tools`]), finds the same calls in a model's text ([`extract`]), gives the same
//! verdicts ([`check`], [`convert`], [`judge`]) and the same aggregates ([`aggregate`]), and adds what
//! the reference lacks: intervals, gates that cannot pass silently, and counts of what went wrong
//! ([`score`], [`report`], [`gate`]).
//!
//! Where the reference's code would raise and lose its whole scoring pass, the sample scores 0 with
//! the error type `reference_raises`. Bad data is refused, never scored as the model's mistake.
//!
//! # Example: score the outputs of a model
//!
//! ```no_run
//! use std::path::Path;
//!
//! use bfcl::dataset::Dataset;
//! use bfcl::outputs::Outputs;
//! use bfcl::sampling::Selection;
//! use bfcl::score::score;
//!
//! let dataset = Dataset::open(Path::new("data/bfcl"))?;
//! let gate = Selection::gate(&dataset);
//! for sample in gate.samples(&dataset) {
//!     // Ask the model: sample.messages(), sample.tools().
//! }
//! let outputs = Outputs::read(Path::new("outputs.jsonl"), &dataset, &gate)?;
//! let scored = score(&dataset, &outputs);
//! println!("overall {:.2} %", scored.report.overall.rounded);
//! for gate in &scored.report.gates {
//!     println!("{}: {}", gate.name, if gate.passed { "PASS" } else { "FAIL" });
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Example: one verdict
//!
//! ```
//! use bfcl::dataset::parse_subset;
//! use bfcl::judge::{self, Judgement};
//! use bfcl::subset::Subset;
//!
//! let data = r#"{"id": "simple_python_0",
//!     "question": [[{"role": "user", "content": "What is the square root of 2?"}]],
//!     "function": [{"name": "math.sqrt", "description": "", "parameters": {"type": "dict",
//!         "properties": {"x": {"type": "float", "description": ""}}, "required": ["x"]}}]}"#;
//! let answers = r#"{"id": "simple_python_0", "ground_truth": [{"math.sqrt": {"x": [2.0]}}]}"#;
//! let data = data.replace('\n', "");
//! let samples = parse_subset(Subset::SimplePython, &data, Some(answers))?;
//!
//! let verdict = |output: &str| judge::examine((&samples[0]).into(), output).judgement;
//! assert_eq!(verdict("The answer is math_sqrt(x=2)."), Judgement::Right);
//! assert_eq!(verdict("The answer is 1.41.").score(), 0);
//! # Ok::<(), bfcl::dataset::DatasetError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod aggregate;
pub mod check;
pub mod convert;
pub mod dataset;
pub mod disputed;
pub mod extract;
pub mod gate;
pub mod judge;
pub mod outputs;
pub mod pyjson;
pub mod pynum;
pub mod pytext;
pub mod raised;
pub mod report;
pub mod sampling;
pub mod score;
pub mod stats;
pub mod subset;
pub mod tools;
pub mod value;
