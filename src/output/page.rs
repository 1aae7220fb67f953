//! Any report in any format: a document for people, its data for programs.

use serde::Serialize;

use super::document::Document;
use super::format::Format;
use super::report::RenderError;
use super::{csv, markdown, text};

/// Renders a report for stdout: `document` as table or Markdown, `data` as JSON or CSV.
///
/// # Errors
/// See [`RenderError`].
pub fn render_page(
    format: Format,
    document: &Document,
    data: &impl Serialize,
) -> Result<String, RenderError> {
    Ok(match format {
        Format::Table => text::render(document),
        Format::Md => markdown::render(document),
        Format::Json => {
            let mut json = serde_json::to_string_pretty(data)?;
            json.push('\n');
            json
        }
        Format::Csv => csv::render(&serde_json::to_value(data)?),
    })
}
