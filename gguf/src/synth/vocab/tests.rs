use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Vocab, VocabError, VocabFault};

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

fn fault(tokens: &[&str], types: &[i32], merges: &[&str]) -> String {
    let vocab = Vocab::new(texts(tokens), types.to_vec(), texts(merges));
    vocab.unwrap_err().to_string()
}

#[test]
fn contradictions_are_named() {
    assert_eq!(fault(&[], &[], &[]), "0 tokens, expected 1 to 2^31 - 1");
    assert!(fault(&["a"], &[1, 1], &[]).starts_with("2 token types for 1 tokens"));
    assert!(fault(&["a", "b"], &[1, 7], &[]).starts_with("token 1 has type 7"));
    assert!(fault(&["a", "a"], &[1, 1], &[]).starts_with("token 1 repeats the text `a`"));
    for merge in ["ab", "a  b", "a c", "b a", ""] {
        let found = fault(&["a", "b", "ab"], &[1, 1, 1], &["a b", merge]);
        assert!(
            found.starts_with(&format!("merge 1 is `{merge}`")),
            "{found}"
        );
    }
}

fn read(json: &[u8]) -> Result<Vocab, VocabError> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(json).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), packed.finish().unwrap()).unwrap();
    Vocab::from_json_gz(file.path())
}

#[test]
fn a_file_is_read_and_checked() {
    let vocab = read(br#"[["a","b","ab"],[1,1,1],["a b"]]"#).unwrap();
    assert_eq!(vocab.tokens(), texts(&["a", "b", "ab"]));
    assert_eq!((vocab.id("ab"), vocab.id("c")), (Some(2), None));
    for json in [
        "",
        "{}",
        r#"[["a"],[1]]"#,
        r#"[["a"],["1"],[]]"#,
        r#"[["a"],[1],[]"#,
    ] {
        assert!(
            matches!(read(json.as_bytes()), Err(VocabError::Json { .. })),
            "{json}"
        );
    }
    let error = read(br#"[["a","a"],[1,1],[]]"#).unwrap_err();
    let VocabError::Invalid { fault, .. } = error else {
        panic!("{error}");
    };
    assert!(matches!(fault, VocabFault::Duplicate { id: 1, .. }));
}

#[test]
fn a_file_that_is_missing_or_not_gzip_is_refused() {
    let missing = Vocab::from_json_gz(Path::new("no/such/file.json.gz")).unwrap_err();
    assert!(matches!(missing, VocabError::Read { .. }));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "<html>").unwrap();
    let error = Vocab::from_json_gz(file.path()).unwrap_err();
    assert!(matches!(error, VocabError::Read { .. }), "{error}");
}
