//! The pending table of `gpu-vi-directory`: the groups whose Invs are awaited, W and E.

use super::table::{ViAckAct, ViRow, acknowledgements};
use crate::directory::index::base_of;
use crate::directory::params::DirParams;
use crate::msg::{DirOp, DirRsp};
use weft_rtl::prelude::*;

/// What a row knows beside its count.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = DirParams)]
pub(super) struct Awaited {
    #[width(p.base_bits())]
    pub base: Bits,
    pub row: Enum<ViRow>,
    /// Of a store: its number.
    #[width(p.sys.dir_id_bits())]
    pub id: Bits,
    /// Of a store of another node: where the entry is that keeps its source.
    #[width(p.set_bits())]
    pub set: Bits,
    #[width(p.way_bits())]
    pub way: Bits,
}

/// The table.
pub(super) struct Pending {
    p: DirParams,
    rows: Memory<Awaited>,
    writer: LaneWriter<Awaited>,
    counts: Vec<Reg<Bits>>,
    /// Stores that have all acknowledgements and wait for the `rsp` port.
    due: Reg<Bits>,
    completed: Wire<Bits>,
    answered: Wire<Bits>,
}

/// What an acknowledgement met.
pub(super) struct Acked {
    pub valid: Bool,
    /// It completes its row.
    pub last: Bool,
    pub base: Bits,
}

impl Pending {
    /// Declares it.
    pub fn new(p: &DirParams) -> Pending {
        let rows = regfile::<Awaited>("pending", p.pending, p.clone())
            .fields(&[("pending table", width_of::<Awaited>(p))]);
        let bits = bits_for(u64::from(p.sharers()) + 1);
        let count = |i| reg::<Bits>(&format!("pending_count{i}"), bits).field("pending table");
        Pending {
            p: p.clone(),
            writer: rows.lane_writer("start"),
            rows,
            counts: (0..p.pending).map(count).collect(),
            due: reg::<Bits>("pending_due", p.pending)
                .field("pending table")
                .doc("Stores that have all acknowledgements and wait to be answered."),
            completed: wire_zero::<Bits>("pending_completed", p.pending),
            answered: wire_zero::<Bits>("pending_answered", p.pending),
        }
    }

    /// Rows that await something of a group.
    fn open(&self, base: Bits) -> Vec<(Bool, Enum<ViRow>)> {
        let row = |i: u32| {
            let row = self.rows.entry(i);
            (self.counts[i as usize].get().any() & row.base.eq(base), row.row)
        };
        (0..self.p.pending).map(row).collect()
    }

    /// Whether a group is in W, and in how many rows it is in E.
    pub fn state_of(&self, base: Bits) -> (Bool, Bits) {
        let open = self.open(base);
        let written: Vec<Bool> = open.iter().map(|(here, row)| *here & !row.is(ViRow::Evicted)).collect();
        let evicted: Vec<Bool> = open.iter().map(|(here, row)| *here & row.is(ViRow::Evicted)).collect();
        (any_of(&written), pack_bools(&evicted).popcount())
    }

    /// Ways of a set whose entries are in W.
    pub fn ways_in_w(&self, set: Bits) -> Bits {
        let ways = self.p.ways;
        (0..self.p.pending).fold(lit_bv(Bv::zero(ways)), |all, i| {
            let row = self.rows.entry(i);
            let here = self.counts[i as usize].get().any() & row.row.is(ViRow::Remote) & row.set.eq(set);
            let way = if ways == 1 { lit(1, 1) } else { row.way.one_hot(ways) };
            all | (way & here.repeat(ways))
        })
    }

    fn used(&self) -> Bits {
        let open: Vec<Bool> = self.counts.iter().map(|count| count.get().any()).collect();
        pack_bools(&open) | self.due.get()
    }

    /// No row is free.
    pub fn full(&self) -> Bool {
        self.used().all()
    }

    /// Some row is used.
    pub fn any(&self) -> Bool {
        self.used().any()
    }

    /// Begins a row; under the condition that one is free.
    pub fn start(&self, row: &Awaited, sharers: Bits) {
        let index = (!self.used()).lowest_set();
        self.writer.write(index, row);
        for (i, count) in self.counts.iter().enumerate() {
            when(index.eq(i as u64), || count.set(sharers.popcount().resize(count.get().width())));
        }
    }

    /// Counts an acknowledgement of a line. A group may have several rows of evictions: whichever it counts against, they are over when all are in.
    pub fn acknowledge(&self, valid: Bool, line: Bits) -> Acked {
        let base = base_of(&self.p, line);
        let here: Vec<Bool> = self.open(base).iter().map(|(here, _)| *here).collect();
        let here = pack_bools(&here).named("ack_rows");
        let index = here.lowest_set();
        let counts: Vec<Bits> = self.counts.iter().map(|count| count.get()).collect();
        let last = select(&counts, index).eq(1);
        let row = self.rows.read(index).row;
        // One that nobody awaits, against the protocol, counts for nothing.
        let counts_down = (valid & here.any()).named("ack_counts");
        let done = acknowledgements().decode_about(line, counts_down, (row, last));
        when(counts_down, || {
            for (i, count) in self.counts.iter().enumerate() {
                when(index.eq(i as u64), || count.set(count.get() - 1));
            }
            when(last & done.does(ViAckAct::Answer), || self.completed.set(index.one_hot(self.p.pending)));
        });
        assert_always(
            "ack_is_awaited",
            !valid | here.any(),
            "an acknowledgement is for a group whose Invs are awaited",
        );
        Acked { valid: counts_down, last: counts_down & last, base }
    }

    /// A completed store is answered in this cycle if the port is free.
    pub fn answers(&self) -> Bool {
        self.due.get().any()
    }

    /// Answers a completed store.
    pub fn answer(&self, rsp: &OutChannel<DirRsp>) {
        let no = bool_lit(false);
        when(self.due.get().any() & rsp.free, || {
            let index = self.due.get().lowest_set();
            let id = self.rows.read(index).id;
            rsp.send(&DirRsp { id, hit: bool_lit(true), evicted: no, empty: no, owner: None });
            self.answered.set(index.one_hot(self.p.pending));
        });
        let changes = self.completed.get().any() | self.answered.get().any();
        when(changes, || {
            self.due.set((self.due.get() | self.completed.get()) & !self.answered.get());
        });
        count_amount("pending_rows", self.any(), self.used().popcount(), "sum over cycles of groups awaited");
    }
}

/// Whether an operation of this kind has to wait for a group that is in W, or in E.
pub(super) fn waits(op: Enum<DirOp>, (written, evicted): (Bool, Bits)) -> Bool {
    written | (evicted.any() & !op.is(DirOp::RdRem))
}
