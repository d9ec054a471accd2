//! What a fence unit is asked.

use serde::{Deserialize, Serialize};

/// What a fence does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Fence {
    /// 1 GPU, 2 system.
    pub scope: u8,
    /// An acquire; else a release.
    pub acquire: bool,
}
