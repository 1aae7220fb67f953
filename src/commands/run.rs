//! `run`: plan, check the machine, load, replay, ask, summarise.
//!
//! Results are opened before the model is loaded, so that a bad directory fails at once; every finished turn is on
//! disk before the next one starts, so that a late crash keeps what was measured.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Context;
use bfcl::dataset::Dataset as Samples;
use bfcl::sampling::Selection;

use super::progress::Progress;
use super::results::failure;
use super::watch::Watch;
use super::{accuracy, dataset, lengths, model, print, signals, tokenizer, warmup};
use crate::chat::{ChatTemplate, Dialogue};
use crate::cli::{Overflow, Profile, Reasoning, RunArgs};
use crate::clock::{Clock, MonotonicClock};
use crate::conversation::{Dataset, json_array};
use crate::endpoints::Recount;
use crate::engine::Engine;
use crate::engine::cuts::Boundaries;
use crate::engine::llama::{
    LLAMA_BUILD, LLAMA_CRATES, LlamaEngine, LoadedModel, ModelSettings, backends, devices, show_log,
};
use crate::exit::{Classify, Exit, Failure};
use crate::machine::identity::FileIdentity;
use crate::machine::{Machine, Occasion, Phase, Software, describe};
use crate::metrics::ConversationFacts;
use crate::output::{render, verdict_line};
use crate::plan::{ModelPlan, Plan, PlanError, nanos};
use crate::record::{RecordLog, SelfCheck, TurnRecord};
use crate::replay::{Ending, Interrupt, Lengths, LlamaChat, Observer, Replay, Settings, Shared};
use crate::results::{Going, Lines, RunDir, SelfCheckRow, Sources, Started};
use crate::say::say;

/// Runs the command.
///
/// # Errors
/// Where an input is wrong, the machine cannot do it, or results cannot be kept.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if args.engine.verbose {
        show_log();
    }
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::start());
    let data = Data::load(args)?;
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
        devices().setup()?,
        Software::this_program(LLAMA_BUILD, LLAMA_CRATES, backends::loaded()),
    );
    let cores = machine.cpu.physical_cores.get().copied().unwrap_or(1);
    let tokenizer = tokenizer::identity(args.tokenizer.as_deref())?;
    let plan = data
        .plan(args, model::describe(&gguf)?, tokenizer, cores)
        .bad_input()?;
    if resume {
        dir.same_plan(&plan).map_err(failure)?;
    }
    let recount = tokenizer::load(args.tokenizer.as_deref(), plan.replay.tokenizer.as_ref())?;
    let (template, held_back) = template(args, &plan)?;
    let needs = model::Needs::new(
        &gguf,
        &plan.engine,
        plan.replay.snapshots(),
        held_back,
        &machine.devices,
    );
    needs.check(args.engine.ignore_memory)?;
    let loaded = model::load_planned(&args.model, &plan.engine)?;
    let phases = Phases {
        replayed: data.replayed(&plan)?,
        asked: data.asked(&plan),
    };
    let mut chat = LlamaChat::new(phases.dialogue(&template, &loaded, held_back, &plan)?);
    let settings = plan.engine.settings(held_back, &machine.devices);
    let mut engine =
        LlamaEngine::new(&loaded, &settings, Arc::clone(&clock)).map_err(|e| needs.refused(e))?;
    let lengths = phases.lengths(&template, &loaded, &plan)?;
    let interrupt = Interrupt::default();
    signals::listen(&interrupt)?;
    let started = phases.start(&dir, &plan, &machine, resume)?;
    let mut session = Session {
        plan: &plan,
        lengths: lengths.as_ref(),
        chat: &mut chat,
        engine: &mut engine,
        clock: &*clock,
        interrupt: &interrupt,
    };
    let mut samples_chat = LlamaChat::new(Dialogue::new(&template, &loaded, held_back, false));
    let ending = phases.run(&mut session, &mut samples_chat, &dir, started)?;
    let derived = dir
        .derive(&plan, &data.sources(tokenizer::recount(&recount)))
        .run_failed()?;
    print::stdout(&render(args.format.format, &derived.result).run_failed()?)?;
    say(verdict_line(&derived.result));
    Ok(match ending {
        Ending::Interrupted => Exit::Interrupted,
        _ if derived.gates_pass() => Exit::Pass,
        _ => Exit::GateFailed,
    })
}

/// What the phases work on, where they are asked for.
struct Data {
    conversations: Option<Dataset>,
    samples: Option<Samples>,
}

impl Data {
    fn load(args: &RunArgs) -> Result<Self, Failure> {
        let phases = &args.phases;
        Ok(Self {
            conversations: match phases.accuracy_only {
                true => None,
                false => Some(dataset::load(&args.dataset)?),
            },
            samples: match phases.performance_only {
                true => None,
                false => Some(dataset::samples(phases.data.as_deref())?),
            },
        })
    }

    fn plan(
        &self,
        args: &RunArgs,
        model: ModelPlan,
        tokenizer: Option<FileIdentity>,
        cores: u32,
    ) -> Result<Plan, PlanError> {
        let (conversations, samples) = (self.conversations.as_ref(), self.samples.as_ref());
        Plan::new(args, conversations, samples, model, tokenizer, cores)
    }

    fn replayed(&self, plan: &Plan) -> Result<Option<Dataset>, Failure> {
        let data = self.conversations.as_ref();
        data.map(|data| plan.replay.conversations(data))
            .transpose()
            .bad_input()
    }

    fn asked(&self, plan: &Plan) -> Option<(&Samples, Selection)> {
        let (samples, planned) = (self.samples.as_ref()?, plan.accuracy.as_ref()?);
        Some((samples, planned.selection(samples)))
    }

    fn sources<'a>(&'a self, recount: Option<&'a dyn Recount>) -> Sources<'a> {
        Sources {
            conversations: self.conversations.as_ref(),
            samples: self.samples.as_ref(),
            recount,
        }
    }
}

/// The run's phases with what they go through.
struct Phases<'a> {
    /// The conversations as they are replayed, variants included.
    replayed: Option<Dataset>,
    asked: Option<(&'a Samples, Selection)>,
}

impl Phases<'_> {
    fn dialogue<'m>(
        &self,
        template: &'m ChatTemplate,
        loaded: &'m LoadedModel,
        held_back: usize,
        plan: &Plan,
    ) -> Result<Dialogue<'m>, Failure> {
        match &self.replayed {
            Some(data) => dialogue(template, loaded, held_back, data, plan),
            None => Ok(Dialogue::new(template, loaded, held_back, true)),
        }
    }

    /// How long the recorded replies are, where turns are to be as long.
    fn lengths(
        &self,
        template: &ChatTemplate,
        loaded: &LoadedModel,
        plan: &Plan,
    ) -> Result<Option<Lengths>, Failure> {
        let data = self.replayed.as_ref();
        data.filter(|_| plan.replay.recorded_lengths)
            .map(|data| lengths::recorded(template, loaded, data))
            .transpose()
    }

    /// Opens the directory's files: for a new run, or for going on with one.
    fn start(
        &self,
        dir: &RunDir,
        plan: &Plan,
        machine: &Machine,
        resume: bool,
    ) -> Result<Started, Failure> {
        if !resume {
            return dir.begin(plan, machine).map_err(failure);
        }
        let asked = self.asked.as_ref().map(|(data, of)| (*data, of));
        let started = dir.resume(plan, machine, asked).map_err(failure)?;
        match (&started.turns, &started.samples) {
            (Some(turns), _) => say(format_args!(
                "resuming: {} rows kept, going on with conversation {}",
                turns.kept.len(),
                turns.first + 1
            )),
            (None, Some(samples)) => say(format_args!(
                "resuming: {} samples kept, going on with sample {}",
                samples.kept.len(),
                samples.first + 1
            )),
            (None, None) => {}
        }
        Ok(started)
    }

    /// Performance, then accuracy, under the same settings; an interrupt ends both.
    fn run<'s, 'm>(
        &self,
        session: &mut Session<'s, 'm>,
        samples_chat: &'s mut LlamaChat<'m>,
        dir: &RunDir,
        started: Started,
    ) -> Result<Ending, Failure> {
        let mut ending = Ending::Finished;
        if let (Some(turns), Some(replayed)) = (started.turns, &self.replayed) {
            warmup::run(session, dir, started.attempt)?;
            ending = session.replay(replayed, dir, turns, started.attempt)?;
        }
        if let (Some(samples), Some((data, selection)), false) =
            (started.samples, &self.asked, ending == Ending::Interrupted)
        {
            session.chat = samples_chat;
            let asked = accuracy::run(session, dir, (data, selection), samples, started.attempt)?;
            // A time cap is about the first phase; an interrupt about both.
            if ending == Ending::Finished || asked == Ending::Interrupted {
                ending = asked;
            }
        }
        Ok(ending)
    }
}

/// The chat template and what it holds back, from the vocabulary alone: what the context holds depends on it.
fn template(args: &RunArgs, plan: &Plan) -> Result<(ChatTemplate, usize), Failure> {
    let vocabulary = model::load(&args.model, &ModelSettings::vocabulary())?;
    let tools_required = args.profile == Profile::MlperfV61Edge;
    let reasoning = plan.engine.reasoning == Reasoning::On;
    model::template(&vocabulary, &args.model, tools_required, reasoning)
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
            say(format_args!(
                "warning: this chat template does not render incrementally (conversation {:?}); prompts are rendered \
                 whole, and latencies contain that",
                conversation.id
            ));
            return Ok(Dialogue::new(template, loaded, held_back, false));
        }
    }
    Ok(dialogue)
}

/// Rows to the log, progress to the terminal.
struct Keeper<'a> {
    log: RecordLog<TurnRecord>,
    checks: Option<Lines>,
    watch: Watch<'a>,
    /// The conversation of the last row.
    conversation: Option<String>,
    progress: Progress<'a>,
}

impl Observer for Keeper<'_> {
    fn started(&mut self, conversation_id: &str, turn: u32) {
        self.progress.started(&format!("{conversation_id}:{turn}"));
    }

    fn ended(&mut self, record: &TurnRecord) -> anyhow::Result<ControlFlow<()>> {
        self.log.append(record)?;
        let before = self.conversation.replace(record.conversation_id.clone());
        if before.is_some_and(|id| id != record.conversation_id) {
            self.watch.read(self.log.rows(), Occasion::Conversation)?;
        }
        self.progress.ended(record, "");
        Ok(ControlFlow::Continue(()))
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
    pub lengths: Option<&'s Lengths>,
    pub chat: &'s mut LlamaChat<'m>,
    pub engine: &'s mut LlamaEngine<'m>,
    pub clock: &'s dyn Clock,
    pub interrupt: &'s Interrupt,
}

impl Session<'_, '_> {
    fn replay(
        &mut self,
        data: &Dataset,
        dir: &RunDir,
        going: Going<TurnRecord>,
        attempt: u32,
    ) -> Result<Ending, Failure> {
        let selection = self.plan.selection();
        let mut settings = self.settings(&selection);
        settings.lengths = self.lengths;
        settings.first = going.first;
        settings.attempt = attempt;
        let left = selection.iter().skip(going.first);
        let left = left.map(|c| u64::from(c.selected)).sum();
        let mut keeper = Keeper {
            log: going.log,
            checks: settings
                .self_check
                .map(|_| Lines::open(&dir.file("self-checks.jsonl")))
                .transpose()
                .context("self-checks.jsonl")
                .setup()?,
            watch: Watch::open(dir, self.clock, Phase::Performance, attempt)?,
            conversation: None,
            progress: Progress::new(left, "turns", self.clock),
        };
        keeper
            .watch
            .read(keeper.log.rows(), Occasion::Start)
            .run_failed()?;
        let ending = self.run(data, settings, &mut keeper);
        let end = keeper.watch.read(keeper.log.rows(), Occasion::End);
        keeper.progress.finish();
        let ending = ending?;
        end.run_failed()?;
        Ok(ending)
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
            lengths: None,
            turn_timeout: Some(nanos(replay.turn_timeout_s)),
            time_cap: replay.time_cap_s.map(nanos),
            self_check: replay.self_check,
            user_starts: reuse_across || self.plan.engine.boundaries == Boundaries::Server,
            drop_oldest: (replay.overflow == Overflow::DropOldest)
                .then(|| self.engine.context_size()),
            inject_delays: replay.inject_delays,
            keep_state: true,
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
