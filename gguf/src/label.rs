//! What a model says its quantization is, in three places that may disagree.

use std::fmt;

use crate::census::Census;
use crate::file::Gguf;
use crate::metadata::MetadataError;
use crate::types::TensorType;

/// The mixes that `general.file_type` numbers, and the type most of their weights have.
///
/// Source: `enum llama_ftype` and the quantizer's default types, llama.cpp b11434.
const FILE_TYPES: &[(u32, &str, TensorType)] = &[
    (0, "F32", TensorType::F32),
    (1, "F16", TensorType::F16),
    (2, "Q4_0", TensorType::Q4_0),
    (3, "Q4_1", TensorType::Q4_1),
    (7, "Q8_0", TensorType::Q8_0),
    (8, "Q5_0", TensorType::Q5_0),
    (9, "Q5_1", TensorType::Q5_1),
    (10, "Q2_K", TensorType::Q2_K),
    (11, "Q3_K_S", TensorType::Q3_K),
    (12, "Q3_K_M", TensorType::Q3_K),
    (13, "Q3_K_L", TensorType::Q3_K),
    (14, "Q4_K_S", TensorType::Q4_K),
    (15, "Q4_K_M", TensorType::Q4_K),
    (16, "Q5_K_S", TensorType::Q5_K),
    (17, "Q5_K_M", TensorType::Q5_K),
    (18, "Q6_K", TensorType::Q6_K),
    (19, "IQ2_XXS", TensorType::IQ2_XXS),
    (20, "IQ2_XS", TensorType::IQ2_XS),
    (21, "Q2_K_S", TensorType::Q2_K),
    (22, "IQ3_XS", TensorType::IQ3_S),
    (23, "IQ3_XXS", TensorType::IQ3_XXS),
    (24, "IQ1_S", TensorType::IQ1_S),
    (25, "IQ4_NL", TensorType::IQ4_NL),
    (26, "IQ3_S", TensorType::IQ3_S),
    (27, "IQ3_M", TensorType::IQ3_S),
    (28, "IQ2_S", TensorType::IQ2_XS),
    (29, "IQ2_M", TensorType::IQ2_S),
    (30, "IQ4_XS", TensorType::IQ4_XS),
    (31, "IQ1_M", TensorType::IQ1_M),
    (32, "BF16", TensorType::BF16),
    (36, "TQ1_0", TensorType::TQ1_0),
    (37, "TQ2_0", TensorType::TQ2_0),
    (38, "MXFP4", TensorType::MXFP4),
    (39, "NVFP4", TensorType::NVFP4),
    (40, "Q1_0", TensorType::Q1_0),
    (41, "Q2_0", TensorType::Q2_0),
];

/// Set in `general.file_type` when the number is a guess.
const GUESSED: u32 = 1024;

/// The value of `general.file_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileType(
    /// The number in the file.
    pub u32,
);

/// What three sources say about the quantization. `None`: that source says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// The metadata's `general.file_type`.
    pub file_type: Option<FileType>,
    /// The quantization named in `general.name`, else in the file's name, in capitals.
    pub named: Option<String>,
    /// The type of most weights and its share of them (0 to 1).
    pub dominant: Option<(TensorType, f64)>,
}

impl FileType {
    fn entry(self) -> Option<&'static (u32, &'static str, TensorType)> {
        let number = self.0 & !GUESSED;
        FILE_TYPES.iter().find(|entry| entry.0 == number)
    }

    /// The usual name, `Q4_K_M` for 15; `None` for numbers that llama.cpp b11434 does not have.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|entry| entry.1)
    }

    /// The type most weights of such a file have.
    pub fn main_type(self) -> Option<TensorType> {
        self.entry().map(|entry| entry.2)
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "unknown ({})", self.0),
        }
    }
}

impl Label {
    /// Collects what the model says about itself.
    ///
    /// # Errors
    /// When the metadata fields are of the wrong kind.
    pub fn of(model: &Gguf, census: &Census) -> Result<Self, MetadataError> {
        let metadata = model.metadata();
        let number = metadata.u64("general.file_type")?;
        let file_name = model.path().file_stem().unwrap_or_default();
        let named = metadata.str("general.name")?.and_then(quantization_in);
        Ok(Self {
            file_type: number.map(|n| FileType(n.try_into().unwrap_or(u32::MAX))),
            named: named.or_else(|| quantization_in(&file_name.to_string_lossy())),
            dominant: census.dominant(),
        })
    }

    /// Whether the sources that say something say the same.
    pub fn agrees(&self) -> bool {
        let by_number = self.file_type.map(|t| t.name().unwrap_or("unknown"));
        let same_name = match (by_number, &self.named) {
            (Some(number), Some(name)) => number == name,
            _ => true,
        };
        let dominant = self.dominant.map(|(t, _)| t);
        let fits = |claimed: Option<TensorType>| dominant.is_none() || claimed == dominant;
        same_name
            && self.file_type.is_none_or(|t| fits(t.main_type()))
            && self
                .named
                .as_deref()
                .is_none_or(|name| fits(main_type_of(name)))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file_type {
            Some(file_type) => write!(f, "file_type {file_type}")?,
            None => write!(f, "file_type absent")?,
        }
        write!(
            f,
            ", name {}",
            self.named.as_deref().unwrap_or("says nothing")
        )?;
        match self.dominant {
            Some((t, share)) => write!(f, ", weights {:.0} % {t}", share * 100.0)?,
            None => write!(f, ", no weights")?,
        }
        f.write_str(if self.agrees() {
            ": agree"
        } else {
            ": DISAGREE"
        })
    }
}

/// The type most weights should have under a name such as `Q4_K_M` or `Q4_K_XL`.
fn main_type_of(name: &str) -> Option<TensorType> {
    if let Some(entry) = FILE_TYPES.iter().find(|entry| entry.1 == name) {
        return Some(entry.2);
    }
    let begins = |t: &TensorType| name.starts_with(&t.to_string());
    let types = TensorType::ALL.into_iter().filter(begins);
    types.max_by_key(|t| t.to_string().len())
}

/// A quantization named in free text: "Qwen3.6-27B-UD-Q4_K_XL" has `Q4_K_XL`.
fn quantization_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.map(str::to_ascii_uppercase).rfind(|word| {
        let plain = ["F16", "F32", "BF16", "MXFP4", "NVFP4"].contains(&word.as_str());
        plain || is_quantization(word)
    })
}

/// `Q4_0`, `Q4_K_M`, `IQ2_XXS`, `TQ1_0`: an optional letter, Q, digits, an underscore, more.
fn is_quantization(word: &str) -> bool {
    let rest = word.trim_start_matches(['I', 'T']);
    let Some((digits, tail)) = rest.strip_prefix('Q').and_then(|r| r.split_once('_')) else {
        return false;
    };
    word.len() - rest.len() <= 1
        && !tail.is_empty()
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(file_type: u32, named: Option<&str>, dominant: TensorType) -> Label {
        Label {
            file_type: Some(FileType(file_type)),
            named: named.map(str::to_owned),
            dominant: Some((dominant, 0.9)),
        }
    }

    #[test]
    fn names_in_text_are_found() {
        let found = |text| quantization_in(text);
        assert_eq!(found("Qwen3.6-27B-Q4_K_M").as_deref(), Some("Q4_K_M"));
        assert_eq!(
            found("Qwen3.6-27B-UD-Q4_K_XL-00001-of-00002").as_deref(),
            Some("Q4_K_XL")
        );
        assert_eq!(found("model.iq2_xxs").as_deref(), Some("IQ2_XXS"));
        assert_eq!(found("tiny-f16").as_deref(), Some("F16"));
        assert_eq!(found("Qwen3.6 27B"), None);
    }

    #[test]
    fn t6_04_three_sources_are_shown_and_compared() {
        let right = label(15, Some("Q4_K_M"), TensorType::Q4_K);
        assert!(right.agrees());
        assert!(label(15, None, TensorType::Q4_K).agrees());
        let two_bit = label(14, Some("Q4_K_S"), TensorType::IQ2_XS);
        assert!(!two_bit.agrees());
        let said = two_bit.to_string();
        for part in [
            "file_type Q4_K_S (14)",
            "name Q4_K_S",
            "90 % IQ2_XS",
            "DISAGREE",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!label(15, Some("Q4_K_XL"), TensorType::Q4_K).agrees());
        assert!(!label(99, None, TensorType::Q4_K).agrees());
    }

    #[test]
    fn a_guessed_file_type_keeps_its_name() {
        assert_eq!(FileType(GUESSED | 15).name(), Some("Q4_K_M"));
    }
}
