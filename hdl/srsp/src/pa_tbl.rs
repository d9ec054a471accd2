//! `pa-tbl`: promotions that are owed (srsp.md sections 4 and 5): addresses whose next acquire at work-group scope must go to the L2.
//!
//! ```text
//!            +------------------------+
//!  address -->  valid | address (CAM) --> hit, full
//!            +------------------------+
//! ```
//! An address is inserted once. Entries leave all together only, when the L1 is invalidated.
//!
//! The block answers each request of channel `req` in channel `rsp`, in the next cycle.
//!
//! # Picture
//!
#![doc = include_str!("../pictures/pa-tbl.svg")]

use crate::entries::Entries;
use crate::params::srsp_params;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// The table inside an L1: one lookup, with an insertion or a clear, per cycle.
pub struct PaTbl {
    rows: Entries<Bits>,
}

/// What a lookup finds.
#[derive(Clone, Copy)]
pub struct PaFound {
    /// The address is there.
    pub hit: Bool,
    /// It is not there and no entry is free.
    pub overflows: Bool,
    word: Bits,
}

impl PaTbl {
    /// Declares a table of `entries` (1..256) addresses of `word_bits` bits; its signals are called `pa_tbl_*`, its bits are counted as `pa_tbl`: entries * (1 + word_bits).
    #[track_caller]
    pub fn new(entries: u32, word_bits: u32) -> PaTbl {
        PaTbl { rows: Entries::new("pa_tbl", entries, &word_bits) }
    }

    /// Looks a word's address up.
    #[track_caller]
    pub fn look(&self, word: Bits) -> PaFound {
        let hit = self.rows.which(|row| row.eq(word)).any();
        PaFound { hit, overflows: !hit & self.rows.full(), word }
    }

    /// Inserts the address looked up, unless it is there; only when it does not overflow.
    #[track_caller]
    pub fn insert(&self, found: &PaFound) {
        when(!found.hit, || self.rows.write(self.rows.free_index(), &found.word));
    }

    /// All entries leave.
    #[track_caller]
    pub fn clear(&self) {
        self.rows.clear();
    }

    /// Some entry is there.
    #[track_caller]
    pub fn some(&self) -> Bool {
        self.rows.valid().any()
    }
}

/// What the block is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum PaOp {
    /// Looks an address up.
    Look,
    /// Inserts an address, unless no entry is free.
    Insert,
    /// All entries leave.
    Clear,
}

/// Widths of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaParams {
    /// Entries, 1..256.
    pub entries: u32,
    /// Bits of a word's address.
    pub word_bits: u32,
}

/// Request (channel `req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = PaParams)]
pub struct PaReq {
    /// What to do.
    pub op: Enum<PaOp>,
    /// Address without its two lowest bits.
    #[width(p.word_bits)]
    pub word: Bits,
}

/// Answer (channel `rsp`).
#[derive(Clone, Copy, Bundle)]
pub struct PaRsp {
    /// The address was there.
    pub hit: Bool,
    /// It was not, and no entry was free.
    pub overflows: Bool,
}

/// The table as a block.
///
/// # Errors
/// A number of entries outside 1..256.
pub fn pa_tbl(p: PaParams) -> Result<Arc<Module>, BlockError> {
    let name = format!("pa_tbl_{}x{}", p.entries, p.word_bits);
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Promotions owed: addresses whose next acquire must go to the L2.");
        param("entries", p.entries);
        param("word_bits", p.word_bits);
        let req = in_channel::<PaReq>("req", &p);
        let rsp = out_channel::<PaRsp>("rsp", &());
        let table = PaTbl::new(p.entries, p.word_bits);
        let m = &req.msg;
        let found = table.look(m.word);
        let go = (req.valid & rsp.free).named("go");
        let inserts = m.op.is(PaOp::Insert);
        when(go, || {
            req.take();
            rsp.send(&PaRsp { hit: found.hit, overflows: found.overflows });
            when(inserts & !found.overflows, || table.insert(&found));
            when(m.op.is(PaOp::Clear), || table.clear());
        });
        cover("srsp.pa.duplicate", go & inserts & found.hit, "an address comes that is there");
        cover("srsp.pa.full", go & inserts & found.overflows, "an address comes and no entry is free");
    });
    built.map_err(|errors| BlockError::Elab { block: "pa-tbl".into(), errors })
}

/// The block in the list.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "pa-tbl",
        about: "Promotions owed by an L1 of sRSP",
        params: || {
            let about = "entries";
            let mut list = vec![ParamInfo { name: "entries", default: "16".into(), legal: "1..256", about }];
            list.extend(srsp_params().into_iter().filter(|p| p.name == "addr_bits"));
            list
        },
        build: |set| {
            let entries = set.within("entries", 1, 256)? as u32;
            pa_tbl(PaParams { entries, word_bits: set.within("addr_bits", 32, 64)? as u32 - 2 })
        },
    }
}
