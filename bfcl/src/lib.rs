//! BFCL v4 single-turn function calling: data, conversion, verdicts equal to the reference's.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod value;
pub mod check;
pub mod convert;
pub mod pynum;
pub mod pytext;
pub mod raised;
pub mod subset;
