//! Observers of a bank in a hierarchy: covers of the races of hmg.md sections 5 and 6 that a bank can see, and assertions.

use super::decide::{Decision, Parts};
use super::fill::FillState;
use super::select::Choice;
use super::tables::L2Act;
use super::types::{Class, LineState};
use crate::msg::ReqKind;
use weft_rtl::prelude::*;

/// Attaches them.
pub(super) fn connect(parts: &Parts, choice: &Choice, d: &Decision) {
    forced(parts, d);
    if !parts.p.hier {
        return;
    }
    invalidations(parts, choice, d);
    waiting(parts, choice, d);
    passed_on(parts, choice, d);
    held(parts, d);
    assertions(parts, d);
}

/// A flag of each MSHR for observers: kept from its opening on, raised again when a request joins.
fn note(parts: &Parts, d: &Decision, name: &str, flag: Bool) -> Reg<Bits> {
    let (m, flags) = (parts.m, reg::<Bits>(name, parts.p.sys.l2_mshrs));
    let (opens, joins) = (d.r(L2Act::OpenRead) | d.g(L2Act::OpenRead), d.r(L2Act::Merge) | d.g(L2Act::Merge));
    let fresh = m.free_index().one_hot(parts.p.sys.l2_mshrs);
    when(opens, || flags.set(mux(flag, flags.get() | fresh, flags.get() & !fresh)))
        .elsewhen(joins & flag, || flags.set(flags.get() | d.found.index.one_hot(parts.p.sys.l2_mshrs)));
    flags
}

fn forced(parts: &Parts, d: &Decision) {
    if !parts.p.forces() {
        return;
    }
    let by_forced = note(parts, d, "seen_forced", d.forced);
    let load = d.op.req.kind.is(ReqKind::Rd);
    cover(
        "hmg.race.load_joins_forced",
        (d.r(L2Act::Merge) | d.g(L2Act::Merge)) & load & by_forced.get().bit_at(d.found.index),
        "A younger load joins the miss of a forced one.",
    );
    count("l2_forced", d.go & d.forced, "Loads that no copy may serve because of their scope.");
}

fn invalidations(parts: &Parts, choice: &Choice, d: &Decision) {
    let (op, fence) = (&d.op, parts.fence);
    let inv = d.go & op.class.is(Class::Inv);
    let received = inv & d.gpu_side;
    cover(
        "hmg.race.inv_overtakes_fill_at_gpu_home",
        received & d.g(L2Act::Poison),
        "An Inv poisons a GPU home's read.",
    );
    let of_leaf = note(parts, d, "seen_leaf", op.class.is(Class::Remote));
    cover(
        "hmg.race.inv_while_leaf_requests_wait",
        received & d.found.hit & of_leaf.get().bit_at(d.found.index),
        "An Inv reaches a GPU home while requests of other GPMs wait on its miss.",
    );
    let found = reg::<Bool>("inv_found", ());
    let here = found.get() | d.look.hit | d.found.hit;
    when(inv, || found.set(here & !op.last));
    cover(
        "hmg.race.inv_without_line_forwarded",
        received & op.last & !here,
        "An Inv finds no line at a GPU home and is passed on.",
    );
    let writes = fence.remote.iter().map(|tally| tally.now.get().any()).collect::<Vec<_>>();
    cover(
        "hmg.race.store_crosses_inv",
        inv & d.r(L2Act::Drop) & any_of(&writes),
        "An Inv drops a leaf's copy while writes of this leaf are not acknowledged.",
    );
    let (local, remote) = (&parts.select.local.head, &parts.select.remote.head);
    let store = |head: &super::types::Demand| head.kind.is(ReqKind::Wr) & head.line.eq(parts.select.inv.line);
    cover(
        "hmg.race.inv_before_store",
        choice.inv & ((choice.local_ok & store(local)) | (choice.remote_ok & store(remote))),
        "An Inv goes before a store of the same line that is ready in the same cycle.",
    );
    if let Some(recv) = &parts.outs.recv {
        cover(
            "hmg.race.inv_answer_waits_forwarding",
            recv.out.waiting & !recv.out.free,
            "An Inv is looked up and waits until the directory takes it: its answer waits too, and every marker behind it.",
        );
        cover(
            "hmg.race.inv_names_unanswered",
            received & op.last & parts.ops.unanswered(op.req.line).any(),
            "An Inv is passed on while operations of other GPMs on the group are before the directory.",
        );
    }
}

fn waiting(parts: &Parts, choice: &Choice, d: &Decision) {
    let (op, m, mshr) = (&d.op, parts.m, parts.fill.mshr.get());
    let load = op.req.kind.is(ReqKind::Rd);
    cover(
        "hmg.race.leaf_load_waits_in_px",
        d.poison_blocked & d.gpu_side & op.class.is(Class::Remote) & load & d.found.poisoned,
        "A leaf's load reaches a GPU home in PX and waits.",
    );
    let end = d.go & d.gpu_side & op.class.is(Class::End) & m.poisoned.get().bit_at(mshr);
    let held = &parts.select.remote;
    cover(
        "hmg.race.leaf_load_released",
        end & held.held_valid.get() & held.head.kind.is(ReqKind::Rd) & held.head.line.eq(op.req.line),
        "The fill frees a poisoned line for which a leaf's load waits; it is tried again.",
    );
    let (local, remote, far) = (&parts.select.local, &parts.select.remote, &choice.far_lacks);
    cover(
        "hmg.race.atomic_waits_for_place",
        (local.valid & choice.local_lacks.late) | (remote.valid & choice.remote_lacks.late),
        "An atomic waits because as many as may wait for their lines at this GPU home.",
    );
    if let Some([mshrs, _]) = &m.leaf {
        let half = mshrs.now.get().ge(u64::from(parts.p.away_half() - 1));
        let room = m.used_remote.now.get().lt(u64::from(parts.p.mshr_quota() - 1));
        cover(
            "hmg.race.leaf_quota",
            local.valid & choice.local_lacks.quota & half & room,
            "A miss on a line that another GPM serves waits because such lines hold half of the MSHRs.",
        );
    }
    let blocked = |held: Bool, lacks: Bool, valid: Bool| held | (valid & lacks);
    let stuck =
        blocked(remote.held_valid.get() & remote.blocked.get(), !choice.remote_lacks.nothing(), remote.valid)
            | blocked(
                local.held_valid.get() & local.blocked.get(),
                !choice.local_lacks.nothing(),
                local.valid,
            );
    cover(
        "hmg.race.far_passes_blocked",
        choice.far & stuck,
        "A request of another GPU is served while requests of this GPU are blocked.",
    );
    if let (Some((sink, _)), Some(lacks)) = (&parts.select.far, far) {
        count("l2_wait_far", sink.valid & !lacks.nothing(), "Cycles in which a head of another GPU waits.");
    }
}

fn passed_on(parts: &Parts, _choice: &Choice, d: &Decision) {
    let outs = parts.outs;
    if let Some(pass) = &outs.pass {
        cover(
            "hmg.race.late_result_first",
            outs.late_goes() & pass.count.get().any(),
            "The result of an atomic that had waited for its line leaves before what is queued for other GPUs.",
        );
    }
    let drained = parts.fence.drained();
    cover(
        "hmg.race.release_passes_far_writes",
        drained & parts.fence.far_writes(),
        "A release of GPU scope has drained while writes passed on to other GPUs are not acknowledged.",
    );
    let walked = parts.fill.state.get().is(FillState::Walk) | parts.fill.state.get().is(FillState::End);
    cover(
        "hmg.race.store_waits_for_replay",
        d.poison_blocked
            & d.gpu_side
            & d.op.req.kind.is(ReqKind::Wr)
            & walked
            & parts.fill.mshr.get().eq(d.found.index),
        "A store reaches a line at its GPU home while the atomics before it are being performed.",
    );
    let clean = d.install & d.victim.state.is(LineState::V) & parts.p.gpu_homed(d.victim_line);
    cover("l2gpu.V.victim", clean, "A copy at a GPU home is dropped silently.");
}

/// Dirty bytes of other homes' lines.
fn held(parts: &Parts, d: &Decision) {
    let (Some(held), Some(ways)) = (&d.held, &d.look.held) else { return };
    let state = &d.victim.state;
    for (side, goes) in [("l2req", held.writes_on[0]), ("l2gpu", held.writes_on[1])] {
        let text = "Dirty bytes go on, and the line stays as a clean copy.";
        cover(&format!("{side}.D.write_on"), goes & state.is(LineState::D), text);
        let text = "Dirty bytes go on, and nothing of the line stays.";
        cover(&format!("{side}.W.write_on"), goes & state.is(LineState::W), text);
    }
    let stays = |act: L2Act| d.r(act) | d.g(act);
    count("l2_held", stays(L2Act::Mark) | stays(L2Act::Join), "Stores that stay here as dirty bytes.");
    count("l2_written_on", held.goes(), "Lines whose dirty bytes go on to the next home.");
    count(
        "l2_made_room",
        held.makes_room,
        "Lines whose dirty bytes go on because others need their share of the set.",
    );
    let far = parts.fence.both_walks().map_or(bool_lit(false), |walks| walks[1].active.get());
    cover(
        "hmg.race.release_passes_far_walk",
        parts.fence.drained() & far,
        "A release of GPU scope has drained while dirty bytes are being written on to other GPUs.",
    );
    assert_always(
        "l2_victim_not_held",
        !(d.install & (ways.leaf | ways.gpu).bit_at(d.look.victim)),
        "dirty bytes of other homes' lines are never displaced, only written on",
    );
    assert_always(
        "l2_dirty_bytes_known",
        !held.goes() | state.is_any(&[LineState::D, LineState::W]),
        "only dirty bytes go on",
    );
}

fn assertions(parts: &Parts, d: &Decision) {
    let (outs, op) = (parts.outs, &d.op);
    if let Some(pass) = &outs.pass {
        assert_always("l2_far_out_fits", pass.fits(), "a queue has room for what is pushed");
    }
    if let Some(recv) = &outs.recv {
        assert_always("l2_recv_out_fits", recv.fits(), "a queue has room for what is pushed");
    }
    let inv = parts.select.s1_valid.get() & op.class.is(Class::Inv);
    assert_always(
        "l2_inv_plane",
        !inv | op.link.eq(mux(op.req.gpu_homed, lit(1, 4), lit(0, 4))),
        "Invs of other GPUs are for lines whose GPU home is here, those of this GPU for lines that other GPMs serve",
    );
}
