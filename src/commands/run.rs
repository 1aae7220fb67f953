//! `run`: plan, check the machine, load, replay, summarise.
//!
//! Results are opened before the model is loaded, so that a bad directory fails at once; every finished turn is on
//! disk before the next one starts, so that a late crash keeps what was measured.

use std::sync::Arc;

use anyhow::{Context, anyhow};

use super::progress::Progress;
use super::results::failure;
use super::{dataset, model, print, tokenizer, warmup};
use crate::chat::{ChatTemplate, Dialogue};
use crate::cli::{Overflow, Profile, RunArgs};
use crate::clock::{Clock, MonotonicClock};
use crate::conversation::{Dataset, json_array};
use crate::engine::Engine;
use crate::engine::cuts::Boundaries;
use crate::engine::llama::{
    LLAMA_BUILD, LLAMA_CRATES, LlamaEngine, LoadedModel, LogMode, ModelSettings, devices,
};
use crate::exit::{Classify, Exit, Failure};
use crate::machine::{Machine, Software, describe};
use crate::metrics::ConversationFacts;
use crate::output::{render, verdict_line};
use crate::plan::{Plan, nanos};
use crate::record::{RecordLog, SelfCheck, TurnRecord};
use crate::replay::{Ending, Interrupt, LlamaChat, Observer, Replay, Settings, Shared};
use crate::results::{Resumed, RunDir, SelfCheckRow, SelfChecks};

/// Runs the command.
///
/// # Errors
/// Where an input is wrong, the machine cannot do it, or results cannot be kept.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::start());
    let data = dataset::load(&args.dataset)?;
    let gguf = model::open(&args.model)?;
    let (path, resume) = args.results.directory();
    let dir = if resume {
        RunDir::existing(path)
    } else {
        RunDir::create(path)
    }
    .map_err(failure)?;
    let machine = describe(
        path,
        devices(),
        Software::this_program(LLAMA_BUILD, LLAMA_CRATES),
    );
    let cores = machine.cpu.physical_cores.get().copied().unwrap_or(1);
    let tokenizer = tokenizer::identity(args.tokenizer.as_deref())?;
    let plan = Plan::new(args, &data, model::describe(&gguf)?, tokenizer, cores).bad_input()?;
    let recount = tokenizer::load(args.tokenizer.as_deref(), plan.replay.tokenizer.as_ref())?;
    model::check_memory(
        &gguf,
        &plan.engine,
        plan.replay.snapshots(),
        &machine.devices,
        args.engine.ignore_memory,
    )?;
    let loaded = load(args, &plan)?;
    let tools_required = args.profile == Profile::MlperfV61Edge;
    let (template, held_back) = model::template(&loaded, &args.model, tools_required)?;
    let replayed = plan.replay.conversations(&data).bad_input()?;
    let mut chat = LlamaChat::new(dialogue(&template, &loaded, held_back, &replayed, &plan)?);
    let mut engine = LlamaEngine::new(
        &loaded,
        &plan.engine.context,
        plan.engine.boundaries,
        Arc::clone(&clock),
    )
    .setup()?;
    let interrupt = Interrupt::default();
    listen(&interrupt)?;
    let start = start(&dir, &plan, &machine, resume)?;
    let mut session = Session {
        plan: &plan,
        chat: &mut chat,
        engine: &mut engine,
        clock: &*clock,
        interrupt: &interrupt,
    };
    warmup::run(&mut session, &dir, start.attempt)?;
    let ending = session.replay(&replayed, &dir, start)?;
    let derived = dir
        .derive(&plan, &data, tokenizer::recount(&recount))
        .run_failed()?;
    print::stdout(&render(args.format.format, &plan.settings(), &derived.summary).run_failed()?)?;
    eprintln!("{}", verdict_line(&derived.summary));
    Ok(match ending {
        Ending::Interrupted => Exit::Interrupted,
        Ending::Finished | Ending::TimeCap if derived.gates_pass() => Exit::Pass,
        Ending::Finished | Ending::TimeCap => Exit::GateFailed,
    })
}

/// Opens the directory's files: for a new run, or for going on with one.
fn start(dir: &RunDir, plan: &Plan, machine: &Machine, resume: bool) -> Result<Resumed, Failure> {
    if !resume {
        return Ok(Resumed {
            log: dir.begin(plan, machine).map_err(failure)?,
            conversation: 0,
            attempt: 0,
        });
    }
    let resumed = dir.resume(plan, machine).map_err(failure)?;
    let rows = resumed.log.rows();
    eprintln!(
        "resuming: {rows} rows kept, going on with conversation {}",
        resumed.conversation + 1
    );
    Ok(resumed)
}

fn load(args: &RunArgs, plan: &Plan) -> Result<LoadedModel, Failure> {
    let settings = ModelSettings {
        vocab_only: false,
        gpu_layers: plan.engine.n_gpu_layers,
        devices: plan.engine.devices.clone(),
        mtp: false,
        log: if args.engine.verbose {
            LogMode::Stderr
        } else {
            LogMode::Quiet
        },
    };
    model::load(&args.model, &settings)
}

/// The dialogue that renders prompts: step by step, where every selected conversation's last prompt built so equals
/// its full render. Where one does not, all are rendered whole, and the user is told: that costs time which the
/// turns' latencies then contain.
fn dialogue<'m>(
    template: &'m ChatTemplate,
    loaded: &'m LoadedModel,
    held_back: usize,
    data: &Dataset,
    plan: &Plan,
) -> Result<Dialogue<'m>, Failure> {
    let mut dialogue = Dialogue::new(template, loaded, held_back, true);
    for (conversation, facts) in data.conversations.iter().zip(plan.selection()) {
        if facts.selected == 0 {
            continue;
        }
        let opening = json_array(&conversation.opening());
        let appended: Vec<String> = (1..facts.selected as usize)
            .filter_map(|i| conversation.appended(i))
            .map(|m| json_array(&m))
            .collect();
        let tools = conversation.tools.as_ref().map(|t| t.get());
        let equal = dialogue
            .check_whole(&opening, tools, appended.iter().map(String::as_str))
            .with_context(|| format!("conversation {:?}", conversation.id))
            .bad_input()?;
        if !equal {
            eprintln!(
                "warning: this chat template does not render incrementally (conversation {:?}); prompts are rendered \
                 whole, and latencies contain that",
                conversation.id
            );
            return Ok(Dialogue::new(template, loaded, held_back, false));
        }
    }
    Ok(dialogue)
}

/// Rows to the log, progress to the terminal.
struct Keeper<'a> {
    log: RecordLog,
    checks: Option<SelfChecks>,
    progress: Progress<'a>,
}

impl Observer for Keeper<'_> {
    fn started(&mut self, conversation_id: &str, turn: u32) {
        self.progress.started(conversation_id, turn);
    }

    fn ended(&mut self, record: &TurnRecord) -> anyhow::Result<()> {
        self.log.append(record)?;
        self.progress.ended(record);
        Ok(())
    }

    fn checked(
        &mut self,
        conversation_id: &str,
        turn: u32,
        check: SelfCheck,
    ) -> anyhow::Result<()> {
        let row = SelfCheckRow {
            conversation_id: conversation_id.to_owned(),
            turn,
            check,
        };
        self.checks
            .as_mut()
            .map_or(Ok(()), |checks| checks.append(&row))
            .context("self-checks.jsonl")
    }
}

/// A loaded model with everything that turns need.
pub(super) struct Session<'s, 'm> {
    pub plan: &'s Plan,
    pub chat: &'s mut LlamaChat<'m>,
    pub engine: &'s mut LlamaEngine<'m>,
    pub clock: &'s dyn Clock,
    pub interrupt: &'s Interrupt,
}

impl Session<'_, '_> {
    fn replay(&mut self, data: &Dataset, dir: &RunDir, start: Resumed) -> Result<Ending, Failure> {
        let selection = self.plan.selection();
        let mut settings = self.settings(&selection);
        settings.first = start.conversation;
        settings.attempt = start.attempt;
        let mut keeper = Keeper {
            log: start.log,
            checks: settings
                .self_check
                .map(|_| SelfChecks::open(&dir.file("self-checks.jsonl")))
                .transpose()
                .context("self-checks.jsonl")
                .setup()?,
            progress: Progress::new(&selection, self.clock),
        };
        let ending = self.run(data, settings, &mut keeper);
        keeper.progress.finish();
        ending
    }

    /// The plan's settings for any selection.
    pub fn settings<'a>(&self, selection: &'a [ConversationFacts]) -> Settings<'a> {
        let replay = &self.plan.replay;
        let reuse_across = replay.reuse_across_conversations;
        Settings {
            selection,
            first: 0,
            attempt: 0,
            max_new_tokens: replay.max_new_tokens as usize,
            turn_timeout: Some(nanos(replay.turn_timeout_s)),
            time_cap: replay.time_cap_s.map(nanos),
            self_check: replay.self_check,
            user_starts: reuse_across || self.plan.engine.boundaries == Boundaries::Server,
            drop_oldest: (replay.overflow == Overflow::DropOldest)
                .then(|| self.engine.context_size()),
            inject_delays: replay.inject_delays,
            reuse_across,
            shared: match (reuse_across, replay.overflow) {
                (true, _) => Shared::System,
                (false, Overflow::DropOldest) => Shared::Opening,
                (false, Overflow::Fail) => Shared::Nothing,
            },
        }
    }

    pub fn run(
        &mut self,
        data: &Dataset,
        settings: Settings<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Ending, Failure> {
        Replay {
            settings,
            chat: self.chat,
            engine: self.engine,
            clock: self.clock,
            interrupt: self.interrupt,
            observer,
        }
        .run(data)
        .run_failed()
    }
}

/// Ctrl-C: once, the current turn finishes; twice, it does not count.
fn listen(interrupt: &Interrupt) -> Result<(), Failure> {
    let wish = interrupt.clone();
    let handler = move || {
        if wish.requested() {
            eprintln!("interrupted again: ending the current turn");
        } else {
            eprintln!("interrupted: finishing the current turn (Ctrl-C again to drop it)");
        }
        wish.request();
    };
    ctrlc::set_handler(handler)
        .map_err(|e| anyhow!("cannot listen for Ctrl-C: {e}"))
        .setup()
}
