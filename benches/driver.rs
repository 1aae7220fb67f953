//! Criterion benchmarks of what a turn costs besides evaluating the model: text, choosing a token, keeping state.
//!
//! They run on a synthetic model of a few megabytes that is written first, with one thread, and need no data. What
//! llama.cpp does within a turn is told apart by the engine's own stamps.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use edge_agentic::chat::{ChatTemplate, Dialogue, ReplyFormat, Token, Vocab, prefix};
use edge_agentic::clock::{Clock, MonotonicClock, Nanos};
use edge_agentic::conversation::{self, Conversation, Dataset, SAMPLE, SAMPLE_NAME, json_array};
use edge_agentic::engine::cuts::Boundaries;
use edge_agentic::engine::llama::{
    Candidates, ContextSettings, EngineSettings, FlashAttention, KvType, LlamaEngine, LoadedModel,
    ModelSettings, Sampler,
};
use edge_agentic::engine::speculation::Mtp;
use edge_agentic::engine::{Engine, TurnOutcome, TurnRequest};
use gguf::synth::{self, Shape, Spec};

/// Logits of the benchmark model.
const VOCABULARY: usize = 248_320;

/// Tokens in the context before a measured turn.
const DEPTH: usize = 1024;

/// New prompt tokens of a measured turn.
const NEW: usize = 16;

/// Writes the tiny model, which a second process may do at the same time.
fn synthesized() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = dir.join("bench-tiny.gguf");
    let fresh = dir.join(format!("bench-tiny-{}.gguf", std::process::id()));
    let spec = Spec::builtin(Shape::Tiny).expect("the built-in shape");
    let mut writer = BufWriter::new(File::create(&fresh).expect("the target directory"));
    synth::write(&spec, &mut writer, |_, _| {}).expect("a model");
    writer.flush().expect("a whole file");
    fs::rename(&fresh, &path).expect("the model is put in place");
    path
}

/// The tiny model with its template.
struct Fixture {
    model: LoadedModel,
    template: ChatTemplate,
    held_back: usize,
}

impl Fixture {
    fn new() -> Self {
        let settings = ModelSettings {
            vocab_only: false,
            ..ModelSettings::vocabulary()
        };
        let model = LoadedModel::load(&synthesized(), &settings, |_| {}).expect("the model loads");
        let source = model.chat_template().expect("a template");
        let (bos, eos) = model.bos_eos();
        let template = ChatTemplate::new(&source, &bos, &eos, false).expect("a sound template");
        let held_back = prefix::held_back(&template, &model).expect("probes render");
        Self {
            model,
            template,
            held_back,
        }
    }

    fn dialogue(&self) -> Dialogue<'_> {
        Dialogue::new(&self.template, &self.model, self.held_back, true)
    }

    fn engine(&self) -> LlamaEngine<'_> {
        let settings = EngineSettings {
            context: ContextSettings {
                ctx_size: 2048,
                batch_size: 512,
                ubatch_size: 512,
                threads: 1,
                flash_attn: FlashAttention::On,
                cache_type_k: KvType::F16,
                cache_type_v: KvType::F16,
            },
            boundaries: Boundaries::Lean,
            mtp: Mtp::Off,
            synthetic: None,
            held_back: self.held_back,
            device_snapshots: false,
        };
        let clock = Arc::new(MonotonicClock::start());
        LlamaEngine::new(&self.model, &settings, clock).expect("a context")
    }
}

fn sample() -> Dataset {
    conversation::parse(SAMPLE, SAMPLE_NAME).expect("the embedded sample")
}

/// The longest conversation of the sample.
fn longest(data: &Dataset) -> &Conversation {
    let by_length = data.conversations.iter().max_by_key(|c| c.turns.len());
    by_length.expect("the sample has conversations")
}

fn json(c: &mut Criterion) {
    let data = sample();
    let conversation = longest(&data);
    c.bench_function("json/opening", |b| {
        b.iter(|| json_array(&black_box(conversation).opening()));
    });
    c.bench_function("json/appended", |b| {
        b.iter(|| json_array(&black_box(conversation).appended(1).expect("a second turn")));
    });
}

/// Rendering and tokenizing what the turns after the first add; the time is that of one turn.
fn text(c: &mut Criterion) {
    let fixture = Fixture::new();
    let data = sample();
    let conversation = longest(&data);
    let opening = json_array(&conversation.opening());
    let tools = conversation.tools.as_ref().map(|t| t.get());
    let appended = (1..conversation.turns.len()).filter_map(|i| conversation.appended(i));
    let appended: Vec<String> = appended.map(|m| json_array(&m)).collect();
    let mut dialogue = fixture.dialogue();
    c.bench_function("text/render and tokenize a turn", |b| {
        b.iter_custom(|count| {
            let mut spent = Duration::ZERO;
            let mut left = count;
            while left > 0 {
                dialogue.open(&opening, tools).expect("it opens");
                dialogue.render(None).expect("it renders");
                dialogue.tokenize().expect("it tokenizes");
                for new in appended
                    .iter()
                    .take(usize::try_from(left).unwrap_or(usize::MAX))
                {
                    let begin = Instant::now();
                    dialogue.render(Some(new)).expect("it renders");
                    black_box(dialogue.tokenize().expect("it tokenizes"));
                    spent += begin.elapsed();
                    let _ = dialogue.seal();
                    left -= 1;
                }
            }
            spent
        });
    });
}

fn argmax(c: &mut Criterion) {
    let mut state = 1u32;
    let logits: Vec<f32> = (0..VOCABULARY)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        })
        .collect();
    let mut candidates = Candidates::new();
    c.bench_function("choice/argmax of 248,320", |b| {
        b.iter(|| candidates.best(black_box(&logits)));
    });
}

/// The reply format of the sample's tools.
fn format(fixture: &Fixture) -> Rc<ReplyFormat> {
    let data = sample();
    let conversation = longest(&data);
    let tools = conversation.tools.as_ref().map(|t| t.get());
    let mut dialogue = fixture.dialogue();
    let opening = json_array(&conversation.opening());
    dialogue.open(&opening, tools).expect("it opens");
    Rc::clone(dialogue.format())
}

/// The next token within a tool call: the most likely one is allowed, or the second is.
fn grammar(c: &mut Criterion) {
    let fixture = Fixture::new();
    let clock = MonotonicClock::start();
    let format = format(&fixture);
    let mut sampler = Sampler::new(&fixture.model, Some(&format)).expect("a grammar");
    let token = |text: &str| fixture.model.tokenize(text)[0];
    sampler.begin().expect("a fresh grammar");
    let call = token("<tool_call>");
    sampler.accept(call, &clock).expect("the trigger");
    let mut candidates = Candidates::new();
    let mut logits = vec![0.0; fixture.model.vocabulary_size()];
    let allowed = token("\n");
    logits[allowed as usize] = 10.0;
    c.bench_function("grammar/the first is allowed", |b| {
        b.iter(|| {
            let picked = sampler.pick(&mut candidates, &logits, 0, &clock);
            assert_eq!(picked.expect("a token"), allowed);
        });
    });
    logits[call as usize] = 11.0;
    c.bench_function("grammar/the second is allowed", |b| {
        b.iter(|| {
            let picked = sampler.pick(&mut candidates, &logits, 0, &clock);
            assert_eq!(picked.expect("a token"), allowed);
        });
    });
}

/// Runs turns from the same depth, and adds up a part of each.
struct Turns<'m> {
    engine: LlamaEngine<'m>,
    clock: MonotonicClock,
    held_back: usize,
    context: Vec<Token>,
    seed: Token,
}

impl<'m> Turns<'m> {
    fn new(fixture: &'m Fixture) -> Self {
        let ids = (0..).map(|i: Token| 40 + i * 7 % 100);
        Self {
            engine: fixture.engine(),
            clock: MonotonicClock::start(),
            held_back: fixture.held_back,
            context: ids.take(DEPTH + fixture.held_back).collect(),
            seed: 0,
        }
    }

    fn issue(&mut self, prompt: &[Token], shared: Option<usize>, tokens: usize) -> TurnOutcome {
        let request = TurnRequest {
            prompt,
            reusable: prompt.len() - self.held_back,
            shared,
            user_starts: &[],
            format: None,
            max_new_tokens: tokens,
            ignore_end: true,
            deadline: None,
            cancel: None,
        };
        let go_on = &mut |_, _| ControlFlow::Continue(());
        self.engine.turn(&request, go_on).expect("a turn")
    }

    /// `count` turns of `tokens` output tokens; the sum of the `part` of their latency and outcome.
    fn sum(
        &mut self,
        count: u64,
        tokens: usize,
        part: impl Fn(Nanos, &TurnOutcome) -> Nanos,
    ) -> Duration {
        let mut sum = 0;
        for _ in 0..count {
            let context = std::mem::take(&mut self.context);
            self.issue(&context, Some(DEPTH - 4), 1);
            self.seed = (self.seed + 1) % 50;
            let new = (0..NEW as Token).map(|i| 40 + (i * 3 + self.seed) % 100);
            let prompt: Vec<Token> = context[..DEPTH].iter().copied().chain(new).collect();
            self.context = context;
            let begin = self.clock.now();
            let out = self.issue(&prompt, None, tokens);
            sum += part(self.clock.now() - begin, &out);
            assert!(out.reused >= DEPTH, "{:?}", out.reuse_note);
        }
        Duration::from_nanos(sum)
    }
}

fn turns(c: &mut Criterion) {
    let fixture = Fixture::new();
    let mut turns = Turns::new(&fixture);
    c.bench_function("snapshot/restore", |b| {
        b.iter_custom(|count| turns.sum(count, 1, |_, out| out.times.restore));
    });
    // With a single token, what follows it is rolling back and copying the state.
    c.bench_function("snapshot/roll back and take", |b| {
        b.iter_custom(|count| turns.sum(count, 1, |_, out| out.times.decode));
    });
    c.bench_function("driver/turn of 16+16 outside llama.cpp", |b| {
        let outside = |latency: Nanos, out: &TurnOutcome| latency - out.times.inside;
        b.iter_custom(|count| turns.sum(count, 16, outside));
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for benchmarks in [json, text, argmax, grammar, turns] {
        benchmarks(&mut criterion);
    }
    criterion.final_summary();
}
