//! What to say when a backend refuses memory that seemed free: drivers need large pieces, and on devices that share
//! the host's memory others take from it.

use gguf::MetadataError;

use super::plan::{MemoryPlan, Request};
use super::pool::Pool;
use super::remedy::{self, Remedy};
use super::table::whole;
use crate::machine::{Device, Known};

/// Settings that are named.
const NAMED: usize = 2;

impl MemoryPlan {
    /// Need and free memory of every pool, and the settings that need less, after an allocation was refused.
    ///
    /// # Errors
    /// When the file does not say how large its caches are.
    pub fn refused(request: &Request) -> Result<String, MetadataError> {
        let plan = Self::without_remedies(request)?;
        let pools: Vec<String> = plan.pools.iter().map(pool).collect();
        let mut text = format!("the plan was: {}", pools.join("; "));
        let named: Vec<String> = less(request, &plan)?
            .iter()
            .take(NAMED)
            .map(|r| format!("{} (spares {} MiB)", r.option, whole(r.saves_bytes)))
            .collect();
        if !named.is_empty() {
            text += &format!(". What needs less: {}", named.join("; "));
        }
        if plan.pools.iter().any(|pool| pool.shares_host) {
            text += ". This device shares the host's memory: programs and file caches there leave it less than what \
                     is free; close the desktop, and see the device's page";
        }
        Ok(text)
    }
}

fn pool(pool: &Pool) -> String {
    let free = match pool.free_bytes.get() {
        Some(&free) => format!("{} MiB ({free} bytes) free", whole(free)),
        None => "free memory unknown".to_owned(),
    };
    format!(
        "{}: {} MiB ({} bytes) to allocate, {free}",
        pool.name,
        whole(pool.anonymous_bytes),
        pool.anonymous_bytes
    )
}

/// The remedies that there would be with a quarter less than what is planned, since nobody knows how much there is.
fn less(request: &Request, plan: &MemoryPlan) -> Result<Vec<Remedy>, MetadataError> {
    let scarce = |name: &str| {
        let pool = plan.pools.iter().find(|pool| pool.name == name);
        pool.map(|pool| pool.anonymous_bytes / 4 * 3)
    };
    let devices: Vec<Device> = request
        .devices
        .iter()
        .cloned()
        .map(|mut device| {
            if let Some(bytes) = scarce(&device.name) {
                device.memory_free_bytes = Known::new(bytes);
            }
            device
        })
        .collect();
    let mut squeezed = Request {
        devices: &devices,
        ..*request
    };
    squeezed.host.available_bytes = plan.pools.first().map(|host| host.anonymous_bytes / 4 * 3);
    remedy::remedies(&squeezed, &MemoryPlan::without_remedies(&squeezed)?)
}
