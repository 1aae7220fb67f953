//! What a file is by its first bytes: downloads go wrong in recognizable ways.

use crate::fault::Fault;

/// First bytes worth looking at; a Git LFS pointer has about 130.
pub(crate) const SNIFF: u64 = 256;
/// Bytes of the fixed part of a header: magic, version, two counts.
const MIN_HEADER: u64 = 24;

/// Passes a file that begins as a GGUF file does; otherwise says what it is instead.
///
/// `head` is the first [`SNIFF`] bytes or all of the file, `len` the file's size in bytes.
pub(crate) fn sniff(head: &[u8], len: u64) -> Result<(), Fault> {
    let text = head.trim_ascii_start();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if len == 0 {
        Err(Fault::Empty)
    } else if head.starts_with(b"GGUF") {
        if len < MIN_HEADER {
            return Err(Fault::TooShort { actual: len });
        }
        Ok(())
    } else if b"GGUF".starts_with(head) {
        Err(Fault::TooShort { actual: len })
    } else if head.starts_with(b"version https://git-lfs") {
        Err(Fault::LfsPointer {
            size: pointer_size(head),
        })
    } else if text.starts_with(b"<") {
        let start = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
        Err(Fault::WebPage { start })
    } else if let (true, Some(version)) = (head.starts_with(b"FUGG"), head.get(4..8)) {
        let version = version.try_into().map_or(0, u32::from_be_bytes);
        Err(Fault::BigEndian { version })
    } else {
        Err(Fault::NotGguf {
            found: format!("\"{}\"", head[..head.len().min(4)].escape_ascii()),
            looks_like: looks_like(head),
        })
    }
}

/// The `size N` line of a Git LFS pointer, bytes.
fn pointer_size(head: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(head);
    let size = text.lines().find_map(|line| line.strip_prefix("size "))?;
    size.trim().parse().ok()
}

fn looks_like(head: &[u8]) -> Option<&'static str> {
    const OLD: [&[u8]; 5] = [b"lmgg", b"tjgg", b"fmgg", b"algg", b"ggml"];
    let starts = |prefix: &[u8]| head.starts_with(prefix);
    if starts(b"PK\x03\x04") {
        Some("a zip archive or PyTorch checkpoint: unpack or convert it")
    } else if starts(b"\x1f\x8b") {
        Some("gzip-compressed data: unpack it")
    } else if head.len() > 8 && head[8] == b'{' && head[4..8] == [0; 4] {
        Some("a safetensors file: convert it with convert_hf_to_gguf.py")
    } else if OLD.into_iter().any(starts) {
        Some("a ggml file from before GGUF (2023): convert the model again")
    } else if starts(b"{") {
        Some("JSON, perhaps a server's error reply: fetch the file again")
    } else if head.iter().all(|&b| b == 0) {
        Some("a download that was reserved on disk but not written: fetch it again")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(head: &[u8]) -> String {
        sniff(head, head.len() as u64).unwrap_err().to_string()
    }

    #[test]
    fn t6_02_page_pointer_and_empty_file_get_three_distinct_messages() {
        assert!(said(b"").contains("empty (0 bytes)"));
        assert!(said(b"\n<!DOCTYPE html><html>").contains("web page"));
        assert!(said(b"\xef\xbb\xbf<?xml version=\"1.0\"?><Error>").contains("web page"));
        let pointer =
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 16817244384\n";
        assert!(said(pointer).contains("Git LFS pointer"));
        assert!(said(pointer).contains("16817244384 bytes"));
    }

    #[test]
    fn other_kinds_of_file_are_named() {
        assert!(said(b"PK\x03\x04rest").contains("zip"));
        assert!(said(b"\x08\0\0\0\0\0\0\0{\"a\":1}").contains("safetensors"));
        assert!(said(b"{\"error\":\"no\"}").contains("JSON"));
        assert!(said(&[0; 64]).contains("not written"));
        assert!(said(b"tjgg\x03\0\0\0").contains("before GGUF"));
        assert!(said(b"hello").contains("found \"hell\""));
        assert!(said(b"FUGG\0\0\0\x03").contains("big-endian GGUF (version 3"));
    }

    #[test]
    fn a_beginning_of_a_header_is_too_short() {
        assert!(said(b"GG").contains("too short"));
        assert!(said(b"GGUF\x03\0\0\0").contains("8 bytes, expected at least 24"));
        assert!(sniff(b"GGUF\x03\0\0\0", 24).is_ok());
    }
}
