//! One issued turn: the timed part, and the row that it becomes.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use super::{Chat, Settings};
use crate::chat::dialogue::ids_sha256;
use crate::chat::{ChatError, Reply};
use crate::clock::{Clock, Nanos, Timestamp};
use crate::conversation::Conversation;
use crate::engine::{Engine, EngineError, TurnOutcome, TurnRequest};
use crate::record::{Phases, StopReason, ToolCall, TurnRecord, TurnState};

/// A turn to issue.
pub struct Issue<'a> {
    pub conversation: &'a Conversation,
    pub index: usize,
    /// The messages that it adds, as JSON text.
    pub messages: &'a str,
    pub settings: &'a Settings<'a>,
    pub cancel: &'a AtomicBool,
}

/// Stamps of a turn, ns on the run's clock.
pub struct Clocked {
    wall: Timestamp,
    started: Nanos,
    ended: Nanos,
    tokens: Vec<Nanos>,
    phases: Phases,
    inside: Nanos,
    tokenized: bool,
    ideal: usize,
}

impl Clocked {
    /// The turn is handed over now.
    pub fn start(clock: &dyn Clock) -> Self {
        let wall = clock.wall();
        let started = clock.now();
        Self {
            wall,
            started,
            ended: started,
            tokens: Vec::new(),
            phases: Phases::default(),
            inside: 0,
            tokenized: false,
            ideal: 0,
        }
    }
}

/// What the timed part gave.
pub enum Outcome {
    /// The engine ran; the reply parsed, or not.
    Ran(Box<TurnOutcome>, String, Result<Reply, ChatError>),
    /// The engine did not finish.
    Engine(EngineError),
    /// There was no prompt.
    Prompt(ChatError),
}

impl Issue<'_> {
    /// The timed part: render, tokenize, evaluate and generate, parse.
    pub fn run(
        &self,
        chat: &mut dyn Chat,
        engine: &mut dyn Engine,
        clock: &dyn Clock,
        at: &mut Clocked,
    ) -> Outcome {
        if let Err(e) = self.prompt(chat, clock, at) {
            at.ended = clock.now();
            return Outcome::Prompt(e);
        }
        let user_starts = self.settings.user_starts(chat);
        let format = chat.format();
        let length = self.settings.length(&self.conversation.id, self.index);
        let most = self.settings.max_new_tokens;
        let request = TurnRequest {
            prompt: chat.ids(),
            reusable: self.settings.reusable(chat),
            shared: self.settings.shared.position(chat, &user_starts),
            user_starts: &user_starts,
            format: format.as_ref(),
            max_new_tokens: length.map_or(most, |length| length.min(most)),
            ignore_end: length.is_some(),
            deadline: self.settings.turn_timeout.map(|t| at.started + t),
            cancel: Some(self.cancel),
        };
        let room = engine.context_size().saturating_sub(request.prompt.len());
        at.tokens
            .reserve_exact(self.settings.max_new_tokens.min(room));
        let tokens = &mut at.tokens;
        let result = engine.turn(&request, &mut |_, now| {
            tokens.push(now);
            ControlFlow::Continue(())
        });
        let before_parse = clock.now();
        match result {
            Ok(outcome) => {
                let text = chat.text(&outcome.output);
                let begin = clock.now();
                let reply = chat.parse(&text);
                at.ended = clock.now();
                at.inside += at.ended - begin;
                at.phases.parse = at.ended - before_parse;
                Outcome::Ran(Box::new(outcome), text, reply)
            }
            Err(e) => {
                at.ended = before_parse;
                Outcome::Engine(e)
            }
        }
    }

    fn prompt(
        &self,
        chat: &mut dyn Chat,
        clock: &dyn Clock,
        at: &mut Clocked,
    ) -> Result<(), ChatError> {
        let begin = clock.now();
        let rendered = chat.render(self.conversation, self.index, self.messages);
        let end = clock.now();
        at.inside += end - begin;
        at.phases.render = end - at.started;
        rendered?;
        chat.encode();
        at.inside += clock.now() - end;
        let assembled = self.assemble(chat, at);
        at.phases.tokenize = clock.now() - end;
        assembled
    }

    fn assemble(&self, chat: &mut dyn Chat, at: &mut Clocked) -> Result<(), ChatError> {
        at.ideal = chat.assemble()?;
        let context = self
            .settings
            .drop_oldest
            .filter(|&context| chat.ids().len() >= context);
        if let Some(context) = context
            && let Some(ideal) = chat.drop_oldest(self.conversation, self.index, context)?
        {
            at.ideal = ideal;
        }
        at.tokenized = true;
        Ok(())
    }

    /// The row. Not timed: digests and the search for the first delta happen here.
    pub fn record(&self, chat: &mut dyn Chat, outcome: Outcome, at: Clocked) -> TurnRecord {
        let turn = self.conversation.turns[self.index].turn;
        let mut row = TurnRecord::new(self.conversation.id.clone(), turn, TurnState::FailedError);
        row.started_at = Some(at.wall);
        row.started_ns = Some(at.started);
        row.latency_ns = Some(at.ended - at.started);
        if at.tokenized {
            row.prompt_sha256 = Some(chat.seal());
            row.prompt_ids_sha256 = Some(ids_sha256(chat.ids()));
            row.prompt_tokens = Some(chat.ids().len());
            row.ideal_tokens = Some(at.ideal);
            row.rewritten = chat.departure();
            let dropped = chat.dropped();
            row.dropped_tokens = dropped.tokens;
            row.dropped_messages = dropped.messages;
        }
        match outcome {
            Outcome::Prompt(e) => row.reason = Some(format!("prompt: {e}")),
            Outcome::Engine(e) => {
                if matches!(e, EngineError::Overflow { .. }) {
                    row.state = TurnState::FailedOverflow;
                } else {
                    row.stop_reason = Some(StopReason::Error);
                }
                row.reason = Some(e.to_string());
            }
            Outcome::Ran(outcome, text, reply) => {
                self.fill(&mut row, chat, *outcome, text, reply, at)
            }
        }
        row
    }

    fn fill(
        &self,
        row: &mut TurnRecord,
        chat: &dyn Chat,
        outcome: TurnOutcome,
        text: String,
        reply: Result<Reply, ChatError>,
        at: Clocked,
    ) {
        row.state = match outcome.stop {
            Some(StopReason::EndOfGeneration) => TurnState::Completed,
            Some(StopReason::MaxNewTokens) => TurnState::CompletedLength,
            Some(StopReason::ContextFull) => TurnState::CompletedContext,
            Some(StopReason::Deadline) => TurnState::FailedTimeout,
            Some(StopReason::Interrupted | StopReason::Error) | None => TurnState::FailedError,
        };
        row.stop_reason = outcome.stop;
        row.reason = match (row.state, self.settings.turn_timeout) {
            (TurnState::FailedTimeout, Some(limit)) => {
                Some(format!("the turn's {} s passed", limit as f64 / 1e9))
            }
            _ => outcome.reuse_note,
        };
        row.reused_tokens = Some(outcome.reused);
        row.evaluated_tokens = Some(outcome.evaluated);
        row.cuts = outcome.cuts;
        row.decode_calls = Some(outcome.decode_calls);
        row.output_tokens = Some(outcome.output.len());
        row.first_delta_index = chat.first_delta(&outcome.output);
        row.output_ids = outcome.output;
        row.step_tokens = outcome.step_tokens;
        if outcome.drafted > 0 {
            row.step_drafted = outcome.step_drafted;
        }
        row.drafted_tokens = outcome.drafted;
        row.accepted_tokens = outcome.accepted;
        match reply {
            Ok(reply) => {
                row.content = Some(reply.content);
                row.reasoning_content = Some(reply.reasoning);
                row.tool_calls = reply
                    .tool_calls
                    .into_iter()
                    .map(|c| ToolCall {
                        id: None,
                        name: c.name,
                        arguments: c.arguments,
                    })
                    .collect();
            }
            // The tokens are what the model produced; that nobody can parse them is the model's fault, and said.
            Err(e) => note(row, format!("the reply does not parse: {e}")),
        }
        row.text = Some(text);
        let latency = at.ended - at.started;
        row.ttft_ns = at.tokens.first().map(|t| t - at.started);
        row.token_ns = at.tokens.iter().map(|t| t - at.started).collect();
        row.latency_ns = Some(latency);
        row.driver_ns = Some(latency.saturating_sub(at.inside + outcome.times.inside));
        row.phases_ns = Some(Phases {
            restore: outcome.times.restore,
            prefill: outcome.times.prefill,
            first_sample: outcome.times.first_sample,
            decode: outcome.times.decode,
            ..at.phases
        });
    }
}

/// Adds to the row's reason.
fn note(row: &mut TurnRecord, text: String) {
    row.reason = Some(match row.reason.take() {
        Some(before) => format!("{before}; {text}"),
        None => text,
    });
}
