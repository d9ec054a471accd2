//! `gpu-vi-directory`: a directory slice whose Invs are acknowledged (GPU-VI, hmg.md section 8). A store to a shared group is answered when every other copy is gone.
//!
//! ```text
//!  req -> skid --+-> S0 present set -> S1 compare, update, victim -> S2 write back -> FIFO of Invs -> inv
//!                |                       |     |     |     |
//!   +- queue, head first, when ----------+     |     |     +-> rsp
//!   |  nothing is awaited of it      (must wait)     |          ^
//!   +------------------------------------------------+ starts   | store complete
//!                                    pending table {group, count, W or E, ...} <- ack
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `req` | in | op, src, line, id | in the order of the bank's data steps |
//! | `rsp` | out | id, hit, evicted, empty | in any order; of a store when no other copy is left |
//! | `inv` | out | line, dest, cause, grp | to the egress, in the order of operations |
//! | `ack` | in | an end of the RSP network: the line in the lowest bits of `data` | one of each destination of each Inv; always taken |
//!
//! Entry, addresses, lookup and replacement are those of [`crate::directory::slice`], and so is the entry's size: the entry itself is I or V. W(count) is a row of the
//! *pending table*. When a store makes an entry W, what it is to be afterwards is written into the entry at once - V with the writer, or I after a store of the
//! home - and the row keeps everybody off the group until the count is 0; nothing is left to be written then. A way whose entry is in W is passed over
//! when a victim is chosen.
//!
//! | state of a group | is | loads | stores and atomics |
//! | --- | --- | --- | --- |
//! | I, V | an entry or none | at once | at once; with other sharers -> W |
//! | W(count) | a row of a store | queue | queue |
//! | E(count), beside I or V | a row of an evicted entry | at once | queue |
//!
//! # Evictions are acknowledged too
//! A release is a drain here: it waits for the answers to its stores and sends no markers. So an answered store must have no old copy left behind it, not even
//! one that no entry records any more: were an evicted entry forgotten while its Inv is on the way, a store to its group would find nobody to tell, be answered
//! at once, and a node that acquires after the store's release could still hit the copy which that Inv has not reached. In NHCC the release's marker would push
//! the Inv ahead of itself. So an eviction leaves a row E(count), and stores to the group wait for it. Loads do not: they are answered with the value from
//! before those stores, and if the late Inv hits the copy that they brought, a copy is lost (rec.md section 4.1). A group that is evicted again meanwhile has
//! several rows of E, and an acknowledgement counts against any of them: a store waits for all.
//!
//! # Waiting
//! An operation that must wait goes from S1 into the queue of 8, and so does every younger one of its group. The head is tried again when no row is in its way; it
//! keeps its place until it is performed, for a row may have begun in the cycle between. An operation of `req` enters S1 only when the queue is sure to have
//! room for it, so a full queue holds the input, never the head. In S1 an operation waits for: a free row, room among the Invs, a way that is not in W,
//! the `rsp` port. An operation causes one Inv message at most: one that allocates finds no sharers, so it evicts or tells sharers, never both.
//!
//! # Deadlock
//! Operations wait for acknowledgements and for the egress, which is INV; Invs wait, at the sharer's end, for a place of their acknowledgement, which is
//! RSP; acknowledgements are taken in the cycle in which they come, whatever else the slice does: REQ -> INV -> RSP -> nothing.
//!
//! # Picture
//!
#![doc = include_str!("../../../../pictures/gpu-vi-directory.svg")]

mod covers;
mod pending;
pub mod table;

use super::{Features, Protocol};
use crate::common::fifo::Fifo;
use crate::directory::evb::Victim;
use crate::directory::index::*;
use crate::directory::inv_ack::ack_in;
use crate::directory::keys::dir_param_infos;
use crate::directory::lookup::*;
use crate::directory::params::{Covers, DirKind, DirParams, Layout, Policy, Sharers};
use crate::directory::recv::next_set;
use crate::directory::slice;
use crate::directory::stage2::{DirState, stage2, write_back};
use crate::directory::types::{Lookup, Plan, Source, Stage2};
use crate::directory::wait_queue::{Next, Stage1, WaitQueue};
use crate::msg::{Cause, DirInv, DirOp, DirReq, DirRsp};
use crate::registry::BlockInfo;
use pending::{Awaited, Pending, waits};
use table::{ViAct, ViFound, ViGroup, ViRow, machine, operations};
use weft_rtl::prelude::*;

static LAYOUT: Layout = Layout {
    name: "gpu_vi",
    table: "gpu_vi_table",
    info: BlockInfo {
        name: "gpu-vi-directory",
        about: "directory slice of a flat multi-GPU system whose Invs are acknowledged: a store waits until no other copy is left",
        params: || dir_param_infos(DirKind::GPU_VI),
        build: |p| slice::build(DirKind::GPU_VI, p),
    },
    sharers: Sharers::Nodes,
    covers: Covers::Group,
    acked: true,
    owners: false,
    operations: &[],
    published: (12288, 12, Policy::Lru),
    slice: describe,
    sets: [
        "gpus=2 gpms=1 entries=2 ways=1 group=1 pending=2",
        "gpus=2 gpms=3 home=5 entries=8 ways=4 group=8 evb_depth=1 pending=3",
        "gpus=3 gpms=2 home=1 entries=12 ways=2 group=2 line=64 tag_style=minimal banks=2 policy=fifo pending=4",
    ],
};

impl DirKind {
    /// As [`DirKind::NHCC`], with acknowledged Invs: a store is complete when no other copy is left (`gpu-vi-directory`, hmg.md section 8).
    pub const GPU_VI: DirKind = DirKind::of(&LAYOUT);
}

struct GpuVi;

impl Features for GpuVi {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::GPU_VI)
    }
}

impl Protocol {
    /// GPU-VI: as NHCC with acknowledged invalidations; a store is complete when no other copy is left (hmg.md section 8).
    pub const GPU_VI: Protocol = Protocol::new("gpu-vi", &GpuVi);
}

/// What a slice holds, and its channels.
struct Vi<'a> {
    pub p: &'a DirParams,
    entries: Memory<Bits>,
    port: SramPort<Bits>,
    state: Reg<Enum<DirState>>,
    init_set: Reg<Bits>,
    pub run: Bool,
    pub req: InChannel<DirReq>,
    pub rsp: OutChannel<DirRsp>,
    pub inv: OutChannel<DirInv>,
    pub invs: Fifo<DirInv>,
    ages: Option<Ages>,
    pub queue: WaitQueue,
    pub rows: Pending,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<DirReq>,
    /// What is in S1 is the head of the queue, tried again.
    pub s1_again: Reg<Bool>,
    pub s2: Stage2,
    /// Of the Inv in S2: a store's, and the line of its group that was written.
    s2_store: Reg<Bool>,
    s2_member: Option<Reg<Bits>>,
}

/// What keeps S1 from being performed.
struct Stops {
    /// It must wait in the queue.
    pub wait: Bool,
    pub rows_full: Bool,
    pub invs_full: Bool,
    pub no_way: Bool,
    pub rsp_blocked: Bool,
    /// One of the last four.
    pub stall: Bool,
}

/// How the way was chosen.
struct Choice {
    /// Every way is in W.
    pub none: Bool,
    /// The oldest way is in W.
    pub skips: Bool,
}

fn describe(p: &DirParams) {
    param("pending", p.pending);
    let d = Vi::new(p);
    let (valid, req) = (d.s1_valid.get(), d.s1.get());
    let source = Source { valid, any: valid, req, event: req.op.bits(), line: req.line };
    let look = lookup(p, source, &d.port, &d.s2);
    let (look, choice) = d.with_way(look);
    let awaited = d.rows.state_of(look.base);
    let behind = d.queue.of_group(look.base).any() & !d.s1_again.get();
    let decided = wire::<Bool>("s1_decided", ());
    let plan = plan(p, &look, group(awaited, behind), decided.get());
    machine().check(&[]);
    let stops = d.stops(&look, &plan, &choice);
    let go = (valid & !stops.wait & !stops.stall).named("s1_go");
    let joins = (valid & stops.wait & !d.s1_again.get()).named("s1_joins");
    let back = (valid & stops.wait & d.s1_again.get()).named("s1_back");
    decided.set(go | joins);
    d.perform(go, &look, &plan);
    when(joins, || d.queue.push(&look.req));
    when(go & d.s1_again.get(), || d.queue.pop());
    let taken = d.accept(go | joins | back, look.set);
    d.launch();
    let (ack, line) = ack_in("ack", &p.sys, p.home);
    let acked = d.rows.acknowledge(ack, line);
    d.rows.answer(&d.rsp);
    d.queue.connect();
    write_back(p, &d.entries, (&d.state, &d.init_set), d.ages.as_ref(), &d.s2, || {});
    covers::observe(&covers::View {
        d: &d,
        look: &look,
        plan: &plan,
        stops: &stops,
        choice: &choice,
        evictions: awaited.1,
        go,
        joins,
        back,
        taken,
        acked: &acked,
        age: d.ages.as_ref().map(|a| age_of(p, current_ages(&look, a), look.way)),
    });
}

impl<'a> Vi<'a> {
    /// Declares it.
    fn new(p: &'a DirParams) -> Vi<'a> {
        let fields = p.entry_fields();
        let entries = sram::<Bits>("entries", p.sets(), p.ways, p.entry_bits()).fields(&fields);
        let state = reg::<Enum<DirState>>("state", ());
        let run = state.get().is(DirState::Run).named("run");
        let member = p.lines_log2();
        Vi {
            req: in_channel_when::<DirReq>("req", &p.sys, run),
            rsp: out_channel::<DirRsp>("rsp", &p.sys),
            inv: out_channel::<DirInv>("inv", &p.sys),
            invs: Fifo::new("invs", p.evb_depth, &p.sys),
            port: entries.read_port("s1"),
            ages: (p.ways > 1).then(|| ages_of(p)),
            queue: WaitQueue::new(p),
            rows: Pending::new(p),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<DirReq>("s1", p.sys.clone()),
            s1_again: reg::<Bool>("s1_again", ()),
            s2: stage2(p),
            s2_store: reg::<Bool>("s2_store", ()),
            s2_member: (member > 0).then(|| reg::<Bits>("s2_member", member).field("pipeline")),
            init_set: reg::<Bits>("init_set", p.set_bits()),
            p,
            entries,
            state,
            run,
        }
    }

    /// Chooses the way: the one hit, else the lowest invalid one, else the oldest that is not in W.
    fn with_way(&self, look: Lookup) -> (Lookup, Choice) {
        let p = self.p;
        let busy = self.rows.ways_in_w(look.set).named("ways_in_w");
        let none = busy.all();
        let Some(ages) = &self.ages else {
            let choice = Choice { none, skips: bool_lit(false) };
            return (at_way(p, look, lit(0, 1), &self.port, &self.s2), choice);
        };
        let now = current_ages(&look, ages);
        let by_age = ways_by_age(p, now);
        let may: Vec<Bool> = by_age.iter().map(|way| (*way & !busy).any()).collect();
        let oldest = select(&by_age, pack_bools(&may).lowest_set());
        let free = !look.valids;
        let victim = mux(free.any(), free.lowest_set(), oldest.lowest_set());
        let way = mux(look.hit, look.way, victim);
        (at_way(p, look, way, &self.port, &self.s2), Choice { none, skips: !may[0] })
    }

    fn stops(&self, look: &Lookup, plan: &Plan, choice: &Choice) -> Stops {
        let here = look.valid;
        let wait = plan.wait;
        let tells = plan.inv.any() | plan.evict;
        let held = self.invs.count.zext(5) + self.s2.evict.get().bits().zext(5);
        let turn = here & !wait;
        let rows_full = (turn & tells & self.rows.full()).named("stall_rows_full");
        let invs_full = (turn & tells & held.ge(u64::from(self.p.evb_depth))).named("stall_invs_full");
        let no_way = (turn & plan.evict & choice.none).named("stall_no_way");
        let port = self.rsp.free & !self.rows.answers();
        let rsp_blocked = (turn & plan.inv.none() & !port).named("stall_rsp_blocked");
        let stall = rows_full | invs_full | no_way | rsp_blocked;
        Stops { wait, rows_full, invs_full, no_way, rsp_blocked, stall }
    }

    /// Carries out the operation in S1.
    fn perform(&self, go: Bool, look: &Lookup, plan: &Plan) {
        let (p, s2) = (self.p, &self.s2);
        let writes = plan.inv.any();
        let tells = writes | plan.evict;
        let victim_base = base_of_tag(p, look.old.slice(p.slots_width(), p.tag_bits()), look.base);
        let base = mux(writes, look.base, victim_base);
        let sharers = mux(writes, plan.inv, look.old.slice(0, p.slots_width())).named("s1_told");
        s2.valid.set(go);
        s2.write.set(go & plan.changed);
        s2.evict.set(go & tells);
        when(go, || {
            s2.set.set(look.set);
            s2.way.set(look.way);
            when(plan.changed, || s2.entry.set(plan.entry));
            when(tells, || {
                s2.victim.set(Victim { slots: sharers, base });
                self.s2_store.set(writes);
                if let Some(member) = &self.s2_member {
                    let line = look.req.line.slice(0, p.lines_log2());
                    member.set(mux(writes, line, lit(0, p.lines_log2())));
                }
                let store =
                    mux(look.req.op.is(DirOp::WrLoc), enum_lit(ViRow::Local), enum_lit(ViRow::Remote));
                let row = Awaited {
                    base,
                    row: mux(writes, store, enum_lit(ViRow::Evicted)),
                    id: look.req.id,
                    set: look.set,
                    way: look.way,
                };
                self.rows.start(&row, sharers);
            });
        });
        when(go & !writes, || {
            let no = bool_lit(false);
            self.rsp.send(&DirRsp {
                id: look.req.id,
                hit: look.hit,
                evicted: plan.evict,
                empty: no,
                owner: None,
            });
        });
        if let Some(ages) = &self.ages {
            touch(p, go, look, plan, ages, s2);
        }
    }

    /// S0 to S1: the head of the queue if it may be tried, else an operation of `req` if the queue is sure to have room for it. Whether each is taken.
    fn accept(&self, leaves: Bool, looked_up: Bits) -> (Bool, Bool) {
        let p = self.p;
        let s1 = Stage1 { valid: &self.s1_valid, req: &self.s1, again: &self.s1_again };
        let blocked = |head: &DirReq| waits(head.op, self.rows.state_of(base_of(p, head.line)));
        let Next { accept, again, head } = self.queue.next((self.run, leaves), &self.req, &s1, blocked);
        let line = mux(again, head.line, self.req.msg.line);
        let set = next_set(p, (accept | again, line), (self.s1.get().line, looked_up), None);
        self.port.present(set);
        if let Some(ages) = &self.ages {
            ages.port.present(set);
        }
        (accept, again)
    }

    /// The Inv in S2 joins the others, and the first of them leaves.
    fn launch(&self) {
        let (p, victim) = (self.p, self.s2.victim.get());
        let line = match &self.s2_member {
            Some(member) => pack(&[member.get(), victim.base]),
            None => victim.base,
        };
        when(self.s2.evict.get(), || {
            self.invs.push(&DirInv {
                line,
                dest: nodes_of_sharers(p, victim.slots),
                cause: mux(self.s2_store.get(), enum_lit(Cause::Write), enum_lit(Cause::Evict)),
                grp: bool_lit(p.names_groups()),
                owner: None,
            });
        });
        when(self.invs.valid & self.inv.free, || {
            self.invs.pop();
            self.inv.send(&self.invs.head);
        });
    }
}

/// What is awaited of the group, as the table has it.
fn group((written, evictions): (Bool, Bits), behind: Bool) -> Enum<ViGroup> {
    let evicting = mux(evictions.any(), enum_lit(ViGroup::Evicting), enum_lit(ViGroup::Free));
    mux(written, enum_lit(ViGroup::Written), mux(behind, enum_lit(ViGroup::Behind), evicting))
        .named("awaited")
}

/// What a lookup finds; `others`: sharers of the entry that is `hit`, without the requester.
fn found_of(hit: Bool, others: Bits) -> Enum<ViFound> {
    let here = mux(others.any(), enum_lit(ViFound::Shared), enum_lit(ViFound::Sole));
    mux(hit, here, enum_lit(ViFound::Miss))
}

fn plan(p: &DirParams, look: &Lookup, group: Enum<ViGroup>, decided: Bool) -> Plan {
    let before = look.old.slice(0, p.sharers()) & look.hit.repeat(p.sharers());
    let requester = sharer_of_node(p, look.req.src).named("requester");
    let others = before & !requester;
    let found = found_of(look.hit, others).named("found");
    let row = operations().decode_about(look.req.line, decided, (look.event, found, group));
    let none = lit(0, p.sharers());
    let after = mux(row.does(ViAct::OnlyRequester), requester, before);
    let after = mux(row.does(ViAct::AddRequester), before | requester, after);
    let after = mux(row.does(ViAct::Clear), none, after).named("sharers_after");
    let allocate = row.does(ViAct::Allocate).named("allocate");
    let valid = after.any();
    row.leads_to(found_of(valid, after & !requester));
    let inv = mux(row.does(ViAct::InvOthers), others, none);
    let inv = mux(row.does(ViAct::InvAll), before, inv).named("write_inv_sharers");
    Plan {
        evict: (allocate & look.valids.all()).named("evict"),
        requester,
        before,
        entry: pack(&[after, tag_of(p, look.base), valid.bits()]),
        changed: (before ^ after).any(),
        freed: look.hit & !valid,
        empty: bool_lit(false),
        inv,
        allocate,
        touch: row.does(ViAct::Touch),
        wait: row.does(ViAct::Wait),
    }
}
