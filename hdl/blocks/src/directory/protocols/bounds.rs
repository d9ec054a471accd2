//! What protocols are compared with: caching for nothing, and none (`ideal`, `l1-only`, `no-remote-caching`; rec.md section 8, hmg.md section 8).

use super::{Features, Protocol};
use crate::cache::l2::Caching;
use crate::directory::hier_fence::FenceScheme;

struct Ideal;

impl Features for Ideal {
    fn gpu_homes(&self, modules: bool) -> bool {
        modules
    }

    fn ideal(&self) -> bool {
        true
    }

    fn fence(&self, _: bool) -> FenceScheme {
        FenceScheme::SwHierarchical
    }
}

struct L1Only;

impl Features for L1Only {
    fn caching(&self, _: bool) -> Caching {
        Caching::L1Only
    }
}

struct NoRemoteCaching;

impl Features for NoRemoteCaching {
    fn software(&self, planes: bool) -> bool {
        planes
    }

    fn fence(&self, _: bool) -> FenceScheme {
        FenceScheme::SwFlat
    }

    fn caching(&self, planes: bool) -> Caching {
        if planes { Caching::OwnGpu } else { Caching::None }
    }

    fn l1_bypasses_remote(&self) -> bool {
        true
    }
}

impl Protocol {
    /// In GPUs of one node an unbounded exact directory outside the RTL: its channels are ports of the fabric. In GPUs of several GPMs caches that are
    /// never invalidated, with GPU homes; right values are the business of who looks at the loads.
    pub const IDEAL: Protocol = Protocol::new("ideal", &Ideal);
    /// Remote lines are kept in L1s only; no directory.
    pub const L1_ONLY: Protocol = Protocol::new("l1-only", &L1Only);
    /// Lines of other GPUs are kept nowhere; no directory. GPMs of one GPU keep each other's lines as with [`Protocol::SW_FLAT`].
    pub const NO_REMOTE_CACHING: Protocol = Protocol::new("no-remote-caching", &NoRemoteCaching);
}
