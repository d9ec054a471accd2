//! What comes to the hierarchical fence unit from other nodes: requests, acknowledgements, markers. All of it is taken in the cycle in which it is there.

use super::super::ports::{part_in, part_taken};
use super::params::{HierFenceParams, Part};
use super::{Answer, Ask, AskFor};
use crate::msg::*;
use weft_rtl::prelude::*;

/// What comes in a cycle.
pub(super) struct Incoming {
    /// Requesters, by order: a bit per GPM of the own GPU, for MarkSys one per node, or per GPU where GPMs
    /// join.
    pub far: Bits,
    pub gpu_marks: Bits,
    pub sys_marks: Bits,
    pub drops: Bits,
    /// At a leader: GPMs of the own GPU that join, and GPUs that ask for the markers of this one's homes.
    pub joins: Bits,
    pub relays: Bits,
    /// The same of releases of all nodes.
    pub common_joins: Bits,
    pub common_relays: Bits,
    /// At a leader: the GPU for which another home of the own GPU has markers acknowledged, as a bit.
    pub relayed: Bits,
    /// Acknowledgements for the engines of GPU and system scope.
    pub acks: [Bool; 2],
    /// Receivers' acknowledgements of this home's markers of GPU and system scope.
    pub receipts: [Bool; 2],
    /// A GPM's acknowledgement of a marker that was passed on to it.
    pub passed: Bool,
    /// Home and serial of the marker that those are of.
    pub ack_origin: Bits,
    pub ack_serial: Bits,
    /// A marker.
    pub mark: Bool,
    pub mark_msg: HierMark,
    /// It is of the same GPM of another GPU, and for the GPMs of this GPU too.
    pub foreign: Bool,
}

/// Declares the ports `req_in`, `rsp_in` and `mark_in` and takes what comes.
pub(super) fn incoming(p: &HierFenceParams) -> Incoming {
    let sys = &p.sys;
    let no = bool_lit(false);
    let slots = p.gpm_slots();
    let mut i = Incoming {
        far: lit_bv(Bv::zero(slots)),
        gpu_marks: lit_bv(Bv::zero(slots)),
        sys_marks: lit_bv(Bv::zero(p.sys_requesters())),
        drops: lit_bv(Bv::zero(slots)),
        joins: lit_bv(Bv::zero(slots)),
        relays: lit_bv(Bv::zero(sys.gpus)),
        common_joins: lit_bv(Bv::zero(slots)),
        common_relays: lit_bv(Bv::zero(sys.gpus)),
        relayed: lit_bv(Bv::zero(sys.gpus)),
        acks: [no, no],
        receipts: [no, no],
        passed: no,
        ack_origin: p.home_bits(),
        ack_serial: lit(0, SERIAL_BITS),
        mark: no,
        mark_msg: HierMark { serial: lit(0, SERIAL_BITS), origin: p.home_bits(), sys: no },
        foreign: no,
    };
    if p.has(Part::NearAsks) || p.has(Part::FarAsks) {
        requests(p, &mut i);
        acknowledgements(p, &mut i);
    } else {
        silent_in_channel::<ReqMsg>("req_in", sys);
        silent_in_channel::<RspMsg>("rsp_in", sys);
    }
    if p.has(Part::Markers) {
        markers(p, &mut i);
    } else {
        silent_in_channel::<HierMark>("mark_in", sys);
    }
    i
}

fn requests(p: &HierFenceParams, i: &mut Incoming) {
    let (sys, slots) = (&p.sys, p.gpm_slots());
    let (valid, ask, names) = if p.joined() {
        let req = part_in::<ReqMsg, AskFor>("req_in", sys);
        when(req.valid, || req.take());
        let AskFor { src, dst, scope, line } = req.msg;
        (req.valid, Ask { src, dst, scope }, Some(line))
    } else {
        let req = part_in::<ReqMsg, Ask>("req_in", sys);
        when(req.valid, || req.take());
        (req.valid, req.msg, None)
    };
    let is = |order: FenceOrder| valid & ask.scope.eq(order.encoding());
    let near = |order| sys.gpm_of(ask.src).one_hot(slots) & is(order).repeat(slots);
    (i.far, i.gpu_marks, i.drops) =
        (near(FenceOrder::DrainFar), near(FenceOrder::MarkGpu), near(FenceOrder::DropFar));
    let marks = is(FenceOrder::MarkSys);
    match names {
        Some(line) if p.follows() => i.sys_marks = line.slice(0, sys.gpus) & marks.repeat(sys.gpus),
        Some(line) => {
            let (inside, common) = (p.of_own_gpu(ask.src), line.bit(0));
            let joins = near(FenceOrder::MarkSys) & inside.repeat(slots);
            let relays = sys.gpu_of(ask.src).one_hot(sys.gpus) & (marks & !inside).repeat(sys.gpus);
            (i.joins, i.relays) = (joins & !common.repeat(slots), relays & !common.repeat(sys.gpus));
            (i.common_joins, i.common_relays) =
                (joins & common.repeat(slots), relays & common.repeat(sys.gpus));
        }
        None => i.sys_marks = ask.src.one_hot(sys.nodes()) & marks.repeat(sys.nodes()),
    }
    assert_always(
        "req_in_is_for_here",
        !valid | (p.is_home(ask.dst) & !p.is_home(ask.src)),
        "a fence request comes from another node and reaches the one it names",
    );
    assert_always(
        "req_in_of_own_gpu",
        !valid | is(FenceOrder::MarkSys) | p.of_own_gpu(ask.src),
        "other GPUs ask for markers of system scope only",
    );
}

fn acknowledgements(p: &HierFenceParams, i: &mut Incoming) {
    let sys = &p.sys;
    let (valid, rsp) = part_taken::<RspMsg, Answer>("rsp_in", sys);
    let is = |order: FenceOrder| valid & rsp.id.slice(0, 2).eq(order.encoding());
    let (gpu, wide) = (is(FenceOrder::MarkGpu), is(FenceOrder::MarkSys));
    (i.ack_origin, i.ack_serial) = (rsp.origin(sys), rsp.serial());
    let own_marker = p.is_home(i.ack_origin);
    i.receipts = [(gpu & own_marker).named("gpu_receipt"), (wide & own_marker).named("sys_receipt")];
    if p.has(Part::Forwards) {
        i.passed = (wide & !p.of_own_gpu(i.ack_origin) & p.of_own_gpu(rsp.src)).named("passed_receipt");
    }
    let to_home = any_of(&[i.receipts[0], i.receipts[1], i.passed]);
    let to_gpu_fence = gpu & !to_home;
    let mut to_fence = valid & !gpu & !to_home;
    if p.leads() {
        let relayed = (wide & i.ack_origin.eq(rsp.src) & p.of_own_gpu(rsp.src)).named("home_acknowledges");
        i.relayed = rsp.requester(sys).one_hot(sys.gpus) & relayed.repeat(sys.gpus);
        to_fence = to_fence & !relayed;
    }
    i.acks = [to_gpu_fence, to_fence];
    assert_always(
        "rsp_in_is_for_here",
        !valid | (p.is_home(rsp.dst) & !p.is_home(rsp.src)),
        "an acknowledgement comes from another node and is for this one",
    );
    assert_always(
        "rsp_in_is_known",
        !valid | to_home | i.ack_origin.eq(rsp.src),
        "an acknowledgement is of a marker of this home, of one that it has passed on, or a home's for a fence of this node",
    );
}

fn markers(p: &HierFenceParams, i: &mut Incoming) {
    let sys = &p.sys;
    let mark = in_channel::<HierMark>("mark_in", sys);
    when(mark.valid, || mark.take());
    (i.mark, i.mark_msg) = (mark.valid, mark.msg);
    let origin = mark.msg.origin;
    if p.has(Part::Forwards) {
        // What the GPU home of another GPM has passed on has an origin of another GPU too, with that GPM's number.
        let direct = sys.gpm_of(origin).eq(u64::from(sys.gpm_of_node(p.home)));
        i.foreign = (mark.valid & !p.of_own_gpu(origin) & direct).named("mark_to_pass_on");
    }
    assert_always(
        "mark_in_origin",
        !mark.valid | (!p.is_home(origin) & (mark.msg.sys | p.of_own_gpu(origin))),
        "a marker is of another home; one of GPU scope stays in its GPU",
    );
    assert_always(
        "mark_in_serial",
        !mark.valid | p.serial_bit(mark.msg.serial).any(),
        "all homes have the same number of serials",
    );
}
