//! Who holds how many bytes in which type: the tensors of a model by role and type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::file::Gguf;
use crate::tensor::Tensor;
use crate::types::TensorType;

/// What a tensor is for, told from its name and its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The token embedding (in tied models also the output).
    Embedding,
    /// The output projection over the vocabulary.
    Output,
    /// Projections of full-attention blocks.
    Attention,
    /// Everything of recurrent (Gated DeltaNet, Mamba) blocks but norms and feed-forward; their
    /// `attn_qkv` and `attn_gate` too.
    Ssm,
    /// Feed-forward projections, experts included.
    Ffn,
    /// Norm weights, wherever they stand.
    Norm,
    /// All tensors of multi-token-prediction blocks.
    Mtp,
    /// Anything else.
    Other,
}

/// Tensors of one role and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CensusRow {
    /// What they are for.
    pub role: Role,
    /// Their element type.
    pub tensor_type: TensorType,
    /// How many there are.
    pub tensors: u64,
    /// Elements in all of them.
    pub elements: u64,
    /// Bytes in all of them, without padding.
    pub bytes: u64,
}

/// The tensors of a model counted by role and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Census {
    /// One row per role and type that occurs, in that order.
    pub rows: Vec<CensusRow>,
}

impl Role {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Output => "output",
            Self::Attention => "attention",
            Self::Ssm => "ssm",
            Self::Ffn => "ffn",
            Self::Norm => "norm",
            Self::Mtp => "mtp",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl CensusRow {
    /// Bits per element, scales included.
    pub fn bits_per_weight(&self) -> f64 {
        bits_per_weight(self.bytes, self.elements).unwrap_or_default()
    }
}

impl Census {
    /// Counts the tensors of a model.
    pub fn of(model: &Gguf) -> Self {
        Self::of_tensors(model.tensors())
    }

    /// Counts these tensors.
    pub fn of_tensors(tensors: &[Tensor]) -> Self {
        let blocks = Blocks::of(tensors);
        let mut rows = BTreeMap::new();
        for tensor in tensors {
            let (role, tensor_type) = (blocks.role(tensor), tensor.tensor_type);
            let row = rows.entry((role, tensor_type)).or_insert(CensusRow {
                role,
                tensor_type,
                tensors: 0,
                elements: 0,
                bytes: 0,
            });
            row.tensors += 1;
            row.elements = row.elements.saturating_add(tensor.elements);
            row.bytes = row.bytes.saturating_add(tensor.bytes);
        }
        Self {
            rows: rows.into_values().collect(),
        }
    }

    /// Number of tensors.
    pub fn tensors(&self) -> u64 {
        self.rows.iter().map(|row| row.tensors).sum()
    }

    /// Elements in all tensors: the model's parameters.
    pub fn elements(&self) -> u64 {
        self.rows
            .iter()
            .fold(0, |sum, row| sum.saturating_add(row.elements))
    }

    /// Bytes of all tensors, without padding.
    pub fn bytes(&self) -> u64 {
        self.rows
            .iter()
            .fold(0, |sum, row| sum.saturating_add(row.bytes))
    }

    /// Bytes of all tensors of one role, without padding.
    pub fn role_bytes(&self, role: Role) -> u64 {
        let rows = self.rows.iter().filter(|row| row.role == role);
        rows.fold(0, |sum, row| sum.saturating_add(row.bytes))
    }

    /// Bits per element over the whole model; `None` without tensors.
    pub fn bits_per_weight(&self) -> Option<f64> {
        bits_per_weight(self.bytes(), self.elements())
    }

    /// Tensors and elements by type, most elements first: the histogram of the model.
    pub fn by_type(&self) -> Vec<(TensorType, u64, u64)> {
        by_type(self.rows.iter())
    }

    /// The type that holds most elements of the blocks' projections, and its share of them (0 to 1).
    ///
    /// Embedding and output are left out where there is anything else: quantizers give them
    /// other types, and in small models they outweigh the rest.
    pub fn dominant(&self) -> Option<(TensorType, f64)> {
        let inner = |row: &&CensusRow| matches!(row.role, Role::Attention | Role::Ssm | Role::Ffn);
        let mut types = by_type(self.rows.iter().filter(inner));
        if types.is_empty() {
            types = self.by_type();
        }
        let total: f64 = types.iter().map(|t| t.2 as f64).sum();
        let &(tensor_type, _, elements) = types.first()?;
        Some((tensor_type, elements as f64 / total))
    }
}

fn bits_per_weight(bytes: u64, elements: u64) -> Option<f64> {
    (elements > 0).then(|| bytes as f64 * 8.0 / elements as f64)
}

fn by_type<'a>(rows: impl Iterator<Item = &'a CensusRow>) -> Vec<(TensorType, u64, u64)> {
    let mut types: BTreeMap<TensorType, (u64, u64)> = BTreeMap::new();
    for row in rows {
        let (tensors, elements) = types.entry(row.tensor_type).or_default();
        *tensors += row.tensors;
        *elements = elements.saturating_add(row.elements);
    }
    let mut list: Vec<_> = types.into_iter().map(|(t, (n, e))| (t, n, e)).collect();
    list.sort_by_key(|&(_, _, elements)| std::cmp::Reverse(elements));
    list
}

/// Which blocks are of a special kind, told from the tensors they have.
struct Blocks {
    recurrent: BTreeSet<u32>,
    mtp: BTreeSet<u32>,
}

impl Blocks {
    fn of(tensors: &[Tensor]) -> Self {
        let with = |part: &str| {
            let named = tensors.iter().filter(|t| t.name.contains(part));
            named.filter_map(Tensor::block).collect()
        };
        Self {
            recurrent: with(".ssm_"),
            mtp: with(".nextn."),
        }
    }

    fn role(&self, tensor: &Tensor) -> Role {
        let name = tensor.name.as_str();
        let block = tensor.block();
        let of = |blocks: &BTreeSet<u32>| block.is_some_and(|b| blocks.contains(&b));
        // "blk.3.attn_q.weight" -> "attn_q.weight"
        let part = block.map_or(name, |_| name.splitn(3, '.').nth(2).unwrap_or(name));
        if of(&self.mtp) {
            Role::Mtp
        } else if part
            .trim_end_matches(".weight")
            .trim_end_matches(".bias")
            .ends_with("norm")
        {
            Role::Norm
        } else if part.starts_with("token_embd.") {
            Role::Embedding
        } else if part.starts_with("output.") {
            Role::Output
        } else if part.starts_with("ffn_") {
            Role::Ffn
        } else if part.starts_with("ssm_") {
            Role::Ssm
        } else if part.starts_with("attn_") {
            if of(&self.recurrent) {
                Role::Ssm
            } else {
                Role::Attention
            }
        } else {
            Role::Other
        }
    }
}
