//! `run`: plan, check the machine, load, replay, summarise.
//!
//! Results are opened before the model is loaded, so that a bad directory fails at once; every finished turn is on
//! disk before the next one starts, so that a late crash keeps what was measured.

use std::sync::Arc;

use anyhow::{Context, anyhow};

use super::progress::Progress;
use super::{dataset, model, print};
use crate::chat::{ChatTemplate, Dialogue};
use crate::cli::RunArgs;
use crate::clock::{Clock, MonotonicClock};
use crate::conversation::{Dataset, json_array};
use crate::engine::cuts::Boundaries;
use crate::engine::llama::{LLAMA_BUILD, LLAMA_CRATES, LlamaEngine, LoadedModel, LogMode, ModelSettings, devices};
use crate::exit::{Classify, Exit, Failure};
use crate::machine::{Machine, Software, describe};
use crate::output::{OutDirError, render, verdict_line};
use crate::plan::{Plan, nanos};
use crate::record::{RecordLog, TurnRecord};
use crate::replay::{Ending, Interrupt, LlamaChat, Observer, Replay, Settings};
use crate::results::{Resumed, ResultsError, RunDir};

/// Runs the command.
///
/// # Errors
/// Where an input is wrong, the machine cannot do it, or results cannot be kept.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::start());
    let data = dataset::load(&args.dataset)?;
    let gguf = model::open(&args.model)?;
    let (path, resume) = args.results.directory();
    let dir = if resume { RunDir::existing(path) } else { RunDir::create(path) }.map_err(results)?;
    let machine = describe(path, devices(), Software::this_program(LLAMA_BUILD, LLAMA_CRATES));
    let cores = machine.cpu.physical_cores.get().copied().unwrap_or(1);
    let plan = Plan::new(args, &data, model::describe(&gguf)?, cores).bad_input()?;
    model::check_memory(&gguf, &plan.engine, &machine.devices, args.engine.ignore_memory)?;
    let loaded = load(args, &plan)?;
    let (template, held_back) = model::template(&loaded, &args.model)?;
    let incremental = renders_incrementally(&template, &loaded, held_back, &data, &plan)?;
    let chat = LlamaChat::new(Dialogue::new(&template, &loaded, held_back, incremental));
    let engine = LlamaEngine::new(&loaded, &plan.engine.context, plan.engine.boundaries, Arc::clone(&clock)).setup()?;
    let start = start(&dir, &plan, &machine, resume)?;
    let ending = replay(&plan, &data, start, chat, engine, &*clock)?;
    let summary = dir.derive(&plan).run_failed()?;
    print::stdout(&render(args.format.format, &plan.settings(), &summary).run_failed()?)?;
    eprintln!("{}", verdict_line(&summary));
    Ok(match ending {
        Ending::Interrupted => Exit::Interrupted,
        Ending::Finished | Ending::TimeCap if summary.valid => Exit::Pass,
        Ending::Finished | Ending::TimeCap => Exit::GateFailed,
    })
}

/// A directory that holds something is the user's mistake; one that cannot be written is the machine's.
fn results(error: ResultsError) -> Failure {
    use OutDirError::{NotADirectory, NotEmpty};
    let exit = match &error {
        ResultsError::Directory(NotEmpty { .. } | NotADirectory { .. }) => Exit::BadInput,
        ResultsError::File { .. }
        | ResultsError::Read(_)
        | ResultsError::Accounting { .. }
        | ResultsError::OtherPlan { .. }
        | ResultsError::Complete { .. } => Exit::BadInput,
        ResultsError::Directory(_) | ResultsError::Write(_) | ResultsError::Log(_) => Exit::Setup,
    };
    Failure::new(exit, error)
}

/// Opens the directory's files: for a new run, or for going on with one.
fn start(dir: &RunDir, plan: &Plan, machine: &Machine, resume: bool) -> Result<Resumed, Failure> {
    if !resume {
        return Ok(Resumed {
            log: dir.begin(plan, machine).map_err(results)?,
            conversation: 0,
            attempt: 0,
        });
    }
    let resumed = dir.resume(plan, machine).map_err(results)?;
    let rows = resumed.log.rows();
    eprintln!("resuming: {rows} rows kept, going on with conversation {}", resumed.conversation + 1);
    Ok(resumed)
}

fn load(args: &RunArgs, plan: &Plan) -> Result<LoadedModel, Failure> {
    let settings = ModelSettings {
        vocab_only: false,
        gpu_layers: plan.engine.n_gpu_layers,
        devices: plan.engine.devices.clone(),
        mtp: false,
        log: if args.engine.verbose { LogMode::Stderr } else { LogMode::Quiet },
    };
    model::load(&args.model, &settings)
}

/// Whether every selected conversation's prompts, built step by step, equal full renders. Where one does not, all
/// are rendered whole, and the user is told: that costs time which the turns' latencies then contain.
fn renders_incrementally(
    template: &ChatTemplate,
    loaded: &LoadedModel,
    held_back: usize,
    data: &Dataset,
    plan: &Plan,
) -> Result<bool, Failure> {
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
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rows to the log, progress to the terminal.
struct Keeper<'a> {
    log: RecordLog,
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
}

fn replay(
    plan: &Plan,
    data: &Dataset,
    start: Resumed,
    mut chat: LlamaChat<'_>,
    mut engine: LlamaEngine<'_>,
    clock: &dyn Clock,
) -> Result<Ending, Failure> {
    let selection = plan.selection();
    let interrupt = Interrupt::default();
    listen(&interrupt)?;
    let mut keeper = Keeper {
        log: start.log,
        progress: Progress::new(&selection, clock),
    };
    let mut replay = Replay {
        settings: Settings {
            selection: &selection,
            first: start.conversation,
            attempt: start.attempt,
            max_new_tokens: plan.replay.max_new_tokens as usize,
            turn_timeout: Some(nanos(plan.replay.turn_timeout_s)),
            time_cap: plan.replay.time_cap_s.map(nanos),
            self_check: plan.replay.self_check,
            user_starts: plan.engine.boundaries == Boundaries::Server,
        },
        chat: &mut chat,
        engine: &mut engine,
        clock,
        interrupt: &interrupt,
        observer: &mut keeper,
    };
    let ending = replay.run(data).run_failed();
    keeper.progress.finish();
    ending
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
