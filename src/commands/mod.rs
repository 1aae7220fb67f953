//! One file per verb: wiring only.
pub mod prompts;
mod dataset;
mod model;
mod print;
