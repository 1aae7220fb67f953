//! The plan itself.

use gguf::{Block, Facts, Gguf, MetadataError, Tensor};
use serde::Serialize;

use super::compute::Widths;
use super::part::{Part, Share};
use super::pool::{self, Fit, Pool};
use super::remedy::{self, Remedy};
use super::weights::{HOST, Placement};
use super::{Repack, Settings};
use crate::machine::{Device, host_memory_available, offload_targets};

/// The host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Memory that can still be allocated, bytes; `None` where nobody knows.
    pub available_bytes: Option<u64>,
    /// The layout that its processor's backend copies weights into.
    pub repack: Repack,
}

impl Host {
    /// This machine, as it is now, with this program.
    #[must_use]
    pub fn here() -> Self {
        Self {
            available_bytes: host_memory_available(),
            repack: Repack::of_this_program(),
        }
    }
}

/// Everything a plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model's sizes.
    pub facts: &'a Facts,
    /// The model's tensors.
    pub tensors: &'a [Tensor],
    /// What is asked of llama.cpp.
    pub settings: Settings,
    /// The host.
    pub host: Host,
    /// All devices that llama.cpp sees.
    pub devices: &'a [Device],
    /// Devices to offload to, by name (`--device`); empty leaves the choice to llama.cpp.
    pub device_names: &'a [String],
}

/// What a model takes, and whether that is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryPlan {
    /// What it was made for.
    pub settings: Settings,
    /// Every part in every pool.
    pub shares: Vec<Share>,
    /// The host, then the devices that are offloaded to.
    pub pools: Vec<Pool>,
    /// Settings that need less, when a pool is too small.
    pub remedies: Vec<Remedy>,
}

impl<'a> Request<'a> {
    /// A request for this model on this machine.
    #[must_use]
    pub fn new(
        model: &'a Gguf,
        facts: &'a Facts,
        settings: Settings,
        devices: &'a [Device],
    ) -> Self {
        Self {
            facts,
            tensors: model.tensors(),
            settings,
            host: Host::here(),
            devices,
            device_names: &[],
        }
    }
}

impl MemoryPlan {
    /// Plans.
    ///
    /// # Errors
    /// When the file does not say how large its caches are.
    pub fn new(request: &Request) -> Result<Self, MetadataError> {
        let mut plan = Self::without_remedies(request)?;
        if !plan.fits() {
            plan.remedies = remedy::remedies(request, &plan)?;
        }
        Ok(plan)
    }

    pub(super) fn without_remedies(request: &Request) -> Result<Self, MetadataError> {
        let targets = offload_targets(request.devices, request.device_names);
        let placement = Placement::of(request, &targets);
        let mut shares = placement.weights(request.tensors);
        shares.extend(caches(request, &placement)?);
        shares.extend(buffers(request, &placement, &targets));
        shares.retain(|share| share.bytes > 0);
        let pools = pool::pools(&shares, request.host.available_bytes, &targets);
        Ok(Self {
            settings: request.settings,
            shares,
            pools,
            remedies: Vec::new(),
        })
    }

    /// Whether no pool is known to be too small.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.pools.iter().all(|pool| pool.fit != Fit::Short)
    }

    /// Bytes of one part in all pools.
    #[must_use]
    pub fn bytes_of(&self, part: Part) -> u64 {
        let shares = self.shares.iter().filter(|share| share.part == part);
        shares.fold(0, |sum, share| sum.saturating_add(share.bytes))
    }
}

/// Caches, recurrent states and snapshots.
fn caches(request: &Request, placement: &Placement) -> Result<Vec<Share>, MetadataError> {
    let Request {
        facts, settings, ..
    } = request;
    let (k, v) = (settings.cache_type_k, settings.cache_type_v);
    let kv = facts.kv_bytes_per_token(k, v)?;
    let state = facts.recurrent_state_bytes()?;
    let mut shares = Vec::new();
    let mut spread = |part, kind, bytes: u64| {
        let homes = placement.blocks_by_home(kind);
        let blocks: u64 = homes.values().sum();
        for (home, n) in homes {
            // u128: a hostile file's sizes times its blocks exceed 64 bits.
            let bytes = u128::from(bytes) * u128::from(n) / u128::from(blocks);
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            shares.push(Share::anonymous(part, &placement.pool(home), bytes));
        }
    };
    let cells = settings.cells();
    spread(Part::KvCache, Block::Attention, kv.saturating_mul(cells));
    let slots = state.saturating_mul(settings.recurrent_slots());
    spread(Part::RecurrentState, Block::Recurrent, slots);
    if settings.mtp_depth > 0 {
        let draft = facts.draft_kv_bytes_per_token(k, v)?;
        spread(Part::DraftKvCache, Block::Mtp, draft.saturating_mul(cells));
    }
    // The reusable prefix's stays where its layers are; others go to the host.
    let on_host = settings.snapshots.saturating_sub(1);
    spread(
        Part::Snapshots,
        Block::Recurrent,
        if settings.snapshots > 0 { state } else { 0 },
    );
    let bytes = state.saturating_mul(on_host.into());
    shares.push(Share::anonymous(Part::Snapshots, HOST, bytes));
    Ok(shares)
}

/// Compute buffers: one per device, and the host's, which shrinks to the inputs when it computes no layer.
fn buffers(request: &Request, placement: &Placement, targets: &[&Device]) -> Vec<Share> {
    let settings = &request.settings;
    let widths = Widths::of(request.facts);
    let on_host = match placement.all_offloaded() {
        true => widths.inputs(settings),
        false => widths.context(settings),
    };
    let mut shares = vec![
        Share::anonymous(Part::ComputeBuffer, HOST, on_host),
        Share::anonymous(Part::OutputRows, HOST, widths.output_rows(settings)),
        Share::anonymous(Part::Vocabulary, HOST, widths.vocabulary()),
    ];
    for device in targets {
        let bytes = widths.context(settings);
        shares.push(Share::anonymous(Part::ComputeBuffer, &device.name, bytes));
    }
    if settings.mtp_depth > 0 {
        let home = placement.home(request.facts.trunk());
        let (pool, bytes) = (placement.pool(home), widths.draft(settings));
        shares.push(Share::anonymous(Part::DraftComputeBuffer, &pool, bytes));
    }
    shares
}
