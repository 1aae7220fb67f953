//! A report as Markdown.

use super::document::{Align, Block, Document, Table};

/// Renders the document as Markdown.
pub(super) fn render(document: &Document) -> String {
    let mut out = String::new();
    for (heading, blocks) in &document.sections {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("## {heading}\n"));
        for block in blocks {
            out.push('\n');
            match block {
                Block::Lines(lines) => {
                    for line in lines {
                        out.push_str(&format!("- {}\n", one_line(line)));
                    }
                }
                Block::Pairs(pairs) => push_pairs(&mut out, pairs),
                Block::Table(table) => push_table(&mut out, table),
            }
        }
    }
    out
}

fn push_pairs(out: &mut String, pairs: &[(String, String)]) {
    out.push_str("| name | value |\n|:---|:---|\n");
    for (name, value) in pairs {
        out.push_str(&format!("| {} | {} |\n", cell(name), cell(value)));
    }
}

fn push_table(out: &mut String, table: &Table) {
    let mut row = |cells: Vec<String>| out.push_str(&format!("| {} |\n", cells.join(" | ")));
    row(table.columns.iter().map(|c| cell(&c.heading)).collect());
    let rules = table.columns.iter().map(|c| match c.align {
        Align::Left => ":---".to_owned(),
        Align::Right => "---:".to_owned(),
    });
    row(rules.collect());
    for cells in &table.rows {
        row(cells.iter().map(|text| cell(text)).collect());
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
