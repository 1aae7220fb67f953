//! What is measured, on a scripted engine and a clock that is moved by hand.

use clap::Parser;

use super::measure::{Bench, BenchError, Measured, Test};
use super::plan::BenchPlan;
use super::random::Tokens;
use crate::cli::{BenchArgs, Cli, Command};
use crate::clock::ManualClock;
use crate::engine::scripted::{ScriptedEnd, ScriptedEngine, ScriptedTurn};
use crate::plan::PlanError;

const MS: u64 = 1_000_000;

fn args(options: &[&str]) -> BenchArgs {
    let line = ["edge-agentic", "bench", "-m", "m.gguf"];
    let cli = Cli::try_parse_from(line.iter().chain(options)).expect("a command line");
    match cli.command {
        Command::Bench(args) => args,
        other => panic!("{other:?}"),
    }
}

fn plan(options: &[&str]) -> BenchPlan {
    BenchPlan::new(&args(options), 1, HELD_BACK).expect("a plan")
}

/// Tokens held back at a prompt's end.
const HELD_BACK: usize = 3;

/// A turn whose prefill takes 10 ms, and each of its `tokens` tokens 1 ms.
fn turn(tokens: usize) -> ScriptedTurn {
    ScriptedTurn {
        prefill: 10 * MS,
        steps: vec![(MS, vec![7]); tokens],
        end: ScriptedEnd::EndOfGeneration,
    }
}

fn measured(plan: &BenchPlan, turns: Vec<ScriptedTurn>) -> Result<Vec<Measured>, BenchError> {
    let clock = ManualClock::new();
    let mut engine = ScriptedEngine::new(clock.clone(), 32_768, turns);
    Bench {
        engine: &mut engine,
        clock: &clock,
        plan,
        held_back: HELD_BACK,
        tokens: Tokens::new(1000),
        context: Vec::new(),
        started: &mut |_| {},
        ended: &mut || {},
    }
    .run()
}

#[test]
fn each_test_times_its_own_part() {
    let plan = plan(&["-d", "0", "-p", "20", "-n", "5", "-r", "2"]);
    // The warm-up, then twice: prompt, generation, turn.
    let lengths = [4, 1, 6, 5, 1, 6, 5];
    let measured = measured(&plan, lengths.map(turn).into()).expect("figures");
    let elapsed = |test: Test| -> Vec<u64> {
        let of = measured.iter().find(|m| m.test == test).expect("measured");
        of.samples.iter().map(|s| s.elapsed).collect()
    };
    assert_eq!(elapsed(Test::Prompt), [10 * MS; 2]);
    assert_eq!(elapsed(Test::Generation), [5 * MS; 2]);
    assert_eq!(elapsed(Test::Turn), [15 * MS; 2]);
    let turn = &measured[2].samples[0];
    assert_eq!(turn.ttft, 11 * MS);
}

#[test]
fn a_test_that_counts_no_tokens_is_left_out() {
    let names = |options: &[&str]| -> Vec<String> {
        let plan = plan(options);
        plan.tests().map(|test| test.name(&plan, 0)).collect()
    };
    assert_eq!(names(&["-p", "0", "-n", "5"]), ["tg5 @ d0"]);
    assert_eq!(names(&["-p", "20", "-n", "0"]), ["pp20 @ d0"]);
    let error = BenchPlan::new(&args(&["-p", "0", "-n", "0"]), 1, HELD_BACK).expect_err("no test");
    assert!(matches!(error, PlanError::NoTest), "{error}");

    let only_generation = plan(&["-d", "0", "-p", "0", "-n", "5", "-r", "2"]);
    // The warm-up, then the test twice.
    let measured = measured(&only_generation, [4, 6, 6].map(turn).into()).expect("figures");
    assert_eq!(measured.len(), 1);
    let elapsed: Vec<u64> = measured[0].samples.iter().map(|s| s.elapsed).collect();
    assert_eq!(elapsed, [5 * MS; 2]);
    let only_prompt = plan(&["-d", "0", "-p", "20", "-n", "0", "-r", "1"]);
    let measured = self::measured(&only_prompt, [1, 1].map(turn).into()).expect("figures");
    assert_eq!(measured[0].samples[0].elapsed, 10 * MS);
}

#[test]
fn a_turn_of_another_shape_is_no_figure() {
    let plan = plan(&["-d", "0", "-p", "20", "-n", "5", "-r", "1"]);
    let error = measured(&plan, [4, 1, 3].map(turn).into()).expect_err("too short");
    let text = error.to_string();
    assert!(text.contains("tg5 @ d0"), "{text}");
    assert!(text.contains("found [0, 1, 3]"), "{text}");
    assert!(text.contains("expected [0, 1, 6]"), "{text}");
}

#[test]
fn depths_ascend_once_each_and_must_fit() {
    assert_eq!(plan(&["-d", "512,0,512"]).depths, [0, 512]);
    let args = args(&["-d", "0,32000", "-p", "700", "-n", "69"]);
    let error = BenchPlan::new(&args, 1, HELD_BACK).expect_err("too deep");
    assert!(
        matches!(
            error,
            PlanError::Depth {
                depth: 32_000,
                needed: 32_769,
                context: 32_768
            }
        ),
        "{error}"
    );
    let filled = self::args(&["-d", "32765", "-p", "1", "-n", "0"]);
    assert!(
        BenchPlan::new(&filled, 1, HELD_BACK).is_err(),
        "no room to fill it"
    );
    let fits = self::args(&["-d", "32000", "-p", "700", "-n", "68"]);
    assert!(BenchPlan::new(&fits, 1, HELD_BACK).is_ok());
}

#[test]
fn the_same_tokens_come_every_time_and_all_are_in_the_vocabulary() {
    let row = || Tokens::new(50).take(1000).collect::<Vec<_>>();
    assert_eq!(row(), row());
    assert!(row().iter().all(|id| (0..50).contains(id)));
}
