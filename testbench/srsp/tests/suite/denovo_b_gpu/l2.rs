//! `denovo-b-l2` alone: the test is its L1s and its memory.

use weft_rtl::bv::Bv;
use weft_srsp::bank;
use weft_srsp::hlrc_l2::{HlrcL2Params, Registered, hlrc_l2};
use weft_srsp::msg::{MemOp, MemReq, MemRsp, OwnerOp, OwnerProbe, Req, ReqOp, Rsp, RspOp, Wb, WbOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg};

const LINE: u64 = 64;

/// What the bank has sent to an L1, in short: kind and receiver, of a line its first two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Fill(u64, [u64; 2]),
    RegData(u64, [u64; 2]),
    UnregAck(u64),
    Revoke(u64),
    Read(u64),
}
use Said::*;

struct Bank {
    b: Bench,
    s: Srsp,
    /// Lines asked of memory, by number; it sends zeros.
    reads: Vec<u64>,
    /// Masks of writes to memory.
    writes: Vec<u64>,
    /// Memory answers reads.
    open: bool,
}

fn small() -> HlrcL2Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, banks: 1, mshrs: 4, wbt: 3, ..Srsp::default() };
    let p = HlrcL2Params::published(srsp).of(Registered::Writes);
    HlrcL2Params { revokes: 2, ..p }.sized(|s| bank::Bank {
        size: 512,
        ways: 2,
        sfifo: 4,
        latency: 8,
        mshrs: 4,
        targets: 3,
        writes: 4,
        ..s
    })
}

impl Bank {
    fn new(p: &HlrcL2Params) -> Bank {
        let s = p.bank.srsp.clone();
        let mut b = Bench::new(&hlrc_l2(p).expect("legal"), 1);
        b.set("own", 0);
        for c in 0..s.cus {
            b.source::<Req>(&format!("req{c}"), &s);
            b.source::<Wb>(&format!("wb{c}"), &s);
        }
        b.source::<MemRsp>("mem_rsp", &s);
        b.sink::<MemReq>("mem_req", &s);
        b.sink::<Rsp>("rsp", &s);
        b.sink::<OwnerProbe>("probe", &s);
        let mut bank = Bank { b, s, reads: Vec::new(), writes: Vec::new(), open: true };
        bank.rest(40);
        bank
    }

    fn rest(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.b.step();
            while let Some((_, m)) = self.b.received("mem_req") {
                let id = m.get("id");
                if m.get("op") == MemOp::Rd as u64 {
                    self.reads.push(id);
                } else {
                    let bytes = m.wide("mask").clone();
                    self.writes.push(
                        (0..16).filter(|w| bytes.slice(4 * w, 4).low_u64() == 15).map(|w| 1 << w).sum(),
                    );
                    let m = self.answer_of_memory(id);
                    self.b.send("mem_rsp", m);
                }
            }
            if self.open {
                for id in std::mem::take(&mut self.reads) {
                    let m = self.answer_of_memory(id);
                    self.b.send("mem_rsp", m);
                }
            }
        }
    }

    fn answer_of_memory(&self, id: u64) -> Msg {
        Msg::of::<MemRsp>(&self.s, &[("id", id)]).with("data", Bv::zero(8 * LINE as u32))
    }

    fn req(&mut self, op: ReqOp, src: u64, addr: u64) {
        let fields = [("op", op as u64), ("src", src), ("mshr", src), ("atomic_addr", addr)];
        let m = Msg::of::<Req>(&self.s, &fields);
        self.b.send(&format!("req{src}"), m);
    }

    /// An answer of an owner, or an UNREG: words of `value` where the mask of words says so.
    fn wb(&mut self, (op, keep, has): (WbOp, bool, bool), src: u64, addr: u64, (words, value): (u64, u64)) {
        let fields = [
            ("op", op as u64),
            ("src", src),
            ("atomic_addr", addr),
            ("keep", u64::from(keep)),
            ("has", u64::from(has)),
            ("wbt", 1),
        ];
        let nibbles: Vec<Bv> = (0..16).map(|w| Bv::from_u64(15 * (words >> w & 1), 4)).collect();
        let data = Bv::concat(&vec![Bv::from_u64(value, 32); 16]);
        let m = Msg::of::<Wb>(&self.s, &fields).with("mask", Bv::concat(&nibbles));
        self.b.send(&format!("wb{src}"), m.with("data", data));
    }

    fn revoke_ack(&mut self, src: u64, addr: u64, bytes: (u64, u64)) {
        self.wb((WbOp::RevokeAck, false, true), src, addr, bytes);
    }

    fn read_ack(&mut self, src: u64, addr: u64, bytes: (u64, u64)) {
        self.wb((WbOp::RevokeAck, true, true), src, addr, bytes);
    }

    fn unreg(&mut self, src: u64, addr: u64, bytes: (u64, u64)) {
        self.wb((WbOp::Unreg, false, false), src, addr, bytes);
    }

    fn empty(&mut self, keep: bool, src: u64, addr: u64) {
        self.wb((WbOp::RevokeAck, keep, false), src, addr, (0, 0));
    }

    /// What L1s have heard since the last call.
    fn said(&mut self) -> Vec<Said> {
        self.rest(60);
        let mut all = Vec::new();
        while let Some((at, m)) = self.b.received("rsp") {
            let dst = m.get("dst");
            let words = [0, 1].map(|w| m.wide("data").slice(32 * w, 32).low_u64());
            let op = m.get("op");
            let said = [
                (RspOp::Fill, Fill(dst, words)),
                (RspOp::RegData, RegData(dst, words)),
                (RspOp::UnregAck, UnregAck(dst)),
            ];
            let (_, said) = said.into_iter().find(|(of, _)| *of as u64 == op).expect("an answer of DeNovo-B");
            all.push((at, said));
        }
        while let Some((at, m)) = self.b.received("probe") {
            let dst = m.get("req");
            all.push((at, if m.get("op") == OwnerOp::Read as u64 { Read(dst) } else { Revoke(dst) }));
        }
        all.sort_by_key(|said| said.0);
        all.into_iter().map(|said| said.1).collect()
    }

    /// The line is registered to an L1.
    fn own(&mut self, src: u64, addr: u64) {
        self.req(ReqOp::Reg, src, addr);
        assert_eq!(self.said(), [RegData(src, [0, 0])]);
    }
}

/// Lines of one set.
const A: u64 = 0x4000;
const B: u64 = 0x4100;
const C: u64 = 0x4200;

#[test]
fn the_owner_is_read_and_stays_one() {
    let mut bank = Bank::new(&small());
    bank.own(1, A);
    bank.req(ReqOp::Rd, 2, A);
    assert_eq!(bank.said(), [Read(1)]);
    bank.read_ack(1, A, (0b10, 7));
    assert_eq!(bank.said(), [Fill(2, [0, 7])]);
    bank.req(ReqOp::Rd, 3, A);
    assert_eq!(bank.said(), [Read(1)], "it may have written since");
    bank.read_ack(1, A, (0, 9));
    assert_eq!(bank.said(), [Fill(3, [0, 7])]);
    bank.req(ReqOp::Reg, 3, A);
    assert_eq!(bank.said(), [Revoke(1)]);
    bank.revoke_ack(1, A, (0b1, 5));
    assert_eq!(bank.said(), [RegData(3, [5, 7])]);
}

/// Race 2: the owner has given the line back when it is read.
#[test]
fn an_unreg_crosses_a_read() {
    for words in [0b1, 0] {
        let mut bank = Bank::new(&small());
        bank.own(1, A);
        bank.req(ReqOp::Rd, 2, A);
        assert_eq!(bank.said(), [Read(1)]);
        bank.unreg(1, A, (words, 6));
        assert_eq!(bank.said(), [], "the owner must know what it answers");
        bank.empty(true, 1, A);
        assert_eq!(bank.said(), [UnregAck(1), Fill(2, [6 * words, 0])]);
        bank.req(ReqOp::Rd, 3, A);
        assert_eq!(bank.said(), [Fill(3, [6 * words, 0])], "nobody's, and here");
    }
}

#[test]
fn an_unreg_crosses_a_revoke() {
    let mut bank = Bank::new(&small());
    bank.own(1, A);
    bank.req(ReqOp::Reg, 2, A);
    assert_eq!(bank.said(), [Revoke(1)]);
    bank.unreg(1, A, (0b1, 6));
    assert_eq!(bank.said(), []);
    bank.empty(false, 1, A);
    assert_eq!(bank.said(), [UnregAck(1), RegData(2, [6, 0])]);
}

/// Who comes while an owner is asked waits at the ingress, and takes turns.
#[test]
fn reads_and_registrations_wait_for_each_other() {
    let mut bank = Bank::new(&small());
    bank.own(1, A);
    bank.req(ReqOp::Rd, 2, A);
    assert_eq!(bank.said(), [Read(1)]);
    bank.req(ReqOp::Rd, 3, A);
    bank.req(ReqOp::Reg, 0, A);
    assert_eq!(bank.said(), []);
    bank.read_ack(1, A, (0b1, 4));
    let said = bank.said();
    assert_eq!(said[0], Fill(2, [4, 0]));
    // The other read and the registration, in either order.
    match said[1..] {
        [Read(1)] => {
            bank.read_ack(1, A, (0, 0));
            assert_eq!(bank.said(), [Fill(3, [4, 0]), Revoke(1)]);
        }
        [Revoke(1)] => {
            bank.revoke_ack(1, A, (0b1, 5));
            assert_eq!(bank.said(), [RegData(0, [5, 0]), Read(0)]);
        }
        _ => panic!("{said:?}"),
    }
}

/// Bytes that come back are dirty; a victim that is registered is recalled.
#[test]
fn what_owners_have_written_goes_to_memory() {
    let mut bank = Bank::new(&small());
    bank.own(1, A);
    bank.own(2, B);
    bank.req(ReqOp::Rd, 3, C);
    assert_eq!(bank.said(), [Fill(3, [0, 0])], "read around the bank: every way is registered");
    bank.req(ReqOp::Reg, 3, C);
    let said = bank.said();
    assert_eq!(said, [Revoke(1)]);
    bank.revoke_ack(1, A, (0b11, 8));
    assert_eq!(bank.said(), [RegData(3, [0, 0])]);
    assert_eq!(bank.writes, [0b11]);
    bank.unreg(2, B, (0b1, 9));
    assert_eq!(bank.said(), [UnregAck(2)]);
    bank.req(ReqOp::Rd, 1, B);
    assert_eq!(bank.said(), [Fill(1, [9, 0])]);
    bank.req(ReqOp::Rd, 1, A);
    assert_eq!(bank.said(), [Fill(1, [0, 0])], "this memory forgets");
    assert_eq!(bank.writes, [0b11, 0b1]);
}

/// A read of a line that a registration waits for would have to ask the new owner.
#[test]
fn a_read_does_not_join_behind_a_registration() {
    let mut bank = Bank::new(&small());
    bank.open = false;
    bank.req(ReqOp::Rd, 0, A);
    bank.rest(20);
    bank.req(ReqOp::Reg, 1, A);
    bank.rest(20);
    bank.req(ReqOp::Rd, 2, A);
    bank.rest(20);
    bank.open = true;
    assert_eq!(bank.said(), [Fill(0, [0, 0]), RegData(1, [0, 0]), Read(1)]);
    bank.read_ack(1, A, (0b1, 3));
    assert_eq!(bank.said(), [Fill(2, [3, 0])]);
}

/// The table of what is asked of owners is full.
#[test]
fn a_read_waits_for_an_entry() {
    let mut bank = Bank::new(&HlrcL2Params { revokes: 1, ..small() });
    bank.own(1, A);
    bank.own(1, A + LINE);
    bank.req(ReqOp::Rd, 2, A);
    bank.rest(20);
    bank.req(ReqOp::Rd, 3, A + LINE);
    assert_eq!(bank.said(), [Read(1)]);
    bank.read_ack(1, A, (0, 0));
    assert_eq!(bank.said(), [Fill(2, [0, 0]), Read(1)]);
    bank.read_ack(1, A + LINE, (0b10, 4));
    assert_eq!(bank.said(), [Fill(3, [0, 4])]);
}

/// Assertions: what DeNovo-B does not know, and answers that nobody has asked for.
#[test]
fn messages_that_are_not_of_this_protocol_fail() {
    let fails = |act: fn(&mut Bank)| {
        let run = || {
            let mut bank = Bank::new(&small());
            bank.own(1, A);
            act(&mut bank);
            bank.rest(40);
        };
        assert!(std::panic::catch_unwind(run).is_err());
    };
    fails(|bank| bank.req(ReqOp::Rdu, 2, A));
    fails(|bank| bank.wb((WbOp::Wb, false, false), 1, A, (1, 1)));
    fails(|bank| bank.read_ack(1, A, (1, 1)));
    fails(|bank| bank.revoke_ack(1, A, (1, 1)));
    fails(|bank| bank.req(ReqOp::Rd, 1, A));
    fails(|bank| {
        bank.req(ReqOp::Rd, 2, A);
        bank.rest(30);
        bank.revoke_ack(1, A, (1, 1));
    });
    fails(|bank| {
        bank.req(ReqOp::Reg, 2, A);
        bank.rest(30);
        bank.read_ack(1, A, (1, 1));
    });
}
