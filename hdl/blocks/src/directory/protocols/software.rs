//! Software coherence: no directory, an acquire drops copies (`sw-flat`, `sw-hierarchical`; hmg.md section 8).

use super::{Features, Protocol};
use crate::directory::hier_fence::FenceScheme;

/// Every request goes to its line's home.
struct Flat;

impl Features for Flat {
    fn planes(&self) -> bool {
        true
    }

    fn software(&self, _: bool) -> bool {
        true
    }

    fn may_drop_all(&self) -> bool {
        true
    }

    fn fence(&self, _: bool) -> FenceScheme {
        FenceScheme::SwFlat
    }
}

/// Requests go through the GPU homes.
struct Hierarchical;

impl Features for Hierarchical {
    fn planes(&self) -> bool {
        true
    }

    fn gpu_homes(&self, _: bool) -> bool {
        true
    }

    fn software(&self, _: bool) -> bool {
        true
    }

    fn may_drop_all(&self) -> bool {
        true
    }

    fn write_back(&self) -> bool {
        true
    }

    fn fence(&self, _: bool) -> FenceScheme {
        FenceScheme::SwHierarchical
    }
}

impl Protocol {
    /// No directory: an acquire drops copies, every request goes to its line's home.
    pub const SW_FLAT: Protocol = Protocol::new("sw-flat", &Flat);
    /// No directory: an acquire drops copies; requests go through the GPU homes.
    pub const SW_HIERARCHICAL: Protocol = Protocol::new("sw-hierarchical", &Hierarchical);
}
