//! The links over which copy engines and the host move data.

use serde::{Deserialize, Serialize};

/// A link that moves data in order at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Bytes per cycle and direction.
    pub bytes: u32,
    /// Cycles until the first byte is at the other end.
    pub latency: u32,
}

impl Link {
    /// Cycles until the last of `bytes` bytes is at the other end.
    pub fn cycles(self, bytes: u64) -> u64 {
        u64::from(self.latency) + bytes.div_ceil(u64::from(self.bytes.max(1)))
    }
}

/// How GPUs reach memory of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSide {
    /// The link of each GPU.
    pub link: Link,
    /// Cycles in which the host handles an access to a page that is elsewhere.
    pub fault_cycles: u64,
    /// Bytes of a page that moves, a power of two.
    pub page: u64,
}

/// The links of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    /// From one GPU to another, as a copy engine has it for itself while no kernel runs.
    pub gpus: Link,
    /// To memory of the host, if the fabric has it; what the host sends then comes over its link.
    pub host: Option<HostSide>,
}

impl Default for Links {
    /// Of a PCIe switch (mgcc.md section 10).
    fn default() -> Links {
        Links { gpus: Link { bytes: 32, latency: 140 }, host: None }
    }
}
