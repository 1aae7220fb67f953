//! The tokenizer.json that counts tokens anew for `endpoints/`.

use std::path::Path;

use anyhow::anyhow;

use crate::endpoints::{HfTokenizer, Recount};
use crate::exit::{Classify, Failure};
use crate::machine::identity::{FileIdentity, identify};

/// Which file it is.
pub fn identity(path: Option<&Path>) -> Result<Option<FileIdentity>, Failure> {
    let Some(path) = path else {
        return Ok(None);
    };
    let files = identify(&[path.to_owned()], &mut |_, _| {}).bad_input()?;
    Ok(files.into_iter().next())
}

/// Loads it, refusing another than the plan's.
pub fn load(
    path: Option<&Path>,
    planned: Option<&FileIdentity>,
) -> Result<Option<HfTokenizer>, Failure> {
    let given = identity(path)?;
    if given.as_ref().map(|f| &f.sha256) != planned.map(|f| &f.sha256) {
        let describe = |f: Option<&FileIdentity>| {
            f.map_or_else(
                || "none".to_owned(),
                |f| format!("{} with sha256 {}", f.name, f.sha256),
            )
        };
        return Err(anyhow!(
            "--tokenizer: found {}, expected {}, which the run had",
            describe(given.as_ref()),
            describe(planned)
        ))
        .bad_input();
    }
    path.map(HfTokenizer::load).transpose().bad_input()
}

/// As the results take it.
pub fn recount(tokenizer: &Option<HfTokenizer>) -> Option<&dyn Recount> {
    tokenizer.as_ref().map(|t| t as &dyn Recount)
}
