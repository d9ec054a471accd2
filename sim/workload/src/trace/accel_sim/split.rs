//! Which memory the lanes of an access are in, and how an access wider than a lane's 8 bytes is split.

use super::line::LANES;
use crate::op::Addrs;
use crate::trace::text::of_active;

/// Bytes of the windows through which generic addresses reach the scratchpad and local memory, as NVBit's
/// header `nvbit.h` says of the bases that the tracer writes down.
const WINDOW: u64 = 1 << 24;

/// Blocks of a cluster: from sm_90 on the window of each one's scratchpad stands behind the other's.
const CLUSTER: u64 = 16;

/// Most bytes per lane of an access.
pub(super) const WIDEST: u64 = 256;

/// First byte of local memory: beyond what devices hand out.
pub const LOCAL: u64 = 1 << 52;

/// Where a warp's memories lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Threads of the grid, whole warps.
    pub threads: u64,
    /// First address of the scratchpad's window; 0: not told.
    pub scratchpad: u64,
    /// First address of local memory's window; 0: not told.
    pub local: u64,
    /// Blocks of a cluster have windows of their own.
    pub clusters: bool,
}

/// The memory of a generic address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Global,
    Local,
    Scratchpad,
}

fn within(at: u64, base: u64, bytes: u64) -> bool {
    base != 0 && at.checked_sub(base).is_some_and(|offset| offset < bytes)
}

impl Windows {
    /// Where a generic address points.
    pub fn place(&self, at: u64) -> Place {
        if within(at, self.scratchpad, WINDOW) {
            Place::Scratchpad
        } else if within(at, self.local, WINDOW) {
            Place::Local
        } else if self.clusters && within(at, self.scratchpad, CLUSTER * WINDOW) {
            Place::Scratchpad
        } else {
            Place::Global
        }
    }

    /// Whether an address is one of the scratchpad: in its window, or an offset.
    pub fn like_scratchpad(&self, at: u64) -> bool {
        at < CLUSTER * WINDOW || self.place(at) == Place::Scratchpad
    }

    /// Byte of the block's scratchpad at an address of its window, or at an offset with the block's rank
    /// above it.
    pub fn scratchpad(&self, at: u64) -> u64 {
        let inside = within(at, self.scratchpad, CLUSTER * WINDOW);
        (if inside { at - self.scratchpad } else { at }) % WINDOW
    }

    /// A thread's own word, beside those of the next threads.
    pub fn local(&self, at: u64, thread: u64) -> u64 {
        let inside = within(at, self.local, WINDOW);
        let offset = (if inside { at - self.local } else { at }) % WINDOW;
        LOCAL + (offset / 4 * self.threads + thread) * 4 + offset % 4
    }
}

/// Active lanes, from the lowest.
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// An access that an operation can make: at most 8 bytes for each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub size: u8,
    pub mask: u64,
    pub addrs: Addrs,
}

/// What an access of `width` bytes for each active lane is done by, as hardware does it: a wide access is
/// made for some lanes at a time, so that it asks for each line once. The words of a lane stand side by side
/// in lanes of the piece.
///
/// # Errors
/// A width that is none; an address that is no multiple of the word's size.
pub(super) fn pieces(width: u64, mask: u64, addrs: &[u64]) -> Result<Vec<Piece>, String> {
    let Some(size) = [8, 4, 2, 1].into_iter().find(|size| width > 0 && width.is_multiple_of(*size)) else {
        return Err("0 bytes per lane; 1 to 32 are expected".into());
    };
    let words = width / size;
    if words > u64::from(LANES) {
        return Err(format!(
            "{width} bytes per lane; 1 to 32, or a multiple of 8 up to {WIDEST}, are expected"
        ));
    }
    if let Some(at) = addrs.iter().find(|at| !at.is_multiple_of(size)) {
        return Err(format!("address {at:#x} is no multiple of {size} bytes"));
    }
    let words = words as u32;
    let at_once = LANES / words;
    let mut list: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut group = None;
    for (lane, at) in lanes(mask).zip(addrs) {
        if group != Some(lane / at_once) {
            group = Some(lane / at_once);
            list.push((0, Vec::new()));
        }
        let Some((mask, addrs)) = list.last_mut() else { continue };
        for word in 0..words {
            *mask |= 1 << (lane % at_once * words + word);
            addrs.push(at.wrapping_add(u64::from(word) * size));
        }
    }
    let piece =
        |(mask, addrs): (u64, Vec<u64>)| Piece { size: size as u8, mask, addrs: of_active(&addrs, mask) };
    Ok(list.into_iter().map(piece).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_accesses_are_split_by_lanes() {
        let side_by_side = |width: u64| (0..32).map(|lane| 0x1000 + lane * width).collect::<Vec<u64>>();
        for (width, count, size) in
            [(1, 1, 1), (4, 1, 4), (8, 1, 8), (12, 4, 4), (16, 2, 8), (32, 4, 8), (128, 16, 8)]
        {
            let all = u64::from(u32::MAX);
            let list = pieces(width, all, &side_by_side(width)).expect("a width");
            assert_eq!((list.len(), list[0].size), (count, size), "{width} bytes");
            let mut bytes: Vec<u64> = list
                .iter()
                .flat_map(|piece| lanes(piece.mask).map(|lane| piece.addrs.at(lane)))
                .flat_map(|at| at..at + u64::from(size))
                .collect();
            bytes.sort_unstable();
            assert_eq!(bytes, (0x1000..0x1000 + 32 * width).collect::<Vec<_>>(), "{width} bytes");
        }
        let two = pieces(16, 0x8000_0001, &[0, 0x100]).expect("a width");
        assert_eq!(two.iter().map(|piece| piece.mask).collect::<Vec<_>>(), [0b11, 0xc000_0000]);
        assert!(pieces(127, 1, &[0]).is_err());
        assert!(pieces(16, 1, &[4]).is_err());
    }

    #[test]
    fn windows_may_stand_in_any_order() {
        let windows = Windows { threads: 32, scratchpad: 0x3900_0000, local: 0x3700_0000, clusters: false };
        let places = [0x36ff_ffff, 0x3700_0000, 0x37ff_ffff, 0x3800_0000, 0x3900_0000, 0x3a00_0000]
            .map(|at| windows.place(at));
        use Place::{Global, Local, Scratchpad};
        assert_eq!(places, [Global, Local, Local, Global, Scratchpad, Global]);
        assert_eq!(Windows { clusters: true, ..windows }.place(0x3a00_0000), Scratchpad);
        assert_eq!((windows.scratchpad(0x3900_0040), windows.scratchpad(0x0100_0040)), (0x40, 0x40));
        assert_eq!(Windows { scratchpad: 0, local: 0, ..windows }.place(0x10), Global);
    }
}
