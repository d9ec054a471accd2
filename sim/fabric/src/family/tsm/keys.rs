//! Keys of the family, each declared once: field, default, unit, legal values, sentence.

use super::values::{LaneCount, MergeRaw, ReadTime};
use crate::config::Legal::{OneOf, Power, Switch, Within, WithinOffOrAuto};
use crate::config::{Auto, G, K, M, Named, keys};
use weft_mgcc::choice::{Inject, WrspData};
use weft_mgcc::fabric::{TsmProtocol, TsuScale};
use weft_mgcc::tsu::{RdExtend, TsuWts};

keys! {
    /// Keys of the family beside the common ones (mgcc.md section 2); the default is the published system with MGCC under release consistency.
    TsmKeys {
        System {
            protocol: TsmProtocol = TsmProtocol::WtCRc, "", OneOf(TsmProtocol::NAMES), "write-back or write-through L2, without coherence or with MGCC, release or sequential consistency";
        }
        Coherence {
            ts: u32 = 16, "bits", Within(6, 32), "timestamp: wts, rts, memts";
            cts: u32 = 64, "bits", Within(9, 64), "a cache's clock {epoch, timestamp}; at least ts + eb";
            eb: u32 = 4, "bits", Within(3, 8), "tag of the epoch in a message";
            rd_lease: u64 = 10, "", Within(1, G), "lease of a read, at most 2^(ts - 2)";
            wr_lease: u64 = 5, "", Within(1, G), "lease of a write, at most 2^(ts - 2)";
            read_ts: ReadTime = ReadTime::Auto, "", OneOf(ReadTime::NAMES), "when loads raise a clock: at the fill, or at the next fence (not with wt-c-sc); auto: eager with wt-c-sc, else deferred";
            self_inc: Auto<Option<u32>> = Auto::Auto, "hits", WithinOffOrAuto(2, 65_535), "L1 hits for which the L1's clock goes on by one; off not with wt-c-sc; auto: off with wt-c-rc, whose loads that others wait on go to memory, else 100";
            repl_ts: bool = true, "", Switch, "expired blocks are replaced first";
            rd_extend: RdExtend = RdExtend::Accumulate, "", OneOf(RdExtend::NAMES), "lease of a read: beyond all leases before, or beyond the reader's clock";
            tsu_wts: TsuWts = TsuWts::Exact, "", OneOf(TsuWts::NAMES), "what a read is told of the last write: its time, or a bound";
            tsu_ways: u32 = 8, "ways", Within(1, 16), "ways of a TSU slice";
            tsu_latency: u32 = 50, "cycles", Within(2, 200), "time of a TSU operation";
            tsu_scale: TsuScale = TsuScale::One, "", OneOf(TsuScale::NAMES), "entries of the TSUs over lines of the L2 banks that they serve";
            tsu_evict_on_l2: bool = true, "", Switch, "a TSU hears of lines that an L2 bank drops";
            trk: u32 = 32, "entries", Within(4, 256), "entries of a lane's ReqTracker";
            age_max: u32 = 64, "times", Within(1, 1023), "a request passed over so often goes first";
            merge_raw: MergeRaw = MergeRaw::Auto, "", OneOf(MergeRaw::NAMES), "a read of a line whose write is in service takes its line without DRAM; auto: on with wt-c-sc";
            wrsp_data: WrspData = WrspData::Partial, "", OneOf(WrspData::NAMES), "writes whose answer carries the line";
            inject: Inject = Inject::None, "", OneOf(Inject::NAMES), "a slip of the published listings, to try the checks; with wt-c-rc and wt-c-sc; simulation only";
        }
        Caches {
            banks: u32 = 8, "banks", Power(1, 16), "L2 banks per GPU, and UMCs in the system";
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
            crossbar_latency: u32 = 2, "cycles", Within(1, 64), "time between an L1 and an L2 bank, one way";
            link_bytes: u32 = 4, "bytes/cycle", Within(1, 512), "bandwidth of the link of an L2 bank and direction; that of a UMC has as much for each GPU";
            link_latency: u32 = 140, "cycles", Within(2, 4096), "time between an L2 bank and its UMC, one way";
            link_credits: u32 = 64, "messages", Within(1, K), "places per direction in the buffer at the end of a bank's link";
        }
        Memory {
            umc_lanes: LaneCount = LaneCount::Gpus, "lanes", OneOf(LaneCount::NAMES), "lanes of a UMC, each with a DRAM channel; gpus: as many as there are GPUs";
        }
    }
}
