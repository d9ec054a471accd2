//! `lock_tbl`: the lines of a bank that remote operations have locked, each with the L1 that owns the lock (srsp.md sections 4 and 6).
//!
//! ```text
//!  key ----> lines 0..locks-1 (CAM) ----> locked, entry, owner
//! ```
//! An entry is a valid bit, a line number and an owner: 49 bits in the published GPU, 392 for the 8 of a bank. Whether a line is locked says nothing about whether the bank holds
//! it.
//!
//! The block answers each request of channel `req` in channel `rsp`, in the next cycle.
//!
//! # Picture
//!
#![doc = include_str!("../pictures/lock-tbl.svg")]

use crate::params::{Srsp, srsp_from, srsp_params};
use weft_blocks::common::cam::Cam;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// The table inside a bank: at most one entry is written and one removed per cycle.
pub struct LockTbl {
    lines: Cam,
    owners: Memory<Bits>,
    owner_in: LaneWriter<Bits>,
}

/// What the table knows of a line.
#[derive(Clone, Copy)]
pub struct Lock {
    /// It is locked.
    pub locked: Bool,
    /// Its entry, while locked.
    pub index: Bits,
    /// The L1 that owns the lock, while locked.
    pub owner: Bits,
    /// Entries that hold the line; at most one.
    pub entries: Bits,
}

impl LockTbl {
    /// Declares a table of `locks` entries (1..64); its signals are called `NAME_*`. Declare it outside every `when`.
    #[track_caller]
    pub fn new(name: &str, locks: u32, p: &Srsp) -> LockTbl {
        if !(1..=64).contains(&locks) {
            elab_error(format!("lock table {name} of {locks} entries; legal: 1..64"));
        }
        let locks = locks.clamp(1, 64);
        let width = p.cu_bits();
        let owners = regfile::<Bits>(&format!("{name}_owners"), locks, width).fields(&[("owner", width)]);
        let owner_in = owners.lane_writer("in");
        LockTbl { lines: Cam::new(name, locks, p.line_bits()), owners, owner_in }
    }

    /// Width of an entry's number.
    pub fn index_bits(&self) -> u32 {
        self.lines.index_bits()
    }

    /// Looks a line up.
    #[track_caller]
    pub fn find(&self, line: Bits) -> Lock {
        let entries = self.lines.matches(line);
        let index = entries.lowest_set();
        Lock { locked: entries.any(), index, owner: self.owners.read(index), entries }
    }

    /// Valid bits of the entries.
    pub fn valid(&self) -> Bits {
        self.lines.valid()
    }

    /// No entry is free.
    #[track_caller]
    pub fn full(&self) -> Bool {
        self.lines.full()
    }

    /// Locks a line that is not locked; call it under `when(!full & ...)`.
    #[track_caller]
    pub fn lock(&self, line: Bits, owner: Bits) {
        let index = self.lines.free_index();
        self.lines.write(index, line);
        self.owner_in.write(index, &owner);
    }

    /// Gives a lock to another owner.
    #[track_caller]
    pub fn pass(&self, index: Bits, owner: Bits) {
        self.owner_in.write(index, &owner);
    }

    /// Unlocks an entry's line.
    #[track_caller]
    pub fn unlock(&self, index: Bits) {
        self.lines.remove_at(index);
    }
}

/// What the block is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum LockOp {
    /// Says whether the line is locked, and for whom.
    Find,
    /// Locks the line, unless it is locked or no entry is free.
    Lock,
    /// Unlocks the line, if the owner asks.
    Unlock,
}

/// Request (channel `req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct LockReq {
    /// What to do.
    pub op: Enum<LockOp>,
    /// Line.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Who asks.
    #[width(p.cu_bits())]
    pub src: Bits,
}

/// Answer (channel `rsp`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct LockRsp {
    /// It was done; of a Find: the line is locked.
    pub done: Bool,
    /// The line was locked before.
    pub locked: Bool,
    /// For whom; meaningful while locked.
    #[width(p.cu_bits())]
    pub owner: Bits,
    /// No entry was free.
    pub full: Bool,
}

/// The table as a block.
///
/// # Errors
/// A number of entries outside 1..64.
pub fn lock_tbl(p: &Srsp, locks: u32) -> Result<Arc<Module>, BlockError> {
    let name = format!("lock_tbl_{locks}x{}_c{}", p.line_bits(), p.cus);
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Lines locked by remote operations, with the L1 that owns each lock.");
        param("locks", locks);
        param("cus", p.cus);
        let req = in_channel::<LockReq>("req", p);
        let rsp = out_channel::<LockRsp>("rsp", p);
        let table = LockTbl::new("locks", locks, p);
        let m = &req.msg;
        let found = table.find(m.line);
        let own = (found.locked & found.owner.eq(m.src)).named("own");
        let full = table.full().named("full");
        let is = |op| m.op.is(op);
        let locks_it = is(LockOp::Lock) & !found.locked & !full;
        let unlocks_it = is(LockOp::Unlock) & own;
        let done = locks_it | unlocks_it | (is(LockOp::Find) & found.locked);
        let owner = mux(found.locked, found.owner, lit(0, p.cu_bits()));
        when(req.valid & rsp.free, || {
            req.take();
            rsp.send(&LockRsp { done, locked: found.locked, owner, full });
            when(locks_it, || table.lock(m.line, m.src));
            when(unlocks_it, || table.unlock(found.index));
        });
        let one = found.entries.popcount().le(1);
        assert_always("one_lock_per_line", !req.valid | one, "a line has one lock at most");
        cover("srsp.lock_tbl.full", req.valid & is(LockOp::Lock) & !found.locked & full, "no entry is free");
        cover(
            "srsp.lock_tbl.taken",
            req.valid & is(LockOp::Lock) & found.locked,
            "the line is locked already",
        );
        let foreign = req.valid & is(LockOp::Unlock) & !own;
        cover("srsp.lock_tbl.foreign", foreign, "an unlock by somebody who does not own the lock");
    });
    built.map_err(|errors| BlockError::Elab { block: "lock-tbl".into(), errors })
}

/// The parameter of the number of locks.
pub fn locks_info() -> ParamInfo {
    let about = "lines locked at once, per bank";
    ParamInfo { name: "locks", default: "8".into(), legal: "1..64", about }
}

/// The block in the list.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "lock-tbl",
        about: "Lines of an L2 bank that are locked by remote operations, with their owners",
        params: || {
            let mut list = vec![locks_info()];
            list.extend(srsp_params());
            list
        },
        build: |set| lock_tbl(&srsp_from(set)?, set.within("locks", 1, 64)? as u32),
    }
}
