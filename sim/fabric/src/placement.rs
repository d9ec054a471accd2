//! Page placement: from a program's flat byte space to physical addresses (rec.md section 10).
//!
//! Memory g, that of a node (a GPU, or a GPM) or the only one of all nodes, has physical bytes `g * dram_bytes` to `(g + 1) * dram_bytes`; its pages are given out from the lowest on, in the
//! program's order, or, with placement `first-touch` (hmg.md section 9), in the order in which compute units touch them.

use crate::config::{FabricConfig, Named, Placement};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use thiserror::Error;
use weft_workload::{Array, Place};

/// A program that cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// A GPU's memory is too small.
    #[error(
        "placement {placement} puts {needed} bytes of the program into the memory of GPU {gpu}, which has dram_bytes = {has}; set dram_bytes to at least {wanted}, choose another placement, or a smaller program"
    )]
    Full {
        /// Placement policy.
        placement: &'static str,
        /// GPU that is full.
        gpu: u32,
        /// Bytes placed there.
        needed: u64,
        /// Bytes that it has.
        has: u64,
        /// Bytes that would do: a power of two.
        wanted: u64,
    },
    /// An array wants to be where this fabric has no memory.
    #[error(
        "the program's array {array} is to be in memory of the host, and GPUs of this fabric do not reach it; choose another way in the program's parameters"
    )]
    NoHost {
        /// The array.
        array: String,
    },
}

/// Pages of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTable {
    page_bits: u32,
    home_shift: u32,
    /// Physical address of each page of the flat space.
    pages: Vec<u64>,
    /// Page of the flat space in each page of each GPU's memory.
    frames: Vec<Vec<u64>>,
    /// Pages are placed when they are touched.
    on_touch: bool,
    /// Pages of a node's memory.
    room: u64,
    /// Pages placed by touch since the last [`PageTable::take_fresh`].
    fresh: Vec<u64>,
}

/// Memories among which the pages of an array go in turn, if the program says which.
fn part_of(array: &Array, homes: u64, policy: Placement) -> Option<Range<u64>> {
    let (part, of) = match array.place {
        Place::Part { part, of } => (part, of),
        Place::Near { part, of } if policy == Placement::Program => (part, of),
        _ => return None,
    };
    let first = |part: u32| u64::from(part) * homes / u64::from(of);
    Some(first(part)..first(part + 1).max(first(part) + 1))
}

/// Refuses an array that is with the host at first where there is no host.
fn hosted(array: &Array, config: &FabricConfig) -> Result<(), PlacementError> {
    let host = config.hardware().links().host;
    host.map(|_| ()).ok_or_else(|| PlacementError::NoHost { array: array.name.clone() })
}

/// The exclusive or of a page number's groups of log2(nodes) bits, modulo a number of nodes that is no power of two (mgcc.md section 14).
fn folded(page: u64, nodes: u64) -> u64 {
    let bits = u64::BITS - (nodes - 1).leading_zeros();
    let (mut rest, mut fold) = (page, 0);
    while bits > 0 && rest > 0 {
        fold ^= rest & ((1 << bits) - 1);
        rest >>= bits;
    }
    fold % nodes
}

/// A page that no array has, or that nothing has touched.
const NOWHERE: u64 = u64::MAX;

impl PageTable {
    /// Places all pages of a program's arrays. A page that two arrays share (pages larger than the program's) belongs to the first.
    ///
    /// # Errors
    /// A program that does not fit into the memory of a GPU.
    pub fn new(arrays: &[Array], config: &FabricConfig) -> Result<PageTable, PlacementError> {
        let page = u64::from(config.common.page);
        let shape = config.hardware().shape();
        let gpus = u64::from(shape.homes);
        let end = arrays.iter().map(|a| a.addr + a.bytes()).max().unwrap_or(0);
        let mut table = PageTable {
            page_bits: config.common.page.trailing_zeros(),
            home_shift: shape.home_bytes.trailing_zeros(),
            pages: Vec::with_capacity(end.div_ceil(page) as usize),
            frames: vec![Vec::new(); shape.homes as usize],
            on_touch: config.common.placement == Placement::FirstTouch,
            room: shape.home_bytes / page,
            fresh: Vec::new(),
        };
        let all = end.div_ceil(page).max(1);
        if table.on_touch {
            table.pages.resize(all as usize, NOWHERE);
            table.check_total(config)?;
        }
        for (number, array) in arrays.iter().enumerate() {
            let first = array.addr / page;
            let count = (array.addr + array.bytes()).div_ceil(page).saturating_sub(first).max(1);
            if matches!(array.place, Place::Host | Place::Managed) {
                hosted(array, config)?;
                continue;
            }
            let wanted = match config.common.placement_written {
                written if !array.read_only && written != Placement::Same => written,
                _ => config.common.placement,
            };
            let policy = match (wanted, array.place) {
                (Placement::Program, Place::Split) => Placement::Block,
                (Placement::Program, _) => Placement::PageRr,
                (other, _) => other,
            };
            let part = part_of(array, gpus, wanted);
            for k in (0..count).filter(|k| table.is_free(first + k)).collect::<Vec<_>>() {
                let gpu = match (&part, policy) {
                    (Some(part), _) => part.start + k % (part.end - part.start),
                    (_, Placement::PageRr | Placement::Program) => k % gpus,
                    // Part g begins at floor(g * count / gpus), as the work-groups' parts do.
                    (_, Placement::Block) => ((k + 1) * gpus - 1) / count,
                    (_, Placement::ArrayRr) => number as u64 % gpus,
                    (_, Placement::Single) => 0,
                    (_, Placement::FirstTouch | Placement::Same) => continue,
                    (_, Placement::Interleave) => (first + k) % gpus,
                    (_, Placement::Static) => ((first + k + 1) * gpus - 1) / all,
                    (_, Placement::PageHash) => folded(first + k, gpus),
                };
                table.place(first + k, gpu);
            }
        }
        table.check(config)?;
        table.pages.resize(table.pages.len().max(all as usize), NOWHERE);
        Ok(table)
    }

    /// Nothing is known yet of a page of the flat space.
    fn is_free(&self, page: u64) -> bool {
        self.pages.get(page as usize).is_none_or(|at| *at == NOWHERE)
    }

    /// Gives a page of the flat space the next page of a GPU; pages before it that no array uses are never translated.
    fn place(&mut self, page: u64, gpu: u64) {
        let frames = &mut self.frames[gpu as usize];
        let addr = (gpu << self.home_shift) | ((frames.len() as u64) << self.page_bits);
        frames.push(page);
        if self.pages.len() as u64 <= page {
            self.pages.resize(page as usize + 1, NOWHERE);
        }
        self.pages[page as usize] = addr;
    }

    /// Physical address of a byte that a compute unit of `node` accesses: its page is placed there if it is nowhere yet, or, if the node's memory is
    /// full, at the next node with room.
    ///
    /// # Panics
    /// Beyond the last array's last page.
    pub fn touch(&mut self, addr: u64, node: u32) -> u64 {
        let page = addr >> self.page_bits;
        if self.pages[page as usize] == NOWHERE {
            let nodes = self.frames.len();
            let near = (0..nodes).map(|i| (node as usize + i) % nodes);
            let has_room = |n: &usize| (self.frames[*n].len() as u64) < self.room;
            let home =
                near.into_iter().find(has_room).expect("all pages together fit, as PageTable::new has seen");
            let frames = &mut self.frames[home];
            self.pages[page as usize] =
                ((home as u64) << self.home_shift) | ((frames.len() as u64) << self.page_bits);
            frames.push(page);
            self.fresh.push(page << self.page_bits);
        }
        self.translate(addr)
    }

    /// Physical address of a byte, if its page is placed.
    #[inline]
    pub fn find(&self, addr: u64) -> Option<u64> {
        let base = *self.pages.get((addr >> self.page_bits) as usize)?;
        (base != NOWHERE).then(|| base | (addr & ((1 << self.page_bits) - 1)))
    }

    /// Moves the page of the flat space that begins at `addr` to a page of a memory in which nothing was before; its physical address, if the memory has room.
    pub fn renew(&mut self, addr: u64, home: u32) -> Option<u64> {
        let page = addr >> self.page_bits;
        let has_room = (self.frames[home as usize].len() as u64) < self.room;
        has_room.then(|| {
            self.place(page, u64::from(home));
            self.pages[page as usize]
        })
    }

    /// Pages are placed when compute units touch them.
    pub fn on_touch(&self) -> bool {
        self.on_touch
    }

    /// Some pages were placed by touch since the last [`PageTable::take_fresh`].
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// First byte in the flat space of each page placed by touch since the last call, in order.
    pub fn take_fresh(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.fresh)
    }

    /// With placement by touch any page may come to any node: all together must fit.
    fn check_total(&self, config: &FabricConfig) -> Result<(), PlacementError> {
        let each = (self.pages.len() as u64).div_ceil(self.frames.len() as u64);
        if each <= self.room {
            return Ok(());
        }
        let needed = each << self.page_bits;
        Err(PlacementError::Full {
            placement: config.common.placement.name(),
            gpu: 0,
            needed,
            has: 1 << self.home_shift,
            wanted: needed.next_power_of_two(),
        })
    }

    fn check(&self, config: &FabricConfig) -> Result<(), PlacementError> {
        let size = |frames: &Vec<u64>| (frames.len() as u64) << self.page_bits;
        let full = self.frames.iter().position(|frames| size(frames) > 1 << self.home_shift);
        let Some(gpu) = full else { return Ok(()) };
        let most = self.frames.iter().map(size).max().unwrap_or(0);
        Err(PlacementError::Full {
            placement: config.common.placement.name(),
            gpu: gpu as u32,
            needed: size(&self.frames[gpu]),
            has: 1 << self.home_shift,
            wanted: most.next_power_of_two(),
        })
    }

    /// Physical address of a byte of the flat space.
    ///
    /// # Panics
    /// Beyond the last array's last page.
    #[inline]
    pub fn translate(&self, addr: u64) -> u64 {
        let base = self.pages[(addr >> self.page_bits) as usize];
        debug_assert_ne!(base, NOWHERE, "byte {addr:#x} belongs to no array or is placed nowhere");
        base | (addr & ((1 << self.page_bits) - 1))
    }

    /// GPU whose memory holds a physical address.
    #[inline]
    pub fn home(&self, phys: u64) -> u32 {
        (phys >> self.home_shift) as u32
    }

    /// Byte of the flat space at a physical address, if the program has one there.
    pub fn inverse(&self, phys: u64) -> Option<u64> {
        let frames = self.frames.get((phys >> self.home_shift) as usize)?;
        let offset = phys & ((1 << self.home_shift) - 1);
        let page = frames.get((offset >> self.page_bits) as usize)?;
        Some((page << self.page_bits) | (offset & ((1 << self.page_bits) - 1)))
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        1 << self.page_bits
    }

    /// Pages placed at each GPU.
    pub fn pages_per_gpu(&self) -> Vec<usize> {
        self.frames.iter().map(Vec::len).collect()
    }

    /// Cuts `len` bytes of the flat space at page boundaries: calls `f` with the physical address of each piece, if it has one, and its range in the
    /// whole.
    pub fn for_pieces(&self, addr: u64, len: usize, mut f: impl FnMut(Option<u64>, std::ops::Range<usize>)) {
        let mut done = 0;
        while done < len {
            let at = addr + done as u64;
            let left = self.page_bytes() - (at & (self.page_bytes() - 1));
            let piece = usize::try_from(left).map_or(len - done, |left| left.min(len - done));
            f(self.find(at), done..done + piece);
            done += piece;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use weft_workload::Layout;

    fn arrays(bytes: &[u64]) -> Vec<Array> {
        let mut layout = Layout::new();
        for (i, count) in bytes.iter().enumerate() {
            layout.add(&format!("a{i}"), 4, count / 4, false, Vec::new());
        }
        layout.arrays().to_vec()
    }

    fn config(changes: &[&str]) -> FabricConfig {
        let mut config = FabricConfig::load("rec-4gpu-small").expect("built in");
        changes.iter().for_each(|c| config.set(c).expect("legal"));
        config.validate().expect("legal");
        config
    }

    /// Homes of the pages of the flat space.
    fn homes(bytes: &[u64], changes: &[&str]) -> Vec<u32> {
        let arrays = arrays(bytes);
        let table = PageTable::new(&arrays, &config(changes)).expect("fits");
        (0..table.pages.len() as u64).map(|p| table.home(table.translate(p * table.page_bytes()))).collect()
    }

    #[test]
    fn policies_place_as_their_names_say() {
        let sizes = [5 * 4096, 100, 3 * 4096];
        assert_eq!(homes(&sizes, &[]), [0, 1, 2, 3, 0, 0, 0, 1, 2]);
        assert_eq!(homes(&sizes, &["placement=block"]), [0, 1, 2, 3, 3, 3, 1, 2, 3]);
        assert_eq!(homes(&[8 * 4096], &["placement=block"]), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(homes(&sizes, &["placement=array_rr"]), [0, 0, 0, 0, 0, 1, 2, 2, 2]);
        assert_eq!(homes(&sizes, &["placement=single"]), [0; 9]);
        assert_eq!(homes(&sizes, &["placement=interleave"]), [0, 1, 2, 3, 0, 1, 2, 3, 0]);
        assert_eq!(homes(&sizes, &["placement=static"]), [0, 0, 1, 1, 2, 2, 3, 3, 3]);
        assert_eq!(
            homes(&sizes, &["placement=page-hash"]),
            [0, 1, 2, 3, 1, 0, 3, 2, 2],
            "page 8 = 20 in base 4"
        );
        assert_eq!(homes(&[17 * 4096], &["placement=page-hash", "gpus=2"])[13..], [1, 1, 0, 1]);
        assert_eq!(homes(&[4 * 4096], &["placement=page-hash", "gpus=3"]), [0, 1, 2, 0], "3 of 3 nodes is 0");
        assert_eq!(homes(&sizes, &["page=8K"]), [0, 1, 2, 0, 1], "a shared page is the first array's");
    }

    #[test]
    fn arrays_that_kernels_write_may_lie_elsewhere() {
        let mut layout = Layout::new();
        for (name, read_only) in [("x", true), ("y", false)] {
            layout.add(name, 4, 4 * 1024, read_only, Vec::new());
        }
        let homes = |changes: &[&str]| {
            let table = PageTable::new(layout.arrays(), &config(changes)).expect("fits");
            (0..8).map(|page| table.home(table.translate(page * 4096))).collect::<Vec<_>>()
        };
        assert_eq!(homes(&["placement=single"]), [0; 8], "as the others unless it is said");
        assert_eq!(homes(&["placement=single", "placement_written=block"]), [0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(homes(&["placement=page_rr", "placement_written=single"]), [0, 1, 2, 3, 0, 0, 0, 0]);
        let mut both = FabricConfig::load("rec-4gpu-small").expect("built in");
        for change in ["placement=first-touch", "placement_written=block"] {
            both.set(change).expect("legal by itself");
        }
        let said = both.validate().expect_err("not both").to_string();
        assert!(said.contains("placement_written = block: with placement = first-touch all pages"), "{said}");
        assert!(both.set("placement_written=first-touch").is_err() && both.set("placement=same").is_err());
    }

    #[test]
    fn arrays_go_where_the_program_wants_them() {
        let placed = |places: &[Place], changes: &[&str]| {
            let mut layout = Layout::new();
            for (i, place) in places.iter().enumerate() {
                let array = layout.add(&format!("a{i}"), 4, 3 * 1024, false, Vec::new());
                layout.put(array, *place);
            }
            let table = PageTable::new(layout.arrays(), &config(changes))?;
            let home = |page: u64| table.find(page * 4096).map(|at| table.home(at));
            Ok::<_, PlacementError>((0..3 * places.len() as u64).map(home).collect::<Vec<_>>())
        };
        let part = |part, of| Place::Part { part, of };
        let some = |homes: &[u32]| homes.iter().map(|home| Some(*home)).collect::<Vec<_>>();
        let parts = [part(3, 4), Place::Policy, part(1, 2), part(2, 8)];
        assert_eq!(placed(&parts, &[]), Ok(some(&[3, 3, 3, 0, 1, 2, 2, 3, 2, 1, 1, 1])));
        let touched = placed(&[part(3, 4), Place::Policy], &["placement=first-touch"]);
        assert_eq!(touched, Ok(vec![Some(3), Some(3), Some(3), None, None, None]));
        let asked = [Place::Split, Place::Near { part: 2, of: 4 }, Place::Policy];
        assert_eq!(placed(&asked, &["placement=program"]), Ok(some(&[1, 2, 3, 2, 2, 2, 0, 1, 2])));
        assert_eq!(placed(&asked, &["placement=page_rr"]), Ok(some(&[0, 1, 2, 0, 1, 2, 0, 1, 2])));
        let error = placed(&[Place::Policy, Place::Host], &[]).expect_err("no host");
        assert_eq!(
            error.to_string(),
            "the program's array a1 is to be in memory of the host, and GPUs of this fabric do not reach it; choose another way in the program's parameters"
        );
    }

    #[test]
    fn the_first_to_touch_a_page_has_it_while_there_is_room() {
        let config = config(&["placement=first-touch", "dram_bytes=64K", "page=16K"]);
        let mut table = PageTable::new(&arrays(&[6 * 16384]), &config).expect("fits");
        assert_eq!((table.find(5), table.has_fresh()), (None, false));
        let at = |table: &mut PageTable, page: u64, node| table.touch(page * 16384 + 40, node);
        assert_eq!(at(&mut table, 4, 3), (3 << 16) + 40);
        assert_eq!(at(&mut table, 4, 1), (3 << 16) + 40, "who comes later changes nothing");
        for page in [0, 1, 2] {
            at(&mut table, page, 3);
        }
        let spilled = at(&mut table, 3, 3);
        assert_eq!(table.home(spilled), 0, "node 3 is full");
        assert_eq!(table.take_fresh(), [4 * 16384, 0, 16384, 2 * 16384, 3 * 16384]);
        assert_eq!((table.pages_per_gpu(), table.has_fresh()), (vec![1, 0, 0, 4], false));
        assert_eq!(table.inverse((3 << 16) + 40), Some(4 * 16384 + 40));
        let error = PageTable::new(&arrays(&[17 * 16384]), &config).expect_err("one page too much");
        assert!(error.to_string().contains("dram_bytes to at least 131072"), "{error}");
    }

    #[test]
    fn the_whole_memory_fits_and_one_page_more_does_not() {
        let config = config(&["dram_bytes=64K", "placement=single"]);
        PageTable::new(&arrays(&[60 << 10, 4096]), &config).expect("fills it exactly");
        let error = PageTable::new(&arrays(&[60 << 10, 4100]), &config).expect_err("one element too much");
        assert_eq!(
            error.to_string(),
            "placement single puts 69632 bytes of the program into the memory of GPU 0, which has dram_bytes = 65536; set dram_bytes to at least 131072, choose another placement, or a smaller program"
        );
    }

    proptest! {
        #[test]
        fn pages_are_distinct_inside_their_gpu_and_invertible(
            sizes in prop::collection::vec(4u64..60_000, 1..6),
            placement in (0usize..8).prop_filter("placed before it is touched", |p| *p != 6),
            page in 9u32..15,
            gpus in 2u32..9,
        ) {
            let names = Placement::NAMES;
            let config = config(&[&format!("placement={}", names[placement]), &format!("page={}", 1 << page), &format!("gpus={gpus}")]);
            let arrays = arrays(&sizes);
            let table = PageTable::new(&arrays, &config).expect("fits");
            let mut seen = HashSet::new();
            for array in &arrays {
                for addr in (array.addr..array.addr + array.bytes()).step_by(512) {
                    let phys = table.translate(addr);
                    prop_assert!(table.home(phys) < gpus);
                    prop_assert_eq!(u64::from(table.home(phys)), phys / config.common.dram_bytes);
                    prop_assert_eq!(table.inverse(phys), Some(addr));
                    prop_assert!(seen.insert(phys));
                }
                let mut next = 0;
                table.for_pieces(array.addr + 3, array.bytes() as usize - 3, |phys, range| {
                    assert_eq!(range.start, next);
                    let phys = phys.expect("placed");
                    assert_eq!(phys, table.translate(array.addr + 3 + range.start as u64));
                    next = range.end;
                });
                prop_assert_eq!(next as u64, array.bytes() - 3);
            }
            let beyond = table.pages_per_gpu().iter().map(|n| (*n as u64) << page).max().unwrap_or(0);
            prop_assert_eq!(table.inverse(beyond), None);
        }
    }
}
