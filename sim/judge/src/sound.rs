//! Records that no run has made: numbers with which nothing can be reckoned. A recording whose checksums fit
//! may hold them all the same.

use weft_recording::Record;

/// Address behind all memory, cycle behind all runs.
const END: u64 = 1 << 60;

/// Nodes, and compute units of a node, that no fabric has.
const NODES: u32 = 1 << 16;
const CUS: u32 = 1 << 12;

/// Whether a record can be of a run.
///
/// # Errors
/// Why it cannot.
pub fn check(record: &Record) -> Result<(), &'static str> {
    let (addr, cycle, index) = match record {
        Record::Memory { addr, .. } => (*addr, 0, 0),
        Record::Kernel { cycle, .. }
        | Record::Barrier { cycle, .. }
        | Record::Boundary { cycle }
        | Record::End { cycle, .. } => (0, *cycle, 0),
        Record::Thread(thread) if thread.node >= NODES || thread.cu >= CUS => {
            return Err("a thread is on a compute unit that no fabric has");
        }
        Record::Thread(_) => (0, 0, 0),
        Record::Access(access) | Record::Open(access) => {
            (access.addr, access.taken.max(access.done), access.index)
        }
        Record::Fence(fence) => (0, fence.taken.max(fence.done), fence.index),
    };
    let much = [
        (addr >= END, "an address lies behind all memory"),
        (cycle >= END, "a cycle lies behind the end of all runs"),
        (index == u32::MAX, "a thread has more operations than can be counted"),
    ];
    much.into_iter().find(|(much, _)| *much).map_or(Ok(()), |(_, why)| Err(why))
}
