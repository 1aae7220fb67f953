//! `performance/result_summary.json`.

use serde::Serialize;

use super::block::Block;
use super::config::RunConfig;
use super::tokens::TokenSources;
use super::track::{FinishReasons, Samples};

/// Whose figures these are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Version of the program.
    pub version: String,
    /// Commit it was built from.
    pub git_sha: Option<String>,
    /// `edge-agentic run`; absent only in the reference's own files.
    pub load_generator: Option<String>,
}

/// The summary of a performance phase: the reference's keys in its order, ours after them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResultSummary {
    /// Version of the program.
    pub version: String,
    /// Commit it was built from.
    pub git_sha: Option<String>,
    /// Always 0 in the reference.
    pub test_started_at: u64,
    /// Samples issued.
    pub n_samples_issued: u64,
    /// Samples that ended, failed and skipped ones included.
    pub n_samples_completed: u64,
    /// Samples that failed or were skipped.
    pub n_samples_failed: u64,
    /// First issue → last end, ns; null when nothing ended.
    pub duration_ns: Option<u64>,
    /// `complete` or `interrupted`.
    pub state: &'static str,
    /// The run went through its whole plan.
    pub complete: bool,
    /// Issued → first content-bearing delta, ns.
    pub ttft: Block,
    /// First content-bearing delta → end, per token after that delta, ns.
    pub tpot: Block,
    /// Issued → end, ns; failures included.
    pub latency: Block,
    /// Output tokens.
    pub output_sequence_lengths: Block,
    /// Prompt tokens.
    pub input_sequence_lengths: Block,
    /// Always null in this scenario.
    pub legacy_loadgen_window_duration_ns: Option<u64>,
    /// Ended samples ÷ duration, per second; failures included.
    pub qps: Option<f64>,
    /// Output tokens ÷ duration, per second; null where output tokens are not known.
    pub tps: Option<f64>,
    /// Why samples stopped.
    pub finish_reason_counts: FinishReasons,
    /// How samples were issued.
    pub run_config: RunConfig,
    /// Which program issued them, where it is not the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_generator: Option<String>,
    /// Where token counts come from, where it is not the reference's tokenizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_counts: Option<TokenSources>,
}

impl ResultSummary {
    /// Summarizes `samples`.
    #[must_use]
    pub fn new(samples: &Samples, origin: &Origin, finished: bool, run_config: RunConfig) -> Self {
        let duration_ns = Some(samples.duration_ns).filter(|ns| *ns > 0);
        let seconds = duration_ns.map(|ns| ns as f64 / 1e9);
        let output = Block::of_integers(&samples.output_tokens, false);
        let output_total = output.stats().map(|stats| stats.total.as_f64());
        Self {
            version: origin.version.clone(),
            git_sha: origin.git_sha.clone(),
            test_started_at: 0,
            n_samples_issued: samples.issued,
            n_samples_completed: samples.completed,
            n_samples_failed: samples.failed,
            duration_ns,
            state: if finished { "complete" } else { "interrupted" },
            complete: finished,
            ttft: Block::of_integers(&samples.ttft_ns, true),
            tpot: Block::of_floats(&samples.tpot_ns, true),
            latency: Block::of_integers(&samples.latency_ns, true),
            output_sequence_lengths: output,
            input_sequence_lengths: Block::of_integers(&samples.input_tokens, false),
            legacy_loadgen_window_duration_ns: None,
            qps: seconds.map(|s| samples.completed as f64 / s),
            tps: output_total.zip(seconds).map(|(total, s)| total / s),
            finish_reason_counts: samples.finish_reasons,
            run_config,
            load_generator: origin.load_generator.clone(),
            token_counts: None,
        }
    }
}
