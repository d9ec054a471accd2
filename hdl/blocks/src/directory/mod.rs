//! Coherence directories (rec.md section 4, hmg.md section 4) and the invalidation and fence machinery around them (rec.md sections 4, 5, 7).

mod covers;
pub mod egress;
mod evb;
pub mod fence;
pub mod hier_fence;
pub mod index;
pub mod ingress;
mod inv_ack;
pub mod keys;
mod lookup;
pub mod operations;
pub mod params;
mod ports;
pub mod protocols;
pub mod recv;
pub mod slice;
mod stage2;
pub mod table;
mod types;
mod wait_queue;
pub mod write_inv;

pub use params::{DirKind, DirParams, Policy, TagStyle};
pub use slice::directory;
pub use stage2::DirState;

use crate::registry::BlockInfo;

/// The blocks of this folder.
pub fn directory_blocks() -> Vec<BlockInfo> {
    let mut all: Vec<BlockInfo> = protocols::kinds().iter().map(|kind| kind.info).collect();
    all.extend(protocols::banks().iter().map(|kind| kind.info));
    all.extend(machinery());
    all
}

/// What a node needs beside its directory.
fn machinery() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "inv-egress",
            about: "invalidations of the directory slices into a FIFO per destination and link",
            params: egress::egress_params,
            build: egress::build_egress,
        },
        BlockInfo {
            name: "inv-ingress",
            about: "invalidations of the links to the L2 banks, and collection of fence markers",
            params: ingress::ingress_params,
            build: ingress::build_ingress,
        },
        BlockInfo {
            name: "fence-unit",
            about: "completes a release when every earlier invalidation has landed",
            params: fence::fence_params,
            build: fence::build_fence,
        },
        BlockInfo {
            name: "hier-fence-unit",
            about: "releases and acquires of GPU and of system scope in a hierarchical multi-GPU system",
            params: hier_fence::hier_fence_params,
            build: hier_fence::build_hier_fence,
        },
    ]
}
