//! Choosing tokens under a tool call's grammar: what is remembered of it changes no choice.

use std::rc::Rc;

use edge_agentic::chat::{ChatTemplate, Dialogue, ReplyFormat, Token, Vocab, prefix};
use edge_agentic::clock::{ManualClock, MonotonicClock};
use edge_agentic::conversation::{self, SAMPLE, SAMPLE_NAME, json_array};
use edge_agentic::engine::llama::{Candidates, LoadedModel, Sampler};

use super::engine::loaded;
use crate::harness::model::tiny;

/// How replies to the embedded sample's first conversation are constrained.
fn format(model: &LoadedModel) -> Rc<ReplyFormat> {
    let source = model.chat_template().expect("a template");
    let (bos, eos) = model.bos_eos();
    let template = ChatTemplate::new(&source, &bos, &eos, false).expect("a sound template");
    let held_back = prefix::held_back(&template, model).expect("probes render");
    let mut dialogue = Dialogue::new(&template, model, held_back, true);
    let data = conversation::parse(SAMPLE, SAMPLE_NAME).expect("the embedded sample");
    let first = &data.conversations[0];
    let tools = first.tools.as_ref().map(|t| t.get());
    dialogue
        .open(&json_array(&first.opening()), tools)
        .expect("it opens");
    Rc::clone(dialogue.format())
}

/// Logits that nothing orders.
fn shuffled(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    (0..count).map(next).collect()
}

/// A sampler at the place that `path` leads to.
fn fresh(model: &LoadedModel, format: &Rc<ReplyFormat>, path: &[Token]) -> Sampler {
    let mut sampler = Sampler::new(model, Some(format)).expect("a grammar");
    sampler.begin().expect("a fresh grammar");
    for &token in path {
        sampler
            .accept(token, &ManualClock::default())
            .expect("it was allowed");
    }
    sampler
}

#[test]
fn a_remembered_place_chooses_as_the_grammar_does() {
    let model = loaded(tiny(), false);
    let format = format(&model);
    let token = |text: &str| model.tokenize(text)[0];
    let clock = ManualClock::default();
    let mut candidates = Candidates::new();
    let mut sampler = fresh(&model, &format, &[]);
    for turn in 0..12 {
        sampler.begin().expect("a fresh grammar");
        let mut path: Vec<Token> = vec![token("a"); turn % 3];
        path.push(token("<tool_call>"));
        for &token in &path {
            sampler.accept(token, &clock).expect("text and a trigger");
        }
        for step in 0..12 {
            // Two turns have the same logits, so that one goes where the other has been.
            let seed = (turn / 2 * 100 + step) as u32;
            let mut logits = shuffled(model.vocabulary_size(), seed);
            logits[step] = f32::NAN;
            let chosen = sampler.pick(&mut candidates, &logits, 0, &clock);
            let chosen = chosen.expect("a token");
            let again =
                fresh(&model, &format, &path).pick(&mut Candidates::new(), &logits, 0, &clock);
            assert_eq!(chosen, again.expect("a token"), "turn {turn}, step {step}");
            if model.is_end_of_generation(chosen) {
                break;
            }
            sampler.accept(chosen, &clock).expect("it was allowed");
            path.push(chosen);
        }
    }
}

#[test]
fn a_place_seen_before_is_not_asked_about_again() {
    let model = loaded(tiny(), false);
    let format = format(&model);
    let call = model.tokenize("<tool_call>")[0];
    let newline = model.tokenize("\n")[0];
    // The grammar allows a line break alone, and nothing here prefers it.
    let mut logits = shuffled(model.vocabulary_size(), 7);
    logits[newline as usize] = -1.0;
    let mut candidates = Candidates::new();
    let mut sampler = fresh(&model, &format, &[]);
    let clock = MonotonicClock::start();
    let mut asked = Vec::new();
    for before in [&[][..], &model.tokenize("text before it")] {
        sampler.begin().expect("a fresh grammar");
        for &token in before.iter().chain([&call]) {
            sampler.accept(token, &clock).expect("text and a trigger");
        }
        sampler.inside = 0;
        let chosen = sampler.pick(&mut candidates, &logits, 0, &clock);
        assert_eq!(chosen.expect("a token"), newline);
        asked.push(sampler.inside > 0);
    }
    assert_eq!(asked, [true, false]);
}
