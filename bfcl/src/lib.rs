//! BFCL v4 single-turn function calling: data, conversion, verdicts equal to the reference's.

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
