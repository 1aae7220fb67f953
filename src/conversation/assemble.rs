//! Rows in file order → conversations. Rules about a row's neighbours are checked here.
//!
//! After a fault the assembler takes the row it has as the new position, so that one missing or
//! repeated row is one fault and not one for every row that follows.

use super::dataset::{ClientTurn, Conversation, Recorded, ToolResult, TurnInput};
use super::fault::{Fault, Faults, Place};
use super::row::{Body, Role, Row};
use super::rule::Rule;
use std::collections::HashMap;

/// What the row before allows next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Start,
    Client,
    ReplyWithCalls,
    ReplyWithoutCalls,
    /// A row that could not be read.
    Unknown,
}

/// A conversation whose rows are still arriving.
#[derive(Debug)]
struct Open {
    conversation: Conversation,
    place: Place,
    next_turn: u32,
    before: Before,
    /// The client row that waits for its recorded reply.
    pending: Option<(u32, TurnInput, Option<f64>)>,
    /// A later part of a conversation that was already closed.
    stray: bool,
}

/// Collects rows into conversations.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    done: Vec<Conversation>,
    open: Option<Open>,
    /// Every id so far, and whether its rows were already reported as not consecutive.
    seen: HashMap<String, bool>,
    /// The row before could not be read: it may have been of any conversation.
    lost: bool,
}

impl Assembler {
    /// A line that could not be placed in a conversation; its fault is already recorded.
    pub fn lose_row(&mut self) {
        self.lost = true;
    }

    /// The next row of the file.
    pub fn accept(&mut self, mut row: Row, faults: &mut Faults) {
        if self
            .open
            .as_ref()
            .is_none_or(|open| open.conversation.id != row.id)
        {
            self.close(faults);
            self.begin(&mut row, faults);
        }
        let position = self.seen.len();
        let lost = std::mem::take(&mut self.lost);
        let Some(open) = self.open.as_mut().filter(|open| !open.stray) else {
            return;
        };
        if lost {
            open.before = Before::Unknown;
            open.next_turn = row.turn;
        }
        if row.role == Role::System || row.system.is_some() {
            faults.push_late_system(position, row.place.clone());
        }
        if row.role == Role::System {
            self.lost = true;
            return;
        }
        if row.tools.is_some() {
            let expected = "tools on the first row only";
            fault(
                faults,
                Rule::FirstRowOnly,
                &row.place,
                "tools",
                "tools here",
                expected,
            );
        }
        if open.check_turn(&row, faults) {
            open.check_role(&row, faults);
        }
        open.place = row.place.clone();
        open.store(row, faults);
    }

    /// All conversations, once the last row has been accepted.
    pub fn finish(mut self, faults: &mut Faults) -> Vec<Conversation> {
        self.close(faults);
        self.done
    }

    /// Opens the conversation of its first row, and takes from the row what is carried forward.
    fn begin(&mut self, row: &mut Row, faults: &mut Faults) {
        let reported = self.seen.get_mut(&row.id);
        let stray = reported.is_some();
        if let Some(reported) = reported {
            if !std::mem::replace(reported, true) {
                let found = "more rows of it after rows of another conversation";
                let expected = "consecutive rows";
                let field = "conversation_id";
                fault(
                    faults,
                    Rule::Consecutive,
                    &row.place,
                    field,
                    found,
                    expected,
                );
            }
        } else {
            self.seen.insert(row.id.clone(), false);
        }
        // A system *role* in first place is late only if something was before it.
        let starts = row.role != Role::System;
        if !starts && !stray {
            let found = "\"system\"";
            let expected = "user (the system prompt is a field of the first row)";
            fault(faults, Rule::Role, &row.place, "role", found, expected);
        }
        self.open = Some(Open {
            conversation: Conversation {
                id: row.id.clone(),
                system: row.system.take(),
                tools: row.tools.take(),
                turns: Vec::new(),
            },
            place: row.place.clone(),
            next_turn: 1,
            before: Before::Start,
            pending: None,
            stray: stray || !starts,
        });
    }

    fn close(&mut self, faults: &mut Faults) {
        let Some(open) = self.open.take() else {
            return;
        };
        if open.before == Before::Client && !open.stray && !self.lost {
            let found = "the conversation's end after a client row";
            let expected = "the recorded assistant row";
            fault(faults, Rule::Reply, &open.place, "role", found, expected);
        }
        self.done.push(open.conversation);
    }
}

impl Open {
    /// Whether the row has the next turn number.
    fn check_turn(&mut self, row: &Row, faults: &mut Faults) -> bool {
        let expected = self.next_turn;
        if row.turn >= expected {
            self.next_turn = row.turn.saturating_add(1);
        }
        if row.turn == expected {
            return true;
        }
        let rule = match row.turn < expected {
            true => Rule::DuplicateTurn,
            false => Rule::TurnNumber,
        };
        let found = match rule {
            Rule::DuplicateTurn => format!("turn {} again", row.turn),
            _ => format!("turn {}", row.turn),
        };
        fault(
            faults,
            rule,
            &row.place,
            "turn",
            &found,
            &format!("turn {expected}"),
        );
        false
    }

    fn check_role(&self, row: &Row, faults: &mut Faults) {
        let (allowed, expected): (&[Role], _) = match self.before {
            Before::Start => (&[Role::User], "user first"),
            Before::Client => (&[Role::Assistant], "assistant after a client row"),
            Before::ReplyWithCalls => {
                (&[Role::Tool], "tool after an assistant row with tool_calls")
            }
            Before::ReplyWithoutCalls => (
                &[Role::User],
                "user after an assistant row without tool_calls",
            ),
            Before::Unknown => return,
        };
        if !allowed.contains(&row.role) {
            let found = match row.role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
                Role::System => "system",
            };
            fault(faults, Rule::RoleOrder, &row.place, "role", found, expected);
        }
    }

    fn store(&mut self, row: Row, faults: &mut Faults) {
        match row.body {
            Some(Body::Client {
                input,
                delay_seconds,
            }) => {
                if let (TurnInput::Tool(results), Before::ReplyWithCalls) = (&input, self.before) {
                    self.check_results(results, &row.place, faults);
                }
                self.before = Before::Client;
                self.pending = Some((row.turn, input, delay_seconds));
            }
            Some(Body::Assistant(recorded)) => {
                self.before = match recorded.tool_calls.is_empty() {
                    true => Before::ReplyWithoutCalls,
                    false => Before::ReplyWithCalls,
                };
                self.reply(recorded);
            }
            None => {
                self.pending = None;
                self.before = match row.role {
                    Role::User | Role::Tool => Before::Client,
                    Role::Assistant | Role::System => Before::Unknown,
                };
            }
        }
    }

    /// Joins the recorded reply to the client row before it.
    fn reply(&mut self, recorded: Recorded) {
        if let Some((turn, input, delay_seconds)) = self.pending.take() {
            let turn = ClientTurn {
                turn,
                input,
                delay_seconds,
                recorded,
            };
            self.conversation.turns.push(turn);
        }
    }

    /// Every call is answered exactly once: an answer too few or too many is a message lost.
    fn check_results(&self, results: &[ToolResult], place: &Place, faults: &mut Faults) {
        // After a reply that could not be joined to its turn, the calls are not known.
        let Some(last) = self.conversation.turns.last() else {
            return;
        };
        if Some(last.recorded.turn) != place.turn.and_then(|turn| turn.checked_sub(1)) {
            return;
        }
        let mut calls: Vec<&str> = last
            .recorded
            .tool_calls
            .iter()
            .map(|c| c.id.as_str())
            .collect();
        let mut answers: Vec<&str> = results.iter().map(|r| r.tool_call_id.as_str()).collect();
        calls.sort_unstable();
        answers.sort_unstable();
        if calls != answers {
            let found = super::fault::excerpt(&answers.join(", "));
            let expected = super::fault::excerpt(&calls.join(", "));
            let field = "tool_results[].tool_call_id";
            fault(faults, Rule::CallAnswered, place, field, &found, &expected);
        }
    }
}

fn fault(faults: &mut Faults, rule: Rule, place: &Place, field: &str, found: &str, expected: &str) {
    faults.push(Fault {
        rule,
        place: place.clone(),
        field: field.to_owned(),
        found: found.to_owned(),
        expected: expected.to_owned(),
    });
}
