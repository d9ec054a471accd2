//! What comes to the hierarchical fence unit from other nodes: requests, acknowledgements, markers. All of it is taken in the cycle in which it is there.

use super::fence_ports::{part_in, part_taken};
use super::hier_fence::{Answer, Ask};
use super::hier_fence_params::{HierFenceParams, Part};
use crate::msg::*;
use weft_rtl::prelude::*;

/// What comes in a cycle.
pub(super) struct Incoming {
    /// Requesters, by order: a bit per GPM of the own GPU, for MarkSys one per node.
    pub far: Bits,
    pub gpu_marks: Bits,
    pub sys_marks: Bits,
    pub drops: Bits,
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
    let (slots, nodes) = (p.gpm_slots(), sys.nodes());
    let mut i = Incoming {
        far: lit_bv(Bv::zero(slots)),
        gpu_marks: lit_bv(Bv::zero(slots)),
        sys_marks: lit_bv(Bv::zero(nodes)),
        drops: lit_bv(Bv::zero(slots)),
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
    let (sys, slots, nodes) = (&p.sys, p.gpm_slots(), p.sys.nodes());
    let req = part_in::<ReqMsg, Ask>("req_in", sys);
    when(req.valid, || req.take());
    let is = |order: FenceOrder| req.valid & req.msg.scope.eq(order.encoding());
    let near = |order| sys.gpm_of(req.msg.src).one_hot(slots) & is(order).repeat(slots);
    (i.far, i.gpu_marks, i.drops) =
        (near(FenceOrder::DrainFar), near(FenceOrder::MarkGpu), near(FenceOrder::DropFar));
    i.sys_marks = req.msg.src.one_hot(nodes) & is(FenceOrder::MarkSys).repeat(nodes);
    assert_always(
        "req_in_is_for_here",
        !req.valid | (p.is_home(req.msg.dst) & !p.is_home(req.msg.src)),
        "a fence request comes from another node and reaches the one it names",
    );
    assert_always(
        "req_in_of_own_gpu",
        !req.valid | is(FenceOrder::MarkSys) | p.of_own_gpu(req.msg.src),
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
    i.acks = [gpu & !to_home, valid & !gpu & !to_home];
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
