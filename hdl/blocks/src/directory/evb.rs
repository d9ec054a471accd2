//! The eviction buffer and its expander (rec.md section 4.1).
//!
//! ```text
//!  S2 victim {base, slots} -> FIFO -> head -> lowest set slot not yet launched -> inv port(s)
//! ```
//! A row stays as it was pushed; `evb_sent` marks the head's slots that have been launched. A slot is pending until its Inv was accepted,
//! that is while it is unlaunched in some row or its Inv waits on an `inv` port.

use super::index::*;
use super::params::DirParams;
use crate::common::fifo::wrapping_next;
use crate::msg::{Cause, DirInv};
use weft_rtl::prelude::*;

/// An evicted entry.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = DirParams)]
pub struct Victim {
    /// Slots as in the entry.
    #[width(p.slots_width())]
    pub slots: Bits,
    /// Base.
    #[width(p.base_bits())]
    pub base: Bits,
}

/// The buffer's state.
pub struct Evb {
    p: DirParams,
    rows: Memory<Victim>,
    valid: Reg<Bits>,
    head: Reg<Bits>,
    tail: Reg<Bits>,
    sent: Reg<Bits>,
    writer: LaneWriter<Victim>,
    push: Wire<Bool>,
    pop: Wire<Bool>,
}

/// How an operation relates to what is pending.
pub struct Pending {
    /// A row has the operation's base.
    pub same_base: Bool,
    /// The operation's slot is pending.
    pub slot: Bool,
    /// It is pending in two rows or more.
    pub twice: Bool,
    /// Sharers of the slot whose eviction Inv is pending; of the kinds with GPMs, zero for others.
    pub sharers: Bits,
}

impl Evb {
    /// Declares the buffer.
    pub fn new(p: &DirParams) -> Evb {
        let depth = p.evb_depth;
        let bits = bits_for(u64::from(depth));
        let rows = regfile::<Victim>("evb", depth, p.clone())
            .fields(&[("eviction buffer", p.slots_width() + p.base_bits())]);
        let writer = rows.lane_writer("in");
        let own = |r: Reg<Bits>| r.field("eviction buffer");
        Evb {
            p: p.clone(),
            rows,
            valid: own(reg::<Bits>("evb_valid", depth)),
            head: own(reg::<Bits>("evb_head", bits)),
            tail: own(reg::<Bits>("evb_tail", bits)),
            sent: own(reg::<Bits>("evb_sent", p.slots())).doc("Slots of the head whose Inv was launched."),
            writer,
            push: wire_or::<Bool>("evb_push", (), false),
            pop: wire_or::<Bool>("evb_pop", (), false),
        }
    }

    /// Some entry waits.
    pub fn any(&self) -> Bool {
        self.valid.get().any()
    }

    /// No row is free for an eviction beyond the one in S2.
    pub fn full(&self, s2_evict: Bool) -> Bool {
        let rows = self.valid.get().popcount().zext(5) + s2_evict.bits().zext(5);
        rows.ge(u64::from(self.p.evb_depth))
    }

    /// Appends a victim; under the condition that it is evicted.
    pub fn push(&self, victim: &Victim) {
        self.push.set(true);
        self.writer.write(self.tail.get(), victim);
        self.tail.set(wrapping_next(self.tail.get(), self.p.evb_depth));
    }

    /// Compares an operation's base and slot with all rows, the victim in S2, and Invs that wait on the ports.
    pub fn pending(
        &self,
        base: Bits,
        slot: Bits,
        s2: (Bool, &Victim),
        ports: &[OutChannel<DirInv>],
    ) -> Pending {
        let p = &self.p;
        let holds = |v: &Victim| slot_sharers(p, v.slots, slot).any();
        let mut same = Vec::new();
        let mut held = Vec::new();
        for i in 0..p.evb_depth {
            let row = self.rows.entry(i);
            let here = self.valid.get().bit(i) & row.base.eq(base);
            let gone = self.head.get().eq(u64::from(i)) & self.sent.get().bit_at(slot);
            same.push(here);
            held.push(here & holds(&row) & !gone);
        }
        let s2_here = s2.0 & s2.1.base.eq(base);
        same.push(s2_here);
        held.push(s2_here & holds(s2.1));
        let twice = pack_bools(&held).popcount().gt(1);
        let line = line_of(p, base, slot);
        let waits = |port: &OutChannel<DirInv>| {
            !port.free & port.held.cause.is(Cause::Evict) & port.held.line.eq(line)
        };
        held.extend(ports.iter().map(waits));
        let sharers = self.pending_sharers(s2.1, &held, slot, ports);
        Pending { same_base: any_of(&same), slot: any_of(&held), twice, sharers }
    }

    /// `held` tells, of the rows, the victim in S2 and the ports, in which the slot is pending.
    fn pending_sharers(&self, s2: &Victim, held: &[Bool], slot: Bits, ports: &[OutChannel<DirInv>]) -> Bits {
        let p = &self.p;
        let none = lit(0, p.sharers());
        if !p.kind.modules() {
            return none;
        }
        let rows = (0..p.evb_depth).map(|i| self.rows.entry(i)).chain([*s2]);
        let rows = rows.map(|v| slot_sharers(p, v.slots, slot));
        let all = rows.chain(ports.iter().map(|port| sharers_of_nodes(p, port.held.dest)));
        all.zip(held).fold(none, |all, (sharers, held)| all | mux(*held, sharers, none))
    }

    /// Launches Invs of the head, lowest slot first. `hold` keeps the first port for a write's Inv.
    pub fn expand(&self, hold: Bool, ports: &[OutChannel<DirInv>]) {
        let p = &self.p;
        let active = self.any().named("evb_active");
        let entry = self.rows.read(self.head.get());
        let all = positions(p, entry.slots).named("evb_positions");
        // A burst starts when the one before has been accepted on every port, so that bursts do not overtake each other.
        let started = self.sent.get().any();
        let drained: Vec<Bool> = ports.iter().map(|port| port.free).collect();
        let go = if ports.len() == 1 { bool_lit(true) } else { started | all_of(&drained) };
        let mut left = (all & !self.sent.get()).named("evb_left");
        let mut launches = Vec::new();
        for (i, port) in ports.iter().enumerate() {
            let mine = if i == 0 { !hold } else { bool_lit(true) };
            let launch = (active & go & port.free & mine & left.any()).named(&format!("launch{i}"));
            let slot = if p.slots() == 1 { lit(0, 1) } else { left.lowest_set() };
            let sharers = slot_sharers(p, entry.slots, slot);
            when(launch, || {
                port.send(&DirInv {
                    line: line_of(p, entry.base, slot),
                    dest: nodes_of_sharers(p, sharers),
                    cause: enum_lit(Cause::Evict),
                    grp: bool_lit(p.names_groups()),
                    owner: None,
                });
            });
            observe_launch(i, launch, sharers);
            launches.push(launch);
            let taken = slot.one_hot(p.slots());
            left = mux(launch, left & !taken, left);
        }
        let launched = any_of(&launches).named("evb_launch");
        let done = (launched & left.none()).named("evb_done");
        when(launched, || self.sent.set(all & !left));
        when(done, || {
            self.pop.set(true);
            self.sent.set(0);
            self.head.set(wrapping_next(self.head.get(), p.evb_depth));
        });
        self.update_valid();
        self.observe_bursts(all, done, &launches, hold & ports[0].free & active);
    }

    fn update_valid(&self) {
        let depth = self.p.evb_depth;
        let pushed = self.tail.get().one_hot(depth) & self.push.get().repeat(depth);
        let popped = self.head.get().one_hot(depth) & self.pop.get().repeat(depth);
        when(self.push.get() | self.pop.get(), || self.valid.set((self.valid.get() & !popped) | pushed));
        assert_always(
            "evb_no_overflow",
            !(self.push.get() & self.valid.get().bit_at(self.tail.get())),
            "an eviction never meets a full buffer",
        );
    }

    fn observe_bursts(&self, all: Bits, done: Bool, launches: &[Bool], held_by_write: Bool) {
        let slots = self.p.slots();
        cover(
            "rec.race.burst_one_slot",
            done & all.popcount().eq(1),
            "a victim with one set slot is expanded",
        );
        if slots > 1 {
            cover("rec.race.burst_all_slots", done & all.all(), "a victim with every slot set is expanded");
        }
        if launches.len() > 1 {
            let many = pack_bools(launches).popcount().gt(1);
            cover("rec.race.burst_many_per_cycle", many, "two or more lines are expanded in one cycle");
        }
        cover(
            "rec.race.write_inv_beats_expander",
            held_by_write,
            "a write Inv and an expanded Inv want the port: the write Inv goes first",
        );
        assert_always(
            "burst_complete",
            !done | all.any(),
            "an expanded entry had a set slot, and every set slot was launched with all its sharers",
        );
        count("evb_busy", self.any(), "cycles in which the eviction buffer holds an entry");
        count_amount(
            "evb_occupancy",
            self.any(),
            self.valid.get().popcount(),
            "sum over cycles of the entries in the eviction buffer",
        );
    }

    /// Lines of the head that have been launched.
    pub fn head_partly_sent(&self) -> Bool {
        self.sent.get().any()
    }
}

fn observe_launch(port: usize, launch: Bool, sharers: Bits) {
    count(&format!("evict_invs{port}"), launch, "eviction Invs sent to the egress");
    count_amount(
        &format!("evict_unicasts{port}"),
        launch,
        sharers.popcount(),
        "destinations of eviction Invs",
    );
    if port == 0 {
        cover(
            "rec.race.burst_several_sharers",
            launch & sharers.popcount().gt(1),
            "an expanded slot has two or more sharers",
        );
    }
    assert_always(
        &format!("evict_inv{port}_has_destination"),
        !launch | sharers.any(),
        "a slot whose position bit is set has a sharer",
    );
}
