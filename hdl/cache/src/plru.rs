//! Tree pseudo-LRU replacement: one bit per inner node of a binary tree over the ways of a set (srsp.md section 4: 15 bits for 16 ways).
//!
//! Nodes are numbered as in a heap: 0 the root, the children of `i` are `2i + 1` (the half of lower ways) and `2i + 2`. A node's bit names the half that was
//! not used last: 0 the lower, 1 the upper one.

use weft_rtl::prelude::*;

/// Bits of a set's tree: `ways - 1`.
pub fn plru_bits(ways: u32) -> u32 {
    ways - 1
}

/// The way to replace among those whose bit in `may` is set, meaningful when one is: at each node the half that was not used last, unless it has none.
/// `ways` is a power of two, at least 2.
#[track_caller]
pub fn plru_victim(tree: Bits, may: Bits, ways: u32) -> Bits {
    let (way, _) = descend(tree, may, 0, (0, ways));
    way.unwrap_or_else(|| lit(0, 1))
}

/// Choice below a node that covers `count` ways from `first` on: the way's number among them, and whether one may be taken.
fn descend(tree: Bits, may: Bits, node: u32, (first, count): (u32, u32)) -> (Option<Bits>, Bool) {
    if count == 1 {
        return (None, may.bit(first));
    }
    let half = count / 2;
    let (low, low_any) = descend(tree, may, 2 * node + 1, (first, half));
    let (high, high_any) = descend(tree, may, 2 * node + 2, (first + half, half));
    let upper = (tree.bit(node) & high_any) | !low_any;
    let way = match (low, high) {
        (Some(low), Some(high)) => cat(&[upper.bits(), mux(upper, high, low)]),
        _ => upper.bits(),
    };
    (Some(way), low_any | high_any)
}

/// The tree after `way` was used: every node on its path names the other half.
#[track_caller]
pub fn plru_touch(tree: Bits, way: Bits, ways: u32) -> Bits {
    let depth = ways.trailing_zeros();
    let nodes = (0..depth).flat_map(|level| (0..1u32 << level).map(move |place| (level, place)));
    let bits: Vec<Bool> = nodes
        .map(|(level, place)| {
            let node = (1 << level) - 1 + place;
            let used_upper = way.bit(depth - 1 - level);
            let on_path = match level {
                0 => bool_lit(true),
                _ => way.slice(depth - level, level).eq(u64::from(place)),
            };
            mux(on_path, !used_upper, tree.bit(node))
        })
        .collect();
    pack_bools(&bits)
}
