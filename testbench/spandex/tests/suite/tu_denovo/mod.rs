//! `tu-denovo` alone: what passes, what is asked for again; a random device and network with every message counted.

use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_bench::{Bench, Msg, pages, random_bits};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::*;
use weft_spandex::msg::{Fwd, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_denovo::{TuDenovoParams, responses, tu_denovo};

const OWN: u64 = 2;
const PEER: u64 = 1;
const LINE: u64 = 0x1235;

fn unit(n_fail: u32, seed: u64) -> (Bench, Spandex) {
    let s = Spandex {
        cpus: 2,
        cus: 2,
        sharers: 0,
        addr_bits: 32,
        line: 32,
        banks: 2,
        mshrs: 3,
        sb: 2,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    };
    let mut b = Bench::new(&tu_denovo(&TuDenovoParams { spandex: s.clone(), n_fail }).expect("legal"), seed);
    b.source::<Req>("l1_req", &s);
    ["rsp", "l1_rsp_out"].into_iter().for_each(|n| b.source::<Rsp>(n, &s));
    b.source::<Wb>("l1_wb", &s);
    b.source::<Fwd>("fwd", &s);
    b.sink::<Req>("req", &s);
    ["l1_rsp", "rsp_out"].into_iter().for_each(|n| b.sink::<Rsp>(n, &s));
    b.sink::<Wb>("wb", &s);
    ["fwd_out", "l1_fwd"].into_iter().for_each(|n| b.sink::<Fwd>(n, &s));
    b.set("own", OWN);
    b.run(5);
    (b, s)
}

fn request(s: &Spandex, op: ReqOp, tag: u64, mask: u64) -> Msg {
    Msg::of::<Req>(s, &[("op", op as u64), ("line", LINE), ("mask", mask), ("tag", tag), ("src", OWN)])
}

fn response(s: &Spandex, op: RspOp, tag: u64, mask: u64) -> Msg {
    let fields =
        [("op", op as u64), ("line", LINE), ("mask", mask), ("src", PEER), ("tag", tag), ("direct", 0)];
    Msg::of::<Rsp>(s, &fields)
}

/// A message of noise.
fn noise<T: Data<Shape = Spandex>>(b: &mut Bench, s: &Spandex) -> Msg {
    let leaves = leaves_of::<T>(s, "");
    Msg(leaves.into_iter().map(|l| (l.name, random_bits(&mut b.rng, l.width))).collect())
}

#[test]
fn everything_else_passes_as_it_is() {
    let (mut b, s) = unit(1, 1);
    let wb = noise::<Wb>(&mut b, &s);
    let out = noise::<Rsp>(&mut b, &s);
    let fwd = noise::<Fwd>(&mut b, &s);
    for (from, to, m) in [("l1_wb", "wb", wb), ("l1_rsp_out", "rsp_out", out), ("fwd", "l1_fwd", fwd)] {
        b.send(from, m.clone());
        let start = b.sim.cycle();
        let (cycle, got) = b.wait(to);
        assert_eq!((got, cycle - start), (m, 1), "{to}");
    }
    for op in [ReqOp::ReqV, ReqOp::ReqO, ReqOp::ReqOData, ReqOp::ReqWtData] {
        let m =
            noise::<Req>(&mut b, &s).with("op", Bv::from_u64(op as u64, 3)).with("tag", Bv::from_u64(1, 3));
        b.send("l1_req", m.clone());
        assert_eq!(b.wait("req").1, m);
    }
    for op in [RspOp::RspO, RspOp::RspOData, RspOp::RspWb, RspOp::RspWtData] {
        let m =
            noise::<Rsp>(&mut b, &s).with("op", Bv::from_u64(op as u64, 4)).with("tag", Bv::from_u64(1, 3));
        b.send("rsp", m.clone());
        assert_eq!(b.wait("l1_rsp").1, m);
    }
}

#[test]
fn failed_words_are_asked_for_again_and_serialised_at_last() {
    for n_fail in [1, 2, 7] {
        let (mut b, s) = unit(n_fail, 2);
        b.send("l1_req", request(&s, ReqOp::ReqV, 1, 0x3c));
        b.wait("req");
        for fails in 1..=n_fail {
            b.send("rsp", response(&s, RspOp::NackV, 1, 0x30));
            let m = b.wait("req").1;
            let op = if fails == n_fail { ReqOp::ReqWtData } else { ReqOp::ReqV };
            let fields = ["op", "line", "mask", "src", "dst", "tag", "flex"];
            assert_eq!(fields.map(|f| m.get(f)), [op as u64, LINE, 0x30, OWN, 4 + LINE % 2, 1, 0]);
            assert!(op == ReqOp::ReqV || m.get("amo") == WordOp::Read as u64);
        }
        let data = random_bits(&mut b.rng, 256);
        b.send("rsp", response(&s, RspOp::RspWtData, 1, 0x30).with("data", data.clone()));
        let m = b.wait("l1_rsp").1;
        assert_eq!((m.get("op"), m.get("mask"), m.wide("data")), (RspOp::RspV as u64, 0x30, &data));
        // The next read of this MSHR has not failed yet.
        b.send("l1_req", request(&s, ReqOp::ReqV, 1, 0x01));
        b.wait("req");
        b.send("rsp", response(&s, RspOp::NackV, 1, 0x01));
        let op = if n_fail == 1 { ReqOp::ReqWtData } else { ReqOp::ReqV };
        assert_eq!(b.wait("req").1.get("op"), op as u64);
        // Of another request of this MSHR the L1 gets ReqWT+data as it is.
        b.send("l1_req", request(&s, ReqOp::ReqWtData, 1, 0x01));
        b.wait("req");
        b.send("rsp", response(&s, RspOp::RspWtData, 1, 0x01));
        assert_eq!(b.wait("l1_rsp").1.get("op"), RspOp::RspWtData as u64);
    }
}

/// Reads whose words fail again and again, with every output slow: each word is answered once, each Nack asks once.
#[test]
fn no_word_is_lost_or_asked_for_twice() {
    for (seed, n_fail) in [(1, 1), (2, 3), (3, 7)] {
        let (mut b, s) = unit(n_fail, seed);
        b.sink_mut("req").chance = 0.4;
        let mut open: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut asked, mut done): (BTreeMap<u64, u64>, u64) = (BTreeMap::new(), 0);
        let mut network: VecDeque<Msg> = VecDeque::new();
        for _ in 0..20_000 {
            let tag = b.rng.random_range(0..3);
            if !open.contains_key(&tag) && b.rng.random_bool(0.2) {
                let mask = b.rng.random_range(1..256);
                open.insert(tag, mask);
                asked.insert(tag, mask);
                b.send("l1_req", request(&s, ReqOp::ReqV, tag, mask));
            }
            while let Some((_, m)) = b.received("req") {
                let (tag, mask) = (m.get("tag"), m.get("mask"));
                assert_eq!(mask & !asked[&tag], 0, "words that are not missing");
                asked.insert(tag, asked[&tag] & !mask);
                let read = m.get("op") == ReqOp::ReqWtData as u64;
                // Answers come word by word.
                for word in (0..8).filter(|w| mask >> w & 1 == 1) {
                    let fails = !read && b.rng.random_bool(0.5);
                    let ok = if read { RspOp::RspWtData } else { RspOp::RspV };
                    network.push_back(response(&s, if fails { RspOp::NackV } else { ok }, tag, 1 << word));
                }
            }
            if !network.is_empty() && b.source_mut("rsp").queue.is_empty() && b.rng.random_bool(0.7) {
                let at = b.rng.random_range(0..network.len());
                let m = network.remove(at).expect("there");
                if m.get("op") == RspOp::NackV as u64 {
                    *asked.get_mut(&m.get("tag")).expect("open") |= m.get("mask");
                }
                b.send("rsp", m);
            }
            while let Some((_, m)) = b.received("l1_rsp") {
                assert_eq!(m.get("op"), RspOp::RspV as u64);
                let left = open.get_mut(&m.get("tag")).expect("open");
                assert_eq!(*left & m.get("mask"), m.get("mask"), "a word is answered twice");
                *left &= !m.get("mask");
                if *left == 0 {
                    open.remove(&m.get("tag"));
                    done += 1;
                }
            }
            b.step();
        }
        assert!(done > 200, "{done} reads");
        let rows: Vec<String> = b.uncovered(&["spandex.tu_denovo.pass", "spandex.tu_denovo.RspWTdata"]);
        let never = |name: &String| n_fail > 1 || !name.ends_with(".again") && !name.ends_with("retry.ReqV");
        assert_eq!(rows.into_iter().filter(never).collect::<Vec<String>>(), Vec::<String>::new());
        assert_eq!(b.counted("tu_denovo_direct"), 0);
    }
}

#[test]
fn impossible_messages_are_found() {
    let sends: [(&str, fn(&Spandex) -> Msg); 4] = [
        ("tu_denovo_responses_complete", |s| response(s, RspOp::NackV, 0, 1)),
        ("tu_denovo_responses_complete", |s| response(s, RspOp::NackWt, 1, 1)),
        ("tu_denovo_line", |s| response(s, RspOp::NackV, 1, 1).with("line", Bv::from_u64(LINE + 1, 27))),
        ("tu_denovo_direct", |s| response(s, RspOp::NackV, 1, 1).with("direct", Bv::from_u64(1, 1))),
    ];
    for (name, send) in sends {
        let (mut b, s) = unit(1, 1);
        b.send("l1_req", request(&s, ReqOp::ReqV, 1, 1));
        b.wait("req");
        b.send("rsp", send(&s));
        (0..10).for_each(|_| b.advance());
        let failure = format!("{:?}", b.sim.failures().first());
        assert!(failure.contains(name), "{name}: {failure}");
    }
}

#[test]
fn an_idle_unit_sleeps() {
    let (mut b, s) = unit(1, 1);
    b.send("l1_req", request(&s, ReqOp::ReqV, 1, 1));
    b.wait("req");
    (0..60).for_each(|_| b.sim.step());
    assert!(b.sim.asleep());
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/tu-denovo.md", &responses().to_markdown());
}
