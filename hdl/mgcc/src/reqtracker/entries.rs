//! Storage of the ReqTracker and how an entry's state changes.

use super::types::{Answers, Chosen, Results};
use super::{Issue, TrackerParams};
use crate::msg::*;
use crate::params::{LINE, Tsm};
use weft_rtl::prelude::*;

/// What an entry knows of its request.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub(super) struct Info {
    pub op: Enum<TsmOp>,
    #[width(p.gpu_bits())]
    pub src: Bits,
    #[width(p.l2_txn_bits())]
    pub txn: Bits,
    #[width(p.eb)]
    pub tag: Bits,
    #[width(p.ts)]
    pub ts: Bits,
}

/// What an entry's request writes.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub(super) struct Write {
    #[width(LINE)]
    pub mask: Bits,
    #[width(p.data_bits())]
    pub data: Bits,
    pub amo: Enum<weft_blocks::msg::AmoOp>,
    pub sgn: Bool,
    #[width(4)]
    pub word: Bits,
    pub wide: Bool,
}

/// What DRAM has answered.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub(super) struct Line {
    #[width(p.data_bits())]
    pub data: Bits,
    #[width(64)]
    pub old: Bits,
}

/// What the TSU has answered.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub(super) struct Granted {
    #[width(p.eb)]
    pub tag: Bits,
    #[width(p.ts)]
    pub wts: Bits,
    #[width(p.ts)]
    pub rts: Bits,
}

/// The entries.
pub(super) struct Entries {
    pub n: u32,
    hi: Reg<Bits>,
    lo: Reg<Bits>,
    /// Per entry: its line is there; it has its grant; the TSU wants to be asked again; its answer has left; all bytes are written.
    pub dram_done: Reg<Bits>,
    granted: Reg<Bits>,
    pub overflowed: Reg<Bits>,
    pub answered: Reg<Bits>,
    pub full_mask: Reg<Bits>,
    /// Row i: entries of the line of i, and those that came before i; bits of free entries mean nothing.
    pub same: Vec<Reg<Bits>>,
    pub before: Vec<Reg<Bits>>,
    pub ages: Vec<Reg<Bits>>,
    pub lines: Memory<Bits>,
    pub info: Memory<Info>,
    pub grants: Option<Memory<Granted>>,
    pub enter_line: LaneWriter<Bits>,
    pub enter_info: LaneWriter<Info>,
    pub enter_write: LaneWriter<Write>,
    write_port: SramPort<Write>,
    pub line_port: SramPort<Line>,
    pub line_writer: LaneWriter<Line>,
    /// Writes and reads that have answered and whose buffer nobody needs any more: free in the next cycle.
    retired: Wire<Bits>,
    /// Entries of the line of the request that arrives, and whether it writes all bytes.
    pub arriving_same: Wire<Bits>,
    pub arriving_full: Wire<Bool>,
}

impl Entries {
    pub fn new(p: &TrackerParams) -> Entries {
        let (n, t) = (p.entries, &p.tsm);
        let vector = |name: &str| reg::<Bits>(name, n);
        let matrix = |name: &str, width, field: &str| -> Vec<Reg<Bits>> {
            (0..n).map(|i| reg::<Bits>(&format!("{name}{i}"), width).field(field)).collect()
        };
        let lines = regfile::<Bits>("lines", n, t.line_bits()).fields(&[("tag", t.line_bits())]);
        let info = regfile::<Info>("info", n, t.clone()).fields(&[("queue", width_of::<Info>(t))]);
        let grants = p.coherent().then(|| {
            let fields = [("timestamp", width_of::<Granted>(t))];
            regfile::<Granted>("grants", n, t.clone()).fields(&fields)
        });
        let writes = sram::<Write>("writes", n, 1, t.clone()).fields(&[("data", width_of::<Write>(t))]);
        let results = sram::<Line>("results", n, 1, t.clone()).fields(&[("data", width_of::<Line>(t))]);
        Entries {
            n,
            hi: vector("state_hi").field("state"),
            lo: vector("state_lo").field("state"),
            dram_done: vector("dram_done"),
            granted: vector("granted"),
            overflowed: vector("overflowed"),
            answered: vector("answered"),
            full_mask: vector("full_mask"),
            same: matrix("same", n, "control"),
            before: matrix("before", n, "replacement"),
            ages: matrix("age", p.age_bits(), "replacement"),
            enter_line: lines.lane_writer("in"),
            enter_info: info.lane_writer("in"),
            enter_write: writes.lane_writer("in"),
            write_port: writes.read_port("out"),
            line_port: results.read_port("out"),
            line_writer: results.lane_writer("in"),
            lines,
            info,
            grants,
            retired: wire::<Bits>("retired", n),
            arriving_same: wire_zero::<Bits>("arriving_same", n),
            arriving_full: wire_zero::<Bool>("arriving_full", ()),
        }
    }

    pub fn free(&self) -> Bits {
        !self.busy()
    }
    pub fn busy(&self) -> Bits {
        self.hi.get() | self.lo.get()
    }
    pub fn pend(&self) -> Bits {
        self.lo.get() & !self.hi.get()
    }
    pub fn serv(&self) -> Bits {
        self.hi.get() & !self.lo.get()
    }
    pub fn att(&self) -> Bits {
        self.hi.get() & self.lo.get()
    }
    /// In service or attached.
    pub fn in_service(&self) -> Bits {
        self.hi.get() & !self.retired.get()
    }
    /// The grant is known; without a TSU there is none to wait for.
    pub fn granted(&self, p: &TrackerParams) -> Bits {
        if p.coherent() { self.granted.get() } else { lit_bv(Bv::ones(self.n)) }
    }
    /// Encoded states ([`super::TrkState`]): the low bits of all entries, then the high ones.
    pub fn state(&self) -> [Bits; 2] {
        [self.lo.get(), self.hi.get()]
    }
    /// Calls `use_it` with the encoded states that this cycle leaves.
    pub fn on_next_state(&self, use_it: impl FnOnce(&[Bits]) + 'static) {
        let (lo, hi) = (self.lo.clone(), self.hi.clone());
        after_cycle(move |after| use_it(&[after.of(&lo), after.of(&hi)]));
    }
    /// Entries that have answered and that nobody needs any more.
    pub fn retired(&self) -> Bits {
        self.retired.get()
    }
    /// One bit per entry of which `f` holds.
    pub fn each(&self, f: impl Fn(usize) -> Bool) -> Bits {
        pack_bools(&(0..self.n as usize).map(f).collect::<Vec<_>>())
    }
    /// The one of the entries that came first.
    pub fn oldest(&self, of: Bits) -> Bits {
        self.each(|i| of.bit(i as u32) & (self.before[i].get() & of).none())
    }
    /// Row `index` of the matrix `same`.
    pub fn same_of(&self, index: Bits) -> Bits {
        let rows: Vec<Bits> = self.same.iter().map(|row| row.get()).collect();
        select(&rows, index)
    }

    /// Shows what an entry writes in the next cycle.
    pub fn present_write(&self, index: Bits) {
        self.write_port.present(index);
    }

    pub fn dram_request(&self, held: &Issue) -> DramReq {
        let w = self.write_port.lane(0);
        DramReq {
            op: held.op,
            line: held.line,
            mask: w.mask,
            data: w.data,
            amo: w.amo,
            sgn: w.sgn,
            word: w.word,
            wide: w.wide,
            id: held.id,
        }
    }

    /// The states after this cycle.
    pub fn update(&self, p: &TrackerParams, arrive: Bits, chosen: &Chosen, back: &Results, out: &Answers) {
        let n = self.n;
        let oh = |pick: Bool, index: Bits| index.one_hot(n) & pick.repeat(n);
        let issued = oh(chosen.any & !chosen.repeat & !chosen.attach, chosen.index).named("to_serv");
        let attached = oh(chosen.any & chosen.attach, chosen.index).named("to_att");
        let repeated = oh(chosen.any & chosen.repeat, chosen.index).named("repeated");
        let left = oh(out.leaves, out.index).named("answer_left");
        let att = self.att();
        // A write's buffer is needed until the last read attached to it has answered.
        let waited_for = self.each(|i| (self.same[i].get() & att).any()).named("waited_for");
        let retired = self.serv() & self.answered.get() & !waited_for;
        self.retired.set(retired);
        let freed = (self.retired.get() | (left & att)).named("freed");
        self.lo.set((self.lo.get() | arrive) & !issued & !freed);
        self.hi.set((self.hi.get() | issued | attached) & !freed);
        self.dram_done.set((self.dram_done.get() | back.dram) & !arrive);
        self.granted.set((self.granted.get() | back.granted) & !arrive);
        self.overflowed.set((self.overflowed.get() | back.overflowed) & !repeated & !arrive);
        self.answered.set((self.answered.get() | left) & !arrive);
        let arriving = arrive.any();
        let full = self.arriving_full.get().repeat(n);
        when(arriving, || self.full_mask.set((self.full_mask.get() & !arrive) | (arrive & full)));
        let (busy, same) = (self.busy(), self.arriving_same.get());
        when(arriving, || {
            for i in 0..n {
                let (me, row) = (arrive.bit(i), &self.same[i as usize]);
                let seen = (row.get() & !arrive) | (arrive & same.bit(i).repeat(n));
                row.set(mux(me, same, seen));
                let row = &self.before[i as usize];
                row.set(mux(me, busy, row.get() & !arrive));
            }
        });
        let passed = (chosen.passed & !issued & !attached).named("passed_over");
        for (i, age) in self.ages.iter().enumerate() {
            when(arrive.bit(i as u32), || age.set(0)).elsewhen(passed.bit(i as u32), || {
                when(age.get().ne(u64::from(p.age_max)), || age.set(age.get() + 1));
            });
        }
        cover(
            "mgcc.race.trk_write_waits_for_read",
            (self.serv() & self.answered.get() & waited_for).any(),
            "a write has answered, a read attached to it has not",
        );
    }

    /// Assertions of mgcc.md section 13.
    pub fn check(&self, p: &TrackerParams) {
        let serv = self.serv();
        let twice = self.each(|i| serv.bit(i as u32) & (self.same[i].get() & serv).any());
        assert_always("one_in_service", twice.none(), "never two SERV entries of a line");
        let orphan = self.each(|i| self.att().bit(i as u32) & (self.same[i].get() & serv).none());
        assert_always("read_has_its_write", orphan.none(), "an attached read's write is in service");
        let stamped = self.granted.get() & self.overflowed.get();
        assert_always("one_grant", stamped.none(), "what has its grant is not asked again");
        if !p.merge_raw {
            assert_always("no_merging", self.att().none(), "reads are attached only with MERGE_RAW");
        }
    }
}
