//! One conversation's prompts, rendered and tokenized incrementally.
//!
//! A full render grows with the history (tens of milliseconds at 20K tokens), while a turn adds a few hundred
//! tokens. Rendering `opening + new messages` and removing the rendered opening gives exactly the text that the new
//! messages add, at a cost that does not depend on the context. That this holds for a template is checked against
//! full renders ([`Dialogue::check_whole`]); where it does not, prompts are rendered whole and the run says so.

use std::rc::Rc;

use sha2::{Digest, Sha256};

use super::prefix::common_prefix;
use super::vocab::reply_text;
use super::{ChatError, ChatTemplate, Reply, ReplyFormat, Token, Vocab};
use crate::record::Departure;

/// What reuse needs to know about a tokenized prompt; its ids are [`Dialogue::ids`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// Length in tokens of the prefix that any continuation shares.
    pub reusable: usize,
    /// Tokens that the previous prompt of this conversation does not already begin with.
    pub ideal: usize,
}

/// Rendering state of the open conversation.
pub struct Dialogue<'m> {
    template: &'m ChatTemplate,
    vocab: &'m dyn Vocab,
    held_back: usize,
    incremental: bool,
    opening: String,
    tools: Option<String>,
    format: Option<Rc<ReplyFormat>>,
    formats: Vec<(Option<String>, Rc<ReplyFormat>)>,
    opening_text: String,
    generation_ids: Vec<Token>,
    preserved_ids: Vec<Token>,
    /// All messages so far, the inside of a JSON array; only where prompts are rendered whole.
    history: String,
    /// Rendered text that is not tokenized yet.
    pending: String,
    /// Its token ids, until they are put in place.
    encoded: Vec<Token>,
    /// SHA-256 state over the history's text before `pending`.
    hasher: Sha256,
    /// Ids of the current prompt.
    ids: Vec<Token>,
    ideal: usize,
    /// Index of the first token that differs from the previous prompt, where that is in its reusable prefix.
    departed: Option<usize>,
}

impl<'m> Dialogue<'m> {
    /// Prepares for conversations with this template; `held_back` as [`super::prefix::held_back`] finds it.
    #[must_use]
    pub fn new(
        template: &'m ChatTemplate,
        vocab: &'m dyn Vocab,
        held_back: usize,
        incremental: bool,
    ) -> Self {
        Self {
            template,
            vocab,
            held_back,
            incremental,
            opening: String::new(),
            tools: None,
            format: None,
            formats: Vec::new(),
            opening_text: String::new(),
            generation_ids: Vec::new(),
            preserved_ids: Vec::new(),
            history: String::new(),
            pending: String::new(),
            encoded: Vec::new(),
            hasher: Sha256::new(),
            ids: Vec::new(),
            ideal: 0,
            departed: None,
        }
    }

    /// Starts a conversation. `opening`: JSON array of the messages of its first prompt; `tools`: JSON array.
    /// What depends on the tools alone (grammar, parser) is kept for the next conversation with the same tools.
    ///
    /// # Errors
    /// Where the template raises.
    pub fn open(&mut self, opening: &str, tools: Option<&str>) -> Result<(), ChatError> {
        let format = self.format_for(opening, tools)?;
        self.generation_ids = self.vocab.tokenize(&format.generation_prompt);
        self.preserved_ids = format
            .preserved
            .iter()
            .filter_map(|p| self.vocab.single(p))
            .collect();
        self.format = Some(format);
        self.opening_text = if self.incremental {
            self.template.render_history(opening, tools)?
        } else {
            String::new()
        };
        opening.clone_into(&mut self.opening);
        self.tools = tools.map(str::to_owned);
        self.history.clear();
        self.pending.clear();
        self.hasher = Sha256::new();
        self.ids.clear();
        self.ideal = 0;
        self.departed = None;
        Ok(())
    }

    fn format_for(
        &mut self,
        opening: &str,
        tools: Option<&str>,
    ) -> Result<Rc<ReplyFormat>, ChatError> {
        if let Some((_, format)) = self.formats.iter().find(|(t, _)| t.as_deref() == tools) {
            return Ok(Rc::clone(format));
        }
        let format = Rc::new(self.template.format(opening, tools)?);
        self.formats
            .push((tools.map(str::to_owned), Rc::clone(&format)));
        Ok(format)
    }

    /// How replies of the open conversation are constrained and parsed.
    ///
    /// # Panics
    /// If no conversation is open: a caller's mistake.
    #[must_use]
    pub fn format(&self) -> &Rc<ReplyFormat> {
        self.format.as_ref().expect("a conversation is open")
    }

    /// Renders the next prompt: the first one, or the one that `appended` (JSON array of messages) leads to.
    ///
    /// # Errors
    /// Where the template raises.
    pub fn render(&mut self, appended: Option<&str>) -> Result<(), ChatError> {
        let tools = self.tools.as_deref();
        match appended {
            None => {
                inside(&self.opening).clone_into(&mut self.history);
                self.pending = self.template.render(&self.opening, tools)?;
            }
            Some(new) if self.incremental => {
                let messages = join(inside(&self.opening), inside(new));
                let text = self.template.render(&messages, tools)?;
                let added = text
                    .strip_prefix(self.opening_text.as_str())
                    .ok_or_else(|| {
                        ChatError::Unsupported(
                            "whole rendering: its opening depends on later messages".to_owned(),
                        )
                    })?;
                added.clone_into(&mut self.pending);
            }
            Some(new) => {
                let messages = join(&self.history, inside(new));
                inside(&messages).clone_into(&mut self.history);
                self.pending = self.template.render(&messages, tools)?;
            }
        }
        Ok(())
    }

    /// Tokenizes what [`Self::render`] left: the prompt is then in [`Self::ids`].
    ///
    /// # Errors
    /// Where the prompt does not end with the generation prompt's own tokens.
    pub fn tokenize(&mut self) -> Result<Prompt, ChatError> {
        self.encode();
        self.assemble()
    }

    /// The first half of [`Self::tokenize`]: llama.cpp's, over the text that is new.
    pub fn encode(&mut self) {
        self.encoded = self.vocab.tokenize(&self.pending);
    }

    /// The other half: our own.
    ///
    /// # Errors
    /// As [`Self::tokenize`].
    pub fn assemble(&mut self) -> Result<Prompt, ChatError> {
        let added = std::mem::take(&mut self.encoded);
        let incremental = self.incremental && !self.ids.is_empty();
        if incremental {
            // The history's tokens end where the generation prompt began, at a special token: what follows
            // tokenizes on its own.
            let known = self.ids.len() - self.generation_ids.len();
            let shared = common_prefix(&self.ids[known..], &added);
            self.ids.truncate(known);
            self.ids.extend_from_slice(&added);
            self.ideal = self.ids.len() - known - shared;
        } else {
            let shared = common_prefix(&self.ids, &added);
            let promised = self.ids.len().saturating_sub(self.held_back);
            self.departed = (shared < promised).then_some(shared);
            self.ideal = added.len() - shared;
            self.ids = added;
        }
        if self.incremental && !self.ids.ends_with(&self.generation_ids) {
            return Err(ChatError::Unsupported(
                "whole tokenizing: a prompt does not end with the generation prompt's tokens"
                    .to_owned(),
            ));
        }
        Ok(Prompt {
            reusable: self.ids.len().saturating_sub(self.held_back),
            ideal: self.ideal,
        })
    }

    /// Closes the turn's books: SHA-256 of the prompt's bytes (lower-case hex), and readiness for the next turn.
    #[must_use]
    pub fn seal(&mut self) -> String {
        if !self.incremental {
            return hex(&Sha256::digest(self.pending.as_bytes()));
        }
        let tail = self.format().generation_prompt.len();
        let mut whole = self.hasher.clone();
        whole.update(self.pending.as_bytes());
        self.hasher
            .update(&self.pending.as_bytes()[..self.pending.len() - tail]);
        hex(&whole.finalize())
    }

    /// Ids of the current prompt.
    #[must_use]
    pub fn ids(&self) -> &[Token] {
        &self.ids
    }

    /// Text rendered for this turn: the whole prompt on a first turn or where rendering is whole, else its end.
    #[must_use]
    pub fn rendered(&self) -> &str {
        &self.pending
    }

    /// Where in the current prompt a user's own message starts (tool results are not one).
    #[must_use]
    pub fn user_starts(&self) -> Vec<usize> {
        let starts = self.message_starts().into_iter();
        starts.filter_map(|(at, user)| user.then_some(at)).collect()
    }

    /// Where the current prompt leaves the previous one although no continuation should have changed that place: the
    /// template has rewritten the history.
    #[must_use]
    pub fn departure(&self) -> Option<Departure> {
        let token = self.departed?;
        let starts = self.message_starts();
        Some(Departure {
            token,
            message: starts.iter().filter(|(at, _)| *at <= token).count(),
        })
    }

    /// Where messages start in the current prompt, and whether they are a user's own.
    fn message_starts(&self) -> Vec<(usize, bool)> {
        let delimiters: Vec<(bool, Vec<Token>)> = self
            .format()
            .delimiters
            .iter()
            .map(|d| (d.role == "user", self.vocab.tokenize(&d.delimiter)))
            .filter(|(_, ids)| !ids.is_empty())
            .collect();
        (0..self.ids.len())
            .filter_map(|at| {
                let found = delimiters
                    .iter()
                    .find(|(_, d)| self.ids[at..].starts_with(d));
                found.map(|(user, _)| (at, *user))
            })
            .collect()
    }

    /// The reply's text.
    #[must_use]
    pub fn reply_text(&self, output: &[Token]) -> String {
        reply_text(self.vocab, output, &self.preserved_ids)
    }

    /// Tokens of a recorded reply (JSON text of its message) after the prompt of the open conversation, the end token
    /// included and what the generation prompt already holds left out. Where replies do not reason, a recorded
    /// reasoning is left out too.
    ///
    /// # Errors
    /// Where the template raises.
    pub fn recorded_tokens(&self, reply: &str) -> Result<usize, ChatError> {
        let tools = self.tools.as_deref();
        let opening = self.template.render_history(&self.opening, tools)?;
        let messages = join(inside(&self.opening), reply);
        let whole = self.template.render_history(&messages, tools)?;
        let text = whole
            .strip_prefix(opening.as_str())
            .unwrap_or(&whole)
            .trim_end();
        let format = self.format();
        let after_reasoning = || {
            let ends = format.thinking_ends.iter();
            let end = ends.filter_map(|e| Some(text.rfind(e.as_str())? + e.len()));
            text[end.max().unwrap_or(0)..].trim_start()
        };
        let said = text
            .strip_prefix(format.generation_prompt.as_str())
            .unwrap_or_else(after_reasoning);
        Ok(self.vocab.tokenize(said).len().max(1))
    }

    /// The reply's message, parsed as llama-server parses it.
    ///
    /// # Errors
    /// Where llama.cpp's parser refuses the text.
    pub fn parse(&self, text: &str) -> Result<Reply, ChatError> {
        self.format().parse(text)
    }

    /// Index in `output` of the token with which a streaming client first receives content, reasoning or a call;
    /// `None` where it never does. What the reference calls the first token.
    #[must_use]
    pub fn first_delta(&self, output: &[Token]) -> Option<usize> {
        let visible = |n: usize| {
            self.format()
                .parse_partial(&self.reply_text(&output[..n]))
                .is_ok_and(|r| r.has_delta())
        };
        // Once visible, always visible: find the shortest prefix that is.
        let (mut lo, mut hi) = (0, output.len());
        if !visible(hi) {
            return None;
        }
        while lo < hi {
            let mid = usize::midpoint(lo, hi);
            if visible(mid) { hi = mid } else { lo = mid + 1 }
        }
        lo.checked_sub(1)
    }

    /// Whether the conversation's last prompt, built step by step, equals its full render byte for byte and id for
    /// id. `appended`: what each turn after the first adds, JSON arrays.
    ///
    /// # Errors
    /// Where the template raises on the full conversation.
    pub fn check_whole<'a>(
        &mut self,
        opening: &str,
        tools: Option<&str>,
        appended: impl Iterator<Item = &'a str>,
    ) -> Result<bool, ChatError> {
        self.open(opening, tools)?;
        let mut messages = inside(opening).to_owned();
        let mut step = self.render(None).and_then(|()| self.tokenize());
        let mut digest = self.seal();
        for new in appended {
            messages = inside(&join(&messages, inside(new))).to_owned();
            step = step
                .and_then(|_| self.render(Some(new)))
                .and_then(|()| self.tokenize());
            if step.is_err() {
                break;
            }
            digest = self.seal();
        }
        match step {
            Err(ChatError::Unsupported(_)) => return Ok(false),
            Err(e) => return Err(e),
            Ok(_) => {}
        }
        let whole = self.template.render(&format!("[{messages}]"), tools)?;
        Ok(digest == hex(&Sha256::digest(whole.as_bytes()))
            && self.vocab.tokenize(&whole) == self.ids)
    }
}

/// SHA-256 of token ids, each as a little-endian `u32`; lower-case hexadecimal.
#[must_use]
pub fn ids_sha256(ids: &[Token]) -> String {
    let mut hasher = Sha256::new();
    for chunk in ids.chunks(1024) {
        let bytes: Vec<u8> = chunk.iter().flat_map(|id| id.to_le_bytes()).collect();
        hasher.update(&bytes);
    }
    hex(&hasher.finalize())
}

/// The inside of a JSON array's text.
fn inside(array: &str) -> &str {
    let trimmed = array.trim();
    trimmed
        .strip_prefix('[')
        .and_then(|a| a.strip_suffix(']'))
        .unwrap_or(trimmed)
}

fn join(a: &str, b: &str) -> String {
    if b.is_empty() {
        format!("[{a}]")
    } else {
        format!("[{a},{b}]")
    }
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut s, b| {
            let _ = write!(s, "{b:02x}");
            s
        })
}
