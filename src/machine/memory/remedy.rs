//! Settings that need less memory, tried out one by one.

use gguf::{MetadataError, TensorType};
use serde::Serialize;

use super::Settings;
use super::plan::{MemoryPlan, Request};
use super::pool::{Fit, Pool};

/// Contexts that are proposed, tokens, the largest that fits first.
const CONTEXTS: [u32; 6] = [24_576, 16_384, 12_288, 8192, 4096, 2048];

/// A setting that needs less of a pool that is too small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What to give on the command line.
    pub option: String,
    /// What it spares in the pools that are too small, bytes.
    pub saves_bytes: u64,
    /// Whether it is enough by itself.
    pub suffices: bool,
}

/// What helps against `plan`, which does not fit: settings that are enough by themselves first.
pub(super) fn remedies(request: &Request, plan: &MemoryPlan) -> Result<Vec<Remedy>, MetadataError> {
    let settings = request.settings;
    let mut found = Vec::new();
    let contexts = CONTEXTS.into_iter().filter(|&n| n < settings.ctx_size);
    let smaller = contexts.map(|ctx_size| {
        let changed = Settings {
            ctx_size,
            ..settings
        };
        (format!("--ctx-size {ctx_size}"), changed)
    });
    found.extend(first_that_helps(request, plan, smaller)?);
    if settings.mtp_depth > 0 {
        let changed = Settings {
            mtp_depth: 0,
            ..settings
        };
        found.extend(attempt(request, plan, "--mtp off".to_owned(), changed)?);
    }
    if (settings.cache_type_k, settings.cache_type_v) == (TensorType::F16, TensorType::F16) {
        let changed = Settings {
            cache_type_k: TensorType::Q8_0,
            cache_type_v: TensorType::Q8_0,
            ..settings
        };
        let option = "--cache-type-k q8_0 --cache-type-v q8_0".to_owned();
        found.extend(attempt(request, plan, option, changed)?);
    }
    if plan.pools.iter().skip(1).any(|pool| pool.fit == Fit::Short) {
        let layers = request.facts.block_count.unwrap_or(0) as u32 + 1;
        let fewer = (0..layers.min(settings.n_gpu_layers)).rev();
        let fewer = fewer.map(|n_gpu_layers| {
            let changed = Settings {
                n_gpu_layers,
                ..settings
            };
            (format!("--n-gpu-layers {n_gpu_layers}"), changed)
        });
        found.extend(first_that_helps(request, plan, fewer)?);
    }
    found.sort_by_key(|remedy| !remedy.suffices);
    Ok(found)
}

/// The first of the candidates that is enough, else the last one.
fn first_that_helps(
    request: &Request,
    plan: &MemoryPlan,
    candidates: impl Iterator<Item = (String, Settings)>,
) -> Result<Option<Remedy>, MetadataError> {
    let mut last = None;
    for (option, settings) in candidates {
        let remedy = attempt(request, plan, option, settings)?;
        if remedy.as_ref().is_some_and(|r| r.suffices) {
            return Ok(remedy);
        }
        last = remedy.or(last);
    }
    Ok(last)
}

/// What a change brings; `None` if nothing. A cache type that the heads do not fill is no way out.
fn attempt(
    request: &Request,
    plan: &MemoryPlan,
    option: String,
    settings: Settings,
) -> Result<Option<Remedy>, MetadataError> {
    let changed = Request {
        settings,
        ..*request
    };
    let other = match MemoryPlan::without_remedies(&changed) {
        Ok(other) => other,
        Err(_) if settings.cache_type_k != request.settings.cache_type_k => return Ok(None),
        Err(fault) => return Err(fault),
    };
    let short = |(before, _): &(&Pool, &Pool)| before.fit == Fit::Short;
    let pairs = plan.pools.iter().zip(&other.pools).filter(short);
    let saves_bytes = pairs
        .map(|(before, after)| before.anonymous_bytes.saturating_sub(after.anonymous_bytes))
        .fold(0, u64::saturating_add);
    Ok((saves_bytes > 0).then(|| Remedy {
        option,
        saves_bytes,
        suffices: other.fits(),
    }))
}
