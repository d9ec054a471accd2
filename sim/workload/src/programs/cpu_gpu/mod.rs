//! Programs with a CPU side and a GPU side in one launch (`spandex.md` section 10): CPU threads and work-groups share
//! memory, queues and barriers while both run.
//!
//! All are free of data races: where the public program reads a word that another thread may be writing, the accesses
//! are put in an order that synchronisation gives, or made atomic.

pub mod bc;
pub mod flex_vs;
pub mod hsti;
pub mod indirection;
pub mod phases;
pub mod pr;
pub mod reuse;
pub mod reuse_s;
pub mod rsct;
mod shared;
pub mod team;
pub mod torn;
pub mod tqh;
pub mod trns;
pub mod walk;

pub use team::LANES;
