//! What the tests of the INV egress and ingress with two planes share: parameter sets, nodes in reach.

use weft_blocks::directory::egress::FarReach::{self, All, SameGpm};
use weft_testbench::golden::InvCause;
use weft_testbench::golden::planes::Nodes;

/// Leaves of a message on a link.
pub const LINK_LEAVES: [&str; 7] = ["kind", "src", "dst", "line", "cause", "grp", "requester"];
/// Leaves of a marker.
pub const MARK_LEAVES: [&str; 3] = ["serial", "origin", "sys"];

/// GPUs, GPMs, home, channels of slices, banks, which nodes of other GPUs link 1 reaches.
pub type Set = (u32, u32, u32, u32, u32, FarReach);

pub const SETS: [Set; 10] = [
    (2, 2, 0, 2, 1, SameGpm),
    (3, 3, 5, 3, 2, SameGpm),
    (4, 4, 9, 4, 4, SameGpm),
    (1, 4, 2, 2, 2, SameGpm),
    (4, 1, 2, 2, 2, SameGpm),
    (2, 8, 11, 2, 2, SameGpm),
    (16, 4, 37, 2, 1, SameGpm),
    (2, 2, 3, 2, 1, All),
    (3, 3, 5, 3, 2, All),
    (4, 4, 9, 2, 2, All),
];

/// Nodes of other GPUs that `node` reaches, and that reach it.
pub fn across(nodes: Nodes, node: u32, far: FarReach) -> Vec<u32> {
    let other_gpu = |other: &u32| nodes.parts(*other).0 != nodes.parts(node).0;
    let all = if far == All { nodes.all() } else { nodes.far(node) };
    all.into_iter().filter(other_gpu).collect()
}

pub fn cause_of(bit: u64) -> InvCause {
    if bit == 0 { InvCause::Write } else { InvCause::Evict }
}
