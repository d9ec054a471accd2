//! Observers of the directories whose nodes may be GPMs: roles, forwarded Invs, downgrades, ranges in two levels. No hardware.

use super::super::index::*;
use super::super::recv::{Recv, Told};
use super::super::write_inv::WriteInvState;
use super::View;
use crate::msg::DirOp;
use weft_rtl::prelude::*;

fn race(name: &str, cond: Bool, text: &str) {
    cover(&format!("hmg.race.{name}"), cond, text);
}

/// Declares the observers of the kinds with GPMs.
pub(super) fn observe(v: &View) {
    operations(v);
    assert_always(
        "lines_belong_here",
        !v.look.any | belongs(v),
        "the home of a line is the slice's node, or in two levels a GPM of the same number",
    );
    if v.p.downgrade {
        downgrades(v);
    }
    if v.p.kind.two_level() {
        let roles = Roles::of(v);
        stores(v, &roles);
        evictions(v);
        crossings(v);
        assertions(v, &roles);
        if let Some((recv, told)) = v.recv {
            received(v, recv, told);
            overtakes(v, recv);
            if v.p.kind.ranges() {
                ranges(v, recv);
            }
        }
    }
}

fn belongs(v: &View) -> Bool {
    let (sys, home) = (&v.p.sys, home_of_base(v.p, v.look.base));
    if !v.p.kind.two_level() {
        return home.eq(u64::from(v.p.home));
    }
    match sys.gpm_bits() {
        0 => bool_lit(true),
        bits => home.slice(0, bits).eq(u64::from(v.p.own_gpm())),
    }
}

fn operations(v: &View) {
    let atom = v.go & v.op(DirOp::AtomRem);
    if v.p.kind.records_atomics() {
        race("atomic_records_requester", atom & !v.was_sharer(), "an atomic by a node that was no sharer");
    }
    let again = v.go & v.op(DirOp::RdRem) & (v.pending.sharers & v.plan.requester).any();
    race(
        "load_meets_own_eviction_inv",
        again,
        "a load of a group whose eviction Inv to its source is pending",
    );
}

fn downgrades(v: &View) {
    let p = v.p;
    let here = v.op(DirOp::Downgrade);
    let down = v.go & here;
    let stranger = v.plan.requester.any() & !v.was_sharer();
    race("downgrade_last_sharer", down & v.plan.freed, "a downgrade removes the last sharer");
    let left = down & v.was_sharer() & !v.plan.freed;
    race("downgrade_leaves_others", left, "a downgrade leaves other sharers");
    race("downgrade_of_no_sharer", down & stranger & v.look.hit, "a downgrade by a node that is no sharer");
    let late = down & stranger & !v.look.hit;
    race("downgrade_without_entry", late, "a downgrade of a group that has no entry");
    race(
        "downgrade_waits_eviction_inv",
        here & v.stalls.slot_pending,
        "a downgrade waits for an eviction Inv",
    );
    let home = v.look.req.src.eq(u64::from(p.home));
    race("downgrade_by_home_asks", down & home & v.look.hit, "the home asks and sharers are recorded");
    count("downgrades", down & v.was_sharer(), "sharers removed on their own request");
    assert_always("downgrade_has_no_inv", !down | v.plan.inv.none(), "a downgrade invalidates nothing");
}

/// Sharers and requester, divided into GPMs of the own GPU and other GPUs.
struct Roles {
    /// The line is homed in the own GPU: this is its system home.
    system_home: Bool,
    near: Bool,
    far: Bool,
    inv_near: Bool,
    inv_far: Bool,
}

impl Roles {
    fn of(v: &View) -> Roles {
        let inv = v.plan.inv;
        Roles {
            system_home: of_own_gpu(v.p, home_of_base(v.p, v.look.base)),
            near: near(v, v.plan.requester),
            far: far(v, v.plan.requester),
            inv_near: near(v, inv),
            inv_far: far(v, inv),
        }
    }
}

/// Some sharer is a GPM of the own GPU.
fn near(v: &View, sharers: Bits) -> Bool {
    let bits = v.p.near_sharers();
    if bits == 0 { bool_lit(false) } else { sharers.slice(0, bits).any() }
}

/// Some sharer is another GPU.
fn far(v: &View, sharers: Bits) -> Bool {
    let bits = v.p.near_sharers();
    if bits == sharers.width() { bool_lit(false) } else { sharers.slice(bits, sharers.width() - bits).any() }
}

fn stores(v: &View, r: &Roles) {
    let p = v.p;
    let (gpus, gpms) = (p.sys.gpus, p.sys.gpms);
    let store = v.go & v.op(DirOp::WrRem);
    if gpus > 1 && gpms > 1 {
        race(
            "gpu_store_invs_gpms",
            store & r.far & r.inv_near,
            "at the system home a store of a GPU invalidates GPMs",
        );
        race(
            "gpm_store_invs_gpus",
            store & r.near & r.inv_far,
            "at the system home a store of a GPM invalidates GPUs",
        );
        race(
            "gpu_home_own_store",
            v.go & v.op(DirOp::WrLoc) & !r.system_home & r.inv_near,
            "a store of the GPU home's own SMs invalidates GPMs",
        );
    }
    if gpms > 2 && gpus > 1 {
        race(
            "gpu_home_store_invs_gpms",
            store & !r.system_home & r.inv_near,
            "at a GPU home a store of a GPM invalidates the other GPMs",
        );
    }
    if gpus > 2 {
        let rival = v.plan.before.popcount().eq(1) & r.far & r.inv_far;
        race(
            "stores_of_two_gpus",
            store & rival,
            "a store of a GPU invalidates the only sharer, another GPU",
        );
    }
}

fn evictions(v: &View) {
    let (evict, victim) = (v.s2.evict.get(), v.s2.victim.get());
    let sharers = all_sharers(v.p, victim.slots);
    let own = of_own_gpu(v.p, home_of_base(v.p, victim.base));
    if v.p.sys.gpus > 1 && v.p.sys.gpms > 1 {
        let both = near(v, sharers) & far(v, sharers);
        race("eviction_tells_gpms_and_gpus", evict & both, "an evicted entry has GPMs and GPUs as sharers");
        race("gpu_home_evicts", evict & !own, "a GPU home replaces an entry of another GPU's lines");
    }
    assert_always(
        "evicted_gpus_shared_own_lines",
        !(evict & far(v, sharers)) | own,
        "the eviction of another GPU's lines tells GPMs only",
    );
}

/// Whom a received Inv tells.
fn received(v: &View, recv: &Recv, told: &Told) {
    let (p, here) = (v.p, recv.looks);
    let forward = here & told.all.any();
    count("received_invs", here, "Invs received");
    count("forwarded_invs", forward, "received Invs passed on");
    count_amount("forwarded_unicasts", forward, told.all.popcount(), "destinations of Invs passed on");
    if p.sys.gpms > 2 {
        let several = forward & told.all.popcount().gt(1);
        race("inv_forwarded_to_several", several, "a received Inv goes on to two or more GPMs");
    }
    let evicted = here & (told.evicted & !told.recorded).any();
    race("recv_tells_evicted", evicted, "a received Inv tells a sharer whose eviction Inv is pending");
    let written = here & (told.written & !told.recorded).any();
    race("recv_tells_written", written, "a received Inv tells a sharer whose write Inv is pending");
    let also = here & (told.also & !told.recorded & !told.evicted & !told.written).any();
    race("recv_tells_also", also, "a received Inv tells a GPM that only the bank names");
    let own = recv.msg.get().also.bit(p.own_gpm());
    assert_always("also_names_other_gpms", !(here & own), "the bank never names the home itself");
    let system_home = of_own_gpu(p, home_of_base(p, v.look.base));
    assert_always(
        "system_home_receives_no_inv",
        !(here & system_home),
        "nothing invalidates the system home",
    );
    let near = nodes_of_sharers(p, near_sharers(p, lit_bv(Bv::ones(p.sharers()))));
    let leaves = (recv.inv.held.dest & !near).any();
    assert_always(
        "received_inv_stays_in_the_gpu",
        !(recv.inv.waiting & leaves),
        "inv_l names other GPMs of the own GPU",
    );
}

/// Received Invs beside operations.
fn overtakes(v: &View, recv: &Recv) {
    let s = v.stalls;
    race(
        "recv_passes_full_evb",
        recv.accept & s.evb_full,
        "a received Inv passes an operation that waits for the eviction buffer",
    );
    race(
        "recv_passes_write_inv",
        recv.accept & s.write_inv_busy,
        "a received Inv passes an operation that waits for the write-Inv register",
    );
    let base = v.look.base;
    let (s2, p) = (v.s2, v.p);
    let written = base_of_tag(p, s2.entry.get().slice(p.slots_width(), p.tag_bits()), base).eq(base);
    race(
        "recv_behind_operation",
        recv.looks & v.look.forward & written,
        "a received Inv directly behind an operation of its group",
    );
    let next = recv.looks & v.s1_valid & base_of(p, v.look.req.line).eq(base);
    race(
        "operation_behind_recv",
        next & v.plan.changed,
        "an operation of its group directly behind a received Inv",
    );
}

/// A received Inv and the other lines of its range.
fn ranges(v: &View, recv: &Recv) {
    let p = v.p;
    let race =
        |name: &str, cond: Bool, text: &str| cover(&format!("hmg_rec.race.{name}"), recv.looks & cond, text);
    let told = v.plan.before.any();
    race("recv_last_slot", told & v.plan.freed, "a received Inv clears the last slot of an entry");
    race("recv_other_slots_left", told & !v.plan.freed, "a received Inv leaves other slots set");
    let spares = v.pending.same_base & !v.pending.slot;
    race("recv_spares_evicted_lines", spares, "the eviction buffer holds the range, but not the line");
    let waits = v.wi.state.get().is_any(&[WriteInvState::Want, WriteInvState::Sent]);
    let range = waits & base_of(p, v.wi.line.get()).eq(v.look.base);
    let spares = range & !v.wi.is_for(p, v.look);
    race("recv_spares_written_line", spares, "a write Inv of another line of the range waits");
    let (evict, victim) = (v.s2.evict.get(), v.s2.victim.get());
    let foreign = !of_own_gpu(p, home_of_base(p, victim.base));
    let burst = evict & foreign & positions(p, victim.slots).popcount().gt(1);
    cover("hmg_rec.race.gpu_home_burst", burst, "a GPU home replaces an entry with two or more set slots");
}

fn crossings(v: &View) {
    let waits = v.wi.state.get().is_any(&[WriteInvState::Want, WriteInvState::Sent]);
    let same = waits & v.wi.is_for(v.p, v.look) & (v.wi.sharers.get() & v.plan.requester).any();
    let crossed = v.look.valid & v.op(DirOp::WrRem) & same;
    race("store_behind_inv_to_its_source", crossed, "a store waits behind an Inv to its own source");
}

fn assertions(v: &View, r: &Roles) {
    let here = v.look.valid;
    assert_always(
        "gpus_ask_the_system_home",
        !(here & r.far) | r.system_home,
        "requests of other GPUs come to the system home only",
    );
    let entry = all_sharers(v.p, v.plan.entry.slice(0, v.p.slots_width()));
    let here = v.moves & (v.look.hit | v.plan.allocate);
    assert_always(
        "gpus_share_own_lines_only",
        !(here & far(v, entry)) | r.system_home,
        "a GPU is a sharer only of lines of this GPU",
    );
}
