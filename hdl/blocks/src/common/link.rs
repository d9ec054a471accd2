//! Chip-to-chip link as the fabrics use it, a timing model: a sender, a receiver and the wire between them.
//!
//! ```text
//!  req -> skid -+                         wire_req_*   +-> buffer (credits_req) -> req
//!  rsp -> skid -+-> round robin -> phits  wire_rsp_* ->+-> buffer (credits_rsp) -> rsp
//!  inv -> skid -+      ^                  wire_inv_*   +-> buffer (credits_inv) -> inv
//!                   credits  <---------   credit_*     <---- a place was freed
//!         link_tx                                               link_rx
//! ```
//!
//! The wire carries `bytes_per_cycle` in each direction. Messages of the three virtual networks share it: one after the other, whole, in turn among
//! those that have a message and a credit. A message of B bytes occupies B bytes of wire time exactly: one that begins where another has left part
//! of a cycle's phit uses the rest. At most one message begins per cycle, so a wire wider than the messages carries one message per cycle.
//!
//! The model carries a message's fields side by side, not phit by phit, on more wires than leave a chip: they stand on `wire_*` from the first phit on and
//! `wire_*_valid` is high for one cycle, that of the last phit. [`super::phit`] is the link to build, in phits, with the same times. A message of B bytes taken by `link_tx` in cycle t, when r bytes of that cycle's phit are used already, is offered by
//! `link_rx` in cycle t + max(1, floor((r + B) / `bytes_per_cycle`)) + `latency` when nothing
//! is ahead of it. The receiving buffer also stands for the messages in flight: a credit covers a message from its first phit until it moves to the
//! receiver's output register, so no more storage is needed, and the flight itself is a row of pulses that is still when the wire is silent.
//!
//! # Pictures
//!
//! `link-tx`:
//!
#![doc = include_str!("../../pictures/link-tx.svg")]
//!
//! `link-rx`:
//!
#![doc = include_str!("../../pictures/link-rx.svg")]

use super::arbiter::RoundRobin;
use super::delay::delayed;
use super::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// The virtual networks in their order everywhere: requests, responses, invalidations (rec.md section 5).
pub const NETWORKS: [&str; 3] = ["req", "rsp", "inv"];

/// Parameters of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkParams {
    /// Bandwidth of each direction, 1..512 bytes per cycle.
    pub bytes_per_cycle: u32,
    /// Cycles from a message's last phit until the receiver offers it, 2..4096; a credit takes as long back.
    pub latency: u32,
    /// Places in the receiver's buffer for REQ, RSP and INV, each 1..1024. Full bandwidth needs as many as messages fit into
    /// twice the latency.
    pub credits: [u32; 3],
}

impl LinkParams {
    /// The part of a module's name that tells links apart.
    pub fn tag(&self) -> String {
        let [req, rsp, inv] = self.credits;
        format!("w{}_t{}_c{req}_{rsp}_{inv}", self.bytes_per_cycle, self.latency)
    }

    pub(super) fn describe(&self) {
        param("bytes_per_cycle", self.bytes_per_cycle);
        param("latency", self.latency);
        for (name, credits) in NETWORKS.iter().zip(self.credits) {
            param(&format!("credits_{name}"), credits);
        }
    }

    pub(super) fn check(&self) -> bool {
        let mut good = true;
        let mut refuse = |text: String| {
            elab_error(text);
            good = false;
        };
        if !(1..=512).contains(&self.bytes_per_cycle) {
            refuse(format!("bytes_per_cycle = {}; legal: 1..512", self.bytes_per_cycle));
        }
        if !(2..=4096).contains(&self.latency) {
            refuse(format!("latency = {}; legal: 2..4096 cycles", self.latency));
        }
        for (name, credits) in NETWORKS.iter().zip(self.credits) {
            if !(1..=1024).contains(&credits) {
                refuse(format!("credits_{name} = {credits}; legal: 1..1024"));
            }
        }
        good
    }
}

/// Width of a message's size in bytes; the largest is a write of a whole 128-byte line with its mask, 160.
const SIZE_BITS: u32 = 8;

fn touched_chunks(mask: Bits) -> Bits {
    let chunks: Vec<Bool> = (0..mask.width() / 16).map(|i| mask.slice(16 * i, 16).any()).collect();
    pack_bools(&chunks).popcount()
}

/// Bytes of a REQ message on a link (rec.md section 5): RdReq, FenceReq and Down 16, AtomReq 32, WrReq 16 and 16 per touched 16-byte chunk,
/// and 16 more for the mask of a 128-byte line.
#[track_caller]
pub fn req_bytes(sys: &Sys, msg: &ReqMsg) -> Bits {
    let head = if sys.line == 128 { 32 } else { 16 };
    let chunks = touched_chunks(msg.mask).resize(SIZE_BITS - 4);
    let write = cat(&[chunks, lit(0, 4)]) + head;
    let fixed = mux(msg.kind.is(ReqKind::Atom), lit(32, SIZE_BITS), lit(16, SIZE_BITS));
    mux(msg.kind.is(ReqKind::Wr), write, fixed)
}

/// Bytes of a RSP message on a link (rec.md section 5): RdRsp 16 and the line, all others 16.
#[track_caller]
pub fn rsp_bytes(sys: &Sys, msg: &RspMsg) -> Bits {
    let line = lit(16 + u64::from(sys.line), SIZE_BITS);
    mux(msg.kind.is(ReqKind::Rd), line, lit(16, SIZE_BITS))
}

/// Bytes of an INV message on a link (rec.md section 5): 16.
#[track_caller]
pub fn inv_bytes() -> Bits {
    lit(16, SIZE_BITS)
}

/// The sending side of one virtual network.
struct Lane<T: Data> {
    channel: InChannel<T>,
    wire: Reg<T>,
    wire_valid: Reg<Bool>,
    credit: Bool,
    credits: Reg<Bits>,
    /// This lane's message is the one on the wire.
    flying: Reg<Bool>,
}

impl<T: Data> Lane<T> {
    fn new(name: &str, shape: &T::Shape, credits: u32) -> Lane<T> {
        let channel = in_channel::<T>(name, shape);
        let wire_valid = output_reg::<Bool>(&format!("wire_{name}_valid"), ());
        let wire = output_reg::<T>(&format!("wire_{name}"), shape.clone()).field("queue");
        let credit = input::<Bool>(&format!("credit_{name}"), ());
        let left = credit_count(name, credits);
        let flying = reg::<Bool>(&format!("flying_{name}"), ());
        Lane { channel, wire, wire_valid, credit, credits: left, flying }
    }

    fn request(&self) -> Bool {
        self.channel.valid & self.credits.get().any()
    }

    /// Loads the wire when `start`; `last` says that the next cycle carries the last phit of what is then on the wire.
    fn drive(&self, name: &str, start: Bool, idle: Bool, last: Bool, most: u32) {
        when(idle, || self.flying.set(start));
        when(start, || {
            self.channel.take();
            self.wire.set(&self.channel.msg);
        });
        let stays = self.flying.get() & !idle;
        self.wire_valid.set((start | stays) & last);
        settle(name, self.channel.valid, start, (self.credit, &self.credits), most);
    }
}

/// The count of a sender's credits.
pub(super) fn credit_count(name: &str, credits: u32) -> Reg<Bits> {
    reg::<Bits>(&format!("credits_{name}"), bits_for(u64::from(credits) + 1))
        .reset(&[u64::from(credits)])
        .doc("Places known to be free in the receiver's buffer.")
}

/// A message may leave (`start`) and a credit come back in a cycle; `valid`: a message is there.
pub(super) fn settle(name: &str, valid: Bool, start: Bool, (credit, credits): (Bool, &Reg<Bits>), most: u32) {
    let count = credits.get();
    when(start & !credit, || credits.set(count - 1));
    when(credit & !start, || credits.set(count + 1));
    assert_always(
        &format!("{name}_credits_not_negative"),
        !(start & count.none()),
        "a message leaves only with a credit",
    );
    assert_always(
        &format!("{name}_credits_bounded"),
        !(credit & count.eq(u64::from(most))),
        "no more credits come back than messages were sent",
    );
    let blocked = valid & count.none();
    weft_rtl::signal::count(
        &format!("{name}_no_credit"),
        blocked,
        "cycles in which a message waited for a credit",
    );
}

/// The sending end: channels `req`, `rsp`, `inv` in; `wire_*` out; `credit_*` back.
///
/// # Errors
/// A parameter outside its range.
pub fn link_tx(sys: &Sys, p: LinkParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("link_tx_{}_{}", super::sys::sys_tag(sys), p.tag());
    Module::build(&name, ModuleKind::Block, || {
        doc(
            "Timing model of the sending end of a chip-to-chip link: three virtual networks with credits on one wire.",
        );
        p.describe();
        if !p.check() {
            return;
        }
        let req = Lane::<ReqMsg>::new("req", sys, p.credits[0]);
        let rsp = Lane::<RspMsg>::new("rsp", sys, p.credits[1]);
        let inv = Lane::<InvMsg>::new("inv", sys, p.credits[2]);
        let requests = pack_bools(&[req.request(), rsp.request(), inv.request()]).named("requests");
        let turn = RoundRobin::new("turn", 3);
        let pick = turn.pick(requests);
        let sizes = [req_bytes(sys, &req.channel.msg), rsp_bytes(sys, &rsp.channel.msg), inv_bytes()];
        let size = select(&sizes, pick.index);
        let WireTime { idle, go, last } =
            wire_time(p.bytes_per_cycle, &owed(p.bytes_per_cycle), pick.any, size);
        when(go, || turn.granted(pick.index));
        let start = |i: u64| (go & pick.index.eq(i)).named(&format!("start_{}", NETWORKS[i as usize]));
        let starts = [start(0), start(1), start(2)];
        req.drive("req", starts[0], idle, last, p.credits[0]);
        rsp.drive("rsp", starts[1], idle, last, p.credits[1]);
        inv.drive("inv", starts[2], idle, last, p.credits[2]);
        let messages = (&req.channel.msg, &rsp.channel.msg, &inv.channel.msg);
        measure(starts, sizes, messages);
        count("wire_busy", !idle | go, "cycles in which a phit of a message is on the wire");
    })
}

/// Bytes of the message on the wire that are still to come.
pub(super) fn owed(bytes_per_cycle: u32) -> Reg<Bits> {
    reg::<Bits>("owed", bits_for(u64::from(bytes_per_cycle) + 256))
        .doc("Bytes of the message on the wire that this cycle and later ones carry.")
}

/// What the wire does in a cycle.
pub(super) struct WireTime {
    /// It can begin a message, behind the bytes owed.
    pub idle: Bool,
    /// A message begins.
    pub go: Bool,
    /// The next cycle carries the last phit.
    pub last: Bool,
}

/// Wire time of a message of `size` bytes that is to begin.
pub(super) fn wire_time(bytes_per_cycle: u32, owed: &Reg<Bits>, request: Bool, size: Bits) -> WireTime {
    let width = *owed.shape();
    let per_cycle = u64::from(bytes_per_cycle);
    let idle = owed.get().lt(per_cycle).named("idle");
    let go = (idle & request).named("go");
    let total = (owed.get() + mux(go, size.zext(width), lit(0, width))).named("total");
    let next = mux(total.lt(per_cycle), lit(0, width), total - per_cycle).named("owed_next");
    // Without a successor what is left of this cycle's phit goes unused.
    owed.set(mux(idle & !go, lit(0, width), next));
    WireTime { idle, go, last: next.lt(per_cycle) }
}

fn measure(starts: [Bool; 3], sizes: [Bits; 3], (req, rsp, inv): (&ReqMsg, &RspMsg, &InvMsg)) {
    for ((name, start), size) in NETWORKS.iter().zip(starts).zip(sizes) {
        count_amount(&format!("bytes_{name}"), start, size, "bytes sent on this virtual network");
    }
    count_amount(
        "bytes_wrreq",
        starts[0] & req.kind.is(ReqKind::Wr),
        sizes[0],
        "bytes of write requests sent",
    );
    let kinds = |what: &str, start: Bool, kind: Enum<ReqKind>, names: &[(ReqKind, &str)]| {
        for (variant, name) in names {
            count(&format!("msgs_{name}"), start & kind.is(*variant), what);
        }
    };
    use ReqKind::*;
    let requests = [(Rd, "rdreq"), (Wr, "wrreq"), (Atom, "atomreq"), (Fence, "fencereq"), (Down, "down")];
    kinds("request messages sent", starts[0], req.kind, &requests);
    let responses = [(Rd, "rdrsp"), (Wr, "wrack"), (Atom, "atomrsp"), (Fence, "fenceack"), (Ack, "invack")];
    kinds("response messages sent", starts[1], rsp.kind, &responses);
    count("msgs_inv", starts[2] & inv.kind.is(InvKind::Inv), "invalidations sent");
    count("msgs_invfence", starts[2] & inv.kind.is(InvKind::Fence), "fence markers sent");
}

/// The receiving side of one virtual network.
fn receive<T: Data>(name: &str, shape: &T::Shape, latency: u32, credits: u32) {
    let valid = input::<Bool>(&format!("wire_{name}_valid"), ());
    let wire = input::<T>(&format!("wire_{name}"), shape.clone());
    land(name, shape, (valid, &wire), (latency - 1, latency - 1), credits);
}

/// What is complete at the receiver (`valid`) goes into the buffer, can leave it `flight` cycles later, and gives its credit back `back` cycles after it has.
pub(super) fn land<T: Data>(
    name: &str,
    shape: &T::Shape,
    (valid, wire): (Bool, &T),
    (flight, back): (u32, u32),
    credits: u32,
) {
    let credit = output_reg::<Bool>(&format!("credit_{name}"), ());
    let out = out_channel::<T>(name, shape);
    let buffer = Fifo::<T>::new(&format!("{name}_buffer"), credits, shape);
    when(valid, || buffer.push(wire));
    let arrive = delayed(&format!("{name}_flight"), valid, flight);
    let here = reg::<Bits>(&format!("{name}_here"), bits_for(u64::from(credits) + 1))
        .field("queue")
        .doc("Messages of the buffer that have arrived; the others are on the wire.");
    let leave = ((here.get().any() | arrive) & out.free).named(&format!("{name}_leave"));
    when(leave, || {
        out.send(&buffer.head);
        buffer.pop();
    });
    when(arrive & !leave, || here.set(here.get() + 1));
    when(leave & !arrive, || here.set(here.get() - 1));
    credit.set(delayed(&format!("{name}_return"), leave, back));
    assert_always(
        &format!("{name}_buffer_has_room"),
        !(valid & buffer.full),
        "a message on the wire has a place reserved for it",
    );
    assert_always(
        &format!("{name}_nothing_lost"),
        here.get().le(buffer.count),
        "every message that arrives is in the buffer",
    );
}

/// The receiving end: `wire_*` in, channels `req`, `rsp`, `inv` out, `credit_*` back.
///
/// # Errors
/// A parameter outside its range.
pub fn link_rx(sys: &Sys, p: LinkParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("link_rx_{}_{}", super::sys::sys_tag(sys), p.tag());
    Module::build(&name, ModuleKind::Block, || {
        doc(
            "Timing model of the receiving end of a chip-to-chip link: one buffer per virtual network, credits returned as places are freed.",
        );
        p.describe();
        if !p.check() {
            return;
        }
        receive::<ReqMsg>("req", sys, p.latency, p.credits[0]);
        receive::<RspMsg>("rsp", sys, p.latency, p.credits[1]);
        receive::<InvMsg>("inv", sys, p.latency, p.credits[2]);
    })
}

/// Ports of a wire's forward direction: (name, width) in order, without prefix.
pub fn wire_leaves(sys: &Sys) -> Vec<Leaf> {
    let mut out = Vec::new();
    let mut add = |name: &str, leaves: Vec<Leaf>| {
        let ty = LeafType::Bool;
        out.push(Leaf { name: format!("wire_{name}_valid"), width: 1, ty, fields: Vec::new(), below: None });
        out.extend(leaves);
    };
    add("req", leaves_of::<ReqMsg>(sys, "wire_req"));
    add("rsp", leaves_of::<RspMsg>(sys, "wire_rsp"));
    add("inv", leaves_of::<InvMsg>(sys, "wire_inv"));
    out
}

/// Connects the wire that leaves `from` (ports `FROM_PREFIXwire_*`) to the receiver `to` (ports `TO_PREFIXwire_*`), and the credits back. The prefixes are empty
/// for [`link_tx`] and [`link_rx`], `in2_` or `out2_` for port 2 of a switch.
#[track_caller]
pub fn connect_wire(sys: &Sys, from: &InstanceRef, from_prefix: &str, to: &InstanceRef, to_prefix: &str) {
    for leaf in wire_leaves(sys) {
        let value = from.out_bits(&format!("{from_prefix}{}", leaf.name));
        to.drive_bits(&format!("{to_prefix}{}", leaf.name), value);
    }
    for name in NETWORKS {
        let credit = to.out_bits(&format!("{to_prefix}credit_{name}"));
        from.drive_bits(&format!("{from_prefix}credit_{name}"), credit);
    }
}
