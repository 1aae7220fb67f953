//! Prompts and replies of a conversation, as the replay needs them.

use std::rc::Rc;

use super::overflow;
use crate::chat::prefix::common_prefix;
use crate::chat::{ChatError, Dialogue, Reply, ReplyFormat, Token};
use crate::conversation::{Conversation, json_array};
use crate::record::Departure;

/// Renders, tokenizes and parses; [`LlamaChat`] with llama.cpp, a table in tests.
pub trait Chat {
    /// The messages that the turn at `index` adds, as JSON text: what a client hands over. They are known from the
    /// recording, and so this is no part of the turn.
    fn messages(&mut self, conversation: &Conversation, index: usize) -> String;

    /// Renders the prompt of the turn at `index` from [`Self::messages`]; the first turn opens the conversation.
    ///
    /// # Errors
    /// Where the template raises.
    fn render(
        &mut self,
        conversation: &Conversation,
        index: usize,
        messages: &str,
    ) -> Result<(), ChatError>;

    /// Tokenizes the text that was rendered: llama.cpp's part.
    fn encode(&mut self);

    /// Puts its token ids in place; returns the prompt's ideal new tokens.
    ///
    /// # Errors
    /// Where the vocabulary and the template disagree.
    fn assemble(&mut self) -> Result<usize, ChatError>;

    /// Removes whole oldest tool exchanges from the tokenized prompt of the turn at `index` until it has fewer than
    /// `context` tokens; returns its ideal new tokens. `None` where even that is not enough, and the prompt is as it
    /// was. What is removed stays removed in the conversation's later prompts.
    ///
    /// # Errors
    /// As [`Self::render`] and [`Self::assemble`].
    fn drop_oldest(
        &mut self,
        conversation: &Conversation,
        index: usize,
        context: usize,
    ) -> Result<Option<usize>, ChatError>;

    /// What the current prompt lacks of the whole history.
    fn dropped(&self) -> Dropped;

    /// Where the template has rewritten the history since the previous prompt, if it has.
    fn departure(&self) -> Option<Departure> {
        None
    }

    /// Length in tokens of the reusable prefix of the conversation's first prompt.
    fn opening(&self) -> usize;

    /// Ids of the current prompt.
    fn ids(&self) -> &[Token];

    /// Length in tokens of the prefix that any continuation of the current prompt shares.
    fn reusable(&self) -> usize;

    /// Where users' messages start in the current prompt.
    fn user_starts(&self) -> Vec<usize>;

    /// Grammar and parser of replies.
    fn format(&self) -> Option<Rc<ReplyFormat>>;

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

/// What was removed from a prompt, compared with the whole history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Tokens.
    pub tokens: usize,
    /// Messages.
    pub messages: usize,
}

/// [`Chat`] on llama.cpp.
pub struct LlamaChat<'m> {
    dialogue: Dialogue<'m>,
    reusable: usize,
    /// Tokens that each turn after the first added to the history.
    added: Vec<usize>,
    /// Tokens of the first prompt, and of its reusable prefix.
    opening: (usize, usize),
    /// Messages that the current prompt lacks.
    dropped_messages: usize,
    /// The previous prompt, whole or shortened.
    previous: Vec<Token>,
}

impl<'m> LlamaChat<'m> {
    /// Wraps a dialogue.
    #[must_use]
    pub fn new(dialogue: Dialogue<'m>) -> Self {
        Self {
            dialogue,
            reusable: 0,
            added: Vec::new(),
            opening: (0, 0),
            dropped_messages: 0,
            previous: Vec::new(),
        }
    }
}

impl LlamaChat<'_> {
    /// Builds the prompt of the first turn and the turns at `kept` anew.
    fn rebuild(&mut self, conversation: &Conversation, kept: &[usize]) -> Result<(), ChatError> {
        let opening = json_array(&conversation.opening());
        let tools = conversation.tools.as_ref().map(|t| t.get());
        self.dialogue.open(&opening, tools)?;
        self.dialogue.render(None)?;
        self.dialogue.tokenize()?;
        let _ = self.dialogue.seal();
        let messages: Vec<String> = kept
            .iter()
            .filter_map(|&i| conversation.appended(i))
            .flatten()
            .collect();
        self.dialogue.render(Some(&json_array(&messages)))?;
        self.reusable = self.dialogue.tokenize()?.reusable;
        Ok(())
    }
}

impl Chat for LlamaChat<'_> {
    fn messages(&mut self, conversation: &Conversation, index: usize) -> String {
        self.previous.clear();
        if index > 0 {
            self.previous.extend_from_slice(self.dialogue.ids());
        }
        json_array(
            &conversation
                .appended(index)
                .unwrap_or_else(|| conversation.opening()),
        )
    }

    fn render(
        &mut self,
        conversation: &Conversation,
        index: usize,
        messages: &str,
    ) -> Result<(), ChatError> {
        if index == 0 {
            self.added.clear();
            self.dropped_messages = 0;
            self.dialogue
                .open(messages, conversation.tools.as_ref().map(|t| t.get()))?;
            self.dialogue.render(None)
        } else {
            self.dialogue.render(Some(messages))
        }
    }

    fn encode(&mut self) {
        self.dialogue.encode();
    }

    fn assemble(&mut self) -> Result<usize, ChatError> {
        let prompt = self.dialogue.assemble()?;
        self.reusable = prompt.reusable;
        let tokens = self.dialogue.ids().len();
        if self.previous.is_empty() {
            self.opening = (tokens, prompt.reusable);
        } else {
            // A template that rewrites its history may add less than nothing; it is rendered whole, and not counted.
            self.added.push(tokens.saturating_sub(self.previous.len()));
        }
        Ok(prompt.ideal)
    }

    fn drop_oldest(
        &mut self,
        conversation: &Conversation,
        index: usize,
        context: usize,
    ) -> Result<Option<usize>, ChatError> {
        let (opening, _) = self.opening;
        let Some(kept) = overflow::keep(conversation, index, &self.added, opening, context) else {
            return Ok(None);
        };
        self.rebuild(conversation, &kept.turns)?;
        self.dropped_messages = kept.dropped_messages;
        let prompt = self.dialogue.ids();
        Ok(Some(prompt.len() - common_prefix(&self.previous, prompt)))
    }

    fn dropped(&self) -> Dropped {
        let whole = self.opening.0 + self.added.iter().sum::<usize>();
        let messages = self.dropped_messages;
        Dropped {
            tokens: if messages == 0 {
                0
            } else {
                whole.saturating_sub(self.dialogue.ids().len())
            },
            messages,
        }
    }

    fn departure(&self) -> Option<Departure> {
        self.dialogue.departure()
    }

    fn opening(&self) -> usize {
        self.opening.1
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

    fn format(&self) -> Option<Rc<ReplyFormat>> {
        Some(Rc::clone(self.dialogue.format()))
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
