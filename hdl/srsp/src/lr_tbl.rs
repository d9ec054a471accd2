//! `lr-tbl`: local releases that nobody has asked for yet (srsp.md sections 4 and 5): the address of each, and the place of its entry in the sFIFO.
//!
//! ```text
//!            +-------------------------------------+
//!  address -->  valid | address (CAM) | ptr (CAM)  --> hit, ptr
//!  ptr     -->                                     |
//!            +-------------------------------------+
//! ```
//! As many entries as the sFIFO has: an entry dies when its place is popped, so it never overflows. Addresses are those of words of 4 bytes, so that neighbours in a line do
//! not alias.
//!
//! The block answers each request of channel `req` in channel `rsp`, in the next cycle.
//!
//! # Picture
//!
#![doc = include_str!("../pictures/lr-tbl.svg")]

use crate::entries::Entries;
use crate::params::srsp_params;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// Widths of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LrParams {
    /// Entries, as many as the sFIFO has: 2..256.
    pub entries: u32,
    /// Bits of a word's address.
    pub word_bits: u32,
}

impl LrParams {
    /// Width of a place in the sFIFO.
    pub fn ptr_bits(&self) -> u32 {
        bits_for(u64::from(self.entries))
    }
}

/// A released address.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LrParams)]
struct LrEntry {
    #[width(p.word_bits)]
    word: Bits,
    #[width(p.ptr_bits())]
    ptr: Bits,
}

/// The table inside an L1: one lookup with a registration, a pop or a clear per cycle.
pub struct LrTbl {
    p: LrParams,
    rows: Entries<LrEntry>,
}

/// What a lookup finds.
#[derive(Clone, Copy)]
pub struct LrFound {
    /// The address has an entry.
    pub hit: Bool,
    /// Its place in the sFIFO, of meaning with `hit`; else 0.
    pub ptr: Bits,
    index: Bits,
    word: Bits,
}

impl LrTbl {
    /// Declares the table; its signals are called `lr_tbl_*`, its bits are counted as `lr_tbl`: entries * (1 + word_bits + clog2(entries)).
    #[track_caller]
    pub fn new(p: LrParams) -> LrTbl {
        LrTbl { p, rows: Entries::new("lr_tbl", p.entries, &p) }
    }

    /// Looks a word's address up.
    #[track_caller]
    pub fn look(&self, word: Bits) -> LrFound {
        let which = self.rows.which(|row| row.word.eq(word));
        let index = mux(which.any(), which.lowest_set(), self.rows.free_index());
        let ptr = mux(which.any(), self.rows.read(which.lowest_set()).ptr, lit(0, self.p.ptr_bits()));
        LrFound { hit: which.any(), ptr, index, word }
    }

    /// Registers the release of the address looked up: its entry, or a free one, points to `ptr`.
    #[track_caller]
    pub fn register(&self, found: &LrFound, ptr: Bits) {
        self.rows.write(found.index, &LrEntry { word: found.word, ptr });
    }

    /// The entry that points to a place, if there is one.
    #[track_caller]
    pub fn at(&self, ptr: Bits) -> Bits {
        self.rows.which(|row| row.ptr.eq(ptr))
    }

    /// A place of the sFIFO is popped: the entry that points there dies.
    #[track_caller]
    pub fn popped(&self, ptr: Bits) {
        self.rows.remove(self.at(ptr));
    }

    /// All entries die.
    #[track_caller]
    pub fn clear(&self) {
        self.rows.clear();
    }

    /// No entry is free.
    #[track_caller]
    pub fn full(&self) -> Bool {
        self.rows.full()
    }

    /// Some entry is there.
    #[track_caller]
    pub fn some(&self) -> Bool {
        self.rows.valid().any()
    }

    /// Another word of the line of `word` has an entry; a line has `1 << words` words.
    #[track_caller]
    pub fn neighbour(&self, word: Bits, words: u32) -> Bool {
        let line = |w: Bits| w.slice(words, w.width() - words);
        self.rows.which(|row| line(row.word).eq(line(word)) & row.word.ne(word)).any()
    }

    /// The invariants, seen at the address looked up and at a place.
    pub fn check(&self, word: Bits, ptr: Bits) {
        let here = self.rows.which(|row| row.word.eq(word)).popcount().zext(16);
        let text = "an address has at most one LR entry";
        assert_always("lr_tbl_one_per_address", here.le(1), text);
        let there = self.at(ptr).popcount().zext(16);
        assert_always("lr_tbl_one_per_place", there.le(1), "a place of the sFIFO has at most one LR entry");
    }
}

/// What the block is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum LrOp {
    /// Looks an address up.
    Look,
    /// Registers a release at a place, unless no entry is free.
    Register,
    /// A place is popped.
    Pop,
    /// All entries die.
    Clear,
}

/// Request (channel `req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LrParams)]
pub struct LrReq {
    /// What to do.
    pub op: Enum<LrOp>,
    /// Address of Look and Register, without its two lowest bits.
    #[width(p.word_bits)]
    pub word: Bits,
    /// Place of Register and Pop.
    #[width(p.ptr_bits())]
    pub ptr: Bits,
}

/// Answer (channel `rsp`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LrParams)]
pub struct LrRsp {
    /// The address had an entry; for Pop: the place.
    pub hit: Bool,
    /// The place where the address was last released, before this request; 0 without.
    #[width(p.ptr_bits())]
    pub ptr: Bits,
    /// No entry was free.
    pub full: Bool,
}

/// The table as a block.
///
/// # Errors
/// A number of entries outside 2..256.
pub fn lr_tbl(p: LrParams) -> Result<Arc<Module>, BlockError> {
    let name = format!("lr_tbl_{}x{}", p.entries, p.word_bits);
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Local releases: their addresses and places in the sFIFO.");
        param("entries", p.entries);
        param("word_bits", p.word_bits);
        let req = in_channel::<LrReq>("req", &p);
        let rsp = out_channel::<LrRsp>("rsp", &p);
        let table = LrTbl::new(p);
        let m = &req.msg;
        let found = table.look(m.word);
        let there = table.at(m.ptr).any();
        table.check(m.word, m.ptr);
        let full = table.full().named("full");
        let go = (req.valid & rsp.free).named("go");
        let registers = m.op.is(LrOp::Register) & (found.hit | !full);
        when(go, || {
            req.take();
            let hit = mux(m.op.is(LrOp::Pop), there, found.hit);
            rsp.send(&LrRsp { hit, ptr: found.ptr, full });
            when(registers, || table.register(&found, m.ptr));
            when(m.op.is(LrOp::Pop), || table.popped(m.ptr));
            when(m.op.is(LrOp::Clear), || table.clear());
        });
        cover("srsp.lr.moves", go & registers & found.hit, "an address that has an entry is released again");
        cover("srsp.lr.dies", go & m.op.is(LrOp::Pop) & there, "the place of an entry is popped");
        cover("srsp.lr.full", go & full, "every entry is taken");
    });
    built.map_err(|errors| BlockError::Elab { block: "lr-tbl".into(), errors })
}

/// The block in the list.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "lr-tbl",
        about: "Local releases of an L1 of sRSP",
        params: || {
            let about = "entries, as many as the sFIFO has";
            let mut list = vec![ParamInfo { name: "entries", default: "16".into(), legal: "2..256", about }];
            list.extend(srsp_params().into_iter().filter(|p| p.name == "addr_bits"));
            list
        },
        build: |set| {
            let entries = set.within("entries", 2, 256)? as u32;
            lr_tbl(LrParams { entries, word_bits: set.within("addr_bits", 32, 64)? as u32 - 2 })
        },
    }
}
