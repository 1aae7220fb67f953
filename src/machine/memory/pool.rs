//! Pools of memory: what is needed of each, what is free, and the verdict.

use serde::{Deserialize, Serialize};

use super::part::{MemoryKind, Share};
use super::weights::HOST;
use crate::machine::{Device, Known};

/// Whether a pool is large enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Everything fits.
    Fits,
    /// What is allocated fits, the mapped weights do not stay in memory beside it: they are read from disk again at
    /// every token, which is slow.
    Pages,
    /// What must be allocated does not fit.
    Short,
    /// Nobody knows what is free.
    Unknown,
}

/// The host's memory or a device's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// `host`, or the device's name.
    pub name: String,
    /// Whether it is a device that uses the host's memory: it counts in both.
    pub shares_host: bool,
    /// Range of the file that is mapped, bytes.
    pub mapped_bytes: u64,
    /// What of it is touched at every token, bytes.
    pub mapped_in_use_bytes: u64,
    /// What is allocated, bytes; the host's contains that of devices which use its memory.
    pub anonymous_bytes: u64,
    /// What is free, bytes.
    pub free_bytes: Known<u64>,
    /// The verdict.
    pub fit: Fit,
}

impl Pool {
    /// What should be free so that nothing is read from disk twice, bytes.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        self.anonymous_bytes
            .saturating_add(self.mapped_in_use_bytes)
    }

    /// What is missing for the allocations, bytes; 0 where they fit or nobody knows.
    #[must_use]
    pub fn missing_bytes(&self) -> u64 {
        let free = self.free_bytes.get();
        free.map_or(0, |&free| self.anonymous_bytes.saturating_sub(free))
    }

    fn judged(mut self) -> Self {
        self.fit = match self.free_bytes.get() {
            None => Fit::Unknown,
            Some(&free) if self.anonymous_bytes > free => Fit::Short,
            Some(&free) if self.needed_bytes() > free => Fit::Pages,
            Some(_) => Fit::Fits,
        };
        self
    }
}

/// The host's pool and one per target.
pub(super) fn pools(shares: &[Share], host_free: Option<u64>, targets: &[&Device]) -> Vec<Pool> {
    let free = Known::or_reason(host_free, "operating system does not say");
    let mut host = sum(shares, HOST, false, free);
    let devices = targets.iter().map(|device| {
        let free = device.memory_free_bytes.clone();
        sum(shares, &device.name, device.shares_host(), free)
    });
    let devices: Vec<_> = devices.collect();
    for device in devices.iter().filter(|device| device.shares_host) {
        host.anonymous_bytes = host.anonymous_bytes.saturating_add(device.anonymous_bytes);
        host.mapped_in_use_bytes = host
            .mapped_in_use_bytes
            .saturating_add(device.mapped_in_use_bytes);
        // Ranges of one file: they overlap.
        host.mapped_bytes = host.mapped_bytes.max(device.mapped_bytes);
    }
    let all = std::iter::once(host).chain(devices);
    all.map(Pool::judged).collect()
}

fn sum(shares: &[Share], name: &str, shares_host: bool, free_bytes: Known<u64>) -> Pool {
    let mut pool = Pool {
        name: name.to_owned(),
        shares_host,
        mapped_bytes: 0,
        mapped_in_use_bytes: 0,
        anonymous_bytes: 0,
        free_bytes,
        fit: Fit::Unknown,
    };
    for share in shares.iter().filter(|share| share.pool == name) {
        let (bytes, in_use) = match share.kind {
            MemoryKind::Anonymous => (&mut pool.anonymous_bytes, &mut 0),
            MemoryKind::Mapped => (&mut pool.mapped_bytes, &mut pool.mapped_in_use_bytes),
        };
        *bytes = bytes.saturating_add(share.bytes);
        *in_use = in_use.saturating_add(share.in_use_bytes);
    }
    pool
}
