//! The engine itself on llama.cpp: prefix reuse on the hybrid memory, and the context's end.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use edge_agentic::chat::{Token, Vocab};
use edge_agentic::clock::MonotonicClock;
use edge_agentic::engine::cuts::Boundaries;
use edge_agentic::engine::llama::{
    ContextSettings, EngineSettings, FlashAttention, KvType, LlamaEngine, LoadedModel,
    ModelSettings,
};
use edge_agentic::engine::speculation::Mtp;
use edge_agentic::engine::{Engine, EngineError, TurnOutcome, TurnRequest};
use edge_agentic::record::StopReason;

use crate::harness::model::tiny;

/// What the template changes at a prompt's end.
pub const HELD_BACK: usize = 3;

fn model() -> &'static LoadedModel {
    static MODEL: OnceLock<LoadedModel> = OnceLock::new();
    MODEL.get_or_init(|| loaded(tiny(), false))
}

/// A model on the processor, with its prediction block or without.
pub fn loaded(path: &Path, mtp: bool) -> LoadedModel {
    let settings = ModelSettings {
        vocab_only: false,
        mtp,
        ..ModelSettings::vocabulary()
    };
    LoadedModel::load(path, &settings, |_| {}).expect("the tiny model loads")
}

/// Turns that add these numbers of tokens, each repeated both ways and then gone on from: a repeat with the turn's
/// calls gives its tokens, and leaves its state. `check` sees every repeat.
pub fn repeats_leave_the_state(
    engine: &mut LlamaEngine<'_>,
    added: &[usize],
    check: fn(&TurnOutcome),
) {
    let mut ids = prompt(5, 150);
    for (seed, &n) in added.iter().enumerate() {
        let out = turn(engine, &ids).expect("a turn");
        for same_cuts in [false, true] {
            let again = engine.repeat(&request(&ids, None), same_cuts);
            let again = again.expect("a repeat");
            check(&again);
            assert!(!same_cuts || again.output == out.output, "turn {seed}");
        }
        ids = next(&ids, seed + 1, n);
        let out = turn(engine, &ids).expect("a turn");
        assert!(out.reused > 0, "turn {seed}: {:?}", out.reuse_note);
        ids = next(&ids, seed + 2, 7);
    }
}

pub fn settings(context: u32, boundaries: Boundaries) -> EngineSettings {
    EngineSettings {
        context: ContextSettings {
            ctx_size: context,
            batch_size: 64,
            ubatch_size: 64,
            threads: 1,
            flash_attn: FlashAttention::On,
            cache_type_k: KvType::F16,
            cache_type_v: KvType::F16,
        },
        boundaries,
        held_back: HELD_BACK,
        mtp: Mtp::Off,
        synthetic: None,
        device_snapshots: false,
    }
}

pub fn built(settings: &EngineSettings) -> LlamaEngine<'static> {
    let clock = Arc::new(MonotonicClock::start());
    LlamaEngine::new(model(), settings, clock).expect("a context")
}

pub fn engine(context: u32, boundaries: Boundaries) -> LlamaEngine<'static> {
    built(&settings(context, boundaries))
}

/// `n` tokens of text that depends on `seed`.
pub fn prompt(seed: usize, n: usize) -> Vec<Token> {
    let words = [
        "build", "the", "index", "and", "run", "it", "again", "with", "less", "memory",
    ];
    let text: String = (0..n)
        .map(|i| format!("{} {} ", words[(i * 7 + seed) % 10], (i * 13 + seed) % 97))
        .collect();
    let mut ids = model().tokenize(&text);
    assert!(ids.len() >= n, "more words than tokens");
    ids.truncate(n);
    ids
}

/// A turn's request as most tests make it.
pub fn request<'a>(prompt: &'a [Token], shared: Option<usize>) -> TurnRequest<'a> {
    TurnRequest {
        prompt,
        reusable: prompt.len().saturating_sub(HELD_BACK),
        shared,
        user_starts: &[],
        format: None,
        max_new_tokens: 12,
        ignore_end: false,
        deadline: None,
        cancel: None,
    }
}

pub fn turn(engine: &mut LlamaEngine<'_>, prompt: &[Token]) -> Result<TurnOutcome, EngineError> {
    shared_turn(engine, prompt, None)
}

fn shared_turn(
    engine: &mut LlamaEngine<'_>,
    prompt: &[Token],
    shared: Option<usize>,
) -> Result<TurnOutcome, EngineError> {
    engine.turn(&request(prompt, shared), &mut |_, _| {
        ControlFlow::Continue(())
    })
}

/// The prompt that follows `last`: its reusable prefix and `n` tokens more.
pub fn next(last: &[Token], seed: usize, n: usize) -> Vec<Token> {
    let mut ids = last[..last.len() - HELD_BACK].to_vec();
    ids.extend(prompt(seed, n));
    ids
}

#[test]
fn t2_04_a_prompt_that_is_a_prefix_of_the_last_evaluates_something_and_answers_as_a_fresh_one() {
    let mut reused = engine(1024, Boundaries::Lean);
    let long = prompt(1, 300);
    turn(&mut reused, &long).expect("a turn");
    for cut in [1, 2, 3, 4, 40] {
        let short = &long[..long.len() - cut];
        let out = turn(&mut reused, short).expect("a turn");
        assert!(
            out.evaluated >= 1,
            "{cut} tokens less: nothing was evaluated"
        );
        assert_eq!(out.reused + out.evaluated, short.len());
        let fresh = turn(&mut engine(1024, Boundaries::Lean), short).expect("a turn");
        assert_eq!(out.output[0], fresh.output[0], "{cut} tokens less");
    }
}

#[test]
fn t2_06_a_second_conversation_is_what_it_is_alone() {
    let (a, b) = (prompt(2, 400), prompt(5, 350));
    let alone = turn(&mut engine(1024, Boundaries::Lean), &b).expect("a turn");
    let mut engine = engine(1024, Boundaries::Lean);
    turn(&mut engine, &a).expect("a turn");
    engine.forget();
    let after = turn(&mut engine, &b).expect("a turn");
    assert_eq!((after.reused, after.evaluated), (0, b.len()));
    assert_eq!(after.output, alone.output);
}

#[test]
fn t2_06_conversations_share_only_what_they_have_in_common() {
    let mut a = prompt(2, 400);
    let mut b = a[..150].to_vec();
    a.truncate(380);
    b.extend(prompt(5, 200));
    let mut engine = engine(1024, Boundaries::Lean);
    shared_turn(&mut engine, &a, Some(140)).expect("a turn");
    let after = shared_turn(&mut engine, &b, Some(140)).expect("a turn");
    assert_eq!(
        after.reused, 140,
        "the state before the first user's message"
    );
    let repeated = engine
        .repeat(&request(&b, Some(140)), true)
        .expect("a repeat");
    assert_eq!(repeated.output, after.output);
    // And the conversation goes on from its own end.
    let out = shared_turn(&mut engine, &next(&b, 8, 60), Some(140)).expect("a turn");
    assert_eq!(out.reused, b.len() - HELD_BACK);
}

#[test]
fn t2_07_a_turn_played_twice_gives_the_same_tokens() {
    for boundaries in [Boundaries::Lean, Boundaries::Cut, Boundaries::Server] {
        let mut engine = engine(1024, boundaries);
        let first = prompt(3, 200);
        turn(&mut engine, &first).expect("a turn");
        let second = next(&first, 4, 90);
        let once = turn(&mut engine, &second).expect("a turn");
        let twice = engine
            .repeat(&request(&second, None), true)
            .expect("a repeat");
        assert_eq!(twice.output, once.output, "{boundaries}");
        // Once more from the snapshot that the repeat left.
        let again = turn(&mut engine, &second).expect("a turn");
        assert!(again.reused > 0);
        assert_eq!(again.output, once.output, "{boundaries}");
    }
}

#[test]
fn t2_09_the_context_is_used_to_its_last_token_and_never_beyond() {
    let mut engine = engine(256, Boundaries::Lean);
    for (length, room) in [(244, 12), (254, 2), (255, 1)] {
        let out = turn(&mut engine, &prompt(6, length)).expect("it fits");
        let full = out.stop == Some(StopReason::EndOfGeneration) || out.output.len() == room;
        assert!(
            full,
            "{length} tokens: {} generated, room for {room}",
            out.output.len()
        );
        assert!(out.output.len() <= 256 - length);
    }
    for length in [256, 257] {
        match turn(&mut engine, &prompt(6, length)) {
            Err(EngineError::Overflow { prompt, context }) => {
                assert_eq!((prompt, context), (length, 256))
            }
            other => panic!("{length} tokens: {other:?}"),
        }
    }
    assert!(
        turn(&mut engine, &prompt(6, 100)).is_ok(),
        "the next turn goes on"
    );
}
