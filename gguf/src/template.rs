//! The chat template in a header.

use crate::metadata::{Metadata, MetadataError};

/// Markers of Qwen's chat format that must be single tokens where a template uses them.
///
/// `<tools>`, `<function=` and `<parameter=` are ordinary text in that format.
pub const MARKERS: [&str; 9] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
];

const KEY: &str = "tokenizer.chat_template";

/// A template that cannot carry tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// The file has none.
    #[error(
        "metadata '{KEY}': found nothing, expected a chat template with tools; the engine would \
         fall back to a generic one and the model never call a tool: give a template or use a file \
         that has one"
    )]
    Missing,
    /// The template ignores tools.
    #[error(
        "metadata '{KEY}': found a template of {0} bytes that does not mention tools, expected one \
         that does; the model would never see them: give another template"
    )]
    WithoutTools(usize),
    /// The metadata is not a string.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}

/// The chat template of a model, when it has one.
///
/// # Errors
/// When the metadata is not a string.
pub fn chat_template(metadata: &Metadata) -> Result<Option<&str>, MetadataError> {
    metadata.str(KEY)
}

/// The chat template of a model, which must show tools to the model.
///
/// # Errors
/// When it is absent or ignores tools.
pub fn tool_template(metadata: &Metadata) -> Result<&str, TemplateFault> {
    let template = chat_template(metadata)?.ok_or(TemplateFault::Missing)?;
    if mentions_tools(template) {
        return Ok(template);
    }
    Err(TemplateFault::WithoutTools(template.len()))
}

/// Whether a template uses the variable `tools`.
pub fn mentions_tools(template: &str) -> bool {
    // Only what stands in {{ }} or {% %} is code.
    let mut code = template
        .split("{%")
        .skip(1)
        .flat_map(|rest| rest.split("%}").take(1));
    let mut shown = template
        .split("{{")
        .skip(1)
        .flat_map(|rest| rest.split("}}").take(1));
    let word = |text: &str| {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.into_iter().any(|word| word == "tools")
    };
    code.any(word) || shown.any(word)
}

/// The markers that a template uses, in the order of [`MARKERS`].
pub fn markers_in(template: &str) -> Vec<&'static str> {
    MARKERS
        .into_iter()
        .filter(|marker| template.contains(marker))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t6_09_tools_must_be_used_not_only_named() {
        assert!(mentions_tools("{%- if tools %}x{% endif %}"));
        assert!(mentions_tools("{{ tools | tojson }}"));
        assert!(!mentions_tools("You have no tools. {{ messages }}"));
        assert!(!mentions_tools("{% if my_tools %}{% endif %}"));
        assert!(!mentions_tools("{{ unclosed"));
    }

    #[test]
    fn only_markers_of_the_template_are_asked_for() {
        let found = markers_in("<|im_start|>user\n</think>");
        assert_eq!(found, ["<|im_start|>", "</think>"]);
    }
}
