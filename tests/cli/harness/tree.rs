//! What a directory holds, to prove that nothing in it was touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every file below `dir` with its bytes, and every directory, by path.
pub fn tree(dir: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            if path.is_dir() {
                all.insert(name, None);
                open.push(path);
            } else {
                all.insert(name, Some(fs::read(&path).unwrap_or_default()));
            }
        }
    }
    all
}
