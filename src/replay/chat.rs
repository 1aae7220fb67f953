//! Prompts and replies of a conversation, as the replay needs them.

use std::sync::Arc;

use crate::chat::{ChatError, Dialogue, Reply, ReplyFormat, Token};
use crate::conversation::{Conversation, json_array};

/// Renders, tokenizes and parses; [`LlamaChat`] with llama.cpp, a table in tests.
pub trait Chat {
    /// The messages that the turn at `index` adds, as JSON text: our own work, before llama.cpp's.
    fn messages(&mut self, conversation: &Conversation, index: usize) -> String;

    /// Renders the prompt of the turn at `index` from [`Self::messages`]; the first turn opens the conversation.
    ///
    /// # Errors
    /// Where the template raises.
    fn render(&mut self, conversation: &Conversation, index: usize, messages: &str) -> Result<(), ChatError>;

    /// Tokenizes the rendered prompt; returns its ideal new tokens.
    ///
    /// # Errors
    /// Where the vocabulary and the template disagree.
    fn tokenize(&mut self) -> Result<usize, ChatError>;

    /// Ids of the current prompt.
    fn ids(&self) -> &[Token];

    /// Length in tokens of the prefix that any continuation of the current prompt shares.
    fn reusable(&self) -> usize;

    /// Where users' messages start in the current prompt.
    fn user_starts(&self) -> Vec<usize>;

    /// Grammar and parser of replies.
    fn format(&self) -> Option<Arc<ReplyFormat>>;

    /// SHA-256 of the current prompt's bytes, hex; called exactly once per tokenized prompt.
    fn seal(&mut self) -> String;

    /// Text of a reply.
    fn text(&self, output: &[Token]) -> String;

    /// Parses a reply's text.
    ///
    /// # Errors
    /// Where llama.cpp's parser refuses it.
    fn parse(&self, text: &str) -> Result<Reply, ChatError>;

    /// Index of the token that brings the first content-bearing delta.
    fn first_delta(&self, output: &[Token]) -> Option<usize>;
}

/// [`Chat`] on llama.cpp.
pub struct LlamaChat<'m> {
    dialogue: Dialogue<'m>,
    reusable: usize,
}

impl<'m> LlamaChat<'m> {
    /// Wraps a dialogue.
    #[must_use]
    pub fn new(dialogue: Dialogue<'m>) -> Self {
        Self { dialogue, reusable: 0 }
    }
}

impl Chat for LlamaChat<'_> {
    fn messages(&mut self, conversation: &Conversation, index: usize) -> String {
        json_array(&conversation.appended(index).unwrap_or_else(|| conversation.opening()))
    }

    fn render(&mut self, conversation: &Conversation, index: usize, messages: &str) -> Result<(), ChatError> {
        if index == 0 {
            self.dialogue
                .open(messages, conversation.tools.as_ref().map(|t| t.get()))?;
            self.dialogue.render(None)
        } else {
            self.dialogue.render(Some(messages))
        }
    }

    fn tokenize(&mut self) -> Result<usize, ChatError> {
        let prompt = self.dialogue.tokenize()?;
        self.reusable = prompt.reusable;
        Ok(prompt.ideal)
    }

    fn ids(&self) -> &[Token] {
        self.dialogue.ids()
    }

    fn reusable(&self) -> usize {
        self.reusable
    }

    fn user_starts(&self) -> Vec<usize> {
        self.dialogue.user_starts()
    }

    fn format(&self) -> Option<Arc<ReplyFormat>> {
        Some(Arc::clone(self.dialogue.format()))
    }

    fn seal(&mut self) -> String {
        self.dialogue.seal()
    }

    fn text(&self, output: &[Token]) -> String {
        self.dialogue.reply_text(output)
    }

    fn parse(&self, text: &str) -> Result<Reply, ChatError> {
        self.dialogue.parse(text)
    }

    fn first_delta(&self, output: &[Token]) -> Option<usize> {
        self.dialogue.first_delta(output)
    }
}
