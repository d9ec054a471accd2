//! The program's memory as a coherent reader would see it.

use crate::family::{Newer, Surroundings};
use crate::memory::Memory;
use crate::placement::PageTable;
use weft_engine::Sim;

/// First address of memory of the host; the program's address follows in the lower bits.
pub(crate) const HOST: u64 = 1 << 62;

/// What holds a program's bytes.
pub(super) struct Held<'a> {
    pub around: &'a dyn Surroundings,
    pub table: &'a PageTable,
    /// By the program's addresses: pages that no compute unit has touched.
    pub host: &'a Memory,
    /// Bytes of a line.
    pub line: u64,
}

impl Held<'_> {
    /// Bytes by the program's addresses: what memory holds, or a cache if it is newer; of pages that are nowhere yet, what the host holds.
    pub fn read(&self, sim: &Sim, addr: u64, count: usize) -> Vec<u8> {
        let mut newer = self.around.newer(sim);
        newer.sort_by_key(|n| n.line);
        let mut out = vec![0; count];
        self.table.for_pieces(addr, count, |at, range| {
            let start = addr + range.start as u64;
            let piece = &mut out[range];
            match at {
                Some(at) => read_newer(self.around, &newer, self.line, at, piece),
                None => self.host.read(start, piece),
            }
        });
        out
    }
}

/// Bytes from a physical address on; `newer` is in order of lines of `line` bytes.
pub(crate) fn read_newer(around: &dyn Surroundings, newer: &[Newer], line: u64, at: u64, bytes: &mut [u8]) {
    around.read(at, bytes);
    let end = at + bytes.len() as u64;
    let first = newer.partition_point(|n| (n.line + 1) * line <= at);
    for n in newer[first..].iter().take_while(|n| n.line * line < end) {
        for (i, byte) in n.data.iter().flat_map(|limb| limb.to_le_bytes()).enumerate() {
            let place = (n.line * line + i as u64).checked_sub(at);
            if let Some(slot) = place.and_then(|o| bytes.get_mut(o as usize))
                && n.mask >> i & 1 == 1
            {
                *slot = byte;
            }
        }
    }
}
