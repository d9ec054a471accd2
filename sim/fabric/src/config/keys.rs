//! All keys of a fabric's configuration, each declared once: field, default, unit, legal values, sentence.

use super::protocol::Protocol;
use super::value::*;
use crate::cu::{CuPolicy, Model};
use serde_json::Value;
use weft_blocks::directory::params::TagStyle;

/// A key as `weft list fabrics` shows it.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// Name in the file and for `--set`.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Value of the published system.
    pub default: Value,
    /// Values legal on their own.
    pub legal: Legal,
    /// What it means.
    pub about: &'static str,
}

macro_rules! keys {
    ($($name:ident: $ty:ty = $default:expr, $unit:literal, $legal:expr, $about:literal;)*) => {
        /// Configuration of a fabric: one field per key (rec.md sections 2, 9 and cu-and-consistency.md section 1); the default is the published system.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FabricConfig {
            /// Name of the built-in fabric, or the file's name without its ending.
            pub name: String,
            /// What it is, in a sentence.
            pub about: String,
            $(#[doc = $about] pub $name: $ty,)*
            /// Where each value that is no default was given.
            pub(super) places: super::Places,
        }

        impl Default for FabricConfig {
            fn default() -> FabricConfig {
                FabricConfig {
                    name: "published".into(),
                    about: "the published system".into(),
                    $($name: $default,)*
                    places: super::Places::default(),
                }
            }
        }

        impl FabricConfig {
            /// All keys with unit, default, legal values and meaning, in the order of the files.
            pub fn keys() -> Vec<KeyInfo> {
                let published = FabricConfig::default();
                vec![$(KeyInfo {
                    name: stringify!($name),
                    unit: $unit,
                    default: Field::value(&published.$name),
                    legal: $legal,
                    about: $about,
                },)*]
            }

            /// The value of a key as JSON.
            pub fn get(&self, key: &str) -> Option<Value> {
                match key {
                    $(stringify!($name) => Some(Field::value(&self.$name)),)*
                    _ => None,
                }
            }

            /// Reads a key's value; the error is the problem. An unknown key changes nothing.
            pub(super) fn assign(&mut self, key: &str, text: &str) -> Result<(), String> {
                match key {
                    $(stringify!($name) => self.$name = Field::parse(text, &$legal)?,)*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

use Legal::{OneOf, Power, Real, Switch, Within, WithinOrOff};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const G: u64 = 1 << 30;

keys! {
    protocol: Protocol = Protocol::Rec, "", OneOf(Protocol::NAMES), "what keeps the GPUs' copies coherent";
    gpus: u32 = 4, "GPUs", Within(1, 16), "GPUs in the system";
    gpms: u32 = 1, "GPMs", Power(1, 8), "modules of a GPU, each with CUs, L2, directory and DRAM of its own; what other keys count per GPU they count per GPM; 2 to 64 in the system";
    addr_bits: u32 = 48, "bits", Within(32, 64), "bits of a physical byte address";
    line: u32 = 64, "bytes", Power(64, 128), "cache line";
    clock_ghz: f64 = 1.0, "GHz", Real(0.01, 100.0), "clock of everything, for rates in bytes per second";

    range: u32 = 1024, "bytes", Power(128, 8 * K), "range that one directory entry of protocols rec and hmg-rec covers, 2 to 64 lines";
    group: u32 = 4, "lines", Power(1, 8), "lines that one directory entry of protocols nhcc, hmg and gpu-vi covers";
    entries: u32 = 8192, "entries", Within(1, 64 * M), "directory entries per GPU, banks * ways * sets; baseline-2x has twice as many";
    ways: u32 = 8, "ways", Within(1, 128), "ways of the directory";
    downgrade: bool = false, "", Switch, "protocols hmg and hmg-rec: an L2 tells the next home when its last clean line of a group (with hmg-rec: a clean line) is evicted, so that no Inv is sent for it";
    banks: u32 = 16, "banks", Power(1, 64), "L2 banks per GPU, each with a directory slice and a DRAM channel";
    il: u32 = 4096, "bytes", Power(256, M), "bank interleave: bank = (address / il) mod banks; at least a range and four lines";
    policy: DirPolicy = DirPolicy::Auto, "", OneOf(DirPolicy::NAMES), "directory replacement; auto: fifo for baseline, baseline-2x and hmg-entry, lru for the others";
    evb_depth: u32 = 4, "entries", Within(1, 8), "eviction buffer of a directory slice";
    inv_rate: u32 = 1, "lines/cycle", Power(1, 4), "lines of an evicted entry expanded per cycle and slice";
    tag_style: TagStyle = TagStyle::Published, "", OneOf(TagStyle::NAMES), "address bits that a directory entry stores";

    cus: u32 = 64, "CUs", Within(1, 256), "compute units per GPU, each with an L1";
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

    links: u32 = 1, "links", Within(1, 8), "links between each GPU and the switch";
    link_bytes: u32 = 150, "bytes/cycle", Within(1, 512), "bandwidth of each link and direction";
    link_latency: u32 = 140, "cycles", Within(4, 8 * K), "time one way from GPU to GPU, an even number: half to the switch, half from it";
    link_credits: u32 = 256, "messages", Within(1, K), "places per virtual network in the buffer at the end of each wire";

    gpm_link_bytes: u32 = 384, "bytes/cycle", Within(1, 512), "bandwidth of each port of a GPM to a switch of its GPU, per direction; a GPM has two, to the other GPMs and to other GPUs";
    gpm_link_latency: u32 = 40, "cycles", Within(4, 8 * K), "time one way from GPM to GPM of a GPU, an even number";
    gpm_link_credits: u32 = 256, "messages", Within(1, K), "places per virtual network in the buffer at the end of each wire inside a GPU";

    dram_bytes: u64 = 4 * G, "bytes", Power(64 * K, 1 << 60), "DRAM per GPU; home GPU of an address = address / dram_bytes";
    dram_banks: u32 = 16, "banks", Within(1, 4096), "DRAM banks per GPU, divided evenly among its channels (one per L2 bank)";
    dram_bandwidth: u32 = 64, "bytes/cycle", Within(1, K), "bandwidth of each DRAM channel";
    dram_latency: u32 = 100, "cycles", Within(1, 64 * K), "time of a DRAM read on an idle channel";
    dram_bank_busy: u32 = 1, "cycles", Within(1, 4 * K), "time for which an access occupies its DRAM bank";
    dram_queue: u32 = 32, "requests", Within(1, K), "requests that wait in a DRAM channel";

    placement: Placement = Placement::PageRr, "", OneOf(Placement::NAMES), "where a program's pages lie; first-touch: at the node of the first CU that accesses them";
    page: u32 = 4096, "bytes", Power(512, 64 * M), "page";

    lanes: u32 = 64, "lanes", Within(1, 64), "lanes of a wave";
    alu_width: u32 = 16, "lanes", Within(1, 64), "lanes that an arithmetic unit serves per cycle";
    waves: u32 = 40, "waves", Within(1, 256), "waves resident in a CU";
    blocks: u32 = 16, "blocks", Within(1, 64), "work-groups resident in a CU";
    issue_slots: u32 = 4, "slots", Within(1, 8), "issue slots (SIMDs) of a CU";
    cu_policy: CuPolicy = CuPolicy::Oldest, "", OneOf(CuPolicy::NAMES), "which ready wave issues";
    lds_bytes: u32 = 65536, "bytes", Within(0, 256 * K), "scratchpad of a CU";
    lds_banks: u32 = 32, "banks", Power(1, 128), "scratchpad banks";
    lsu_rate: u32 = 1, "accesses/cycle", Within(1, 4), "line accesses that a CU sends to its L1 per cycle";
    lsu_depth: u32 = 4, "instructions", Within(1, 16), "memory instructions that wait in a CU";
    refill: u32 = 2, "cycles", Within(0, 16), "cycles after a branch until the wave may issue";
    wave_mem: u32 = 64, "accesses", Within(1, 256), "line accesses in flight per wave";
    starve: Option<u32> = Some(1024), "cycles", WithinOrOff(16, G), "a wave ready for so long goes first once";
    launch: u32 = 10, "cycles", Within(0, 65_535), "cycles from the dispatch of a work-group until its waves may issue";
    cta_schedule: CtaSchedule = CtaSchedule::Contiguous, "", OneOf(CtaSchedule::NAMES), "which GPU runs a work-group";

    model: Model = Model::Drf0, "", OneOf(Model::NAMES), "consistency model that the CUs keep";
    scopes: bool = false, "", Switch, "scopes of synchronisation are honoured; else all are of system scope";

    checks: bool = true, "", Switch, "scoreboards watch the run";
    watchdog: Option<u32> = Some(100_000), "cycles", WithinOrOff(K, G), "cycles without progress after which the run is called stuck";
}
