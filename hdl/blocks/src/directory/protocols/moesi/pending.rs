//! The pending table of `moesi-directory`: a row for each line of which a transaction is under way.
//!
//! ```text
//!  start, sharers are told -> acknowledgements awaited -> due -> the owner is asked, the operation answered -> Done or Back awaited -> free
//!  start, nobody is told   --------------------------------^
//! ```

use super::table::{Comes, OwnComes, RowAct, RowKind, answers, own_answers};
use crate::directory::index::base_of;
use crate::directory::params::DirParams;
use crate::msg::*;
use weft_rtl::prelude::*;

/// What a row knows beside what it awaits.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = DirParams)]
pub(super) struct Transaction {
    #[width(p.base_bits())]
    pub base: Bits,
    pub row: Enum<RowKind>,
    /// Number of the operation in the bank.
    #[width(p.sys.dir_id_bits())]
    pub id: Bits,
    /// Requester, and its transaction number.
    #[width(p.sys.node_bits())]
    pub src: Bits,
    #[width(p.sys.l2_id_bits())]
    pub mshr: Bits,
    /// An owner is asked, and which.
    pub asks: Bool,
    #[width(p.sys.node_bits())]
    pub owner: Bits,
    /// What it is asked.
    pub ask: Enum<Ask>,
    /// What the operation is answered.
    pub answer: Enum<HomeAnswer>,
    /// Whether the line was in the directory.
    pub hit: Bool,
    /// The line has an entry, which must stay, and where.
    pub entry: Bool,
    #[width(p.set_bits())]
    pub set: Bits,
    #[width(p.way_bits())]
    pub way: Bits,
}

/// What comes for a row by the network, for observers.
pub(super) struct Answered {
    pub valid: Bool,
    pub comes: Enum<Comes>,
    pub row: Transaction,
    /// No acknowledgement is awaited behind it.
    pub last: Bool,
}

/// The table.
pub(super) struct Pending {
    p: DirParams,
    rows: Memory<Transaction>,
    writer: LaneWriter<Transaction>,
    used: Reg<Bits>,
    /// Acknowledgements awaited.
    counts: Vec<Reg<Bits>>,
    /// All acknowledgements are there; the owner is to be asked, or the operation to be answered.
    pub due: Reg<Bits>,
    started: Wire<Bits>,
    ready: Wire<Bits>,
    ready_by: Wire<Bits>,
    gone_on: Wire<Bits>,
    ended: [Wire<Bits>; 3],
}

impl Pending {
    /// Declares it.
    pub fn new(p: &DirParams) -> Pending {
        let rows = regfile::<Transaction>("pending", p.pending, p.clone())
            .fields(&[("pending table", width_of::<Transaction>(p))]);
        let bits = bits_for(u64::from(p.sharers()) + 1);
        let count = |i| reg::<Bits>(&format!("pending_count{i}"), bits).field("pending table");
        let wire = |name: &str| wire_zero::<Bits>(name, p.pending);
        Pending {
            writer: rows.lane_writer("start"),
            rows,
            used: reg::<Bits>("pending_used", p.pending).field("pending table"),
            counts: (0..p.pending).map(count).collect(),
            due: reg::<Bits>("pending_due", p.pending)
                .field("pending table")
                .doc("Rows that await no acknowledgement any more, and have asked nobody else yet."),
            started: wire("pending_started"),
            ready: wire("pending_ready"),
            ready_by: wire("pending_ready_by_ack"),
            gone_on: wire("pending_gone_on"),
            ended: ["net", "home", "alone"].map(|by| wire(&format!("pending_ended_{by}"))),
            p: p.clone(),
        }
    }

    /// The rows of a line, one at most.
    pub fn of_line(&self, base: Bits) -> Bits {
        let here: Vec<Bool> =
            (0..self.p.pending).map(|i| self.used.get().bit(i) & self.rows.entry(i).base.eq(base)).collect();
        pack_bools(&here)
    }

    /// The row of a line, if there is one.
    pub fn row_of(&self, base: Bits) -> (Bool, Transaction) {
        let here = self.of_line(base);
        (here.any(), self.rows.read(here.lowest_set()))
    }

    /// Ways of a set whose entries must stay.
    pub fn busy_ways(&self, set: Bits) -> Bits {
        let ways = self.p.ways;
        (0..self.p.pending).fold(lit_bv(Bv::zero(ways)), |all, i| {
            let row = self.rows.entry(i);
            let here = self.used.get().bit(i) & row.entry & row.set.eq(set);
            let way = if ways == 1 { lit(1, 1) } else { row.way.one_hot(ways) };
            all | (way & here.repeat(ways))
        })
    }

    /// No row is free.
    pub fn full(&self) -> Bool {
        self.used.get().all()
    }

    /// Some row is used.
    pub fn any(&self) -> Bool {
        self.used.get().any()
    }

    /// Begins a row, under the condition that one is free; `told` sharers are to acknowledge an Inv.
    pub fn start(&self, row: &Transaction, told: Bits) {
        let index = (!self.used.get()).lowest_set();
        self.writer.write(index, row);
        self.started.set(index.one_hot(self.p.pending));
        for (i, count) in self.counts.iter().enumerate() {
            when(index.eq(i as u64), || count.set(told.popcount().resize(count.get().width())));
        }
        when(told.none(), || self.ready.set(index.one_hot(self.p.pending)));
    }

    /// The first row that is due.
    pub fn next(&self) -> Transaction {
        self.rows.read(self.due.get().lowest_set())
    }

    /// That row has asked and answered whom it must.
    pub fn goes_on(&self) {
        self.gone_on.set(self.due.get().lowest_set().one_hot(self.p.pending));
    }

    /// The row of a line for which something comes, by a port.
    fn named(&self, port: &str, valid: Bool, line: Bits) -> (Bool, Bits, Transaction) {
        let here = self.of_line(base_of(&self.p, line)).named(&format!("{port}_rows"));
        let index = here.lowest_set();
        let text = "what comes is awaited";
        assert_always(&format!("{port}_is_awaited"), !valid | here.any(), text);
        // What nobody awaits, against the protocol, counts for nothing.
        ((valid & here.any()).named(&format!("{port}_counts")), index, self.rows.read(index))
    }

    /// An answer comes by the network.
    pub fn answer(&self, valid: Bool, comes: Enum<Comes>, line: Bits) -> Answered {
        let (valid, index, row) = self.named("ack", valid, line);
        let counts: Vec<Bits> = self.counts.iter().map(|count| count.get()).collect();
        let last = select(&counts, index).eq(1);
        let done = answers().decode_about(line, valid, (comes, row.row, last));
        let one = index.one_hot(self.p.pending);
        when(valid & done.does(RowAct::Count), || {
            for (i, count) in self.counts.iter().enumerate() {
                when(index.eq(i as u64), || count.set(count.get() - 1));
            }
        });
        when(valid & done.does(RowAct::GoOn), || self.ready_by.set(one));
        when(valid & done.does(RowAct::End), || self.ended[0].set(one));
        count("acks", valid, "acknowledgements, and answers of requesters");
        Answered { valid, comes, row, last }
    }

    /// An answer comes from the own bank.
    pub fn own_answer(&self, valid: Bool, comes: Enum<OwnComes>, line: Bits) {
        let (valid, index, row) = self.named("done", valid, line);
        let done = own_answers().decode_about(line, valid, (comes, row.row));
        let one = index.one_hot(self.p.pending);
        when(valid & done.does(RowAct::End), || self.ended[1].set(one));
    }

    /// Moves rows; called once, at the end.
    pub fn connect(&self) {
        let kept = !self.ended.iter().fold(lit_bv(Bv::zero(self.p.pending)), |all, by| all | by.get());
        self.used.set((self.used.get() | self.started.get()) & kept);
        self.due.set((self.due.get() | self.ready.get() | self.ready_by.get()) & !self.gone_on.get());
        count_amount(
            "pending_rows",
            self.any(),
            self.used.get().popcount(),
            "sum over cycles of lines under way",
        );
    }

    /// The row that goes on is over with that: of a replaced entry that had no owner.
    pub fn ends(&self) {
        self.ended[2].set(self.due.get().lowest_set().one_hot(self.p.pending));
    }
}
