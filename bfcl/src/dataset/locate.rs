//! Where `scripts/fetch-data` puts the data, so that commands find it by themselves.

use std::env;
use std::path::PathBuf;

/// The directory that holds all fetched data: `$EDGE_AGENTIC_DATA`, else
/// `$XDG_DATA_HOME/edge-agentic`, else `~/.local/share/edge-agentic`. `None` when none of the
/// three variables is set.
pub fn data_root() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    set("EDGE_AGENTIC_DATA").map(PathBuf::from).or_else(|| {
        set("XDG_DATA_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/share")))
            .map(|base| base.join("edge-agentic"))
    })
}

/// The directory of the BFCL files below [`data_root`].
pub fn default_dir() -> Option<PathBuf> {
    data_root().map(|root| root.join("bfcl"))
}
