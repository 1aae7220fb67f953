//! Where the corpora and the data lie, seen from the crate. Both may be absent.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bfcl::dataset::{self, Dataset};
use bfcl::pyjson;
use bfcl::value::{Dict, Value};

/// A file or directory of the founders' shared data, when it is there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data")
        .join(path);
    if !path.exists() {
        println!("skipped: no shared data {}", path.display());
        return None;
    }
    Some(path)
}

/// The BFCL data where `scripts/fetch-data` puts it, or beside the checkout.
pub fn data() -> Option<&'static Dataset> {
    static DATA: OnceLock<Option<Dataset>> = OnceLock::new();
    DATA.get_or_init(|| {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bfcl-data");
        let dir = [dataset::default_dir(), Some(beside)]
            .into_iter()
            .flatten()
            .find(|dir| dir.exists());
        match dir {
            Some(dir) => Some(Dataset::open(&dir).expect("the pinned BFCL data")),
            None => {
                println!("skipped: no BFCL data; fetch it with scripts/fetch-data --bfcl");
                None
            }
        }
    })
    .as_ref()
}

/// The text of a gzipped corpus, when it is there.
pub fn corpus(name: &str) -> Option<String> {
    let path = shared(&format!("bfcl/{name}"))?;
    let file = File::open(path).expect("a readable corpus");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("gzipped text");
    Some(text)
}

/// A row of a corpus.
pub struct Row(Dict);

impl Row {
    pub fn parse(line: &str) -> Row {
        match pyjson::loads(line) {
            Ok(Value::Dict(row)) => Row(row),
            other => panic!("expected an object, found {other:?}"),
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }
}
