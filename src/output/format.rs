//! The formats of `--format`.

use std::fmt;
use std::str::FromStr;

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned text for a terminal.
    #[default]
    Table,
    /// Markdown, with the definition of every metric.
    Md,
    /// The summary as JSON, with the settings in front.
    Json,
    /// Every value as one `key,value` line.
    Csv,
}

impl Format {
    /// Every format, in the order of the help text.
    pub const ALL: [Self; 4] = [Self::Table, Self::Md, Self::Json, Self::Csv];

    /// The name on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Md => "md",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found format {0:?}, expected table, md, json or csv")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(format));
        }
        let error = "yaml".parse::<Format>().expect_err("no format");
        assert_eq!(
            error.to_string(),
            "found format \"yaml\", expected table, md, json or csv"
        );
    }
}
