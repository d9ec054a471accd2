//! What has the slot next: chosen one cycle ahead, when its row is presented.

use super::Bank;
use super::fence::FenceState;
use super::mshrs::Mshrs;
use super::pool::Request;
use crate::cache::l2::L2Params;
use crate::msg::*;
use weft_rtl::prelude::*;

/// What has the slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum Class {
    /// A line that has come is installed.
    Install,
    /// An INV message.
    Probe,
    /// A request of another node that the slice has answered.
    Turn,
    /// A request of this node that waits.
    Pool,
    /// A request of another node.
    Remote,
    /// A request of this node.
    Local,
    /// A way that is flushed.
    Flush,
}

/// The slot, the inputs that it takes from, and the MSHR that is served.
pub(super) struct Slot {
    pub valid: Reg<Bool>,
    pub class: Reg<Enum<Class>>,
    pub line: Reg<Bits>,
    pub set: Reg<Bits>,
    /// MSHR, place of the pool, or of the home side.
    pub index: Reg<Bits>,
    /// Of Local and Pool.
    pub request: Reg<Request>,
    /// Of Probe.
    pub probe: Reg<BankInv>,
    /// Of Remote; it stays here while its line is asked for by this node.
    pub remote: Reg<ReqMsg>,
    pub remote_held: Reg<Bool>,
    pub local_in: InChannel<L1Req>,
    pub remote_in: InChannel<ReqMsg>,
    pub inv_in: InChannel<BankInv>,
    /// Local had its turn last.
    local_last: Reg<Bool>,
    pub served: Served,
}

/// The MSHR whose line is installed and whose home is not told yet.
pub(super) struct Served {
    /// Chosen to be installed, or served.
    pub busy: Reg<Bool>,
    /// Installed.
    pub valid: Reg<Bool>,
    pub index: Reg<Bits>,
    pub line: Reg<Bits>,
    /// It may be written.
    pub writable: Reg<Bool>,
    /// Requests that waited for it and are not performed.
    pub left: Reg<Bits>,
    /// Who has sent it, for the answers: as in [`CuRsp`].
    pub src: Reg<Bits>,
}

/// Width of a number in the slot.
pub(super) fn index_bits(p: &L2Params) -> u32 {
    p.pool_bits().max(p.sys.l2_id_bits())
}

impl Slot {
    pub fn new(p: &L2Params) -> Slot {
        let line = p.sys.line_bits();
        Slot {
            valid: reg::<Bool>("slot_valid", ()),
            class: reg::<Enum<Class>>("slot_class", ()),
            line: reg::<Bits>("slot_line", line).field("pipeline"),
            set: reg::<Bits>("slot_set", p.set_bits()).field("pipeline"),
            index: reg::<Bits>("slot_index", index_bits(p)).field("pipeline"),
            request: reg::<Request>("slot_request", p.clone()).field("pipeline"),
            probe: reg::<BankInv>("slot_probe", p.sys.clone()).field("pipeline"),
            remote: reg::<ReqMsg>("slot_remote", p.sys.clone()).field("pipeline"),
            remote_held: reg::<Bool>("slot_remote_held", ()),
            local_in: in_channel::<L1Req>("local_req", &p.sys),
            remote_in: in_channel::<ReqMsg>("remote_req", &p.sys),
            inv_in: in_channel::<BankInv>("inv", &p.sys),
            local_last: reg::<Bool>("local_last", ()),
            served: Served {
                busy: reg::<Bool>("serving", ()),
                valid: reg::<Bool>("served_valid", ()),
                index: reg::<Bits>("served_index", bits_for(u64::from(Mshrs::count(p)))),
                line: reg::<Bits>("served_line", line),
                writable: reg::<Bool>("served_writable", ()),
                left: reg::<Bits>("served_left", p.pool_bits() + 1),
                src: reg::<Bits>("served_src", 3),
            },
        }
    }

    /// The slot has an operation of this class now.
    pub fn is(&self, class: Class) -> Bool {
        self.valid.get() & self.class.get().is(class)
    }
}

/// What may be chosen for the slot.
struct Offers {
    /// One bit for each kind, the most urgent lowest.
    may: Bits,
    /// MSHRs whose line has come; requests of other nodes that have their turn; requests that wait and may be tried.
    full: Bits,
    turns: Bits,
    of: Bits,
}

impl Bank<'_> {
    /// Places of the pool that may be tried now: of the line that is served, else those that are not blocked; not the one that is in the slot.
    fn candidates(&self) -> (Bits, Bool) {
        let (slot, served) = (&self.slot, &self.slot.served);
        let here = slot.index.get().resize(self.p.pool_bits()).one_hot(self.p.pool);
        let here = here & slot.is(Class::Pool).repeat(self.p.pool);
        let own = self.pool.of_line(served.line.get()) & served.valid.get().repeat(self.p.pool);
        let of = mux(served.valid.get(), own, self.pool.ready()) & !here;
        // Those of a line keep their order, so behind one that is in the slot nothing of a served line is tried; nor what would come to the slot
        // when the line is served no more, and ask for it.
        let held = served.valid.get() & (slot.is(Class::Pool) | self.over());
        (of, of.any() & !held)
    }

    /// What may be chosen, first the most urgent.
    fn offers(&self) -> Offers {
        let (slot, outs) = (&self.slot, &self.outs);
        let (served, ready) = (&slot.served, self.arrays.ready.get());
        let answers = outs.rsp.room(2);
        let full = self.mshrs.landed.now.get() | self.mshrs.granted.now.get();
        let install = (full.any() & !served.busy.get()).named("may_install");
        let probe = (slot.inv_in.valid & answers & outs.inv_done.room(2)).named("may_probe");
        let in_turn = slot.index.get().resize(self.homes.bits()).one_hot(self.homes.count);
        let turns =
            self.homes.answered.now.get() & !(in_turn & slot.is(Class::Turn).repeat(self.homes.count));
        let turn = (turns.any() & answers & outs.mem.room(2) & outs.done.room(2)).named("may_turn");
        let (of, some) = self.candidates();
        // What a line lets perform that has come needs nothing but the way to the L1s: its home waits for the Done behind it.
        let room = mux(served.valid.get(), outs.local.room(2), outs.room());
        let waits = (some & room).named("may_pool");
        let held = slot.remote_held.get() | slot.is(Class::Remote);
        let again = slot.remote_held.get() & !slot.is(Class::Remote);
        let homes = self.homes.room(slot.is(Class::Remote)) & outs.dir.room(2);
        let remote = ((again | (slot.remote_in.valid & !held)) & homes).named("may_remote");
        let local = (slot.local_in.valid & self.pool.room() & outs.room()).named("may_local");
        let flushes = self.fence.state.get().is(FenceState::Flush) & !slot.is(Class::Flush);
        let flush = (flushes & outs.room() & !served.busy.get()).named("may_flush");
        let first = remote & (!local | slot.local_last.get());
        let may = [install, probe, turn, flush, waits, first, local, remote].map(|may| may & ready);
        Offers { may: pack_bools(&may).named("may"), full, turns, of }
    }

    /// Chooses the next operation, and presents its row.
    pub fn choose(&self) {
        let (p, slot, outs) = (self.p, &self.slot, &self.outs);
        let Offers { may, full, turns, of } = self.offers();
        let pick = may.lowest_set();
        let index = |bits: Bits| bits.resize(index_bits(p));
        let set = wire_zero::<Bits>("next_set", p.set_bits());
        let takes = |class: Class, line: Bits, number: Bits| {
            slot.class.set(enum_lit(class));
            slot.line.set(line);
            slot.index.set(number);
            set.set(p.set_of(line));
            slot.set.set(p.set_of(line));
        };
        slot.valid.set(may.any());
        let of_remote = || {
            let held = slot.remote_held.get();
            let line = mux(held, slot.remote.get().line, slot.remote_in.msg.line);
            takes(Class::Remote, line, lit(0, index_bits(p)));
            when(!held, || {
                slot.remote_in.take();
                slot.remote.set(slot.remote_in.msg);
            });
            slot.remote_held.set(false);
            slot.local_last.set(false);
        };
        when(may.any(), || {
            switch_bits(pick, |arms| {
                arms.case(0, || {
                    let number = full.lowest_set();
                    takes(Class::Install, self.mshrs.get(number).line, index(number));
                    slot.served.busy.set(true);
                });
                arms.case(1, || {
                    takes(Class::Probe, slot.inv_in.msg.line, lit(0, index_bits(p)));
                    slot.inv_in.take();
                    slot.probe.set(slot.inv_in.msg);
                });
                arms.case(2, || {
                    let number = turns.lowest_set();
                    takes(Class::Turn, self.homes.get(number).0.line, index(number));
                });
                arms.case(3, || {
                    slot.class.set(enum_lit(Class::Flush));
                    set.set(self.fence.set.get());
                    slot.set.set(self.fence.set.get());
                });
                arms.case(4, || {
                    let number = self.pool.oldest(of);
                    let request = self.pool.get(number);
                    takes(Class::Pool, request.line, index(number));
                    slot.request.set(request);
                });
                arms.case(5, of_remote);
                arms.case(6, || {
                    let m = slot.local_in.msg;
                    takes(Class::Local, m.line, lit(0, index_bits(p)));
                    slot.local_in.take();
                    slot.request.set(Request::of(&m, self.fence.epoch.get()));
                    outs.bank.set(p.sys.bank_of(m.line));
                    slot.local_last.set(true);
                });
                arms.case(7, of_remote);
            });
        });
        self.arrays.present(set.get());
    }
}
