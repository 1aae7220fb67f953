//! Prompts that do not fit: decided before decoding, recorded with both numbers, and the next conversation goes on.

use edge_agentic::record::TurnState;

use crate::harness::model::tiny;
use crate::harness::results::{Results, sample_run};
use crate::harness::{Ends, edge, run_sample, scratch};

/// States that the sample's turns must end in when the context has `size` tokens, from the prompts' lengths alone.
fn expected(size: u64) -> Vec<TurnState> {
    let mut failed = false;
    let prompts = edge("prompts")
        .arg("--sample")
        .arg("--model")
        .arg(tiny())
        .ends(0)
        .rows();
    let states = prompts.iter().map(|row| {
        let first = row["turn"] == 1;
        let too_long = row["n_tokens"].as_u64().expect("a count") >= size;
        match (failed && !first, too_long) {
            (true, _) => TurnState::Skipped,
            (false, true) => {
                failed = true;
                TurnState::FailedOverflow
            }
            (false, false) => {
                failed = false;
                TurnState::Completed
            }
        }
    });
    states.collect()
}

#[test]
fn t2_08_a_prompt_beyond_the_context_fails_its_turn_and_the_next_conversation_goes_on() {
    for size in [512, 1536] {
        let dir = scratch();
        let out = dir.path().join("out");
        let ended = run_sample(tiny(), &out)
            .args(["--ctx-size", &size.to_string()])
            .ends(1);
        assert!(ended.stdout.contains("failed_overflow"), "{}", ended.stdout);
        let Results {
            summary,
            turns,
            plan,
            ..
        } = Results::read(&out);
        // A reply that the context cuts short is complete; see the test below.
        let state = |state: TurnState| {
            if state.is_completed() {
                TurnState::Completed
            } else {
                state
            }
        };
        let states: Vec<_> = turns.records.iter().map(|r| state(r.state)).collect();
        assert_eq!(states, expected(size), "context {size}");
        assert_eq!((summary.turns.sum, summary.turns.total), (11, 11));
        assert_eq!(
            summary.turns.failed_overflow, 2,
            "both conversations overflow, each once"
        );
        assert!(summary.complete && !summary.valid);
        assert!(
            plan.deviations.iter().any(|d| d.name == "ctx-size"),
            "{:?}",
            plan.deviations
        );
        for row in turns
            .records
            .iter()
            .filter(|r| r.state == TurnState::FailedOverflow)
        {
            let needed = row.prompt_tokens.expect("the prompt was counted");
            let reason = row.reason.as_deref().expect("a reason");
            assert!(
                reason.contains(&needed.to_string()) && reason.contains(&size.to_string()),
                "{reason}"
            );
            assert_eq!(
                (row.decode_calls, row.dropped_tokens, row.dropped_messages),
                (None, 0, 0)
            );
        }
    }
}

#[test]
fn t2_12_generation_that_reaches_the_context_stops_there() {
    // The first prompt of the sample has 474 tokens; its reply about 35.
    let dir = scratch();
    let out = dir.path().join("out");
    run_sample(tiny(), &out)
        .args(["--ctx-size", "512", "--turns", "1"])
        .ends(0);
    let Results { turns, .. } = Results::read(&out);
    for row in &turns.records {
        let (prompt, output) = (
            row.prompt_tokens.expect("counted"),
            row.output_tokens.expect("counted"),
        );
        assert!(prompt + output <= 512, "{prompt} + {output}");
        if row.state == TurnState::CompletedContext {
            assert_eq!(prompt + output, 512);
        }
    }
    let states: Vec<_> = turns.records.iter().map(|r| r.state).collect();
    assert_eq!(states, [TurnState::Completed, TurnState::CompletedContext]);
}

/// DESIGN, "Truncation accounting": what a prompt lacks of its whole history is said on every row, not only on those
/// that dropped more.
#[test]
fn t2_08_drop_oldest_says_on_every_row_what_is_left_out() {
    let dir = scratch();
    let whole = sample_run();
    let out = dir.path().join("out");
    run_sample(tiny(), &out)
        .args([
            "--ctx-size",
            "1792",
            "--max-new-tokens",
            "64",
            "--overflow",
            "drop-oldest",
        ])
        .ends(0);
    let results = Results::read(&out);
    let mut dropped = 0;
    for (row, whole) in results
        .turns
        .records
        .iter()
        .zip(&whole.results.turns.records)
    {
        let at = format!("{} turn {}", row.conversation_id, row.turn);
        let tokens = row.prompt_tokens.expect("a prompt");
        assert!(tokens < 1792, "{at}: {tokens}");
        assert_eq!(
            tokens + row.dropped_tokens,
            whole.prompt_tokens.expect("a prompt"),
            "{at}"
        );
        assert_eq!(row.dropped_tokens > 0, row.dropped_messages > 0, "{at}");
        assert_eq!(
            row.reused_tokens
                .zip(row.evaluated_tokens)
                .map(|(r, e)| r + e),
            row.prompt_tokens,
            "{at}"
        );
        // The opening is kept; what it happens to share with the new history beyond its reusable prefix is not.
        let spare = row.evaluated_tokens.expect("evaluated") - row.ideal_tokens.expect("ideal");
        assert!(spare <= 3, "{at}: {spare} tokens more than ideal");
        dropped += usize::from(row.dropped_tokens > 0);
    }
    assert!(dropped > 1, "{dropped} rows lack something");
    assert_eq!(results.summary.turns.sum, 11);
    assert!(
        results
            .summary
            .deviations
            .iter()
            .any(|d| d.name == "overflow")
    );
}
