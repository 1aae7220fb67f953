//! Comparisons of rows made by hand.

use std::path::Path;

use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};
use crate::conversation::{SAMPLE, SAMPLE_NAME, parse};
use crate::machine::{Known, Software, describe};
use crate::metrics::{ConversationFacts, RunFacts, SampleCounts};
use crate::plan::ModelPlan;
use crate::record::{StopReason, TurnState};

fn plan(options: &[&str]) -> Plan {
    let base =
        "edge-agentic run --performance-only --profile none --sample --threads 1 --model m --out o";
    let words = base.split(' ').chain(options.iter().copied());
    let Command::Run(args) = Cli::parse_from(words).command else {
        panic!("the verb is run")
    };
    let data = parse(SAMPLE, SAMPLE_NAME).expect("the sample");
    let model = ModelPlan {
        files: Vec::new(),
        architecture: "qwen35".to_owned(),
        name: None,
        shape: "4 blocks of width 256".to_owned(),
        template_sha256: Some("t".to_owned()),
        template_tools: true,
        mtp_blocks: 1,
    };
    Plan::new(&args, Some(&data), None, model, None, 1).expect("a plan")
}

fn machine() -> Machine {
    let software = Software::this_program("b0", "none", Known::unknown("compiled in"));
    describe(Path::new("."), Vec::new(), software)
}

/// A completed turn: first token after 1 ms, then one per `step` ns.
fn turn(conversation: &str, number: u32, ids: &[i32], step: u64) -> TurnRecord {
    let token_ns: Vec<u64> = (0..ids.len() as u64)
        .map(|i| 1_000_000 + i * step)
        .collect();
    TurnRecord {
        prompt_ids_sha256: Some(format!("{conversation}:{number}")),
        prompt_tokens: Some(100),
        reused_tokens: Some(0),
        evaluated_tokens: Some(100),
        ideal_tokens: Some(100),
        decode_calls: Some(ids.len()),
        output_ids: ids.to_vec(),
        output_tokens: Some(ids.len()),
        step_tokens: vec![1; ids.len()],
        stop_reason: Some(StopReason::EndOfGeneration),
        started_ns: Some(0),
        ttft_ns: token_ns.first().copied(),
        latency_ns: token_ns.last().map(|last| last + 10),
        token_ns,
        ..TurnRecord::new(conversation, number, TurnState::Completed)
    }
}

/// Ten turns of two conversations; the `i`-th has the ids and step time that `of` gives.
fn rows(of: impl Fn(usize) -> (Vec<i32>, u64)) -> Vec<TurnRecord> {
    (0..10)
        .map(|i| {
            let (ids, step) = of(i);
            let conversation = if i < 5 { "a" } else { "b" };
            turn(conversation, 2 * (i as u32 % 5) + 1, &ids, step)
        })
        .collect()
}

fn plain(i: usize) -> (Vec<i32>, u64) {
    ((0..20 + i as i32).collect(), 1_000_000)
}

fn summary(rows: &[TurnRecord], selected: u32) -> Summary {
    let conversations = ["a", "b"].map(|id| ConversationFacts {
        conversation_id: id.to_owned(),
        turns: 5,
        selected,
    });
    let facts = RunFacts {
        conversations: conversations.into(),
        finished: rows.len() == 2 * selected as usize,
        context_tokens: 32_768,
        samples: None::<SampleCounts>,
        ..RunFacts::default()
    };
    Summary::compute(rows, &facts).expect("rows and facts agree")
}

fn compared(
    (first, options): (&[TurnRecord], &[&str]),
    (second, others): (&[TurnRecord], &[&str]),
) -> Comparison {
    let plans = [plan(options), plan(others)];
    let summaries = [summary(first, 5), summary(second, 5)];
    let machine = machine();
    let side = |i: usize, rows| Side {
        directory: "out",
        plan: &plans[i],
        machine: &machine,
        rows,
        summary: &summaries[i],
    };
    Comparison::of(&side(0, first), &side(1, second))
}

#[test]
fn t3_02_outputs_that_differ_are_counted_and_judged_neither_way() {
    let first = rows(plain);
    let second = rows(|i| {
        let (mut ids, step) = plain(i);
        match i {
            3 => ids[6] = -1,
            4 => ids[1] = -1,
            7 => ids.truncate(10),
            _ => {}
        }
        (ids, step)
    });
    let of = compared((&first, &[]), (&second, &["--mtp", "3"]));
    assert_eq!((of.outputs.turns, of.outputs.differ), (10, 3));
    // Positions 7, 2 and 11: a reply that ends sooner differs where it ends.
    assert_eq!(of.outputs.median_position, Some(7));
    let sentence = of.outputs.sentence();
    assert!(
        sentence.starts_with("outputs differ in 3 of 10 turns, median first-difference position 7"),
        "{sentence}"
    );
    assert!(
        sentence.contains("conversation \"a\" turn 7, token 7"),
        "{sentence}"
    );
    let text = serde_json::to_string(&of).expect("JSON").to_lowercase();
    for word in ["fail", "\"pass", "passed"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    let same = compared((&first, &[]), (&first, &["--mtp", "3"]));
    assert_eq!(
        same.outputs.sentence(),
        "outputs are the same in all 10 turns"
    );
    assert_eq!(same.outputs.first, None);
}

#[test]
fn t3_02_turns_of_one_run_only_are_counted_apart() {
    let first = rows(plain);
    let mut second = rows(plain);
    second.truncate(8);
    second[2].state = TurnState::FailedTimeout;
    second[4].prompt_ids_sha256 = Some("another".to_owned());
    let of = compared((&first, &[]), (&second, &["--mtp", "1"]));
    let expected = Coverage {
        compared: 6,
        other_prompt: 1,
        only_first: 3,
        only_second: 0,
    };
    assert_eq!(of.coverage, expected);
    assert!(
        of.finding
            .notes
            .iter()
            .any(|n| n.starts_with("the second run is incomplete (8 of 10")),
        "{:?}",
        of.finding.notes
    );
}

#[test]
fn t3_04_a_slower_run_is_called_slower_with_its_interval() {
    let first = rows(plain);
    let second = rows(|i| (plain(i).0, 1_250_000 + 1_000 * i as u64));
    let of = compared((&first, &[]), (&second, &["--mtp", "4"]));
    let latency = of.overall.latency;
    let ratio = latency.ratio.expect("a ratio");
    let [low, high] = latency.interval.expect("ten turns");
    assert!(low <= ratio && ratio <= high && high < 1.0, "{latency:?}");
    assert_eq!(latency.drawn, Some(Drawn::Turns), "two conversations only");
    assert_eq!(of.finding.kind, Kind::Slower);
    let said = &of.finding.statement;
    assert!(said.starts_with("SLOWER: the second run is 0.8"), "{said}");
    assert!(
        said.contains("it takes 1.2") && said.contains("95 % interval"),
        "{said}"
    );
    // Per conversation, and the other way round.
    assert_eq!(of.conversations.len(), 2);
    for part in &of.conversations {
        let ratio = part.figures.tpot.ratio.expect("a ratio");
        assert!((0.79..0.8).contains(&ratio), "{part:?}");
        assert_eq!(part.figures.ttft.ratio, Some(1.0));
        assert_eq!(part.figures.latency.interval, None, "five turns");
    }
    let turned = compared((&second, &["--mtp", "4"]), (&first, &[]));
    assert_eq!(turned.finding.kind, Kind::Faster);
    assert!(turned.finding.statement.starts_with("FASTER"));
    // Decode rates are the reciprocal of time, so that above 1 is faster everywhere.
    let decode = turned.overall.decode;
    assert!(decode.second > decode.first && decode.ratio > Some(1.2));
}

#[test]
fn t3_04_a_ratio_whose_interval_holds_1_is_no_difference() {
    let first = rows(plain);
    let noisy = rows(|i| (plain(i).0, if i % 2 == 0 { 990_000 } else { 1_011_000 }));
    let of = compared((&first, &[]), (&noisy, &["--mtp", "1"]));
    assert_eq!(of.finding.kind, Kind::NoDifference);
    assert!(
        of.finding.statement.contains("which holds 1"),
        "{}",
        of.finding.statement
    );
}

#[test]
fn t3_08_replies_that_end_in_loops_are_no_speed_gain() {
    let first = rows(plain);
    let slashes = rows(|_| (vec![7; 64], 1_000));
    let of = compared((&first, &[]), (&slashes, &["--mtp", "4"]));
    assert_eq!((of.runs[0].degenerate, of.runs[1].degenerate), (0, 10));
    assert_eq!(of.finding.kind, Kind::Refused);
    assert!(
        of.overall.tpot.ratio > Some(500.0),
        "fast, and not called so"
    );
    assert!(
        of.finding.statement.starts_with("no speed gain is stated"),
        "{}",
        of.finding.statement
    );
    assert!(
        of.finding.reasons[0].contains("end in a loop"),
        "{:?}",
        of.finding.reasons
    );
    // One of ten short turns is told, and the rest still judged.
    let one = rows(|i| {
        let (ids, _) = plain(i);
        let long: Vec<i32> = ids.iter().copied().cycle().take(640).collect();
        (if i == 0 { vec![7; 64] } else { long }, 900_000)
    });
    let plain = rows(|i| (one[i].output_ids.clone(), 1_000_000));
    let of = compared((&plain, &[]), (&one, &["--mtp", "4"]));
    assert_eq!((of.runs[1].degenerate, of.finding.kind), (1, Kind::Faster));
    assert!(
        of.finding.notes.iter().any(|n| n.contains("end in a loop")),
        "{:?}",
        of.finding.notes
    );
}

#[test]
fn t3_08_other_output_lengths_are_no_speed_gain_and_tpot_is_the_fair_figure() {
    let first = rows(plain);
    let shorter = rows(|i| ((0..10 + i as i32).collect(), 900_000));
    let of = compared((&first, &[]), (&shorter, &["--mtp", "2"]));
    assert!(of.lengths.differ && of.overall.latency.ratio > Some(1.5));
    assert_eq!(of.finding.kind, Kind::Refused);
    let said = &of.finding.statement;
    assert!(
        said.contains("per token, the fair figure: FASTER") && said.contains("1.111 times"),
        "{said}"
    );
    assert!(
        of.finding.reasons[0].contains("24.5 against 14.5 tokens per turn"),
        "{:?}",
        of.finding.reasons
    );
}

#[test]
fn settings_that_differ_are_listed_and_one_subject_is_comparable() {
    let same = rows(plain);
    let of = compared(
        (&same, &[]),
        (&same, &["--mtp", "2", "--time-cap", "9", "--repeat", "2"]),
    );
    assert!(of.comparable, "{:?}", of.differences);
    assert_eq!(of.compared, ["drafts (--mtp)"]);
    let names: Vec<_> = of
        .differences
        .iter()
        .map(|d| (d.setting.as_str(), d.counts))
        .collect();
    let expected = [
        ("replay.time_cap_s", false),
        ("replay.repeat", false),
        ("engine.mtp", true),
        ("dataset.conversations", false),
    ];
    assert_eq!(names, expected);
    let of = compared(
        (&same, &[]),
        (&same, &["--mtp", "2", "--ctx-size", "4096", "--salt"]),
    );
    assert!(!of.comparable);
    assert_eq!(of.compared, ["salt", "ctx-size", "drafts (--mtp)"]);
    assert!(of.comparable_sentence().starts_with("NOT comparable"));
    assert!(of.finding.notes[0].starts_with("3 things differ"));
    let of = compared((&same, &[]), (&same, &[]));
    assert!(of.comparable && of.differences.is_empty());
}

/// The same rows of the same plan, from two machines.
fn on_machines(first: &Machine, second: &Machine) -> Comparison {
    let same = rows(plain);
    let (plan, summary) = (plan(&[]), summary(&same, 5));
    let side = |machine| Side {
        directory: "out",
        plan: &plan,
        machine,
        rows: &same,
        summary: &summary,
    };
    Comparison::of(&side(first), &side(second))
}

#[test]
fn another_machine_is_one_difference_and_moments_are_none() {
    let against = |there: &Machine| on_machines(&machine(), there);
    let mut there = machine();
    there.memory.available_bytes = Known::new(1);
    assert!(against(&there).differences.is_empty());
    there.cpu.brand = Known::new("another".to_owned());
    there.os.kernel = Known::new("7.1".to_owned());
    let of = against(&there);
    assert_eq!(of.compared, ["machine"]);
    let names: Vec<_> = of.differences.iter().map(|d| d.setting.as_str()).collect();
    assert_eq!(names, ["machine.os.kernel", "machine.cpu.brand"]);
}

#[test]
fn another_backend_library_is_a_difference_on_the_same_machine() {
    let [mut here, mut there] = [machine(), machine()];
    here.software.backend_libraries = Known::new(vec!["libggml-cpu-haswell.so".to_owned()]);
    there.software.backend_libraries = Known::new(vec!["libggml-cpu-zen4.so".to_owned()]);
    let of = on_machines(&here, &there);
    assert_eq!(of.compared, ["backend libraries"]);
    assert_eq!(of.differences[0].first, "libggml-cpu-haswell.so");
    // One program has it compiled in, the other loads it.
    let of = on_machines(&machine(), &there);
    assert_eq!(of.compared, ["backend libraries"], "{:?}", of.differences);
}

#[test]
fn passes_over_the_same_conversations_make_no_interval_narrower() {
    let faster = |i: usize| (plain(i).0, 900_000 - 20_000 * i as u64);
    let (first, second) = (rows(plain), rows(faster));
    let once = compared((&first, &[]), (&second, &[])).overall;
    assert_eq!(once.latency.drawn, Some(Drawn::Turns));
    // The same turns, replayed four times: eight conversations by name, two in truth.
    let passes = |of: &[TurnRecord]| -> Vec<TurnRecord> {
        let pass = |n: u32| {
            of.iter().cloned().map(move |mut row| {
                if n > 1 {
                    row.conversation_id += &format!("__repeat_{n}");
                }
                row
            })
        };
        (1..=4).flat_map(pass).collect()
    };
    let (first, second) = (passes(&first), passes(&second));
    let of = Figures::of(&pairs::pair(&first, &second).0);
    assert_eq!(
        (of.latency.turns, of.latency.drawn),
        (40, Some(Drawn::Turns))
    );
    assert_eq!(of.latency.ratio, once.latency.ratio);
    let ends = |ratio: &Ratio| ratio.interval.expect("ten turns");
    for (a, b) in ends(&of.latency).into_iter().zip(ends(&once.latency)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn what_makes_a_run_invalid_is_said_beside_its_speed() {
    let first = rows(plain);
    let mut second = rows(|i| (plain(i).0, 500_000));
    second[4].token_ns[3] = 0;
    for row in &mut second[5..] {
        row.attempt = 2;
    }
    let of = compared((&first, &[]), (&second, &[]));
    assert_eq!(of.finding.kind, Kind::Faster);
    assert!(of.runs[0].valid && of.runs[0].problems.is_empty());
    assert!(!of.runs[1].valid && of.runs[1].resumed == 2);
    for part in [
        "the second run is not valid: ",
        "was continued (--resume, 2 times)",
    ] {
        let notes = &of.finding.notes;
        assert!(notes.iter().any(|n| n.contains(part)), "{part}: {notes:?}");
    }
}

#[test]
fn a_synthetic_run_is_labelled_and_needs_no_verdict() {
    let first = rows(plain);
    let second = rows(|i| (plain(i).0, 500_000));
    let options = ["--mtp", "2", "--synthetic-acceptance", "0.8,0.6"];
    let of = compared((&first, &[]), (&second, &options));
    assert_eq!(of.compared, ["drafts (--mtp)"]);
    assert!(
        of.finding.statement.starts_with("SYNTHETIC: FASTER"),
        "{}",
        of.finding.statement
    );
    assert!(of.runs[1].synthetic.is_some() && of.runs[0].synthetic.is_none());
}

#[test]
fn runs_without_a_common_turn_are_said_to_have_none() {
    let first = rows(plain);
    let of = compared((&first, &[]), (&[], &["--mtp", "2"]));
    assert_eq!(of.finding.kind, Kind::Nothing);
    assert_eq!(of.overall.latency.ratio, None);
    assert!(of.outputs.sentence().starts_with("no turn"));
    let json = serde_json::to_string(&of).expect("JSON");
    assert!(!json.contains("NaN"), "{json}");
}
