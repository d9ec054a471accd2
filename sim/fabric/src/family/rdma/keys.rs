//! Keys of the family, each declared once: field, default, unit, legal values, sentence.

use crate::config::Legal::{OneOf, Power, Within};
use crate::config::{G, K, M, Named, keys, named};
use weft_mgcc::choice::WrspData;

named! {
    /// What keeps copies coherent.
    RdmaProtocol {
        /// Nothing inside a kernel; lines of other GPUs are read through RDMA.
        Rdma = "rdma",
    }
}

keys! {
    /// Keys of the family beside the common ones (mgcc.md sections 1, 2 and 14); the default is the published system.
    RdmaKeys {
        System {
            protocol: RdmaProtocol = RdmaProtocol::Rdma, "", OneOf(RdmaProtocol::NAMES), "write-back L2 of the GPU's own memory, no coherence inside a kernel: there is no other in this family";
        }
        Coherence {
            rdma_entries: u32 = 64, "requests", Within(1, 256), "requests of a GPU's L1s under way to other GPUs";
            rdma_slots: u32 = 64, "requests", Within(1, 256), "requests of other GPUs under way in the banks of a GPU";
            wrsp_data: WrspData = WrspData::Partial, "", OneOf(WrspData::NAMES), "writes whose answer carries the line";
        }
        Caches {
            banks: u32 = 8, "banks", Power(1, 16), "L2 banks per GPU, each with a DRAM channel";
            il: u32 = 4096, "bytes", Power(64, 16 * M), "bank interleave: bank = (address / il) mod banks";
            l1_size: u32 = 16384, "bytes", Within(256, M), "data of an L1";
            l1_ways: u32 = 4, "ways", Power(2, 16), "ways of an L1";
            l1_mshrs: u32 = 16, "MSHRs", Within(1, 64), "open transactions of an L1";
            l1_pool: u32 = 16, "requests", Within(1, 64), "requests waiting for a line under way in an L1";
            l1_latency: u32 = 60, "cycles", Within(3, 256), "hit time of an L1";
            l2_size: u64 = 2 * M, "bytes", Within(2 * K, G), "data of all L2 banks of a GPU";
            l2_ways: u32 = 16, "ways", Power(2, 16), "ways of an L2 bank";
            l2_mshrs: u32 = 64, "MSHRs", Within(1, 256), "open transactions of an L2 bank";
            l2_pool: u32 = 64, "requests", Within(1, 256), "requests waiting for a line under way in an L2 bank";
            l2_latency: u32 = 10, "cycles", Within(3, 1000), "hit time of an L2 bank: 3, which is the bank alone, or 6 and more";
        }
        Links {
            crossbar_latency: u32 = 2, "cycles", Within(1, 64), "time between an L1 and an L2 bank or the RDMA engine, one way";
            link_bytes: u32 = 32, "bytes/cycle", Within(1, 512), "bandwidth of a GPU's link to the switch and direction";
            link_latency: u32 = 140, "cycles", Within(2, 4096), "time through the switch, one way";
            link_credits: u32 = 64, "messages", Within(1, K), "places per GPU in the switch's buffers for requests and for responses";
            fault_cycles: u32 = 20_000, "cycles", Within(1, G), "time in which the host handles an access to a page that is elsewhere, for programs whose pages move (dnn-step.md)";
            fault_page: u32 = 4096, "bytes", Power(4 * K, 2 * M), "page that moves then, at least a page of placement";
        }
    }
}
