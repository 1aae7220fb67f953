//! A report as aligned text for a terminal. No colours, so nothing to turn off.

use super::document::{Align, Block, Document, Table};

/// Between two columns.
const GAP: &str = "  ";

/// Renders the document as text.
pub(super) fn render(document: &Document) -> String {
    let mut out = String::new();
    for (heading, blocks) in &document.sections {
        if !out.is_empty() {
            out.push('\n');
        }
        push_line(&mut out, heading);
        for block in blocks {
            match block {
                Block::Lines(lines) => {
                    for line in lines {
                        push_line(&mut out, &format!("{GAP}{line}"));
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
    let width = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    for (name, value) in pairs {
        let name = pad(name, width, Align::Left);
        push_line(out, &format!("{GAP}{name}{GAP}{value}"));
    }
}

fn push_table(out: &mut String, table: &Table) {
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = table.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| width(cell)).max().unwrap_or(0);
            widest.max(width(&column.heading))
        })
        .collect();
    let mut line = |cells: Vec<&str>| {
        let cells = cells
            .iter()
            .zip(&table.columns)
            .zip(&widths)
            .map(|((cell, column), width)| pad(cell, *width, column.align));
        let cells: Vec<String> = cells.collect();
        push_line(out, &format!("{GAP}{}", cells.join(GAP)));
    };
    line(table.columns.iter().map(|c| c.heading.as_str()).collect());
    for row in &table.rows {
        line(row.iter().map(String::as_str).collect());
    }
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Columns that `text` takes; every character used here is one column wide.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, align: Align) -> String {
    let fill = " ".repeat(to.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{fill}"),
        Align::Right => format!("{fill}{text}"),
    }
}
