//! How far a part is in a window.

use serde::{Deserialize, Serialize};

/// What a part keeps from one stretch of a window to the next.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Course {
    /// Fences have gone on in the present cycle; whether it is one more of the same kind is not known.
    pub fenced: bool,
    /// Models have acted in the present cycle, which is not clocked.
    pub acted: bool,
    /// Something happens by itself in the next cycle, or a message is on its way.
    pub stirs: bool,
    /// Since this cycle nothing can happen unless another part sends something.
    pub quiet: u64,
    /// What went wrong in the models, in the present cycle, and its place among what one thread does in a cycle.
    pub failed: Option<(u8, String)>,
}
