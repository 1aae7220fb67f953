//! One line per metric, printed in every report, so that no reader has to guess
//! what two tools mean by the same name.

/// What a metric means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The metric's name in results.
    pub name: &'static str,
    /// Its unit in result files.
    pub unit: &'static str,
    /// Start event, end event, what is included.
    pub text: &'static str,
}

/// Every metric of the summary.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        name: "latency",
        unit: "ns",
        text: "turn handed to the engine → last token sampled and the reply parsed",
    },
    Definition {
        name: "ttft",
        unit: "ns",
        text: "turn handed to the engine → first generated token sampled; includes rendering, tokenizing, snapshot restore and prefill; turns without output are excluded",
    },
    Definition {
        name: "tpot",
        unit: "ns per token",
        text: "(time of last token − time of first token) ÷ (OSL − 1); turns with fewer than two tokens are excluded",
    },
    Definition {
        name: "isl",
        unit: "tokens",
        text: "token ids given to the model: template, tools and history included",
    },
    Definition {
        name: "osl",
        unit: "tokens",
        text: "token ids generated: tags, arguments, reasoning and the end token included",
    },
    Definition {
        name: "driver",
        unit: "ns",
        text: "turn latency − time inside llama.cpp (decode, synchronize, state copies, grammar, and its rendering, tokenizing and parsing)",
    },
    Definition {
        name: "phases",
        unit: "ns",
        text: "disjoint parts of a turn: render, tokenize, restore (snapshot and trim), prefill (prompt decode calls), first_sample, decode (first → last token), parse (detokenize and parse)",
    },
    Definition {
        name: "prompt tokens",
        unit: "tokens",
        text: "total = reused (from a snapshot) + evaluated (in decode calls); ideal = those not shared with the conversation's previous prompt",
    },
    Definition {
        name: "tokens per second",
        unit: "1/s",
        text: "prefill: evaluated prompt tokens ÷ prefill time; decode: tokens after the first ÷ time after the first; overall: all generated tokens ÷ run duration",
    },
    Definition {
        name: "duration",
        unit: "ns",
        text: "first turn handed to the engine → last turn ended; per conversation: its trajectory time",
    },
    Definition {
        name: "drift",
        unit: "",
        text: "speed of the last third of the completed turns ÷ speed of the first third, medians at like context length; prefill: evaluated tokens per second, decode: sampling steps per second",
    },
    Definition {
        name: "excluded",
        unit: "rows",
        text: "rows that are not in a series: failed and skipped turns, and turns without that metric; series are over completed turns only",
    },
    Definition {
        name: "percentiles",
        unit: "",
        text: "value at index ⌊p·(n−1)⌋ of the sorted list, the median too; σ is the sample standard deviation",
    },
];
