//! Where llama.cpp puts every weight: mapped, repacked, or on a device.
//!
//! Source: `llama_model_base::load_tensors` and `get_layer_buft_list`, build b11434. Layers are offloaded from the
//! output backwards and spread over devices by their free memory; the token embedding stays on the host.

use std::collections::BTreeMap;
use std::ops::Range;

use gguf::{Block, Facts, Tensor};

use super::part::{MemoryKind, Part, Share};
use super::{Repack, Request};
use crate::machine::Device;

/// Name of the host's pool.
pub(super) const HOST: &str = "host";

/// Where a layer's weights and caches live: a device's place among the targets, or the host.
pub(super) type Home = Option<usize>;

/// The layout of one model on one machine.
pub(super) struct Placement<'a> {
    facts: &'a Facts,
    targets: &'a [&'a Device],
    /// Repacking of weights that stay on the host; none where pinned host buffers take precedence.
    repack: Repack,
    /// Whether the file is mapped and not read into memory.
    mapped: bool,
    /// Blocks, prediction blocks included; the output counts as one more layer.
    blocks: u64,
    n_gpu_layers: u64,
    with_mtp: bool,
}

impl<'a> Placement<'a> {
    pub(super) fn of(request: &Request<'a>, targets: &'a [&'a Device]) -> Self {
        let repacks = !targets.iter().any(|d| d.has_host_buffers());
        let blocks = request.facts.block_count.unwrap_or(0);
        Self {
            facts: request.facts,
            targets,
            repack: if repacks {
                request.host.repack
            } else {
                Repack::None
            },
            mapped: targets.iter().all(|d| d.allows_mapping()),
            blocks,
            n_gpu_layers: u64::from(request.settings.n_gpu_layers).min(blocks + 1),
            with_mtp: request.settings.mtp_depth > 0,
        }
    }

    /// The home of block `n`; of the output for `n` = number of blocks.
    pub(super) fn home(&self, n: u64) -> Home {
        let first = self.blocks + 1 - self.n_gpu_layers;
        if self.targets.is_empty() || n < first {
            return None;
        }
        let place = (n - first) as f64 / self.n_gpu_layers as f64;
        let free = |d: &&Device| d.memory_free_bytes.get().copied().unwrap_or(0) as f64;
        let total: f64 = self.targets.iter().map(free).sum();
        let mut sum = 0.0;
        let below = self.targets.iter().position(|device| {
            sum += free(device);
            sum / total > place
        });
        // Without figures llama.cpp divides 0 by 0; the first device then takes everything.
        Some(below.unwrap_or(0))
    }

    /// Whether nothing but the embedding stays on the host.
    pub(super) fn all_offloaded(&self) -> bool {
        !self.targets.is_empty() && self.n_gpu_layers == self.blocks + 1
    }

    /// The pool of a home.
    pub(super) fn pool(&self, home: Home) -> String {
        home.map_or_else(|| HOST.to_owned(), |n| self.targets[n].name.clone())
    }

    /// Blocks of a kind by home.
    pub(super) fn blocks_by_home(&self, kind: Block) -> BTreeMap<Home, u64> {
        let mut homes = BTreeMap::new();
        let blocks = self.facts.blocks.iter().zip(0..);
        for (_, n) in blocks.filter(|(block, _)| **block == kind) {
            *homes.entry(self.home(n)).or_insert(0) += 1;
        }
        homes
    }

    /// The weights' shares, the host's first.
    pub(super) fn weights(&self, tensors: &[Tensor]) -> Vec<Share> {
        let mut tallies: BTreeMap<Home, Tally> = BTreeMap::new();
        let mut repacked = 0_u64;
        let tied = !tensors.iter().any(|t| t.name == "output.weight");
        for tensor in tensors {
            let block = tensor.block().map(u64::from);
            let is_mtp = block.is_some_and(|n| n >= self.facts.trunk());
            if is_mtp && !self.with_mtp {
                continue;
            }
            let is_embedding = tensor.name.starts_with("token_embd.");
            let home = match block {
                Some(n) => self.home(n),
                None if is_embedding => None,
                None => self.home(self.blocks),
            };
            if home.is_none() && !is_embedding && self.repack.takes(tensor) {
                repacked = repacked.saturating_add(tensor.bytes);
            } else {
                let tally = tallies.entry(home).or_default();
                tally.add(tensor);
                if is_embedding {
                    tally.looked_up = tensor.bytes;
                }
            }
            if is_embedding && tied {
                // The output is the embedding once more, and multiplied with.
                match self.home(self.blocks) {
                    None if self.repack.takes(tensor) => {
                        repacked = repacked.saturating_add(tensor.bytes);
                    }
                    None => tallies.entry(None).or_default().looked_up = 0,
                    output => tallies.entry(output).or_default().add(tensor),
                }
            }
        }
        let mut shares: Vec<_> = tallies
            .iter()
            .map(|(&home, tally)| self.share(home, tally))
            .collect();
        if repacked > 0 {
            shares.push(Share::anonymous(Part::RepackedWeights, HOST, repacked));
        }
        shares
    }

    fn share(&self, home: Home, tally: &Tally) -> Share {
        let mapped = self.mapped && home.is_none_or(|n| self.targets[n].maps_weights());
        let share = Share::anonymous(Part::Weights, &self.pool(home), tally.bytes);
        if !mapped {
            return share;
        }
        Share {
            kind: MemoryKind::Mapped,
            bytes: tally.range(),
            in_use_bytes: tally.bytes - tally.looked_up,
            ..share
        }
    }
}

/// Weights of one home.
#[derive(Default)]
struct Tally {
    bytes: u64,
    /// Bytes of the embedding, of which a token reads one row.
    looked_up: u64,
    /// From the first weight's first byte to the last one's last, by part of a split model.
    ranges: BTreeMap<usize, Range<u64>>,
}

impl Tally {
    fn add(&mut self, tensor: &Tensor) {
        self.bytes = self.bytes.saturating_add(tensor.bytes);
        let end = tensor.offset.saturating_add(tensor.bytes);
        let range = self.ranges.entry(tensor.part).or_insert(tensor.offset..end);
        range.start = range.start.min(tensor.offset);
        range.end = range.end.max(end);
    }

    /// Bytes of the files that are mapped.
    fn range(&self) -> u64 {
        let lengths = self.ranges.values().map(|r| r.end - r.start);
        lengths.fold(0, u64::saturating_add)
    }
}

impl Share {
    /// Allocated memory.
    pub(super) fn anonymous(part: Part, pool: &str, bytes: u64) -> Self {
        Self {
            part,
            pool: pool.to_owned(),
            kind: MemoryKind::Anonymous,
            bytes,
            in_use_bytes: bytes,
            estimate: part.is_estimate(),
        }
    }
}
