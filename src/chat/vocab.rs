//! What the chat code needs of a vocabulary; the engine implements it on the loaded model.

use super::Token;

/// A vocabulary: text to ids and back.
pub trait Vocab {
    /// Token ids of `text`; special tokens written in it become their ids, nothing is added around it.
    fn tokenize(&self, text: &str) -> Vec<Token>;

    /// Appends the bytes of `token` to `out`; a control token's text only where `special`.
    fn piece(&self, token: Token, special: bool, out: &mut Vec<u8>);

    /// Whether `token` ends a reply.
    fn is_end_of_generation(&self, token: Token) -> bool;

    /// The one id that `text` is, if it is one token.
    fn single(&self, text: &str) -> Option<Token> {
        match self.tokenize(text)[..] {
            [id] => Some(id),
            _ => None,
        }
    }
}

/// The text of a reply as llama-server would have it: control tokens vanish unless they are preserved, bytes that
/// are not UTF-8 (a character cut by a length limit) become U+FFFD.
pub fn reply_text(vocab: &dyn Vocab, ids: &[Token], preserved: &[Token]) -> String {
    let mut bytes = Vec::with_capacity(ids.len() * 4);
    for &id in ids {
        if !vocab.is_end_of_generation(id) {
            vocab.piece(id, preserved.contains(&id), &mut bytes);
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte per token; 1 is a control token, 2 ends a reply.
    struct Bytes;

    impl Vocab for Bytes {
        fn tokenize(&self, text: &str) -> Vec<Token> {
            text.bytes().map(Token::from).collect()
        }

        fn piece(&self, token: Token, special: bool, out: &mut Vec<u8>) {
            match token {
                1 if special => out.extend(b"<tool_call>"),
                1 => {}
                other => out.push(u8::try_from(other).expect("a byte")),
            }
        }

        fn is_end_of_generation(&self, token: Token) -> bool {
            token == 2
        }
    }

    #[test]
    fn t1_18_characters_split_over_tokens_come_back_whole_and_a_cut_one_is_marked() {
        let emoji = Bytes.tokenize("a🦀b");
        assert_eq!(emoji.len(), 6, "the emoji is four tokens");
        assert_eq!(reply_text(&Bytes, &emoji, &[]), "a🦀b");
        assert_eq!(reply_text(&Bytes, &emoji[..3], &[]), "a\u{fffd}");
    }

    #[test]
    fn control_tokens_show_only_where_preserved_and_the_end_token_never() {
        let reply = [1, Token::from(b'x'), 2];
        assert_eq!(reply_text(&Bytes, &reply, &[]), "x");
        assert_eq!(reply_text(&Bytes, &reply, &[1]), "<tool_call>x");
    }
}
