//! `spandex-link-tx`, `spandex-link-rx`: the two ends of a link between chips, which all four virtual networks share.
//!
//! ```text
//!  req -> skid -+                        wire_req_*   +-> buffer (credits) -> req
//!  fwd -> skid -+                        wire_fwd_*   +-> buffer (credits) -> fwd
//!  wb  -> skid -+-> round robin -> wire  wire_wb_*  ->+-> buffer (credits) -> wb
//!  rsp -> skid -+      ^                 wire_rsp_*   +-> buffer (credits) -> rsp
//!                   credits  <--------   credit_*     <-- a place was freed
//!        spandex-link-tx                                  spandex-link-rx
//! ```
//! The wire carries `bytes` bytes per cycle in one direction; a message of F flits occupies it for 16 F bytes of its time, exactly: one that begins where another has left a part of a cycle uses the rest.
//! At most one message begins per cycle. Messages go whole, of one network after another in turn among those that have a message and a credit.
//!
//! Every network has its own credits and its own buffer at the far end, and what is on the wire has a place there: a network from which nobody takes uses up its credits and then no longer asks for the
//! wire, so none ever waits for another. Messages of a network keep their order.
//!
//! As in [`weft_blocks::common::link`], the model carries the fields of a message side by side: they stand on `wire_*` from its first cycle on and `wire_*_valid` is high for one cycle, its last. A message of B bytes
//! taken in cycle t, when r bytes of that cycle are used already, is offered at the far end in cycle t + max(1, floor((r + B) / `bytes`)) + `latency` when nothing is ahead of it.
//!
//! # Pictures
//!
//! `spandex-link-tx`:
//!
#![doc = include_str!("../../pictures/spandex-link-tx.svg")]
//!
//! `spandex-link-rx`:
//!
#![doc = include_str!("../../pictures/spandex-link-rx.svg")]

use super::NETS;
use crate::msg::{Fwd, Req, Routed, Rsp, Wb};
use crate::params::{Spandex, spandex_from, spandex_params};
use std::sync::Arc;
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Name of the sending end.
pub const TX: &str = "spandex-link-tx";
/// Name of the receiving end.
pub const RX: &str = "spandex-link-rx";

/// Bytes of a flit, as a shift.
const FLIT: u32 = 4;

/// Legal range of [`LinkParams::bytes`].
const BYTES: (u32, u32) = (1, 512);
/// Legal range of [`LinkParams::latency`].
const LATENCY: (u32, u32) = (2, 4096);
/// Legal range of [`LinkParams::credits`].
const CREDITS: (u32, u32) = (1, 1024);

/// Parameters of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkParams {
    /// Bandwidth, 1..512 bytes per cycle and direction.
    pub bytes: u32,
    /// Cycles from a message's last byte until the far end offers it, 2..4096; a credit takes as long back.
    pub latency: u32,
    /// Places of each virtual network at the far end, 1..1024. Full bandwidth needs as many as messages fit into twice the latency.
    pub credits: u32,
}

impl LinkParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let ranges = [
            ("link_bytes", self.bytes, BYTES),
            ("link_latency", self.latency, LATENCY),
            ("link_credits", self.credits, CREDITS),
        ];
        match ranges.into_iter().find(|(_, value, (least, most))| !(least..=most).contains(&value)) {
            None => Ok(()),
            Some((key, value, (least, most))) => Err(BlockError::Illegal {
                block: TX.into(),
                key: key.into(),
                value: value.to_string(),
                problem: "it lies outside".into(),
                legal: format!("{least}..{most}"),
            }),
        }
    }

    /// Part of a module's name that these parameters determine.
    pub fn name_part(&self) -> String {
        format!("w{}_t{}_c{}", self.bytes, self.latency, self.credits)
    }

    fn describe(&self) {
        param("bytes", self.bytes);
        param("latency", self.latency);
        param("credits", self.credits);
    }
}

/// The sending side of one virtual network.
struct Lane<T: Routed> {
    name: &'static str,
    channel: InChannel<T>,
    wire: Reg<T>,
    wire_valid: Reg<Bool>,
    credit: Bool,
    credits: Reg<Bits>,
    /// This lane's message is the one on the wire.
    flying: Reg<Bool>,
}

/// A lane, whatever its messages are.
trait AnyLane {
    /// It has a message and a credit.
    fn request(&self) -> Bool;
    /// Bytes of its message.
    fn bytes(&self, s: &Spandex) -> Bits;
    /// Puts its message on the wire when `start`.
    fn drive(&self, start: Bool, wire: &Wire, p: LinkParams);
}

impl<T: Routed> Lane<T> {
    fn new(name: &'static str, s: &Spandex, p: LinkParams) -> Lane<T> {
        let credits = u64::from(p.credits);
        Lane {
            name,
            channel: in_channel::<T>(name, s),
            wire_valid: output_reg::<Bool>(&format!("wire_{name}_valid"), ()),
            wire: output_reg::<T>(&format!("wire_{name}"), s.clone()).field("queue"),
            credit: input::<Bool>(&format!("credit_{name}"), ()),
            credits: reg::<Bits>(&format!("credits_{name}"), bits_for(credits + 1))
                .reset(&[credits])
                .doc("places known to be free at the far end"),
            flying: reg::<Bool>(&format!("flying_{name}"), ()),
        }
    }
}

impl<T: Routed> AnyLane for Lane<T> {
    fn request(&self) -> Bool {
        self.channel.valid & self.credits.get().any()
    }

    fn bytes(&self, s: &Spandex) -> Bits {
        cat(&[self.channel.msg.flits(s), lit(0, FLIT)])
    }

    fn drive(&self, start: Bool, wire: &Wire, p: LinkParams) {
        let name = self.name;
        when(wire.idle, || self.flying.set(start));
        when(start, || {
            self.channel.take();
            self.wire.set(&self.channel.msg);
        });
        let stays = self.flying.get() & !wire.idle;
        self.wire_valid.set((start | stays) & wire.last);
        let left = self.credits.get();
        when(start & !self.credit, || self.credits.set(left - 1));
        when(self.credit & !start, || self.credits.set(left + 1));
        let held = "a message leaves only with a credit";
        assert_always(&format!("{name}_credits_not_negative"), !(start & left.none()), held);
        let bounded = !(self.credit & left.eq(u64::from(p.credits)));
        let text = "no more credits come back than messages were sent";
        assert_always(&format!("{name}_credits_bounded"), bounded, text);
        let waits = self.channel.valid & left.none();
        count(&format!("no_credit_{name}"), waits, "cycles in which a message waited for a credit");
    }
}

/// What the wire does in a cycle.
struct Wire {
    /// It can begin a message.
    idle: Bool,
    /// It begins one.
    go: Bool,
    /// The next cycle carries the last byte of what is then on it.
    last: Bool,
}

/// Time of the wire; `size`: bytes of the message that wants to begin.
fn wire(p: LinkParams, wanted: Bool, size: Bits) -> Wire {
    let per_cycle = u64::from(p.bytes);
    let width = bits_for(per_cycle + (1 << size.width()));
    let owed = reg::<Bits>("owed", width)
        .doc("bytes of the message on the wire that this cycle and later ones carry");
    let idle = owed.get().lt(per_cycle).named("idle");
    let go = (idle & wanted).named("go");
    let total = (owed.get() + mux(go, size.zext(width), lit(0, width))).named("total");
    let next = mux(total.lt(per_cycle), lit(0, width), total - per_cycle).named("owed_next");
    // Without a successor what is left of this cycle goes unused.
    owed.set(mux(idle & !go, lit(0, width), next));
    Wire { idle, go, last: next.lt(per_cycle) }
}

/// The sending end: channels `req`, `fwd`, `wb`, `rsp` in; `wire_*` out; `credit_*` back.
///
/// # Errors
/// What [`LinkParams::validate`] refuses.
pub fn link_tx(s: &Spandex, p: LinkParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let name = format!("spandex_link_tx_{}_{}", p.name_part(), s.name_part());
    let built = Module::build(&name, ModuleKind::Block, || {
        doc(
            "Timing model of the sending end of a link between chips: four virtual networks with credits on one wire.",
        );
        p.describe();
        let lanes: [Box<dyn AnyLane>; 4] = [
            Box::new(Lane::<Req>::new(NETS[0], s, p)),
            Box::new(Lane::<Fwd>::new(NETS[1], s, p)),
            Box::new(Lane::<Wb>::new(NETS[2], s, p)),
            Box::new(Lane::<Rsp>::new(NETS[3], s, p)),
        ];
        let asked: Vec<Bool> = lanes.iter().map(|lane| lane.request()).collect();
        let turn = RoundRobin::new("turn", lanes.len() as u32);
        let pick = turn.pick(pack_bools(&asked).named("asked"));
        let sizes: Vec<Bits> = lanes.iter().map(|lane| lane.bytes(s)).collect();
        let wire = wire(p, pick.any, select(&sizes, pick.index));
        when(wire.go, || turn.granted(pick.index));
        for ((i, lane), name) in lanes.iter().enumerate().zip(NETS) {
            let start = (wire.go & pick.index.eq(i as u64)).named(&format!("{name}_starts"));
            lane.drive(start, &wire, p);
            count_amount(&format!("bytes_{name}"), start, sizes[i], "bytes sent on this virtual network");
            count(&format!("msgs_{name}"), start, "messages sent on this virtual network");
        }
        count("wire_busy", !wire.idle | wire.go, "cycles in which the wire carried a part of a message");
    });
    built.map_err(|errors| BlockError::Elab { block: TX.into(), errors })
}

/// The receiving side of one virtual network.
fn receive<T: Routed>(name: &str, s: &Spandex, p: LinkParams) {
    let valid = input::<Bool>(&format!("wire_{name}_valid"), ());
    let wire = input::<T>(&format!("wire_{name}"), s.clone());
    let credit = output_reg::<Bool>(&format!("credit_{name}"), ());
    let out = out_channel::<T>(name, s);
    let buffer = Fifo::<T>::new(&format!("{name}_buffer"), p.credits, s);
    when(valid, || buffer.push(&wire));
    let arrives = delayed(&format!("{name}_flight"), valid, p.latency - 1);
    let here = reg::<Bits>(&format!("{name}_here"), bits_for(u64::from(p.credits) + 1))
        .field("queue")
        .doc("messages of the buffer that have arrived; the others are on the wire");
    let leaves = ((here.get().any() | arrives) & out.free).named(&format!("{name}_leaves"));
    when(leaves, || {
        out.send(&buffer.head);
        buffer.pop();
    });
    when(arrives & !leaves, || here.set(here.get() + 1));
    when(leaves & !arrives, || here.set(here.get() - 1));
    credit.set(delayed(&format!("{name}_return"), leaves, p.latency - 1));
    let room = !(valid & buffer.full);
    assert_always(&format!("{name}_has_room"), room, "a message on the wire has a place reserved for it");
    let there = here.get().le(buffer.count);
    assert_always(&format!("{name}_is_there"), there, "every message that arrives is in the buffer");
    let waits = here.get().any() & !out.free;
    count(&format!("waits_{name}"), waits, "cycles in which a message that had arrived was not taken");
}

/// The receiving end: `wire_*` in; channels `req`, `fwd`, `wb`, `rsp` out; `credit_*` back.
///
/// # Errors
/// What [`LinkParams::validate`] refuses.
pub fn link_rx(s: &Spandex, p: LinkParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let name = format!("spandex_link_rx_{}_{}", p.name_part(), s.name_part());
    let built = Module::build(&name, ModuleKind::Block, || {
        doc(
            "Timing model of the receiving end of a link between chips: a buffer per virtual network, credits go back as places are freed.",
        );
        p.describe();
        receive::<Req>(NETS[0], s, p);
        receive::<Fwd>(NETS[1], s, p);
        receive::<Wb>(NETS[2], s, p);
        receive::<Rsp>(NETS[3], s, p);
    });
    built.map_err(|errors| BlockError::Elab { block: RX.into(), errors })
}

/// Connects the wire of a virtual network, and its credits back.
fn connect_lane<T: Routed>(name: &str, tx: &InstanceRef, rx: &InstanceRef, s: &Spandex) {
    let valid = format!("wire_{name}_valid");
    rx.drive_bits(&valid, tx.out_bits(&valid));
    for leaf in leaves_of::<T>(s, &format!("wire_{name}")) {
        rx.drive_bits(&leaf.name, tx.out_bits(&leaf.name));
    }
    let credit = format!("credit_{name}");
    tx.drive_bits(&credit, rx.out_bits(&credit));
}

/// Connects both ends of a link.
#[track_caller]
pub fn connect_wire(tx: &InstanceRef, rx: &InstanceRef, s: &Spandex) {
    connect_lane::<Req>(NETS[0], tx, rx, s);
    connect_lane::<Fwd>(NETS[1], tx, rx, s);
    connect_lane::<Wb>(NETS[2], tx, rx, s);
    connect_lane::<Rsp>(NETS[3], tx, rx, s);
}

/// Parameters of an end on the command line: half a link of `spandex-4gpu`.
fn end_params() -> Vec<ParamInfo> {
    let info =
        |name, default: u32, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    let mut list = vec![
        info("bytes", 10, "1..512", "bytes per cycle"),
        info("latency", 140, "2..4096", "cycles from a message's last byte until the far end offers it"),
        info("credits", 64, "1..1024", "places of each virtual network at the far end"),
    ];
    list.extend(spandex_params());
    list
}

fn end_from(set: &ParamSet) -> Result<(Spandex, LinkParams), BlockError> {
    let number = |key, (least, most): (u32, u32)| {
        set.within(key, u64::from(least), u64::from(most)).map(|value| value as u32)
    };
    let p = LinkParams {
        bytes: number("bytes", BYTES)?,
        latency: number("latency", LATENCY)?,
        credits: number("credits", CREDITS)?,
    };
    Ok((spandex_from(set)?, p))
}

/// The sending end by name.
pub fn tx_info() -> BlockInfo {
    BlockInfo {
        name: TX,
        about: "Timing model of the sending end of a link between chips: four virtual networks with credits on one wire",
        params: end_params,
        build: |set| end_from(set).and_then(|(s, p)| link_tx(&s, p)),
    }
}

/// The receiving end by name.
pub fn rx_info() -> BlockInfo {
    BlockInfo {
        name: RX,
        about: "Timing model of the receiving end of a link between chips: a buffer per virtual network, credits go back",
        params: end_params,
        build: |set| end_from(set).and_then(|(s, p)| link_rx(&s, p)),
    }
}
