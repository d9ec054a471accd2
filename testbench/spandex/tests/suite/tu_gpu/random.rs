//! Requests, parts, Nacks and forwards in any order, with every field at random and every channel held at times.

use super::{BANK, OWN, PEER, Unit};
use crate::words::line_of;
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_bench::{Msg, random_bits};
use weft_spandex::msg::{Fwd, FwdOp, GpuOp, GpuReq, ReqOp, Rsp, RspOp, WordOp};

/// MSHRs of the small system; store buffer entries come behind them.
const MSHRS: u64 = 3;
/// Nacks of a read before its failed words are asked for with READ.
const N_FAIL: u64 = 2;
const WHOLE: u64 = 0xff;

/// Words that somebody will answer.
struct Flying {
    op: ReqOp,
    mask: u64,
}

/// A transaction of the L1.
struct Open {
    op: GpuOp,
    line: u64,
    /// What the bank must get, until it does.
    asks: Option<Msg>,
    flying: Vec<Flying>,
    /// Words of the transaction; those without an answer; failed words that must be asked for again.
    asked: u64,
    left: u64,
    again: u64,
    nacks: u64,
    words: [u32; 8],
    peer: bool,
}

struct World {
    u: Unit,
    open: BTreeMap<u64, Open>,
    /// What the forwards' answers must be; and the words that a Nack names.
    refusals: VecDeque<([u64; 6], Option<u64>)>,
    lines: Vec<u64>,
    answered: u64,
    escalated: u64,
}

fn home(line: u64) -> u64 {
    BANK + line % 2
}

impl World {
    fn new() -> World {
        let mut u = Unit::new(N_FAIL as u32);
        // Lines that differ in one bit from another, and in all.
        let base = u.b.rng.random_range(0..1u64 << 27);
        let lines = (0..27).map(|bit| base ^ 1 << bit).chain([base, !base & ((1 << 27) - 1)]).collect();
        World { u, open: BTreeMap::new(), refusals: VecDeque::new(), lines, answered: 0, escalated: 0 }
    }

    fn some_of(&mut self, mask: u64) -> u64 {
        let some = mask & self.u.b.rng.random::<u64>();
        if some == 0 { mask } else { some }
    }

    /// The L1 begins a transaction.
    fn begin(&mut self, tag: u64) {
        let rng = &mut self.u.b.rng;
        let op = match (tag < MSHRS, rng.random_bool(0.7)) {
            (false, _) => GpuOp::Wt,
            (true, true) => GpuOp::Rd,
            (true, false) => GpuOp::At,
        };
        let line = self.lines[rng.random_range(0..self.lines.len())];
        let mask = rng.random_range(1..=WHOLE);
        let amo = [WordOp::Add, WordOp::Merge, WordOp::Cas][rng.random_range(0..3)];
        let (cmp, bmask) = (u64::from(rng.random::<u32>()), rng.random_range(0..16));
        let data = random_bits(rng, 256);
        let same = [("line", line), ("tag", tag), ("amo", amo as u64), ("cmp", cmp), ("bmask", bmask)];
        let fields: Vec<(&str, u64)> = same.into_iter().chain([("op", op as u64), ("mask", mask)]).collect();
        let m = Msg::of::<GpuReq>(&self.u.s, &fields).with("data", data.clone());
        self.u.b.send("l1_req", m);
        let (asked, words) = match op {
            GpuOp::Rd => (ReqOp::ReqV, WHOLE),
            GpuOp::Wt => (ReqOp::ReqWt, mask),
            GpuOp::At => (ReqOp::ReqWtData, mask),
        };
        let place = [("mask", words), ("src", OWN), ("dst", home(line)), ("flex", 0), ("fwd", 0)];
        let fields: Vec<(&str, u64)> = same.into_iter().chain(place).chain([("op", asked as u64)]).collect();
        let asks = Msg::of::<weft_spandex::msg::Req>(&self.u.s, &fields).with("data", data);
        let (flying, asks, words_of) = (Vec::new(), Some(asks), [0; 8]);
        let new = Open {
            op,
            line,
            asks,
            flying,
            asked: words,
            left: words,
            again: 0,
            nacks: 0,
            words: words_of,
            peer: false,
        };
        self.open.insert(tag, new);
    }

    /// A request to a bank: the first of its transaction, or failed words once more.
    fn asked(&mut self, m: &Msg) {
        let of = self.open.get_mut(&m.get("tag")).expect("a request of an open transaction");
        let op = match m.get("op") {
            op if op == ReqOp::ReqV as u64 => ReqOp::ReqV,
            op if op == ReqOp::ReqWt as u64 => ReqOp::ReqWt,
            _ => ReqOp::ReqWtData,
        };
        of.flying.push(Flying { op, mask: m.get("mask") });
        if let Some(asks) = of.asks.take() {
            let fields: &[&str] = match of.op {
                GpuOp::Rd => &["op", "line", "mask", "src", "dst", "tag", "flex", "fwd"],
                GpuOp::Wt => &["op", "line", "mask", "src", "dst", "tag", "flex", "fwd", "data"],
                GpuOp::At => &["op", "line", "mask", "src", "dst", "tag", "amo", "cmp", "bmask", "data"],
            };
            fields.iter().for_each(|f| assert_eq!(m.wide(f), asks.wide(f), "{f} of {m:?}"));
            return;
        }
        let found = ["line", "src", "dst", "fwd"].map(|f| m.get(f));
        assert_eq!(found, [of.line, OWN, home(of.line), 0], "a retry");
        let mask = m.get("mask");
        assert!(mask != 0 && mask & !of.again == 0, "words {mask:b} of {:b} failed", of.again);
        of.again &= !mask;
        if op == ReqOp::ReqWtData {
            assert!(of.nacks >= N_FAIL && m.get("amo") == WordOp::Read as u64);
            self.escalated += 1;
        } else {
            assert_eq!(op as u64, ReqOp::ReqV as u64, "a retry reads");
        }
    }

    /// Somebody answers some words that are asked for.
    fn answer(&mut self) {
        let waiting: Vec<u64> =
            self.open.iter().filter(|(_, of)| !of.flying.is_empty()).map(|(tag, _)| *tag).collect();
        if waiting.is_empty() {
            return;
        }
        let tag = waiting[self.u.b.rng.random_range(0..waiting.len())];
        let of = &self.open[&tag];
        let at = self.u.b.rng.random_range(0..of.flying.len());
        let Flying { op, mask } = of.flying[at];
        let (line, is_atomic) = (of.line, of.op == GpuOp::At);
        let mask = if is_atomic { mask } else { self.some_of(mask) };
        let src = [PEER, 3, home(line)][self.u.b.rng.random_range(0..3)];
        let fails = op == ReqOp::ReqV && src < BANK && self.u.b.rng.random_bool(0.4);
        let words: [u32; 8] = self.u.b.rng.random();
        let code = match op {
            ReqOp::ReqV if fails => RspOp::NackV,
            ReqOp::ReqV => RspOp::RspV,
            ReqOp::ReqWt => RspOp::RspWt,
            _ => RspOp::RspWtData,
        };
        let extra = if code == RspOp::RspV { self.u.b.rng.random::<u64>() & WHOLE & !mask } else { 0 };
        let fields = [
            ("op", code as u64),
            ("line", line),
            ("mask", mask),
            ("src", src),
            ("tag", tag),
            ("direct", 0),
            ("extra", extra),
        ];
        let m = Msg::of::<Rsp>(&self.u.s, &fields).with("data", line_of(&words));
        self.u.b.send("rsp", m);
        let of = self.open.get_mut(&tag).expect("an open transaction");
        of.flying[at].mask &= !mask;
        of.flying.retain(|part| part.mask != 0);
        if fails {
            of.nacks += 1;
            of.again |= mask;
            return;
        }
        of.left &= !mask;
        of.peer |= src < BANK;
        (0..8).filter(|word| mask >> word & 1 == 1).for_each(|word| of.words[word] = words[word]);
    }

    fn finished(&mut self, m: &Msg) {
        let of = self.open.remove(&m.get("tag")).expect("an answer of an open transaction");
        assert_eq!((m.get("op"), of.left, of.again), (of.op as u64, 0, 0), "all words have come");
        if of.op == GpuOp::Rd {
            assert_eq!((m.wide("data"), m.get("peer")), (&line_of(&of.words), u64::from(of.peer)));
        }
        if of.op == GpuOp::At {
            for at in (0..8).filter(|at| of.asked >> at & 1 == 1) {
                let old = m.wide("data").slice(32 * at as u32, 32).low_u64();
                assert_eq!(old, u64::from(of.words[at]), "word {at}");
            }
        }
        self.answered += 1;
    }

    fn forward(&mut self) {
        let rng = &mut self.u.b.rng;
        let (op, line) = (rng.random_range(0..3), self.lines[rng.random_range(0..self.lines.len())]);
        let op = [FwdOp::Inv, FwdOp::ReqV, FwdOp::ReqWt][op];
        let (src, req) = (BANK + rng.random_range(0..2u64), rng.random_range(0..4u64));
        let (tag, tbe, direct) =
            (rng.random_range(0..5u64), rng.random_range(0..4u64), rng.random_range(0..2u64));
        let mask = rng.random_range(1..=WHOLE);
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("src", src),
            ("req", req),
            ("tag", tag),
            ("tbe", tbe),
            ("direct", direct),
        ];
        self.u.b.send("fwd", Msg::of::<Fwd>(&self.u.s, &fields));
        self.refusals.push_back(match op {
            FwdOp::Inv => ([RspOp::Ack as u64, line, OWN, src, tbe, 0], None),
            FwdOp::ReqV => ([RspOp::NackV as u64, line, OWN, req, tag, direct], Some(mask)),
            _ => ([RspOp::NackWt as u64, line, OWN, req, tag, direct], Some(mask)),
        });
    }

    fn step(&mut self) {
        self.u.b.step();
        while let Some((_, m)) = self.u.b.received("req") {
            self.asked(&m);
        }
        while let Some((_, m)) = self.u.b.received("l1_rsp") {
            self.finished(&m);
        }
        while let Some((_, m)) = self.u.b.received("rsp_out") {
            let found = ["op", "line", "src", "dst", "tag", "direct"].map(|f| m.get(f));
            let (expected, words) = self.refusals.pop_front().expect("an answer of a forward");
            assert_eq!(found, expected, "forwards are answered in order");
            assert!(words.is_none_or(|words| m.get("mask") == words), "the words of the forward");
        }
    }
}

#[test]
fn every_field_of_every_message_is_right() {
    let mut w = World::new();
    for cycle in 0..30_000u32 {
        if cycle % 200 == 0 {
            w.u.b.shuffle(&[1.0, 1.0, 0.5, 0.05]);
            // Responses are never refused, so nobody holds them.
            w.u.b.source_mut("rsp").chance = 1.0;
        }
        let tag = w.u.b.rng.random_range(0..MSHRS + 2);
        if !w.open.contains_key(&tag) && w.u.b.rng.random_bool(0.5) {
            w.begin(tag);
        }
        if w.u.b.rng.random_bool(0.3) {
            w.answer();
        }
        if w.refusals.len() < 6 && w.u.b.rng.random_bool(0.2) {
            w.forward();
        }
        w.step();
    }
    w.u.b.hold_nothing();
    for _ in 0..2_000 {
        w.answer();
        w.step();
    }
    assert!(w.open.is_empty() && w.refusals.is_empty(), "{} are never answered", w.open.len());
    assert!(w.answered > 2_000 && w.escalated > 50, "{} {}", w.answered, w.escalated);
}
