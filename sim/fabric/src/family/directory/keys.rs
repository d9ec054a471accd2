//! Keys of the directory family, each declared once: field, default, unit, legal values, sentence.

use super::protocol::names;
use super::{Acquire, DirPolicy, Fence, L2Policy, Protocol};
use crate::config::Legal::{OneOf, Power, Switch, Within};
use crate::config::{G, K, M, Named, keys};
use weft_blocks::directory::params::TagStyle;
use weft_blocks::fabric::FabricInject;

keys! {
    /// Keys of the directory family beside the common ones (rec.md sections 2 and 9, hmg.md section 9); the default is the published REC system.
    DirectoryKeys {
        System {
            protocol: Protocol = Protocol::REC, "", OneOf(names()), "what keeps the GPUs' copies coherent";
        }
        Coherence {
            range: u32 = 1024, "bytes", Power(128, 8 * K), "range that one directory entry of protocols rec and hmg-rec covers, 2 to 64 lines";
            group: u32 = 4, "lines", Power(1, 8), "lines that one directory entry covers with protocols whose entries are of groups, as nhcc and hmg";
            entries: u32 = 8192, "entries", Within(1, 64 * M), "directory entries per GPU, banks * ways * sets; baseline-2x has twice as many";
            ways: u32 = 8, "ways", Within(1, 128), "ways of the directory";
            downgrade: bool = false, "", Switch, "protocols hmg and hmg-rec: an L2 tells the next home when its last clean line of a group (with hmg-rec: a clean line) is evicted, so that no Inv is sent for it";
            fence: Fence = Fence::Joined, "", OneOf(Fence::NAMES), "protocols hmg and hmg-rec, GPUs of several GPMs: one GPM asks for all releases of system scope of its GPU, or each asks all homes for its own";
            sw_acquire: Acquire = Acquire::Remote, "", OneOf(Acquire::NAMES), "protocols sw-flat and sw-hierarchical: an acquire drops the lines of other homes in the L2s that it reaches, or all lines there, and writes dirty ones back before";
            banks: u32 = 16, "banks", Power(1, 64), "L2 banks per GPU, each with a directory slice and a DRAM channel";
            il: u32 = 4096, "bytes", Power(256, M), "bank interleave: bank = (address / il) mod banks; at least a range and four lines";
            policy: DirPolicy = DirPolicy::Auto, "", OneOf(DirPolicy::NAMES), "directory replacement; auto: fifo for baseline, baseline-2x and hmg-entry, lru for the others";
            evb_depth: u32 = 4, "entries", Within(1, 8), "eviction buffer of a directory slice";
            inv_rate: u32 = 1, "lines/cycle", Power(1, 4), "lines of an evicted entry expanded per cycle and slice";
            tag_style: TagStyle = TagStyle::Published, "", OneOf(TagStyle::NAMES), "address bits that a directory entry stores";
            inject: FabricInject = FabricInject::None, "", OneOf(FabricInject::NAMES), "a fault of the L1s or of the fence units, to try the checks; simulation only";
        }
        Caches {
            cus_per_sa: u32 = 4, "CUs", Within(1, 256), "compute units that share the L1I and L1S of a shader array; recorded, see l1i_size";
            l1_size: u32 = 16384, "bytes", Within(256, M), "data of an L1";
            l1_ways: u32 = 4, "ways", Power(2, 16), "ways of an L1";
            l1_mshrs: u32 = 32, "MSHRs", Within(1, 256), "open misses, atomics and answered stores of an L1";
            l1_targets: u32 = 8, "loads", Within(1, 16), "loads that one L1 miss can answer";
            l1_stores: u32 = 64, "stores", Within(1, 255), "stores that the L2 has not yet taken, per L1 and release epoch";
            l1_latency: u32 = 20, "cycles", Within(3, 64), "hit time of an L1";
            l1i_size: u32 = 32768, "bytes", Within(256, M), "instruction cache of a shader array; recorded, instruction fetch is not simulated";
            l1i_ways: u32 = 4, "ways", Power(1, 64), "ways of the instruction cache; recorded, see l1i_size";
            l1s_size: u32 = 16384, "bytes", Within(256, M), "scalar cache of a shader array; recorded, scalar loads are not simulated";
            l1s_ways: u32 = 4, "ways", Power(1, 64), "ways of the scalar cache; recorded, see l1s_size";

            l2_size: u64 = 2 * M, "bytes", Within(2 * K, G), "data of all L2 banks of a GPU";
            l2_ways: u32 = 16, "ways", Power(2, 64), "ways of an L2 bank";
            l2_policy: L2Policy = L2Policy::WriteThrough, "", OneOf(L2Policy::NAMES), "how far a store goes at once on its way to its home; write-back with protocols hmg and sw-hierarchical only";
            l2_mshrs: u32 = 64, "MSHRs", Within(4, 256), "open misses of an L2 bank";
            l2_pool: u32 = 128, "requests", Within(4, 1024), "requests waiting in all merge and replay lists of an L2 bank, at least l2_mshrs";
            l2_latency: u32 = 30, "cycles", Within(3, K), "hit time of an L2 bank: 3, which is the bank alone, or 6 and more";
            release_l2_flush: bool = true, "", Switch, "a release writes the dirty lines of the L2 back";
        }
        Links {
            links: u32 = 1, "links", Within(1, 8), "links between each GPU and the switch";
            link_bytes: u32 = 150, "bytes/cycle", Within(1, 512), "bandwidth of each link and direction";
            link_latency: u32 = 140, "cycles", Within(4, 8 * K), "time one way from GPU to GPU, an even number: half to the switch, half from it";
            link_credits: u32 = 256, "messages", Within(1, K), "places per virtual network in the buffer at the end of each wire";

            gpm_link_bytes: u32 = 384, "bytes/cycle", Within(1, 512), "bandwidth of each port of a GPM to a switch of its GPU, per direction; a GPM has two, to the other GPMs and to other GPUs";
            gpm_link_latency: u32 = 40, "cycles", Within(4, 8 * K), "time one way from GPM to GPM of a GPU, an even number";
            gpm_link_credits: u32 = 256, "messages", Within(1, K), "places per virtual network in the buffer at the end of each wire inside a GPU";
        }
    }
}
