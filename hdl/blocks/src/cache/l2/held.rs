//! Write-back of copies (hmg.md section 5.2): stores stay in the first slice on their way that may hold them, as dirty bytes of a line.
//!
//! ```text
//!  stage 1: tables ─► hold? room in the set? ─► operation, or first: dirty bytes of a line go on, and the operation stays in stage 1
//!  stage 2: masks (beside the data array) ─► WrReq with mask
//!  DRAIN ─► Walk (lines that other GPMs serve) ─► epoch flips     far DRAIN ─► Walk (lines with their GPU home here) ─► epoch flips
//! ```
//!
//! A bank must install lines of its own home, and fills, without waiting for a request network, and a line of one network without waiting for the other one.
//! So in every set at most a quarter of the ways hold dirty bytes of lines that other GPMs serve, and a quarter those of lines with their GPU home here; victims are
//! chosen among the others. A store that would make one more line dirty first sends the oldest such line of its own sort on, for which it has
//! reserved a place like every store.

use super::params::L2Params;
use super::tables::L2Act;
use super::tags::Lookup;
use super::types::{Class, HeldWays, LineState, Op, Step};
use crate::msg::{ReqKind, ReqMsg};
use weft_rtl::prelude::*;

/// What happens to a line's mask in stage 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
enum MaskOp {
    Keep,
    /// The request's bytes are the dirty ones.
    Mark,
    /// They are dirty too.
    Join,
    /// They are not dirty any more.
    Unmark,
}

/// What stage 1 wants to know.
pub(super) struct Question<'a> {
    /// The operation would be carried out.
    pub may: Bool,
    pub op: &'a Op,
    pub look: &'a Lookup,
    /// The tables ask for dirty bytes to go on first, and for a further dirty line.
    pub write_on: Bool,
    pub hold: Bool,
    /// A walk's operation, of lines that other GPMs serve or of lines with their GPU home here.
    pub walks: [Bool; 2],
    pub walk: [&'a Walk; 2],
    /// Dirty ways of the set.
    pub ways: &'a HeldWays,
}

/// What stage 1 does about dirty bytes.
#[derive(Clone, Copy)]
pub(super) struct HeldStep {
    /// The operation stays in stage 1 for another cycle.
    pub again: Bool,
    /// Dirty bytes go on, of the line in `way`, which another GPM serves or whose GPU home is here.
    pub writes_on: [Bool; 2],
    pub way: Bits,
    /// The operation is a walk's.
    pub walks: Bool,
    /// Room is made for a further dirty line.
    pub makes_room: Bool,
}

impl HeldStep {
    /// Dirty bytes go on.
    pub fn goes(&self) -> Bool {
        self.writes_on[0] | self.writes_on[1]
    }
}

/// Masks, and what stage 2 does with them.
pub(super) struct Held {
    port: SramPort<Bits>,
    writer: LaneWriter<Bits>,
    writes_on: Reg<Bool>,
    mask_op: Reg<Enum<MaskOp>>,
    p: L2Params,
}

impl Held {
    /// Declares the array.
    pub fn new(p: &L2Params) -> Held {
        let masks = sram::<Bits>("masks", p.sets * p.ways, 1, p.sys.line).fields(&[("dirty", p.sys.line)]);
        Held {
            port: masks.read_port("look"),
            writer: masks.lane_writer("put"),
            writes_on: reg::<Bool>("s2_writes_on", ()),
            mask_op: reg::<Enum<MaskOp>>("s2_mask_op", ()),
            p: p.clone(),
        }
    }

    /// Whether dirty bytes go on in this cycle, and whose.
    pub fn decide(&self, q: &Question) -> HeldStep {
        let (op, ways) = (q.op, q.ways);
        let of_gpu = op.req.gpu_homed;
        let full = |of: Bits| of.popcount().ge(u64::from(self.p.held_ways()));
        let room = !mux(of_gpu, full(ways.gpu), full(ways.leaf));
        let makes_room = (q.may & q.hold & !room).named("s1_makes_room");
        let again = ((q.may & q.write_on) | makes_room).named("s1_again");
        let flush = q.may & op.class.is(Class::Flush);
        let [near, far] =
            [(0, ways.leaf), (1, ways.gpu)].map(|(i, of)| q.walk[i].step(flush & q.walks[i], of));
        let oldest = mux(of_gpu, ways.oldest_gpu, ways.oldest_leaf);
        let own = mux(q.write_on, q.look.way, oldest);
        cover(
            "hmg.race.held_store_makes_room",
            makes_room,
            "A store finds its share of the set dirty: the oldest such line is written on first.",
        );
        cover(
            "hmg.race.own_bytes_before_request",
            q.may & q.write_on,
            "A load or atomic that must go to the next home finds dirty bytes: they go first.",
        );
        HeldStep {
            again,
            writes_on: [near.0 | (again & !of_gpu), far.0 | (again & of_gpu)],
            way: mux(near.0, near.1, mux(far.0, far.1, own)).named("s1_held_way"),
            walks: flush & (q.walks[0] | q.walks[1]),
            makes_room,
        }
    }

    /// Takes over from stage 1; `act` names actions carried out.
    pub fn accept(&self, step: &HeldStep, row: Bits, runs: Bool, act: impl Fn(L2Act) -> Bool) {
        let op = mux(act(L2Act::Unmark), enum_lit(MaskOp::Unmark), enum_lit(MaskOp::Keep));
        let op = mux(act(L2Act::Join), enum_lit(MaskOp::Join), op);
        when(runs, || {
            self.port.present(row);
            self.writes_on.set(step.goes());
            self.mask_op.set(mux(act(L2Act::Mark), enum_lit(MaskOp::Mark), op));
        });
    }

    /// Carries out stage 2; `on`: an operation is in it.
    pub fn connect(&self, on: Bool, step: &Step, mask: Bits) {
        let now = self.port.lane(0);
        let change = |to: Bits| {
            when(on, || self.writer.write(step.row, &to));
        };
        switch(self.mask_op.get(), |s| {
            s.case(MaskOp::Mark, || change(mask));
            s.case(MaskOp::Join, || change(now | mask));
            s.case(MaskOp::Unmark, || change(now & !mask));
        });
    }

    /// The message of stage 2: dirty bytes of the line read, or the request's own.
    pub fn message(&self, own: &ReqMsg, step: &Step, line: Bits) -> ReqMsg {
        let on = self.writes_on.get();
        ReqMsg {
            kind: mux(on, enum_lit(ReqKind::Wr), own.kind),
            line: mux(on, step.victim, own.line),
            scope: mux(on, lit(0, 2), own.scope),
            mask: mux(on, self.port.lane(0), own.mask),
            data: mux(on, line, own.data),
            dst: mux(on, self.p.sys.home_of(step.victim), own.dst),
            ..*own
        }
    }
}

/// The walk of a drain over the sets: every line that is dirty in its way when the walk comes by is written on, once.
pub(super) struct Walk {
    /// It is under way.
    pub active: Reg<Bool>,
    /// Set looked at.
    pub set: Reg<Bits>,
    way: Reg<Bits>,
    /// Its last lookup is in stage 1.
    pub ends: Wire<Bool>,
    sets: u32,
}

impl Walk {
    /// Declares the registers, which are called `NAME_*`.
    pub fn new(name: &str, p: &L2Params) -> Walk {
        Walk {
            active: reg::<Bool>(&format!("{name}_active"), ()),
            set: reg::<Bits>(&format!("{name}_set"), p.set_bits()),
            way: reg::<Bits>(&format!("{name}_way"), p.way_bits()),
            ends: wire_or::<Bool>(&format!("{name}_ends"), (), false),
            sets: p.sets,
        }
    }

    /// Begins.
    pub fn begin(&self) {
        self.active.set(true);
    }

    /// A lookup in stage 1: whether a line is written on, and its way; `of`: the ways with dirty bytes.
    fn step(&self, looks: Bool, of: Bits) -> (Bool, Bits) {
        let rest = of & lit_bv(Bv::ones(of.width())).shl_by(self.way.get());
        let more = (rest & (rest - 1)).any();
        let way = rest.lowest_set();
        when(looks & more, || self.way.set(way + 1));
        when(looks & !more, || {
            let last = self.set.get().eq(u64::from(self.sets - 1));
            self.way.set(0);
            self.set.set(mux(last, lit(0, self.set.get().width()), self.set.get() + 1));
            when(last, || {
                self.active.set(false);
                self.ends.set(true);
            });
        });
        (looks & rest.any(), way)
    }
}

/// State of a line whose dirty bytes have gone on.
pub(super) fn clean(state: Enum<LineState>) -> Enum<LineState> {
    mux(state.is(LineState::D), enum_lit(LineState::V), enum_lit(LineState::I))
}
