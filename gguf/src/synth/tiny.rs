//! Weights of the tiny shape.
//!
//! The trunk is built so that the next token is a pseudo-random, asymmetric map of the current
//! one: blocks add little noise ([`NOISE`]), except for the last FFN ([`MAP_GAIN`]), and the
//! output norm has random signs, so that a token does not simply predict itself. `plant` then
//! sets the embeddings of a few tokens so that the map runs through a tool call.

use std::collections::HashMap;
use std::io::{self, Write};

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::arch::{Dims, Role, Tensor};
use super::linear::Matrix;
use super::plant::{self, PlantError};
use super::random::Stream;
use super::{Shape, Spec};

/// Gain of what each block adds to the residual stream: enough that context moves logits,
/// too little to change a planted token.
const NOISE: f32 = 0.06;
/// Gain of the last trunk FFN, which the MTP block copies.
const MAP_GAIN: f32 = 4.0;
/// Gain of the MTP block's own noise: its drafts mostly agree with the trunk.
const MTP_NOISE: f32 = 0.02;
/// Weight of the query norm: sharpens attention that random projections would leave flat.
const QUERY_GAIN: f32 = 3.0;
/// Range of decay rates per step, drawn on a logarithmic scale.
const DECAY: (f32, f32) = (0.001, 0.3);

/// Weights as a function of tensor and row, but for the planted embeddings.
#[derive(Debug)]
pub(super) struct Weights {
    seed: u64,
    trunk: u32,
    /// The output norm: ones with random signs.
    signs: Vec<f32>,
    /// Embeddings by token id that replace the random ones.
    planted: HashMap<u64, Vec<f32>>,
}

impl Weights {
    /// Random weights with the tool call planted.
    pub(super) fn plant(spec: &Spec) -> Result<Self, PlantError> {
        let mut weights = Self::random(spec.seed);
        weights.planted = plant::embeddings(&spec.vocab, &weights)?;
        Ok(weights)
    }

    /// Random weights with nothing planted.
    pub(super) fn random(seed: u64) -> Self {
        let dims = Dims::of(Shape::Tiny);
        let mut stream = Stream::new(seed, "output_norm.weight", 0);
        let signs = (0..dims.embedding)
            .map(|_| if stream.uniform() < 0.5 { -1.0 } else { 1.0 })
            .collect();
        Self {
            seed,
            trunk: dims.trunk,
            signs,
            planted: HashMap::new(),
        }
    }

    pub(super) fn signs(&self) -> &[f32] {
        &self.signs
    }

    /// The embedding of a token before planting.
    pub(super) fn embedding(&self, token: u32) -> Vec<f32> {
        self.stream("token_embd.weight", token.into())
            .normals(self.signs.len(), 1.0)
    }

    /// The last FFN's matrices: gate, up and down.
    pub(super) fn map(&self) -> [Matrix; 3] {
        let Dims { embedding, ffn, .. } = Dims::of(Shape::Tiny);
        let block = self.trunk - 1;
        [
            ("gate", Role::FfnGate, [embedding, ffn]),
            ("up", Role::FfnUp, [embedding, ffn]),
            ("down", Role::FfnDown, [ffn, embedding]),
        ]
        .map(|(part, role, dims)| {
            let tensor = Tensor {
                name: format!("blk.{block}.ffn_{part}.weight"),
                dims: dims.to_vec(),
                role,
                block: Some(block),
            };
            let rows = (0..dims[1]).map(|row| self.row(&tensor, row));
            Matrix::from_rows(dims[0] as usize, rows)
        })
    }

    /// Write a tensor's data.
    pub(super) fn fill(&self, tensor: &Tensor, out: &mut impl Write) -> io::Result<()> {
        let cols = tensor.dims[0] as usize;
        let mut halves = vec![f16::ZERO; cols];
        let mut bytes = Vec::with_capacity(4 * cols);
        for row in 0..tensor.dims[1..].iter().product() {
            let values = self.row(tensor, row);
            bytes.clear();
            if tensor.is_f32() {
                bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
            } else {
                halves.convert_from_f32_slice(&values);
                bytes.extend(halves.iter().flat_map(|x| x.to_le_bytes()));
            }
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// One row of a tensor.
    fn row(&self, tensor: &Tensor, row: u64) -> Vec<f32> {
        let cols = tensor.dims[0] as usize;
        let fan_in = (cols as f32).sqrt();
        let normals = |scale: f32| self.stream(&tensor.name, row).normals(cols, scale);
        match tensor.role {
            Role::Embedding => match self.planted.get(&row) {
                Some(planted) => planted.clone(),
                None => normals(1.0),
            },
            Role::OutputNorm | Role::MtpHeadNorm => self.signs.clone(),
            Role::Norm => vec![1.0; cols],
            Role::QueryNorm => vec![QUERY_GAIN; cols],
            Role::AttentionOut | Role::DeltaOut => normals(2.0 * self.gain(tensor) / fan_in),
            Role::FfnGate | Role::FfnUp | Role::FfnDown => self.ffn_row(tensor, row),
            Role::Conv | Role::StepBias => normals(0.5),
            Role::Decay => self.decays(tensor),
            Role::MtpJoin => {
                // The embedding passes, the trunk's state only adds noise.
                let mut join = vec![0.0; cols / 2];
                join[row as usize] = 1.0;
                let scale = MTP_NOISE / (cols as f32 / 2.0).sqrt();
                join.extend(self.stream(&tensor.name, row).normals(cols / 2, scale));
                join
            }
            Role::Output
            | Role::Query
            | Role::Key
            | Role::Value
            | Role::DeltaQkv
            | Role::DeltaGate
            | Role::Beta
            | Role::Alpha => normals(1.0 / fan_in),
        }
    }

    /// The last trunk FFN is the map; the MTP block has the same one, drawn from the same streams.
    fn ffn_row(&self, tensor: &Tensor, row: u64) -> Vec<f32> {
        let last = self.trunk - 1;
        let block = tensor.block.unwrap_or(last).min(last);
        let (part, gain) = match tensor.role {
            Role::FfnGate => ("gate", 1.0),
            Role::FfnUp => ("up", 1.0),
            _ if block == last => ("down", 2.0 * MAP_GAIN),
            _ => ("down", 2.0 * NOISE),
        };
        let cols = tensor.dims[0] as usize;
        self.stream(&format!("blk.{block}.ffn_{part}.weight"), row)
            .normals(cols, gain / (cols as f32).sqrt())
    }

    /// Negative rates: the model multiplies its state by exp(rate × step).
    fn decays(&self, tensor: &Tensor) -> Vec<f32> {
        let mut stream = self.stream(&tensor.name, 0);
        let (low, high) = (DECAY.0.ln(), DECAY.1.ln());
        (0..tensor.dims[0])
            .map(|_| -(low + (high - low) * stream.uniform()).exp())
            .collect()
    }

    fn gain(&self, tensor: &Tensor) -> f32 {
        if tensor.block.is_some_and(|block| block >= self.trunk) {
            MTP_NOISE
        } else {
            NOISE
        }
    }

    fn stream(&self, name: &str, row: u64) -> Stream {
        Stream::new(self.seed, name, row)
    }
}
