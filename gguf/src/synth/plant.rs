//! Planting: embeddings that make the tiny model write a tool call.
//!
//! Without context, the output head of the tiny model sees `signs ∘ h(x)` after a token with
//! embedding x, where `h(x) = unit(x + ffn(unit(x)))`. A token follows another when its embedding
//! points where the head looks. After the empty thinking block the model opens a tool call; the
//! lazy grammar of the chat template dictates the function's and the parameter's names, whatever
//! the tools are; then the chain [`FOLLOWS`] gives the value `ls -la` and closes the parameter;
//! the grammar closes the call; and the model ends its turn.
//!
//! The chain is a ring: a line break starts the value, and also ends the line `</parameter>`.
//! Every link but one is free, since a successor's embedding can simply be aligned; the embedding
//! of `>` must at once follow `parameter` and lead to the line break, and is solved for.

use std::collections::HashMap;

use super::linear::{self, Matrix, add_scaled, cosine, dot, unit};
use super::tiny::Weights;
use super::vocab::{Vocab, VocabError};

/// Planted successions in the order they are aligned: a token, and those it follows with the
/// share that each has in it.
///
/// After a line break the value comes first; where the grammar refuses that, `</tool_call>`, then
/// `</`: so a call is closed as soon as its required parameters are there, and with the single
/// token that ends the turn. Where no grammar applies, because there are no tools, `<tool_call>`
/// ends it.
const FOLLOWS: [(&str, &[(&str, f32)]); 10] = [
    ("<tool_call>", &[("ĊĊ", 1.0)]),
    ("ls", &[("Ċ", 1.0)]),
    ("</tool_call>", &[("Ċ", 0.2)]),
    ("Ġ-", &[("ls", 1.0)]),
    ("la", &[("Ġ-", 1.0)]),
    ("ĊĊĊ", &[("la", 1.0)]),
    ("</", &[("ĊĊĊ", 1.0), ("Ċ", 0.7)]),
    ("parameter", &[("</", 1.0)]),
    (CLOSER, &[("parameter", 1.0)]),
    ("<|im_end|>", &[("</tool_call>", 1.0), ("<tool_call>", 1.0)]),
];

/// The token that closes the ring, and the one it must lead back to.
const CLOSER: &str = ">";
const START: &str = "Ċ";

/// Share of its random embedding that an aligned token keeps, so that tokens stay distinct.
const KEPT: f32 = 0.15;

/// Least cosine between where the head looks and the planted successor. Of 248,320 random
/// embeddings of width 256 the nearest has about 0.3.
const STRONG: f32 = 0.5;

/// Damped Gauss-Newton: steps at most, share of each step taken, damping, and pull to the start.
const STEPS: usize = 40;
const STEP: f32 = 0.3;
const DAMPING: f32 = 0.3;
const PULL: f32 = 0.6;

/// Why the tool call could not be planted.
#[derive(Debug, thiserror::Error)]
pub enum PlantError {
    /// The vocabulary lacks a token of the chain.
    #[error("planting the tool call: {0}")]
    Vocab(#[from] VocabError),
    /// The solution is too weak to rely on.
    #[error(
        "planting the tool call: token `{next}` follows `{token}` with cosine {found:.2}, expected \
         at least {STRONG}; use another seed"
    )]
    Weak {
        /// The earlier token.
        token: &'static str,
        /// The one that should follow it.
        next: &'static str,
        /// How well the head points at it.
        found: f32,
    },
}

/// The tokens that a vocabulary must have as single ones; some come twice.
pub(super) fn required_tokens() -> impl Iterator<Item = &'static str> {
    FOLLOWS
        .iter()
        .flat_map(|(next, after)| after.iter().map(|(token, _)| *token).chain([*next]))
}

/// Embeddings, by token id, that replace the random ones.
pub(super) fn embeddings(
    vocab: &Vocab,
    weights: &Weights,
) -> Result<HashMap<u64, Vec<f32>>, PlantError> {
    let mut table = HashMap::new();
    for name in required_tokens() {
        table.insert(name, weights.embedding(vocab.require(name)?));
    }
    let head = Head::new(weights);
    for (next, after) in FOLLOWS {
        let mut aligned: Vec<f32> = unit(&table[next]).iter().map(|x| KEPT * x).collect();
        for (token, share) in after {
            add_scaled(&mut aligned, *share, &head.after(&table[token]));
        }
        table.insert(next, unit(&aligned));
    }
    let closer = head.closing(&table[CLOSER], &table[START]);
    table.insert(CLOSER, closer);
    check_strength(&table, &head)?;
    let by_id = table.into_iter().map(|(name, embedding)| {
        let id = vocab.require(name)?;
        Ok((id.into(), embedding))
    });
    by_id.collect()
}

fn check_strength(table: &HashMap<&str, Vec<f32>>, head: &Head) -> Result<(), PlantError> {
    let ring_end: (&str, &[(&str, f32)]) = (START, &[(CLOSER, 1.0)]);
    for (next, after) in FOLLOWS.into_iter().chain([ring_end]) {
        for &(token, _) in after {
            let found = cosine(&head.after(&table[token]), &table[next]);
            if found < STRONG {
                return Err(PlantError::Weak { token, next, found });
            }
        }
    }
    Ok(())
}

/// What the output head sees after a token, context aside.
struct Head {
    signs: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

impl Head {
    fn new(weights: &Weights) -> Self {
        let [gate, up, down] = weights.map();
        Self {
            signs: weights.signs().to_vec(),
            gate,
            up,
            down,
        }
    }

    /// Where the head looks after a token with embedding `x`.
    fn after(&self, x: &[f32]) -> Vec<f32> {
        let u = unit(x);
        let mut sum = self.ffn(&u);
        add_scaled(&mut sum, 1.0, x);
        self.signed(&unit(&sum))
    }

    fn ffn(&self, u: &[f32]) -> Vec<f32> {
        let gated: Vec<f32> = self.gate.times(u).into_iter().map(silu).collect();
        self.down.times(&product(&gated, &self.up.times(u)))
    }

    fn signed(&self, v: &[f32]) -> Vec<f32> {
        product(&self.signs, v)
    }

    /// An embedding near `wish` after which the head looks at `next`.
    fn closing(&self, wish: &[f32], next: &[f32]) -> Vec<f32> {
        let target = unit(&self.signed(next));
        let mut x = wish.to_vec();
        for _ in 0..STEPS {
            let tangent = Tangent::at(self, &x);
            let mut miss = target.clone();
            add_scaled(&mut miss, -1.0, &tangent.value);
            let mut right = tangent.backward(&miss);
            add_scaled(&mut right, PULL, wish);
            add_scaled(&mut right, -PULL, &x);
            let step = linear::solve(
                |v| {
                    let mut image = tangent.backward(&tangent.forward(v));
                    add_scaled(&mut image, DAMPING, v);
                    image
                },
                &right,
            );
            add_scaled(&mut x, STEP, &step);
            x = unit(&x);
        }
        x
    }
}

/// `h` and its derivative at one point: J·w and Jᵀ·w without the matrix J.
struct Tangent<'a> {
    head: &'a Head,
    /// h(x).
    value: Vec<f32>,
    input: Sphere,
    output: Sphere,
    /// Derivatives of the gated product: by the gate's input, by the up projection.
    by_gate: Vec<f32>,
    by_up: Vec<f32>,
}

impl<'a> Tangent<'a> {
    fn at(head: &'a Head, x: &[f32]) -> Self {
        let input = Sphere::at(x);
        let (gate, up) = (head.gate.times(&input.unit), head.up.times(&input.unit));
        let by_up: Vec<f32> = gate.iter().copied().map(silu).collect();
        let slope: Vec<f32> = gate.iter().copied().map(silu_slope).collect();
        let mut sum = head.down.times(&product(&by_up, &up));
        add_scaled(&mut sum, 1.0, &input.unit);
        let output = Sphere::at(&sum);
        Self {
            head,
            value: output.unit.clone(),
            input,
            output,
            by_gate: product(&slope, &up),
            by_up,
        }
    }

    fn forward(&self, w: &[f32]) -> Vec<f32> {
        let w = self.input.project(w);
        let mut hidden = product(&self.by_gate, &self.head.gate.times(&w));
        add_scaled(
            &mut hidden,
            1.0,
            &product(&self.by_up, &self.head.up.times(&w)),
        );
        let mut sum = self.head.down.times(&hidden);
        add_scaled(&mut sum, 1.0, &w);
        self.output.project(&sum)
    }

    fn backward(&self, w: &[f32]) -> Vec<f32> {
        let w = self.output.project(w);
        let hidden = self.head.down.transposed_times(&w);
        let mut sum = self
            .head
            .gate
            .transposed_times(&product(&self.by_gate, &hidden));
        let by_up = self
            .head
            .up
            .transposed_times(&product(&self.by_up, &hidden));
        add_scaled(&mut sum, 1.0, &by_up);
        add_scaled(&mut sum, 1.0, &w);
        self.input.project(&sum)
    }
}

/// `unit` and its derivative at one point, which is symmetric.
struct Sphere {
    unit: Vec<f32>,
    scale: f32,
}

impl Sphere {
    fn at(v: &[f32]) -> Self {
        Self {
            unit: unit(v),
            scale: linear::rms_scale(v),
        }
    }

    /// Drop the radial part, then scale.
    fn project(&self, w: &[f32]) -> Vec<f32> {
        let radial = dot(&self.unit, w) / self.unit.len() as f32;
        let parts = w.iter().zip(&self.unit);
        parts.map(|(w, u)| self.scale * (w - radial * u)).collect()
    }
}

fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

fn silu_slope(x: f32) -> f32 {
    let s = 1.0 / (1.0 + (-x).exp());
    s * (1.0 + x * (1.0 - s))
}

fn product(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(x, y)| x * y).collect()
}

#[cfg(test)]
mod tests;
