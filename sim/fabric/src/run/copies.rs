//! Copies of the host between its memory and the GPUs' (mgcc.md section 14), a behavioural DMA behind the switch: before the first kernel what arrays hold at first, after the last one every array that kernels may
//! write. Each GPU has a link of its own to the host; a copy takes the time of the GPU with most bytes, and the switch's latency.

use crate::config::Common;
use crate::family::Link;
use crate::placement::PageTable;
use weft_workload::{Array, Place};

/// Bytes and cycles of the copies of a run: in, out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostCopies {
    pub bytes: [u64; 2],
    pub cycles: [u64; 2],
}

impl HostCopies {
    /// The copies of a program; none where the host has no link.
    pub fn new(common: &Common, table: &PageTable, arrays: &[Array]) -> Option<HostCopies> {
        let link = Link { bytes: common.host_link_bytes, latency: common.host_link_latency };
        if link.bytes == 0 {
            return None;
        }
        let mut of = HostCopies::default();
        // A program that says where an array is moves it by its own steps.
        let own = |place| matches!(place, Place::Part { .. } | Place::Host | Place::Managed);
        let arrays = || arrays.iter().filter(|array| !own(array.place));
        let inputs = arrays().map(|array| (array.addr, array.init.len()));
        let outputs = arrays().filter(|a| !a.read_only).map(|a| (a.addr, a.bytes() as usize));
        for (way, pieces) in [inputs.collect::<Vec<_>>(), outputs.collect()].into_iter().enumerate() {
            let mut homes = vec![0; table.pages_per_gpu().len()];
            for (addr, len) in pieces {
                table.for_pieces(addr, len, |at, range| {
                    homes[at.map_or(0, |at| table.home(at)) as usize] += range.len() as u64;
                });
            }
            of.bytes[way] = homes.iter().sum();
            let most = homes.into_iter().max().filter(|bytes| *bytes > 0);
            of.cycles[way] = most.map_or(0, |bytes| link.cycles(bytes));
        }
        Some(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FabricConfig;
    use weft_workload::Layout;

    /// Arrays of 4-byte elements: bytes, whether no kernel writes them, bytes that the host knows.
    fn arrays(of: &[(u64, bool, usize)]) -> Vec<Array> {
        let mut layout = Layout::new();
        for (i, (bytes, read_only, known)) in of.iter().enumerate() {
            layout.add(&format!("a{i}"), 4, bytes / 4, *read_only, vec![1; *known]);
        }
        layout.arrays().to_vec()
    }

    fn copies(changes: &[&str], arrays: &[Array]) -> Option<HostCopies> {
        let mut config = FabricConfig::load("rdma-4gpu-small").expect("built in");
        changes.iter().for_each(|change| config.set(change).expect("legal"));
        config.validate().expect("legal");
        let table = PageTable::new(arrays, &config).expect("fits");
        HostCopies::new(&config.common, &table, arrays)
    }

    #[test]
    fn the_gpu_with_most_bytes_takes_longest() {
        // Five pages that are read, two that are written, of which the host knows 100 bytes.
        let arrays = arrays(&[(5 * 4096, true, 5 * 4096), (2 * 4096, false, 100)]);
        let pages = ["placement=page_rr", "host_link_bytes=32", "host_link_latency=140"];
        // GPU 0 has pages 0 and 4 of the first array, and page 0 of the second.
        let expected = HostCopies {
            bytes: [5 * 4096 + 100, 2 * 4096],
            cycles: [(2 * 4096u64 + 100).div_ceil(32) + 140, 4096 / 32 + 140],
        };
        assert_eq!(copies(&pages, &arrays), Some(expected));
        let single = copies(&["placement=single", "host_link_bytes=64"], &arrays).expect("a link");
        assert_eq!(single.cycles, [(5 * 4096u64 + 100).div_ceil(64) + 140, 2 * 4096 / 64 + 140]);
        assert_eq!(copies(&["host_link_bytes=0"], &arrays), None);
        let none = super::tests::arrays(&[(64, true, 0)]);
        let nothing = copies(&[], &none).expect("a link");
        assert_eq!((nothing.bytes, nothing.cycles), ([0, 0], [0, 0]), "no bytes, no time");
    }
}
