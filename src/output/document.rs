//! A report before it has a format: headed blocks of lines, pairs and tables.

/// A report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The blocks with their headings, in order.
    pub sections: Vec<(String, Vec<Block>)>,
}

impl Document {
    /// Adds a section; one without blocks is left out.
    pub fn section(&mut self, heading: impl Into<String>, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.sections.push((heading.into(), blocks));
        }
    }
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Lines of text.
    Lines(Vec<String>),
    /// Names and values.
    Pairs(Vec<(String, String)>),
    /// A table.
    Table(Table),
}

/// Which side of a column its cells stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column's heading and alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub heading: String,
    /// Where the cells stand.
    pub align: Align,
}

/// A table; every row has one cell per column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose first column is text and whose others are numbers.
    #[must_use]
    pub fn numbers(headings: &[&str]) -> Self {
        let columns = headings.iter().enumerate().map(|(index, heading)| Column {
            heading: (*heading).to_owned(),
            align: if index == 0 {
                Align::Left
            } else {
                Align::Right
            },
        });
        Self {
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, whose length must be that of the headings.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.columns.len(), "one cell per column");
        self.rows.push(row);
    }
}
