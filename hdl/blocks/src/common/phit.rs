//! Chip-to-chip link as it leaves a chip: messages in phits.
//!
//! ```text
//!  req -> skid -+                          phit       +-> message -> buffer (credits_req) -> req
//!  rsp -> skid -+-> round robin -> bytes ----------->-+-> message -> buffer (credits_rsp) -> rsp
//!  inv -> skid -+      ^                   phit_head  +-> message -> buffer (credits_inv) -> inv
//!                   credits  <----------   credit_*        <---- a place was freed
//!         phit_tx                                              phit_rx
//! ```
//!
//! [`super::link`] is the timing model that the fabrics use: fields side by side, bytes only counted. These two blocks carry the same messages in
//! `bytes_per_cycle` bytes per cycle, `phit`, and one bit of framing, `phit_head`: a message begins in this phit, behind the bytes that the one before it
//! still needs. Both ends count those bytes alike, so a phit may hold the end of one message and the beginning of the next, and no byte of wire time is lost.
//! Every phit leaves from a register and is one cycle on the wire: what `link_tx` takes in a cycle is offered by `link_rx` and `phit_rx` in the same cycle, and
//! credits come back in the same one (`testbench/tests/suite/common_phit.rs` clocks both side by side).
//!
//! # A message's bytes
//!
//! | bits, from the lowest of the first byte on | message |
//! | --- | --- |
//! | code (5): REQ write of n 16-byte chunks: n, read 9, atomic 10, fence 11, down 12; RSP 16 + kind; INV 24 + kind | all |
//! | src, dst, line, id, epoch, cacheable, scope | REQ |
//! | mask; from byte 16 (lines of 128 bytes: 32) on the chunks in which a byte is written | REQ write |
//! | amo, sgn, number of the 4-byte word, 8 bytes; from byte 16 on compare operand and operand (64 each) | REQ atomic |
//! | src, dst, bank, id, epoch, from_dram; of a read from byte 16 on the line, else number and value of the 8 bytes of `data` that are not 0 | RSP |
//! | src, dst, line, cause, grp, requester | INV |
//!
//! The first byte tells the length. What a kind does not carry is 0 at the receiver: mask and data of a read, data beside the chunks written, beside an atomic's word.
//! Messages with owners ([`Sys::owners`]) have no form here.
//! A header that does not fit its 16 bytes (32 of a write of a 128-byte line) is refused: addresses of 48 bits and 4 GPUs leave 3 bits.
//!
//! # Pictures
//!
//! `phit-tx`:
//!
#![doc = include_str!("../../pictures/phit-tx.svg")]
//!
//! `phit-rx`:
//!
#![doc = include_str!("../../pictures/phit-rx.svg")]

use super::arbiter::RoundRobin;
use super::link::{LinkParams, NETWORKS, inv_bytes, land, owed, req_bytes, rsp_bytes, settle, wire_time};
use crate::msg::*;
use weft_rtl::prelude::*;

/// Bits of the code, the lowest of a message's first byte.
const CODE: u32 = 5;
/// Codes of REQ kinds other than writes, whose codes are their numbers of chunks.
const OTHERS: [(ReqKind, u64); 4] =
    [(ReqKind::Rd, 9), (ReqKind::Atom, 10), (ReqKind::Fence, 11), (ReqKind::Down, 12)];
/// First codes of RSP and INV.
const RSP: u64 = 16;
const INV: u64 = 24;
/// Bits of a chunk.
const CHUNK: u32 = 128;

/// Bytes and bits that the messages of a system take.
#[derive(Clone)]
struct Format {
    sys: Sys,
}

/// What of a system's messages does not fit their headers, and the most address bits with which it would.
pub(super) fn overflow(sys: &Sys) -> Option<(String, u32)> {
    let format = Format { sys: sys.clone() };
    let (header, write) = format.headers();
    [("message", header, 128), ("write", write, 8 * format.write_head())].into_iter().find_map(
        |(what, bits, room)| {
            let problem = || format!("the header of a {what} has {bits} bits, and there is room for {room}");
            (bits > room).then(|| (problem(), sys.addr_bits - (bits - room)))
        },
    )
}

impl Format {
    fn chunks(&self) -> u32 {
        self.sys.line / 16
    }
    /// Bytes before the chunks of a write.
    fn write_head(&self) -> u32 {
        if self.sys.line == 128 { 32 } else { 16 }
    }
    /// Bytes of the longest message, a write of a whole line.
    fn most(&self) -> u32 {
        self.write_head() + self.sys.line
    }
    fn bits(&self) -> u32 {
        8 * self.most()
    }
    /// Width of a 4-byte word's number.
    fn word_bits(&self) -> u32 {
        bits_for(u64::from(self.sys.line / 4))
    }

    /// Bits of the longest header that 16 bytes must hold, and of that of a write.
    fn headers(&self) -> (u32, u32) {
        let s = &self.sys;
        let req = CODE + 2 * s.node_bits() + s.line_bits() + s.l2_id_bits() + 4;
        let atomic = req + 5 + self.word_bits() + 1;
        let rsp = CODE + 2 * s.node_bits() + s.bank_bits() + s.l2_id_bits() + 2 + self.word_bits() - 1 + 64;
        let inv = CODE + 3 * s.node_bits() + s.line_bits() + 2;
        (atomic.max(rsp).max(inv), req + s.line)
    }

    fn check(&self) -> bool {
        match overflow(&self.sys) {
            None => true,
            Some((problem, _)) => {
                elab_error(problem);
                false
            }
        }
    }

    fn req(&self, m: &ReqMsg) -> Bits {
        let touched: Vec<Bool> = (0..self.chunks()).map(|i| m.mask.slice(16 * i, 16).any()).collect();
        let number = pack_bools(&touched).popcount().resize(CODE);
        let code =
            OTHERS.iter().fold(number, |code, (kind, value)| mux(m.kind.is(*kind), lit(*value, CODE), code));
        let common = pack(&[code, m.src, m.dst, m.line, m.id, m.epoch, m.cacheable.bits(), m.scope]);
        let (word, wide) = self.word_of(m.mask);
        let operand = m.data.element(word.slice(1, self.word_bits() - 1), 64);
        let amo = pack(&[common, m.amo.bits(), m.sgn.bits(), word, wide.bits()]).zext(CHUNK);
        let atomic = pack(&[amo, m.cmp, operand]);
        let head = pack(&[common, m.mask]).zext(8 * self.write_head());
        let write = pack(&[vec![head], self.squeezed(&touched, m.data)].concat());
        let wide = |bits: Bits| bits.zext(self.bits());
        let plain = mux(m.kind.is(ReqKind::Atom), wide(atomic), wide(common));
        mux(m.kind.is(ReqKind::Wr), wide(write), plain)
    }

    /// The word of an atomic, and whether it has 8 bytes.
    fn word_of(&self, mask: Bits) -> (Bits, Bool) {
        let first = mask.lowest_set();
        let eight = mask.bit_at(first.zext(first.width() + 1) + 4);
        (first.slice(2, self.word_bits()), eight)
    }

    /// The chunks touched, one behind the other.
    fn squeezed(&self, touched: &[Bool], data: Bits) -> Vec<Bits> {
        let none = lit_bv(Bv::zero(CHUNK));
        let place = |slot: u32, i: u32| touched[i as usize] & before(touched, i).eq(u64::from(slot));
        let chosen = |slot: u32| {
            (slot..self.chunks())
                .fold(none, |found, i| mux(place(slot, i), data.slice(CHUNK * i, CHUNK), found))
        };
        (0..self.chunks()).map(chosen).collect()
    }

    fn rsp(&self, m: &RspMsg) -> Bits {
        let code = lit(RSP, CODE) | m.kind.bits().zext(CODE);
        let common = pack(&[code, m.src, m.dst, m.bank, m.id, m.epoch, m.from_dram.bits()]);
        let eights: Vec<Bool> = (0..self.sys.line / 8).map(|i| m.data.slice(64 * i, 64).any()).collect();
        let place = pack_bools(&eights).lowest_set();
        let value = pack(&[common, place, m.data.element(place, 64)]);
        let line = pack(&[common.zext(CHUNK), m.data]);
        mux(m.kind.is(ReqKind::Rd), line.zext(self.bits()), value.zext(self.bits()))
    }

    fn inv(&self, m: &InvMsg) -> Bits {
        let code = lit(INV, CODE) | m.kind.bits().zext(CODE);
        let all = [code, m.src, m.dst, m.line, m.cause.bits(), m.grp.bits(), m.requester];
        pack(&all).zext(self.bits())
    }

    /// Bytes of the message with this code.
    fn bytes(&self, code: Bits) -> Bits {
        let size = |bytes: u32| lit(u64::from(bytes), 8);
        let chunks = code.slice(0, 4);
        let write = cat(&[chunks, lit(0, 4)]) + u64::from(self.write_head());
        let fixed = mux(code.eq(10), size(32), size(16));
        let fixed = mux(code.eq(RSP), size(16 + self.sys.line), fixed);
        mux(code.le(8), write, fixed)
    }
}

/// How many of the flags before number `i` are set.
fn before(flags: &[Bool], i: u32) -> Bits {
    match i {
        0 => lit(0, 4),
        _ => pack_bools(&flags[..i as usize]).popcount().resize(4),
    }
}

/// Takes a message apart, from the lowest bit on.
struct Reader {
    bits: Bits,
    at: u32,
}

impl Reader {
    fn take(&mut self, width: u32) -> Bits {
        self.at += width;
        self.bits.slice(self.at - width, width)
    }
    fn flag(&mut self) -> Bool {
        self.take(1).as_bool()
    }
}

impl Format {
    fn read_req(&self, bits: Bits) -> ReqMsg {
        let s = &self.sys;
        let mut r = Reader { bits, at: 0 };
        let code = r.take(CODE);
        let kind = OTHERS
            .iter()
            .fold(enum_lit(ReqKind::Wr), |kind, (other, value)| mux(code.eq(*value), enum_lit(*other), kind));
        let (src, dst, line) = (r.take(s.node_bits()), r.take(s.node_bits()), r.take(s.line_bits()));
        let (id, epoch, cacheable, scope) = (r.take(s.l2_id_bits()), r.take(1), r.flag(), r.take(2));
        let own = r.at;
        let (writes, atomic) = (kind.is(ReqKind::Wr), kind.is(ReqKind::Atom));
        let mut a = Reader { bits, at: own };
        let (amo, sgn, word, wide) = (a.take(4), a.flag(), a.take(self.word_bits()), a.flag());
        let (cmp, operand) = (bits.slice(CHUNK, 64), bits.slice(CHUNK + 64, 64));
        let write_mask = bits.slice(own, s.line);
        let bytes = mux(wide, lit(0xff, s.line), lit(0x0f, s.line));
        let word_mask = bytes.shl_by(cat(&[word, lit(0, 2)]));
        let zero = lit_bv(Bv::zero(s.data_bits()));
        let placed = self.placed(word.slice(1, self.word_bits() - 1), operand);
        let none = lit_bv(Bv::zero(s.line));
        let only = |there: Bool, value: Bits| value & there.repeat(value.width());
        ReqMsg {
            kind,
            src,
            dst,
            line,
            id,
            epoch,
            cacheable,
            scope,
            mask: mux(writes, write_mask, mux(atomic, word_mask, none)),
            data: mux(writes, self.spread(write_mask, bits), mux(atomic, placed, zero)),
            amo: only(atomic, amo).as_enum(),
            sgn: atomic & sgn,
            cmp: only(atomic, cmp),
            owner: None,
        }
    }

    /// The chunks of a write in their places.
    fn spread(&self, mask: Bits, bits: Bits) -> Bits {
        let packed = bits.slice(8 * self.write_head(), self.sys.data_bits());
        let touched: Vec<Bool> = (0..self.chunks()).map(|i| mask.slice(16 * i, 16).any()).collect();
        let chunk = |i: u32| {
            let from = packed.element(before(&touched, i), CHUNK);
            from & touched[i as usize].repeat(CHUNK)
        };
        pack(&(0..self.chunks()).map(chunk).collect::<Vec<_>>())
    }

    /// 8 bytes at their place in a line.
    fn placed(&self, place: Bits, value: Bits) -> Bits {
        let here = |i: u32| value & place.eq(u64::from(i)).repeat(64);
        pack(&(0..self.sys.line / 8).map(here).collect::<Vec<_>>())
    }

    fn read_rsp(&self, bits: Bits) -> RspMsg {
        let s = &self.sys;
        let mut r = Reader { bits, at: 0 };
        let kind = r.take(CODE).slice(0, 3).as_enum::<ReqKind>();
        let (src, dst, bank) = (r.take(s.node_bits()), r.take(s.node_bits()), r.take(s.bank_bits()));
        let (id, epoch, from_dram) = (r.take(s.l2_id_bits()), r.take(1), r.flag());
        let (place, value) = (r.take(self.word_bits() - 1), r.take(64));
        let line = bits.slice(CHUNK, s.data_bits());
        let data = mux(kind.is(ReqKind::Rd), line, self.placed(place, value));
        RspMsg { kind, src, dst, bank, id, epoch, data, from_dram, owner: None }
    }

    fn read_inv(&self, bits: Bits) -> InvMsg {
        let s = &self.sys;
        let mut r = Reader { bits, at: 0 };
        let kind = r.take(CODE).slice(0, 1).as_enum::<InvKind>();
        let (src, dst, line) = (r.take(s.node_bits()), r.take(s.node_bits()), r.take(s.line_bits()));
        let (cause, grp) = (r.take(1).as_enum::<Cause>(), r.flag());
        InvMsg { kind, src, dst, line, cause, grp, requester: r.take(s.node_bits()), owner: None }
    }
}

/// The sending side of one virtual network.
struct Sender<T: Data> {
    channel: InChannel<T>,
    credit: Bool,
    credits: Reg<Bits>,
}

impl<T: Data> Sender<T> {
    fn new(name: &str, shape: &T::Shape, credits: u32) -> Sender<T> {
        let channel = in_channel::<T>(name, shape);
        let credit = input::<Bool>(&format!("credit_{name}"), ());
        let credits = super::link::credit_count(name, credits);
        Sender { channel, credit, credits }
    }

    fn request(&self) -> Bool {
        self.channel.valid & self.credits.get().any()
    }

    fn depart(&self, name: &str, start: Bool, most: u32) {
        when(start, || self.channel.take());
        settle(name, self.channel.valid, start, (self.credit, &self.credits), most);
    }
}

/// The sending end: channels `req`, `rsp`, `inv` in; `phit`, `phit_head` out; `credit_*` back.
///
/// # Errors
/// A parameter outside its range, or a header that does not fit.
pub fn phit_tx(sys: &Sys, p: LinkParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("phit_tx_{}_{}", super::sys::sys_tag(sys), p.tag());
    Module::build(&name, ModuleKind::Block, || {
        doc("Sending end of a chip-to-chip link: three virtual networks with credits, in phits on one wire.");
        p.describe();
        let format = Format { sys: sys.clone() };
        if !p.check() || !format.check() {
            return;
        }
        let req = Sender::<ReqMsg>::new("req", sys, p.credits[0]);
        let rsp = Sender::<RspMsg>::new("rsp", sys, p.credits[1]);
        let inv = Sender::<InvMsg>::new("inv", sys, p.credits[2]);
        let requests = pack_bools(&[req.request(), rsp.request(), inv.request()]).named("requests");
        let turn = RoundRobin::new("turn", 3);
        let pick = turn.pick(requests);
        let sizes = [req_bytes(sys, &req.channel.msg), rsp_bytes(sys, &rsp.channel.msg), inv_bytes()];
        let owed = owed(p.bytes_per_cycle);
        let size = select(&sizes, pick.index);
        let wire = wire_time(p.bytes_per_cycle, &owed, pick.any, size);
        when(wire.go, || turn.granted(pick.index));
        let start = |i: u64| (wire.go & pick.index.eq(i)).named(&format!("start_{}", NETWORKS[i as usize]));
        req.depart("req", start(0), p.credits[0]);
        rsp.depart("rsp", start(1), p.credits[1]);
        inv.depart("inv", start(2), p.credits[2]);
        let images =
            [format.req(&req.channel.msg), format.rsp(&rsp.channel.msg), format.inv(&inv.channel.msg)];
        let image = select(&images, pick.index).named("image");
        let one = format.bytes(image.slice(0, CODE)).eq(size);
        assert_always(
            "length_in_first_byte",
            !wire.go | one,
            "the first byte tells the length of its message",
        );

        let width = 8 * p.bytes_per_cycle;
        let unsent = reg::<Bits>("unsent", format.bits())
            .field("queue")
            .doc("Bytes of the message on the wire that are not in a phit yet.");
        let whole = format.bits() + width;
        let begun = image.zext(whole).shl_by(cat(&[owed.get(), lit(0, 3)]));
        let stream = (unsent.get().zext(whole) | (begun & wire.go.repeat(whole))).named("stream");
        unsent.set(stream.slice(width, format.bits()));
        output_reg::<Bits>("phit", width).field("queue").set(stream.slice(0, width));
        output_reg::<Bool>("phit_head", ()).doc("A message begins in this phit.").set(wire.go);
        count("wire_busy", !wire.idle | wire.go, "cycles in which a phit of a message is on the wire");
    })
}

/// The receiving end: `phit`, `phit_head` in, channels `req`, `rsp`, `inv` out, `credit_*` back. The cycle on the wire is one of `latency`, which is 3 or more.
///
/// # Errors
/// A parameter outside its range, or a header that does not fit.
pub fn phit_rx(sys: &Sys, p: LinkParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("phit_rx_{}_{}", super::sys::sys_tag(sys), p.tag());
    Module::build(&name, ModuleKind::Block, || {
        doc(
            "Receiving end of a chip-to-chip link in phits: one buffer per virtual network, credits returned as places are freed.",
        );
        p.describe();
        let format = Format { sys: sys.clone() };
        if !p.check() || !format.check() {
            return;
        }
        if p.latency < 3 {
            elab_error(format!("latency = {}; legal: 3..4096 cycles, one of them on the wire", p.latency));
            return;
        }
        let (ends, image) = gather(&format, p.bytes_per_cycle);
        let code = image.slice(0, CODE);
        let is = |lo: u64, hi: u64| ends & code.ge(lo) & code.lt(hi);
        let (flight, back) = (p.latency - 2, p.latency - 1);
        let req = format.read_req(image);
        land::<ReqMsg>("req", sys, (is(0, RSP), &req), (flight, back), p.credits[0]);
        let rsp = format.read_rsp(image);
        land::<RspMsg>("rsp", sys, (is(RSP, INV), &rsp), (flight, back), p.credits[1]);
        let inv = format.read_inv(image);
        land::<InvMsg>("inv", sys, (ends & code.ge(INV), &inv), (flight, back), p.credits[2]);
    })
}

/// Puts messages together. Whether one is complete in this cycle, and its bytes.
fn gather(format: &Format, bytes_per_cycle: u32) -> (Bool, Bits) {
    let (bits, width) = (format.bits(), 8 * bytes_per_cycle);
    let phit = input::<Bits>("phit", width);
    let head = input::<Bool>("phit_head", ());
    let owed = owed(bytes_per_cycle);
    let before = cat(&[owed.get(), lit(0, 3)]);
    let begun = phit.shr_by(before).named("begun");
    let wire = wire_time(bytes_per_cycle, &owed, head, format.bytes(begun.slice(0, CODE)));
    assert_always(
        "head_when_idle",
        !head | wire.idle,
        "a message begins where the one before it leaves room",
    );
    let open = reg::<Bool>("open", ()).doc("A message has begun and is not complete.");
    let gathered = reg::<Bits>("gathered", bits).field("queue").doc("Its bytes so far.");
    let got_bits = bits_for(u64::from(bytes_per_cycle + format.most()));
    let got = reg::<Bits>("got", got_bits).doc("How many.");
    let beyond = lit_bv(Bv::ones(width)).shl_by(before);
    let own = mux(wire.idle, phit & !beyond, phit);
    let wide = bits.max(width);
    let placed = own.zext(wide).shl_by(cat(&[got.get(), lit(0, 3)])).slice(0, bits);
    let image = (gathered.get() | placed).named("image");
    let ends = (open.get() & wire.idle).named("ends");
    when(head, || {
        open.set(true);
        gathered.set(begun.resize(bits));
        got.set(lit(u64::from(bytes_per_cycle), got_bits) - owed.get().resize(got_bits));
    })
    .elsewhen(wire.idle, || open.set(false))
    .otherwise(|| {
        gathered.set(image);
        got.set(got.get() + u64::from(bytes_per_cycle));
    });
    (ends, image)
}
