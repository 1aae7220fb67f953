//! One file per verb: wiring only.

mod accuracy;
pub mod bench;
pub mod compare;
pub mod complete;
pub mod doctor;
pub mod inspect;
mod lengths;
pub mod prompts;
pub mod report;
pub mod run;
pub mod score;
pub mod synth;

mod dataset;
mod model;
mod print;
mod progress;
mod results;
mod signals;
mod tokenizer;
mod warmup;
mod watch;
