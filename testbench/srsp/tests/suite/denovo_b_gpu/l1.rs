//! `denovo-b-l1` alone: the test is its CU and its L2.

mod waits;

use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_srsp::Shape;
use weft_srsp::denovo_b_l1::{DenovoInject, DenovoL1Params, denovo_b_l1};
use weft_srsp::msg::{OwnerOp, OwnerProbe, Req, ReqOp, Rsp, RspOp, Wb, WbOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg};

pub const LINE: u64 = 64;
/// The L1 under test.
const OWN: u64 = 1;

/// Semantics of an access.
pub const RELAXED: u64 = 0;
pub const ACQUIRE: u64 = 1;
pub const RELEASE: u64 = 2;
pub const BOTH: u64 = 3;

/// What the L1 has sent on its channel to the L2, in short: kind, line, mask of the words written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Unreg(u64, u64),
    RevokeAck(u64, u64),
    ReadAck(u64, u64),
    /// REVOKE_ACK or READ_ACK without the line.
    Empty(u64),
}

/// The L1 with its surroundings.
pub struct L1 {
    pub b: Bench,
    s: Srsp,
    next_id: u64,
    /// WBT entries of UNREGs that are not acknowledged.
    unregs: Vec<u64>,
}

/// 4 sets of 2 ways.
pub fn small() -> DenovoL1Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, banks: 2, mshrs: 4, wbt: 3, ..Srsp::default() };
    DenovoL1Params::published(srsp).sized(|s| Shape { size: 512, ways: 2, sfifo: 4, targets: 2, sq: 4, ..s })
}

impl L1 {
    pub fn new(p: &DenovoL1Params) -> L1 {
        let s = p.shape.srsp.clone();
        let mut b = Bench::new(&denovo_b_l1(p).expect("legal"), 1);
        b.set("own", OWN);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<Req>("req", &s);
        b.sink::<Wb>("wb", &s);
        b.source::<Rsp>("rsp", &s);
        b.source::<OwnerProbe>("probe", &s);
        let mut l1 = L1 { b, s, next_id: 0, unregs: Vec::new() };
        l1.rest(40);
        l1
    }

    pub fn quiet() -> L1 {
        L1::new(&small())
    }

    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.b.step());
    }

    fn ask(&mut self, op: CuOp, (addr, value): (u64, u64), (sync, sem): (bool, u64)) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let at = addr % LINE;
        let fields = [
            ("id", id),
            ("op", op as u64),
            ("sync", u64::from(sync)),
            ("sem", sem),
            ("scope", 0),
            ("remote", 0),
            ("class", 0),
            ("cmp", 0),
            ("want_ack", 1),
            ("amo", AmoOp::Add as u64),
            ("line", addr / LINE),
            ("mask", 0xf << at),
        ];
        let word = |i: u64| Bv::from_u64(if 4 * i == at { value } else { 0x77 }, 32);
        let data = Bv::concat(&(0..LINE / 4).map(word).collect::<Vec<_>>());
        self.b.send("cu_req", Msg::of::<CuReq>(&self.s.cu(), &fields).with("data", data));
        id
    }

    pub fn load(&mut self, addr: u64) -> u64 {
        self.ask(CuOp::Ld, (addr, 0), (false, 0))
    }

    pub fn store(&mut self, addr: u64, value: u64) -> u64 {
        self.ask(CuOp::St, (addr, value), (false, 0))
    }

    /// An atomic addition.
    pub fn add(&mut self, addr: u64, value: u64, sem: u64) -> u64 {
        self.ask(CuOp::Amo, (addr, value), (true, sem))
    }

    /// A fence, or a kernel's begin or end.
    pub fn whole(&mut self, op: CuOp) -> u64 {
        self.ask(op, (0, 0), (false, 0))
    }

    /// Requests to the L2 since the last call: kind, line, MSHR.
    pub fn asked(&mut self) -> Vec<(ReqOp, u64, u64)> {
        self.rest(40);
        let mut all = Vec::new();
        while let Some((_, m)) = self.b.received("req") {
            assert_eq!(m.get("src"), OWN);
            let op = if m.get("op") == ReqOp::Rd as u64 { ReqOp::Rd } else { ReqOp::Reg };
            assert_eq!(m.get("op"), op as u64);
            all.push((op, m.get("atomic_addr") / LINE, m.get("mshr")));
        }
        all
    }

    /// The one request since the last call.
    fn asks(&mut self, op: ReqOp, addr: u64) -> u64 {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!((asked[0].0, asked[0].1), (op, addr / LINE));
        asked[0].2
    }

    /// The line of an MSHR comes, of which each word is `value`.
    pub fn give(&mut self, op: RspOp, mshr: u64, value: u64) {
        let word = Bv::from_u64(value, 32);
        let data = Bv::concat(&vec![word; (LINE / 4) as usize]);
        let m = Msg::of::<Rsp>(&self.s, &[("op", op as u64), ("dst", OWN), ("mshr", mshr), ("hit", 1)]);
        self.b.send("rsp", m.with("data", data));
        self.rest(40);
    }

    pub fn probe(&mut self, op: OwnerOp, addr: u64) {
        let fields = [("op", op as u64), ("addr", addr / LINE * LINE), ("req", OWN)];
        self.b.send("probe", Msg::of::<OwnerProbe>(&self.s, &fields));
        self.rest(40);
    }

    /// What was sent to the L2 since the last call.
    pub fn sent(&mut self) -> Vec<Sent> {
        self.rest(40);
        let mut all = Vec::new();
        while let Some((_, m)) = self.b.received("wb") {
            let line = m.get("atomic_addr") / LINE;
            let bytes = m.wide("mask").clone();
            let words = (0..16).filter(|w| bytes.slice(4 * w, 4).low_u64() == 15).map(|w| 1 << w).sum();
            let keep = m.get("keep") == 1;
            all.push(match (m.get("op") == WbOp::Unreg as u64, m.get("has") == 1) {
                (true, _) => {
                    self.unregs.push(m.get("wbt"));
                    Sent::Unreg(line, words)
                }
                (false, false) => Sent::Empty(line),
                (false, true) if keep => Sent::ReadAck(line, words),
                (false, true) => Sent::RevokeAck(line, words),
            });
        }
        all
    }

    /// Acknowledges the oldest UNREG.
    pub fn unreg_ack(&mut self) {
        let wbt = self.unregs.remove(0);
        let fields = [("op", RspOp::UnregAck as u64), ("dst", OWN), ("wbt", wbt)];
        self.b.send("rsp", Msg::of::<Rsp>(&self.s, &fields));
        self.rest(40);
    }

    /// Answers to the CU since the last call: number and the word at an address.
    pub fn answers(&mut self, addr: u64) -> Vec<(u64, u64)> {
        self.rest(40);
        let mut all = Vec::new();
        while let Some((_, m)) = self.b.received("cu_rsp") {
            let data = if m.get("kind") == 0 {
                m.wide("data").slice((addr % LINE) as u32 * 8, 32).low_u64()
            } else {
                0
            };
            all.push((m.get("id"), data));
        }
        all
    }

    /// The line is owned, and all words are `value`, but for the first, which has 1 added.
    pub fn own(&mut self, addr: u64, value: u64) {
        let id = self.add(addr / LINE * LINE, 1, RELAXED);
        let mshr = self.asks(ReqOp::Reg, addr);
        self.give(RspOp::RegData, mshr, value);
        assert_eq!(self.answers(addr / LINE * LINE), [(id, value)]);
    }

    /// The value of a word that is here.
    pub fn has(&mut self, addr: u64, value: u64) {
        let id = self.load(addr);
        assert_eq!(self.answers(addr), [(id, value)]);
        assert_eq!(self.asked(), []);
    }
}

/// Lines of one set, and two others.
const A: u64 = 0x4000;
const B: u64 = 0x4100;
const C: u64 = 0x4200;
const Y: u64 = 0x5040;
const Z: u64 = 0x5080;

#[test]
fn what_is_stored_is_registered_when_it_must_and_loads_hit_on_it() {
    let mut l1 = L1::quiet();
    let id = l1.store(A + 4, 5);
    assert_eq!(l1.answers(A), [(id, 0)], "acknowledged at once");
    l1.has(A + 4, 5);
    let id = l1.load(A + 8);
    let mshr = l1.asks(ReqOp::Reg, A);
    l1.give(RspOp::RegData, mshr, 9);
    assert_eq!(l1.answers(A + 8), [(id, 9)]);
    l1.has(A + 4, 5);
    l1.store(A + 12, 6);
    l1.rest(20);
    assert_eq!(l1.answers(A).len(), 1);
    l1.has(A + 12, 6);
    assert_eq!(l1.asked(), [], "a store to an owned line sends nothing");
}

#[test]
fn a_copy_that_is_stored_to_keeps_its_bytes_until_they_are_registered() {
    let mut l1 = L1::quiet();
    let id = l1.load(A);
    let mshr = l1.asks(ReqOp::Rd, A);
    l1.give(RspOp::Fill, mshr, 3);
    assert_eq!(l1.answers(A), [(id, 3)]);
    l1.store(A + 4, 5);
    l1.rest(20);
    l1.answers(A);
    l1.has(A, 3);
    let id = l1.whole(CuOp::Rel);
    let mshr = l1.asks(ReqOp::Reg, A);
    assert_eq!(l1.answers(A), []);
    l1.give(RspOp::RegData, mshr, 4);
    assert_eq!(l1.answers(A), [(id, 0)]);
    l1.has(A, 4);
    l1.has(A + 4, 5);
}

/// Race 4: bytes are stored while the line comes.
#[test]
fn reg_data_leaves_what_is_stored_meanwhile() {
    let mut l1 = L1::quiet();
    l1.store(A, 5);
    let fence = l1.whole(CuOp::Rel);
    let mshr = l1.asks(ReqOp::Reg, A);
    let stored = l1.store(A + 4, 6);
    let answers = l1.answers(A);
    assert!(answers.contains(&(stored, 0)) && !answers.contains(&(fence, 0)));
    l1.give(RspOp::RegData, mshr, 9);
    assert_eq!(l1.answers(A), [(fence, 0)]);
    [(A, 5), (A + 4, 6), (A + 8, 9)].iter().for_each(|(addr, value)| l1.has(*addr, *value));
    l1.probe(OwnerOp::Revoke, A);
    assert_eq!(l1.sent(), [Sent::RevokeAck(A / LINE, 0b11)]);
}

#[test]
fn a_store_does_not_overtake_who_waits_for_the_line() {
    let mut l1 = L1::quiet();
    let add = l1.add(A, 1, RELAXED);
    let load = l1.load(A);
    let store = l1.store(A, 7);
    let mshr = l1.asks(ReqOp::Reg, A);
    assert_eq!(l1.answers(A), []);
    l1.give(RspOp::RegData, mshr, 3);
    assert_eq!(l1.answers(A), [(add, 3), (load, 4), (store, 0)]);
    l1.has(A, 7);
}

/// A release waits for what was stored, whoever has asked for its line; nothing else does.
#[test]
fn a_release_waits_until_all_that_was_stored_is_registered() {
    let mut l1 = L1::quiet();
    l1.own(Y, 1);
    l1.store(A, 5);
    l1.store(Z, 6);
    let on_w = l1.add(Z + 4, 1, RELAXED);
    let z = l1.asks(ReqOp::Reg, Z);
    l1.answers(A);
    let release = l1.add(Y, 1, RELEASE);
    let a = l1.asks(ReqOp::Reg, A);
    l1.has(Y + 4, 1);
    l1.give(RspOp::RegData, a, 0);
    assert_eq!(l1.answers(Y), [], "the line of the atomic holds a stored byte, too");
    l1.give(RspOp::RegData, z, 0);
    assert_eq!(l1.answers(Y), [(on_w, 6), (release, 2)], "the first words of their lines");
    assert_eq!(l1.sent(), [], "nothing is written back");
}

#[test]
fn an_acquire_drops_copies_and_keeps_what_is_owned() {
    let mut l1 = L1::quiet();
    l1.own(Y, 1);
    l1.load(A);
    l1.load(B);
    for (_, line, mshr) in l1.asked() {
        l1.give(RspOp::Fill, mshr, line);
    }
    l1.answers(A);
    // On an owned line, and on one that is registered for it.
    let id = l1.add(Y, 1, ACQUIRE);
    assert_eq!(l1.answers(Y), [(id, 2)]);
    l1.has(Y + 4, 1);
    let load = l1.load(A);
    let again = l1.asks(ReqOp::Rd, A);
    l1.give(RspOp::Fill, again, 8);
    assert_eq!(l1.answers(A), [(load, 8)]);
    let id = l1.add(Z, 1, ACQUIRE);
    let mshr = l1.asks(ReqOp::Reg, Z);
    l1.has(A, 8);
    l1.give(RspOp::RegData, mshr, 4);
    assert_eq!(l1.answers(Z), [(id, 4)]);
    l1.load(A);
    l1.asks(ReqOp::Rd, A);
}

/// A fence that acquires drops, whatever its scope.
#[test]
fn fences_of_every_scope_do_their_work() {
    let mut l1 = L1::quiet();
    let load = l1.load(A);
    let mshr = l1.asks(ReqOp::Rd, A);
    l1.give(RspOp::Fill, mshr, 3);
    assert_eq!(l1.answers(A), [(load, 3)]);
    l1.store(Z, 5);
    l1.answers(Z);
    let acquire = l1.whole(CuOp::Acq);
    let mshr = l1.asks(ReqOp::Reg, Z);
    l1.give(RspOp::RegData, mshr, 0);
    assert_eq!(l1.answers(A), [(acquire, 0)]);
    l1.load(A);
    l1.asks(ReqOp::Rd, A);
}

/// Race 7: a fill that was under way when copies were dropped is answered and not installed.
#[test]
fn a_fill_under_way_is_not_installed_behind_an_acquire() {
    let mut l1 = L1::quiet();
    l1.own(Y, 1);
    let load = l1.load(A);
    let mshr = l1.asks(ReqOp::Rd, A);
    let id = l1.add(Y, 1, BOTH);
    assert_eq!(l1.answers(Y), [(id, 2)]);
    l1.give(RspOp::Fill, mshr, 3);
    assert_eq!(l1.answers(A), [(load, 3)]);
    l1.load(A);
    l1.asks(ReqOp::Rd, A);
}

/// An acquire has an F, too: what of a written line is not written here may be old.
#[test]
fn an_acquire_registers_what_is_stored_before_it_drops() {
    let mut l1 = L1::quiet();
    l1.own(Y, 1);
    l1.store(A, 5);
    l1.answers(A);
    let id = l1.add(Y, 1, ACQUIRE);
    let mshr = l1.asks(ReqOp::Reg, A);
    let gated = l1.load(Y);
    assert_eq!(l1.answers(Y), [], "neither the acquire nor who comes behind it");
    l1.give(RspOp::RegData, mshr, 9);
    assert_eq!(l1.answers(Y), [(id, 2), (gated, 3)]);
    l1.has(A, 5);
}

#[test]
fn owners_are_asked_for_lines_and_for_bytes() {
    let mut l1 = L1::quiet();
    l1.own(A, 1);
    l1.store(A + 8, 5);
    l1.answers(A);
    l1.probe(OwnerOp::Read, A);
    assert_eq!(l1.sent(), [Sent::ReadAck(A / LINE, 0b101)]);
    l1.probe(OwnerOp::Read, A);
    assert_eq!(l1.sent(), [Sent::ReadAck(A / LINE, 0)], "the L2 knows all");
    l1.store(A + 4, 6);
    l1.answers(A);
    l1.probe(OwnerOp::Revoke, A);
    assert_eq!(l1.sent(), [Sent::RevokeAck(A / LINE, 0b10)]);
    l1.load(A);
    l1.asks(ReqOp::Rd, A);
}
