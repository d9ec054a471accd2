//! Translation units alone, between a device and a network that are played by hand.

use crate::words::bits;
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_bench::{Bench, Msg, random_bits};
use weft_rtl::prelude::*;
use weft_spandex::msg::{Fwd, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;

pub const OWN: u64 = 2;
pub const PEER: u64 = 1;
pub const LINE: u64 = 0x1235;

/// Everything but `l1_req`; some cycles later.
pub fn connect(b: &mut Bench, s: &Spandex) {
    ["rsp", "l1_rsp_out"].into_iter().for_each(|n| b.source::<Rsp>(n, s));
    b.source::<Wb>("l1_wb", s);
    b.source::<Fwd>("fwd", s);
    b.sink::<Req>("req", s);
    ["l1_rsp", "rsp_out"].into_iter().for_each(|n| b.sink::<Rsp>(n, s));
    b.sink::<Wb>("wb", s);
    ["fwd_out", "l1_fwd"].into_iter().for_each(|n| b.sink::<Fwd>(n, s));
    b.set("own", OWN);
    b.run(5);
}

/// A response of another device for words of the line.
pub fn response(s: &Spandex, op: RspOp, tag: u64, mask: u64, direct: bool) -> Msg {
    let fields = [
        ("op", op as u64),
        ("line", LINE),
        ("mask", mask),
        ("src", PEER),
        ("tag", tag),
        ("direct", u64::from(direct)),
    ];
    Msg::of::<Rsp>(s, &fields)
}

/// A message of noise.
pub fn noise<T: Data<Shape = Spandex>>(b: &mut Bench, s: &Spandex) -> Msg {
    let leaves = leaves_of::<T>(s, "");
    Msg(leaves.into_iter().map(|l| (l.name, random_bits(&mut b.rng, l.width))).collect())
}

/// What is no request of the L1 and no response passes as it is, a cycle later.
pub fn the_rest_passes(b: &mut Bench, s: &Spandex) {
    let (wb, out, fwd) = (noise::<Wb>(b, s), noise::<Rsp>(b, s), noise::<Fwd>(b, s));
    for (from, to, m) in [("l1_wb", "wb", wb), ("l1_rsp_out", "rsp_out", out), ("fwd", "l1_fwd", fwd)] {
        b.send(from, m.clone());
        let start = b.sim.cycle();
        let (cycle, got) = b.wait(to);
        assert_eq!((got, cycle - start), (m, 1), "{to}");
    }
}

/// A read of words 2 to 5 of which two fail again and again, until they are serialised; another read of this MSHR has not failed yet. `ask`: a read.
pub fn escalates(b: &mut Bench, s: &Spandex, n_fail: u32, ask: impl Fn(u64) -> Msg) {
    b.send("l1_req", ask(0x3c));
    b.wait("req");
    for fails in 1..=n_fail {
        b.send("rsp", response(s, RspOp::NackV, 1, 0x30, false));
        let m = b.wait("req").1;
        let op = if fails == n_fail { ReqOp::ReqWtData } else { ReqOp::ReqV };
        let fields = ["op", "line", "mask", "src", "dst", "tag", "flex"];
        assert_eq!(fields.map(|f| m.get(f)), [op as u64, LINE, 0x30, OWN, 4 + LINE % 2, 1, 0]);
        assert!(op == ReqOp::ReqV || m.get("amo") == WordOp::Read as u64);
    }
    let data = random_bits(&mut b.rng, 256);
    b.send("rsp", response(s, RspOp::RspWtData, 1, 0x30, false).with("data", data.clone()));
    let m = b.wait("l1_rsp").1;
    assert_eq!((m.get("op"), m.get("mask"), m.wide("data")), (RspOp::RspV as u64, 0x30, &data));
    b.send("l1_req", ask(0x01));
    b.wait("req");
    b.send("rsp", response(s, RspOp::NackV, 1, 0x01, false));
    let op = if n_fail == 1 { ReqOp::ReqWtData } else { ReqOp::ReqV };
    assert_eq!(b.wait("req").1.get("op"), op as u64);
}

/// Reads whose words are answered one by one: each word once, and each Nack asks once.
#[derive(Default)]
pub struct Reads {
    open: BTreeMap<u64, u64>,
    asked: BTreeMap<u64, u64>,
    network: VecDeque<Msg>,
    /// Reads that are over.
    pub done: u64,
}

impl Reads {
    /// A read that begins now and then: transaction and words.
    pub fn begins(&mut self, rng: &mut SmallRng) -> Option<(u64, u64)> {
        let tag = rng.random_range(0..3);
        if self.open.contains_key(&tag) || !rng.random_bool(0.2) {
            return None;
        }
        let mask = rng.random_range(1..256);
        self.open.insert(tag, mask);
        self.asked.insert(tag, mask);
        Some((tag, mask))
    }

    /// The unit asks for words: they are missing. `answer`: what comes of a word.
    pub fn asks(&mut self, m: &Msg, mut answer: impl FnMut(u64) -> Msg) {
        let (tag, mask) = (m.get("tag"), m.get("mask"));
        assert_eq!(mask & !self.asked[&tag], 0, "words that are not missing");
        self.asked.insert(tag, self.asked[&tag] & !mask);
        self.network.extend(bits(mask).map(|word| answer(1 << word)));
    }

    /// Responses arrive, in any order.
    pub fn respond(&mut self, b: &mut Bench) {
        if self.network.is_empty() || !b.source_mut("rsp").queue.is_empty() || !b.rng.random_bool(0.7) {
            return;
        }
        let at = b.rng.random_range(0..self.network.len());
        let m = self.network.remove(at).expect("there");
        if m.get("op") == RspOp::NackV as u64 {
            *self.asked.get_mut(&m.get("tag")).expect("open") |= m.get("mask");
        }
        b.send("rsp", m);
    }

    /// The L1 is answered, by one of these.
    pub fn answered(&mut self, b: &mut Bench, ops: &[RspOp]) {
        while let Some((_, m)) = b.received("l1_rsp") {
            assert!(ops.iter().any(|op| *op as u64 == m.get("op")), "{m:?}");
            let left = self.open.get_mut(&m.get("tag")).expect("open");
            assert_eq!(*left & m.get("mask"), m.get("mask"), "a word is answered twice");
            *left &= !m.get("mask");
            if *left == 0 {
                self.open.remove(&m.get("tag"));
                self.done += 1;
            }
        }
    }
}

/// A message that cannot come behind a read, and the assertion of the hardware that it fails.
pub fn is_found(b: &mut Bench, ask: Msg, m: Msg, name: &str) {
    b.send("l1_req", ask);
    b.wait("req");
    b.send("rsp", m);
    (0..10).for_each(|_| b.advance());
    let failure = format!("{:?}", b.sim.failures().first());
    assert!(failure.contains(name), "{name}: {failure}");
}
