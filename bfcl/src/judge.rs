//! One output of a model against one sample: the verdict.

use std::mem;

use crate::check::{self, Call, ErrorType, is_offered_as};
use crate::dataset::Sample;
use crate::extract;
use crate::raised::Raised;
use crate::subset::{Rule, Subset};
use crate::value::Value;

/// What an output is worth, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Score 1.
    Right,
    /// Score 0.
    Wrong(Wrong),
    /// The reference would raise and lose its whole scoring pass; score 0.
    Raises(Raised),
}

/// Why an output scores 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The checker's error type. The reference has none where right is to call nothing, or to call
    /// anything.
    pub error_type: Option<ErrorType>,
    /// What was found and what was expected.
    pub reason: String,
}

impl Judgement {
    /// 1 or 0.
    pub fn score(&self) -> u8 {
        u8::from(*self == Judgement::Right)
    }

    fn wrong(reason: &str) -> Judgement {
        Judgement::Wrong(Wrong {
            error_type: None,
            reason: reason.to_owned(),
        })
    }
}

/// A judgement and what else the output shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The verdict.
    pub judgement: Judgement,
    /// The text looks like a tool call, but no call was read from it.
    pub unparsed_attempt: bool,
    /// Some call has a name that was not on offer.
    pub unknown_name: bool,
}

/// A sample's schema and answer, of any origin; both as for [`check::check`].
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The subset, which decides rule and language.
    pub subset: Subset,
    /// The list of schemas.
    pub functions: &'a Value,
    /// The list of expected calls; not looked at where only the presence of a call counts.
    pub answer: Option<&'a Value>,
}

impl<'a> From<&'a Sample> for Question<'a> {
    fn from(sample: &'a Sample) -> Question<'a> {
        Question {
            subset: sample.subset(),
            functions: sample.functions(),
            answer: sample.answer(),
        }
    }
}

/// Judges an output: the text that the reference scores (see [`crate::outputs`]).
pub fn examine(question: Question<'_>, output: &str) -> Examined {
    let mut examined = Examined {
        judgement: Judgement::Right,
        unparsed_attempt: false,
        unknown_name: false,
    };
    examined.judgement = examined
        .fill(question, output)
        .unwrap_or_else(Judgement::Raises);
    examined
}

impl Examined {
    fn fill(&mut self, question: Question<'_>, output: &str) -> Result<Judgement, Raised> {
        // The reference extracts calls before it looks at the subset, so that an output can abort
        // it even where only the presence of a call counts.
        let calls = extract::extract(output)?.unwrap_or_default();
        self.unknown_name = calls.iter().any(|call| !is_offered(question, &call.name));
        let must_call = match question.subset.rule() {
            Rule::Simple | Rule::Multiple | Rule::Parallel => {
                self.unparsed_attempt = calls.is_empty() && looks_like_a_call(output);
                return judge_calls(question, calls);
            }
            Rule::NoCall => false,
            Rule::AnyCall => true,
        };
        let called = extract::has_native_tool_calls(output)?;
        self.unparsed_attempt = !called && looks_like_a_call(output);
        Ok(match (called, must_call) {
            (true, true) | (false, false) => Judgement::Right,
            (true, false) => Judgement::wrong("a call where no function on offer fits"),
            (false, true) => Judgement::wrong("no structured call where a function fits"),
        })
    }
}

fn judge_calls(question: Question<'_>, calls: Vec<extract::Call>) -> Result<Judgement, Raised> {
    let Some(answer) = question.answer.filter(|answer| answer.is_truthy()) else {
        return Ok(match calls.is_empty() {
            true => Judgement::Right,
            false => Judgement::wrong("a call where none is expected"),
        });
    };
    let calls = calls
        .into_iter()
        .map(|mut call| {
            Ok(Call {
                name: mem::replace(&mut call.name, Value::None),
                arguments: call.into_arguments()?,
            })
        })
        .collect::<Result<Vec<Call>, Raised>>()?;
    let checked = check::check(question.subset, question.functions, answer, &calls)?;
    Ok(match checked {
        Ok(()) => Judgement::Right,
        Err(mismatch) => Judgement::Wrong(Wrong {
            error_type: Some(mismatch.error_type),
            reason: mismatch.reason,
        }),
    })
}

fn is_offered(question: Question<'_>, name: &Value) -> bool {
    let functions = question.functions.as_list().unwrap_or_default();
    let mut names = functions
        .iter()
        .filter_map(|function| function.as_dict()?.get("name")?.as_str());
    name.as_str()
        .is_some_and(|name| names.any(|function| is_offered_as(function, name)))
}

/// Marks that models put around tool calls, in the formats of the common chat templates.
const CALL_MARKS: [&str; 6] = [
    "<tool_call",
    "<function",
    "<|tool_call",
    "[TOOL_CALLS]",
    "\"tool_calls\"",
    "<|python_tag|>",
];

/// Whether a text without a readable call looks as if one had been meant.
fn looks_like_a_call(output: &str) -> bool {
    if !output
        .bytes()
        .any(|byte| matches!(byte, b'"' | b'<' | b'['))
    {
        return false;
    }
    let named = output.contains("\"name\"")
        && (output.contains("\"arguments\"") || output.contains("\"parameters\""));
    named || CALL_MARKS.iter().any(|mark| output.contains(mark))
}
