//! The outputs: what goes to GPU L1s ([`Upward`]), and the client's three channels.
//!
//! GetS, GetM and Put are marks of their TBE, which leave when the channel is free: nothing that a forward waits for waits for them. Answers to clients and the L3 wait in a queue; one entry may be
//! two messages.

use super::params::GpuL2Params;
use super::tbes::Tbes;
use super::types::*;
use crate::bank::entries::{of, set_of};
use crate::bank::pipeline::STAGES;
use crate::bank::upward::{Sending, Upward};
use crate::hmesi::msg::{HReq, HRsp, HRspOp, HWb};
use crate::mesi_port::Get;
use crate::msg::{Fwd, FwdOp};
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Answers to clients and the L3.
const REPLIES: u32 = 5;

/// Queues and channels.
pub(super) struct Outputs {
    p: GpuL2Params,
    /// The bank's node.
    own: Bits,
    /// Answers and forwards to GPU L1s.
    pub up: Upward,
    replies: Fifo<Reply>,
    /// The first message of the first entry has been sent.
    begun: Reg<Bool>,
    rsp: OutChannel<HRsp>,
    gets: RoundRobin,
    req: OutChannel<HReq>,
    puts: RoundRobin,
    wb: OutChannel<HWb>,
}

impl Outputs {
    /// Declares channels and queues; `own`: the bank's node.
    pub fn new(p: &GpuL2Params, own: Bits) -> Outputs {
        Outputs {
            up: Upward::new(&p.bank.s, own.resize(p.bank.s.node_bits())),
            replies: Fifo::new("replies", REPLIES, p),
            begun: reg::<Bool>("replies_begun", ()),
            rsp: out_channel::<HRsp>("l3_rsp_out", &p.bank.s),
            gets: RoundRobin::new("get_tbe", p.bank.s.tbes),
            req: out_channel::<HReq>("l3_req", &p.bank.s),
            puts: RoundRobin::new("put_tbe", p.bank.s.tbes),
            wb: out_channel::<HWb>("l3_wb", &p.bank.s),
            p: p.clone(),
            own,
        }
    }

    /// There is room for what a forward is answered with.
    pub fn room_for_reply(&self) -> Bool {
        self.replies.count.le(u64::from(REPLIES) - STAGES - 1)
    }
    /// A request may commit.
    pub fn room_for_commit(&self) -> Bool {
        self.up.room_for_commit() & self.room_for_reply()
    }
    /// Stage 3 answers a client, the L3, or both.
    pub fn reply(&self, reply: &Reply) {
        self.replies.push(reply);
    }
    /// An answer, a GetS or GetM, a Put waits for its channel.
    pub fn waits(&self, tbes: &Tbes) -> [Bool; 3] {
        let some = |marks: &[Reg<Bool>]| any_of(&marks.iter().map(|m| m.get()).collect::<Vec<_>>());
        [
            self.replies.valid & !self.rsp.free,
            some(&tbes.todo_get) & !self.req.free,
            some(&tbes.todo_put) & !self.wb.free,
        ]
    }

    /// Sends what waits.
    pub fn connect(&self, tbes: &Tbes) -> Sending {
        self.send_replies();
        self.send_gets(tbes);
        self.send_puts(tbes);
        self.up.connect(tbes.revoking_now(), |entry| self.of_tbe(tbes, entry))
    }

    /// The next revocation of a TBE, and how it is ticked off.
    fn of_tbe<'a>(&'a self, tbes: &'a Tbes, entry: Pick) -> (Fwd, impl Fn(Bits) + 'a) {
        let s = &self.p.bank.s;
        let rv = of(&tbes.todo_rv, entry.index);
        let request = tbes.entries.request(entry.index);
        let (owner, words) = group(rv, tbes.owners.read(entry.index), rv, s.dev_bits());
        let msg = Fwd {
            op: enum_lit(FwdOp::RvkO),
            line: tbes.at(entry.index).line,
            own: words,
            req: request.src,
            tag: request.tag,
            tbe: entry.index.resize(s.tbe_bits()),
            ..fwd_to(s, self.own.resize(s.node_bits()), owner)
        };
        let left = move |index: Bits| {
            for (i, todo) in tbes.todo_rv.iter().enumerate() {
                when(index.eq(i as u64), || todo.set(rv & !words));
            }
        };
        (msg, left)
    }

    fn send_gets(&self, tbes: &Tbes) {
        let s = &self.p.bank.s;
        let marks: Vec<Bool> = tbes.todo_get.iter().map(|m| m.get()).collect();
        let entry = self.gets.pick(pack_bools(&marks));
        let tbe = tbes.at(entry.index);
        let reads = tbe.getting.is_any(&[Getting::Is, Getting::Isi]);
        when(entry.any & self.req.free, || {
            self.gets.granted(entry.index);
            set_of(&tbes.todo_get, entry.index, bool_lit(false));
            self.req.send(&HReq {
                op: mux(reads, enum_lit(Get::GetS), enum_lit(Get::GetM)),
                line: tbe.line,
                src: self.own,
                dst: s.l3_home(tbe.line),
                tag: entry.index.resize(s.tag_bits()),
            });
        });
    }

    fn send_puts(&self, tbes: &Tbes) {
        let s = &self.p.bank.s;
        let marks: Vec<Bool> = tbes.todo_put.iter().map(|m| m.get()).collect();
        let entry = self.puts.pick(pack_bools(&marks));
        let tbe = tbes.at(entry.index);
        when(entry.any & self.wb.free, || {
            self.puts.granted(entry.index);
            set_of(&tbes.todo_put, entry.index, bool_lit(false));
            self.wb.send(&HWb {
                line: tbe.leaver,
                src: self.own,
                dst: s.l3_home(tbe.leaver),
                tag: entry.index.resize(s.tag_bits()),
                dirty: tbe.leaver_dirty,
                data: tbes.buffer.read(entry.index) & tbe.leaver_dirty.repeat(s.data_bits()),
            });
        });
    }

    fn send_replies(&self) {
        let (s, r) = (&self.p.bank.s, self.replies.head);
        let first = r.first & !self.begun.get();
        let home = s.l3_home(r.line);
        let none = lit_bv(Bv::zero(s.data_bits()));
        let bears = mux(first, r.op.is_any(&[HRspOp::DataS, HRspOp::DataM]), r.dirty);
        when(self.replies.valid & self.rsp.free, || {
            self.rsp.send(&HRsp {
                op: mux(first, r.op, enum_lit(HRspOp::WbData)),
                line: r.line,
                src: self.own,
                dst: mux(first, r.dst, home),
                tag: r.tag,
                acks: lit(0, s.client_bits()),
                peer: first & bears,
                dirty: !first & r.dirty,
                kept: !first & r.kept,
                data: mux(bears, r.data, none),
            });
            self.begun.set(first & r.wb);
            when(!first | !r.wb, || self.replies.pop());
        });
    }
}
