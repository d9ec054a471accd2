//! A directory slice (rec.md section 4, hmg.md section 4): one pipeline for six entry layouts. What a kind of slice is, its
//! [`Layout`](super::params::Layout) says; one whose Invs are acknowledged has a pipeline of its own, [`super::protocols::gpu_vi`].
//!
//! ```text
//!  req -> skid -> S0 present set -> S1 compare, update, victim -> S2 write back
//!                     |                  ^      |  \-> rsp            |
//!                     +--- SRAM entries, ages --+-- forward ---------+
//!                                                \-> write-Inv register -> inv, then rsp
//!                                                 \-> eviction buffer -> expander -> inv
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `req` | in | op, src, line, id | in the order of the bank's data steps |
//! | `rsp` | out | id, hit, evicted, empty | in the order of `req` |
//! | `inv`, `inv1`... | out | line, dest, cause, grp | `inv_rate` ports to the egress; write Invs use the first |
//! | `recv` | in | line, cause, also, link | two levels: Invs received at a GPU home |
//! | `inv_l` | out | line, dest, cause, grp | two levels: received Invs passed on, to GPMs of the own GPU |
//! | `recv_done` | out | link | two levels: a received Inv is passed on, as far as anybody had to be told |
//!
//! | state | values |
//! | --- | --- |
//! | of the slice: [`DirState`] | Init (one set per cycle) -> Run |
//! | of the write-Inv register: [`super::write_inv::WriteInvState`] | Idle -> Want -> Sent -> Answer -> Idle |
//! | of the register of received Invs: [`super::recv::RecvState`] | Idle -> Look -> Sent -> Answer -> Idle |
//! | of an entry | I, V: the `valid` bit |
//! | of a way | its age, 0 the youngest |
//!
//! An operation leaves S1 only when everything after S1 is sure to take it, so S2 never waits. Answers leave in the order of requests: while a
//! write's Inv is on its way no other operation leaves S1.
//!
//! A received Inv passes operations that wait in S1 ([`super::recv`]): for the cycle in which its set is presented and the one in which it is looked up, it
//! takes the array port and S1 from them.
//!
//! # Pictures
//!
//! `rec-directory`: an entry for a range of 1 KB, sharers exact for each of its 16 lines.
//!
#![doc = include_str!("../../pictures/rec-directory.svg")]
//!
//! `group-directory`: an entry for four lines, which share one vector of sharers.
//!
#![doc = include_str!("../../pictures/group-directory.svg")]
//!
//! `baseline-directory`: an entry for a line.
//!
#![doc = include_str!("../../pictures/baseline-directory.svg")]
//!
//! `nhcc-directory`: an entry for 1, 2, 4 or 8 lines, with a sharer bit for every other GPM of the system.
//!
#![doc = include_str!("../../pictures/nhcc-directory.svg")]
//!
//! `hmg-directory`: the same with a sharer bit for every other GPM of its GPU and for every other GPU. It plays both roles of hmg.md section 1: for
//! lines of its own DRAM it is the system home, for lines of other GPUs with its GPM number the home of its GPU, where only GPMs are ever sharers.
//!
#![doc = include_str!("../../pictures/hmg-directory.svg")]
//!
//! `hmg-rec-directory` (rec.md section 8.1): both roles with REC's entry. A slot holds a position bit, a bit for every other GPM of the GPU and one for
//! every other GPU: A - log2 R + R/L * (M + N - 1) + 1 bits in all, 151 at 4 GPUs of 4 GPMs with ranges of 1 KB and lines of 64 bytes. Invs name single
//! lines, received ones too: the other slots of the range stay as they are.
//!
#![doc = include_str!("../../pictures/hmg-rec-directory.svg")]
//!
//! | operation of the kinds with GPMs | effect on the group, or on the line's slot of a range | answer |
//! | --- | --- | --- |
//! | `RdRem`, `WrRem` | record `src` (its GPU, where that is another one); stores invalidate the other sharers | hit, evicted |
//! | `AtomRem` | as a store; with ranges invalidate the other sharers and record nobody, as REC does | hit, evicted |
//! | `WrLoc` | invalidate all sharers | hit |
//! | `Downgrade` (`downgrade=on`) | remove `src` | hit, empty |
//! | an Inv on `recv` (two levels) | pass it on with its cause, to all sharers, to those that have been recorded and not told yet, and to `also` | link |
//!
//! An entry is freed when no sharer is left in it. Every operation but a read waits while an eviction Inv of its group or line is pending, so what follows
//! in the order of the Inv channels follows that Inv too.

use super::covers;
use super::evb::{Evb, Pending, Victim};
use super::index::*;
use super::keys::dir_from;
use super::lookup::*;
use super::operations::{DirAct, Found};
use super::params::{DirKind, DirParams};
use super::recv::{Recv, next_set, source};
use super::stage2::{DirState, stage2, write_back};
use super::table::{machine, table};
use super::types::{Lookup, Plan, Stage2, Stalls};
use super::write_inv::{WriteInv, WriteInvState};
use crate::msg::{DirInv, DirOp, DirReq, DirRsp};
use crate::registry::{BlockError, ParamSet, elaborated};
use weft_rtl::prelude::*;

/// The directory slice with channels `req`, `rsp`, `inv` (and `inv1`... with `inv_rate` above 1).
///
/// # Errors
/// Parameters that do not pass [`DirParams::validate`].
pub fn directory(p: &DirParams) -> Result<Arc<Module>, ElabErrors> {
    Module::build(&p.module_name(), ModuleKind::Block, || {
        doc("Coherence directory slice: tracks the remote sharers of home lines and sends invalidations.");
        param("kind", format!("{:?}", p.kind));
        param("entries", p.entries / p.sys.banks);
        param("ways", p.ways);
        if let Err(error) = p.validate() {
            elab_error(error.to_string());
            return;
        }
        (p.kind.slice)(p);
    })
}

/// Builds the block of a kind.
///
/// # Errors
/// A value outside its range, values that do not fit each other, or a mistake in the description.
pub fn build(kind: DirKind, p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    elaborated(kind.info.name, directory(&dir_from(kind, p)?))
}

/// What a slice holds, and its channels.
struct Slice<'a> {
    p: &'a DirParams,
    entries: Memory<Bits>,
    port: SramPort<Bits>,
    state: Reg<Enum<DirState>>,
    init_set: Reg<Bits>,
    run: Bool,
    req: InChannel<DirReq>,
    rsp: OutChannel<DirRsp>,
    invs: Vec<OutChannel<DirInv>>,
    ages: Option<Ages>,
    evb: Evb,
    s1_valid: Reg<Bool>,
    s1: Reg<DirReq>,
    s2: Stage2,
    recv: Option<Recv>,
}

/// Describes the slice of a kind whose table is [`table`]'s, inside its module.
pub fn describe(p: &DirParams) {
    let d = Slice::new(p);
    let look = lookup(p, source(d.s1_valid.get(), d.s1.get(), d.recv.as_ref()), &d.port, &d.s2);
    let look = with_way(p, look, &d.port, d.ages.as_ref(), &d.s2);
    let go = wire::<Bool>("s1_go", ());
    // A received Inv never waits in S1.
    let moves = d.recv.as_ref().map_or(go.get(), |recv| go.get() | recv.looks);
    let plan = plan(p, &look, moves);
    machine(p.kind, p.downgrade).check(if p.kind.ranges() { &[] } else { &[Found::SlotEmpty] });
    let wi = WriteInv::new(p);
    let pending = d.evb.pending(look.base, look.slot, (d.s2.evict.get(), &d.s2.victim.get()), &d.invs);
    let stalls = stalls(&look, &plan, &pending, &d.evb, &d.s2, wi.state.get(), d.rsp.free);
    go.set(look.valid & !stalls.any);
    let accept = d.accept(go.get(), look.set);
    advance(p, moves, &look, &plan, &d.s2);
    d.answer(go.get(), &look, &plan);
    wi.run(p, (go.get() & plan.inv.any(), &look, &plan), &d.invs[0], &d.rsp);
    let told = d.recv.as_ref().map(|recv| recv.told(p, (&look, &plan), &pending, (&wi, &d.invs[0])));
    if let (Some(recv), Some(told)) = (&d.recv, &told) {
        recv.run(p, told);
    }
    d.evb.expand(wi.state.get().is(WriteInvState::Want), &d.invs);
    d.write_back();
    covers::observe(&covers::View {
        p,
        req: &d.req,
        rsp: &d.rsp,
        run: d.run,
        accept,
        s1_valid: d.s1_valid.get(),
        go: go.get(),
        moves,
        recv: d.recv.as_ref().zip(told.as_ref()),
        look: &look,
        plan: &plan,
        stalls: &stalls,
        pending: &pending,
        evb: &d.evb,
        s2: &d.s2,
        wi: &wi,
        invs: &d.invs,
        age: d.ages.as_ref().map(|a| age_of(p, current_ages(&look, a), look.way)),
    });
}

impl<'a> Slice<'a> {
    /// Declares it.
    fn new(p: &'a DirParams) -> Slice<'a> {
        let fields = p.entry_fields();
        let entries = sram::<Bits>("entries", p.sets(), p.ways, p.entry_bits()).fields(&fields);
        let state = reg::<Enum<DirState>>("state", ());
        let init_set = reg::<Bits>("init_set", p.set_bits());
        let run = state.get().is(DirState::Run).named("run");
        let inv = |i| if i == 0 { "inv".to_string() } else { format!("inv{i}") };
        Slice {
            req: in_channel_when::<DirReq>("req", &p.sys, run),
            rsp: out_channel::<DirRsp>("rsp", &p.sys),
            invs: (0..p.inv_rate).map(|i| out_channel::<DirInv>(&inv(i), &p.sys)).collect(),
            port: entries.read_port("s1"),
            ages: (p.ways > 1).then(|| ages_of(p)),
            evb: Evb::new(p),
            s2: stage2(p),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<DirReq>("s1", p.sys.clone()),
            recv: p.kind.two_level().then(|| Recv::new(p, run)),
            p,
            entries,
            state,
            init_set,
            run,
        }
    }

    /// S0 to S1: takes an operation when S1 is free or becomes so, and presents the set of the next cycle.
    fn accept(&self, go: Bool, looked_up: Bits) -> Bool {
        let accept = (self.req.valid & self.run & (!self.s1_valid.get() | go)).named("accept");
        when(go, || self.s1_valid.set(false));
        when(accept, || {
            self.req.take();
            self.s1_valid.set(true);
            self.s1.set(self.req.msg);
        });
        let kept = (self.s1.get().line, looked_up);
        let set = next_set(self.p, (accept, self.req.msg.line), kept, self.recv.as_ref());
        self.port.present(set);
        if let Some(ages) = &self.ages {
            ages.port.present(set);
        }
        accept
    }

    /// Answers an operation without Invs, and makes its way the youngest where it asks for that.
    fn answer(&self, go: Bool, look: &Lookup, plan: &Plan) {
        when(go & plan.inv.none(), || {
            self.rsp.send(&DirRsp {
                id: look.req.id,
                hit: look.hit,
                evicted: plan.evict,
                empty: plan.empty,
                owner: None,
            });
        });
        if let Some(ages) = &self.ages {
            touch(self.p, go, look, plan, ages, &self.s2);
        }
    }

    /// Clears a set per cycle after reset; then writes back what S2 holds.
    fn write_back(&self) {
        let state = (&self.state, &self.init_set);
        write_back(self.p, &self.entries, state, self.ages.as_ref(), &self.s2, || {
            when(self.s2.evict.get(), || self.evb.push(&self.s2.victim.get()));
        });
    }
}

/// What a lookup finds of a slot with some sharers; `hit`: its entry is there.
fn found_of(hit: Bool, sharers: Bits) -> Enum<Found> {
    mux(hit, mux(sharers.any(), enum_lit(Found::SlotSet), enum_lit(Found::SlotEmpty)), enum_lit(Found::Miss))
}

fn plan(p: &DirParams, look: &Lookup, moves: Bool) -> Plan {
    let before =
        slot_sharers(p, look.old.slice(0, p.slots_width()), look.slot) & look.hit.repeat(p.sharers());
    let found = found_of(look.hit, before).named("found");
    let row = table(p.kind, p.downgrade).decode_about(look.req.line, moves, (look.event, found));
    let requester = sharer_of_node(p, look.req.src).named("requester");
    let none = lit(0, p.sharers());
    let after = mux(row.does(DirAct::OnlyRequester), requester, before);
    let after = mux(row.does(DirAct::AddRequester), before | requester, after);
    let after = mux(row.does(DirAct::Clear), none, after);
    let after = if p.kind.does(DirAct::KeepRequester) {
        mux(row.does(DirAct::KeepRequester), before & requester, after)
    } else {
        after
    };
    let after =
        if p.downgrade { mux(row.does(DirAct::DropRequester), before & !requester, after) } else { after };
    let after = after.named("sharers_after");
    let allocate = row.does(DirAct::Allocate).named("allocate");
    let tag = tag_of(p, look.base);
    let fresh = at_slot(p, slot_bits_for(p, after), look.slot);
    let flip = slot_bits_for(p, before) ^ slot_bits_for(p, after);
    let slots = look.old.slice(0, p.slots_width()) ^ at_slot(p, flip, look.slot);
    let slots = mux(allocate, fresh, slots);
    let valid = slots.any();
    row.leads_to(mux((before ^ after).any(), found_of(valid, after), found));
    let inv = mux(row.does(DirAct::InvOthers), before & !requester, none);
    let inv = mux(row.does(DirAct::InvAll), before, inv).named("write_inv_sharers");
    Plan {
        evict: allocate & look.valids.all(),
        requester,
        before,
        entry: pack(&[slots, tag, valid.bits()]),
        changed: (before ^ after).any(),
        freed: look.hit & !valid,
        empty: if p.downgrade { row.does(DirAct::ReportEmpty) & after.none() } else { bool_lit(false) },
        inv,
        allocate,
        touch: row.does(DirAct::Touch),
        wait: bool_lit(false),
    }
}

fn stalls(
    look: &Lookup,
    plan: &Plan,
    pending: &Pending,
    evb: &Evb,
    s2: &Stage2,
    wi: Enum<WriteInvState>,
    rsp_free: Bool,
) -> Stalls {
    let here = look.valid;
    let writes = !look.req.op.is(DirOp::RdRem);
    let evb_full = wire_or::<Bool>("stall_evb_full", (), false);
    when(here & plan.evict, || evb_full.set(evb.full(s2.evict.get())));
    let slot_pending = wire_or::<Bool>("stall_slot_pending", (), false);
    when(here & writes, || slot_pending.set(pending.slot));
    let write_inv_busy = (here & !wi.is(WriteInvState::Idle)).named("stall_write_inv_busy");
    let rsp_blocked = (here & !rsp_free & plan.inv.none()).named("stall_rsp_blocked");
    let any = evb_full.get() | slot_pending.get() | write_inv_busy | rsp_blocked;
    Stalls { evb_full: evb_full.get(), slot_pending: slot_pending.get(), write_inv_busy, rsp_blocked, any }
}

/// S1 to S2.
fn advance(p: &DirParams, moves: Bool, look: &Lookup, plan: &Plan, s2: &Stage2) {
    s2.valid.set(moves);
    s2.write.set(moves & plan.changed);
    s2.evict.set(moves & plan.evict);
    when(moves, || {
        s2.set.set(look.set);
        s2.way.set(look.way);
        when(plan.changed, || s2.entry.set(plan.entry));
        when(plan.evict, || {
            let tag = look.old.slice(p.slots_width(), p.tag_bits());
            s2.victim.set(Victim {
                slots: look.old.slice(0, p.slots_width()),
                base: base_of_tag(p, tag, look.base),
            });
        });
    });
}
