//! A replay without a model: a chat of prompts of given lengths, a scripted engine, an observer that keeps the rows.

use std::rc::Rc;

use super::*;
use crate::chat::{ChatError, Reply, ReplyFormat, Token};
use crate::clock::ManualClock;
use crate::conversation::{SAMPLE, SAMPLE_NAME, parse};
use crate::engine::scripted::{ScriptedEnd, ScriptedEngine, ScriptedTurn};
use crate::metrics::{RunFacts, Summary};
use crate::record::TurnState;

pub(super) const MS: Nanos = 1_000_000;

/// Prompts of given lengths; rendering takes 1 ms, tokenizing 2 ms, parsing 3 ms.
struct TableChat {
    clock: ManualClock,
    lengths: Vec<usize>,
    next: usize,
    ids: Vec<Token>,
    dropped: Dropped,
}

impl Chat for TableChat {
    /// Takes 7 ms, which are no part of any turn.
    fn messages(&mut self, _: &Conversation, _: usize) -> String {
        self.clock.advance(7 * MS);
        String::new()
    }

    fn render(&mut self, _: &Conversation, index: usize, _: &str) -> Result<(), ChatError> {
        self.clock.advance(MS);
        if index == 0 {
            self.ids.clear();
        }
        Ok(())
    }

    fn encode(&mut self) {
        self.clock.advance(MS);
    }

    fn assemble(&mut self) -> Result<usize, ChatError> {
        self.clock.advance(MS);
        let length = self.lengths[self.next] - self.dropped.tokens;
        self.next += 1;
        let known = self.ids.len().saturating_sub(3);
        self.ids = (0..length as Token).collect();
        Ok(length - known)
    }

    /// Exchanges of 50 tokens and 2 messages.
    fn drop_oldest(
        &mut self,
        _: &Conversation,
        _: usize,
        context: usize,
    ) -> Result<Option<usize>, ChatError> {
        while self.ids.len() >= context {
            self.ids.truncate(self.ids.len() - 50);
            self.dropped.tokens += 50;
            self.dropped.messages += 2;
        }
        Ok(Some(7))
    }

    fn dropped(&self) -> Dropped {
        self.dropped
    }

    fn opening(&self) -> usize {
        self.lengths[0] - 3
    }

    fn ids(&self) -> &[Token] {
        &self.ids
    }

    fn reusable(&self) -> usize {
        self.ids.len() - 3
    }

    fn user_starts(&self) -> Vec<usize> {
        Vec::new()
    }

    fn format(&self) -> Option<Rc<ReplyFormat>> {
        None
    }

    fn seal(&mut self) -> String {
        "0".repeat(64)
    }

    fn text(&self, output: &[Token]) -> String {
        format!("{output:?}")
    }

    fn parse(&self, _: &str) -> Result<Reply, ChatError> {
        self.clock.advance(3 * MS);
        Ok(Reply::default())
    }

    fn first_delta(&self, output: &[Token]) -> Option<usize> {
        (!output.is_empty()).then_some(0)
    }
}

struct Rows {
    rows: Vec<TurnRecord>,
    fail_at: Option<usize>,
    enough_at: Option<usize>,
    interrupt_at: Option<(usize, Interrupt)>,
}

impl Observer for Rows {
    fn started(&mut self, _: &str, _: u32) {
        if let Some((at, interrupt)) = &self.interrupt_at
            && *at == self.rows.len()
        {
            interrupt.request();
        }
    }

    fn ended(&mut self, record: &TurnRecord) -> anyhow::Result<ControlFlow<()>> {
        if self.fail_at == Some(self.rows.len()) {
            anyhow::bail!("no space left on device");
        }
        self.rows.push(record.clone());
        Ok(match self.enough_at == Some(self.rows.len()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn checked(&mut self, _: &str, turn: u32, check: SelfCheck) -> anyhow::Result<()> {
        let row = self
            .rows
            .last_mut()
            .expect("a turn is checked after its row is kept");
        assert_eq!(row.turn, turn);
        row.self_check = Some(check);
        Ok(())
    }
}

/// A replay of the sample's first conversation (5 turns), with what differs from the ordinary case.
pub(super) struct Case {
    pub lengths: Vec<usize>,
    pub script: Vec<ScriptedTurn>,
    pub max_new_tokens: usize,
    pub timeout: Option<Nanos>,
    pub time_cap: Option<Nanos>,
    pub self_check: Option<u32>,
    pub repeat_output: Option<Vec<Token>>,
    pub fail_at: Option<usize>,
    pub enough_at: Option<usize>,
    pub interrupt_at: Option<(usize, usize)>,
    pub drop_oldest: Option<usize>,
    pub inject_delays: bool,
}

pub(super) fn case(script: Vec<ScriptedTurn>) -> Case {
    Case {
        lengths: vec![100, 150, 200, 250, 300],
        script,
        max_new_tokens: 16,
        timeout: None,
        time_cap: None,
        self_check: None,
        repeat_output: None,
        fail_at: None,
        enough_at: None,
        interrupt_at: None,
        drop_oldest: None,
        inject_delays: false,
    }
}

pub(super) struct Ran {
    pub rows: Vec<TurnRecord>,
    pub ending: Result<Ending, ReplayError>,
    pub summary: Summary,
}

impl Case {
    pub fn run(self) -> Ran {
        let clock = ManualClock::new();
        let data = parse(SAMPLE, SAMPLE_NAME).expect("the sample is valid");
        let selection: Vec<ConversationFacts> = data
            .conversations
            .iter()
            .enumerate()
            .map(|(i, c)| ConversationFacts {
                conversation_id: c.id.clone(),
                turns: c.turns.len() as u32,
                selected: if i == 0 { 5 } else { 0 },
            })
            .collect();
        let interrupt = Interrupt::default();
        for _ in 0..self.interrupt_at.map_or(0, |(_, times)| times - 1) {
            interrupt.request();
        }
        let mut rows = Rows {
            rows: Vec::new(),
            fail_at: self.fail_at,
            enough_at: self.enough_at,
            interrupt_at: self.interrupt_at.map(|(at, _)| (at, interrupt.clone())),
        };
        let mut engine = ScriptedEngine::new(clock.clone(), 310, self.script);
        engine.repeat_output = self.repeat_output;
        let mut chat = TableChat {
            clock: clock.clone(),
            lengths: self.lengths,
            next: 0,
            ids: Vec::new(),
            dropped: Dropped {
                tokens: 0,
                messages: 0,
            },
        };
        let ending = Replay {
            settings: Settings {
                selection: &selection,
                first: 0,
                attempt: 0,
                max_new_tokens: self.max_new_tokens,
                lengths: None,
                turn_timeout: self.timeout,
                time_cap: self.time_cap,
                self_check: self.self_check,
                user_starts: false,
                drop_oldest: self.drop_oldest,
                inject_delays: self.inject_delays,
                keep_state: true,
                reuse_across: false,
                shared: Shared::Nothing,
            },
            chat: &mut chat,
            engine: &mut engine,
            clock: &clock,
            interrupt: &interrupt,
            observer: &mut rows,
        }
        .run(&data);
        let facts = RunFacts {
            conversations: selection,
            finished: matches!(ending, Ok(Ending::Finished)),
            context_tokens: 310,
            ..RunFacts::default()
        };
        let summary = Summary::compute(&rows.rows, &facts).expect("states add up");
        assert_eq!(
            summary.turns.sum, 11,
            "every client turn of the data set has one state"
        );
        Ran {
            rows: rows.rows,
            ending,
            summary,
        }
    }
}

/// `prefill` ms, then one token per entry of `gaps` ms.
pub(super) fn turn(prefill: Nanos, gaps: &[Nanos]) -> ScriptedTurn {
    ScriptedTurn {
        prefill: prefill * MS,
        steps: gaps
            .iter()
            .enumerate()
            .map(|(i, g)| (g * MS, vec![i as Token]))
            .collect(),
        end: ScriptedEnd::EndOfGeneration,
    }
}

pub(super) fn five(first: ScriptedTurn) -> Vec<ScriptedTurn> {
    let mut script = vec![first];
    script.resize_with(5, || turn(10, &[1, 1]));
    script
}

pub(super) fn states(rows: &[TurnRecord]) -> Vec<TurnState> {
    rows.iter().map(|r| r.state).collect()
}
