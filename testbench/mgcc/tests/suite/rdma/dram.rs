//! The port between a bank and its DRAM channel: numbers come back with what they asked for.

use rand::Rng;
use std::collections::BTreeMap;
use weft_mgcc::msg::{DramReq, DramRsp, UmcReq, UmcRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::dram_port;
use weft_mgcc_bench::bench::{Bench, Msg, random_bits};
use weft_rtl::prelude::*;

const BODY: [&str; 8] = ["op", "line", "mask", "data", "amo", "sgn", "word", "wide"];

fn trial(mshrs: u32, seed: u64) -> Bench {
    let t = Tsm { gpus: 4, cus: 2, banks: 2, lanes: 1, addr_bits: 32, l2_mshrs: mshrs, ..Tsm::default() };
    let mut b = Bench::new(&dram_port(&t).expect("legal"), seed);
    b.set("own_gpu", 3);
    b.source::<UmcReq>("req", &t);
    b.sink::<UmcRsp>("rsp", &t);
    b.sink::<DramReq>("dram_req", &t);
    b.source::<DramRsp>("dram_rsp", &t);
    // By transaction: the request, once it was taken.
    let mut open: BTreeMap<u64, Option<Msg>> = BTreeMap::new();
    let mut at_dram: Vec<u64> = Vec::new();
    let mut answers: BTreeMap<u64, Msg> = BTreeMap::new();
    let mut done = 0;
    for cycle in 0..4_000 {
        if cycle % 200 == 0 {
            b.sinks.values_mut().for_each(|sink| sink.chance = [0.1, 1.0][usize::from(cycle % 400 == 0)]);
        }
        let txn = b.rng.random_range(0..u64::from(mshrs));
        if cycle < 3_500 && !open.contains_key(&txn) && b.rng.random_bool(0.5) {
            let mask = if b.rng.random_bool(0.5) { Bv::ones(64) } else { random_bits(&mut b.rng, 64) };
            let fields = [("op", b.rng.random_range(0..3)), ("src", 3), ("txn", txn)];
            let m = Msg::of::<UmcReq>(&t, &fields).with("mask", mask);
            b.send("req", m);
            open.insert(txn, None);
        }
        if !at_dram.is_empty() && b.rng.random_bool(0.4) {
            let id = at_dram.swap_remove(b.rng.random_range(0..at_dram.len()));
            let data = random_bits(&mut b.rng, 512);
            let m = Msg::of::<DramRsp>(&t, &[("id", id)]).with("data", data);
            let m = m.with("old", random_bits(&mut b.rng, 64));
            b.send("dram_rsp", m.clone());
            answers.insert(id, m);
        }
        b.step();
        if let Some(m) = b.taken("req") {
            open.insert(m.get("txn"), Some(m));
        }
        if let Some((_, m)) = b.received("dram_req") {
            let asked = open[&m.get("id")].as_ref().expect("it was taken before");
            assert!(BODY.iter().all(|f| m.wide(f) == asked.wide(f)), "{m:?} of {asked:?}");
            at_dram.push(m.get("id"));
        }
        if let Some((_, m)) = b.received("rsp") {
            let asked = open.remove(&m.get("txn")).flatten().expect("it was asked");
            let answer = answers.remove(&m.get("txn")).expect("DRAM has answered");
            assert_eq!((m.get("op"), m.get("dst")), (asked.get("op"), 3));
            let partial = asked.wide("mask") != &Bv::ones(64);
            assert_eq!(m.get("with_data") == 1, asked.get("op") != 1 || partial);
            assert!(m.wide("data") == answer.wide("data") && m.wide("old") == answer.wide("old"));
            assert_eq!(["tag", "wts", "rts"].map(|f| m.get(f)), [0; 3]);
            done += 1;
        }
    }
    assert!(done > 100 && open.is_empty(), "{done} answers, {} open", open.len());
    b
}

#[test]
fn answers_come_back_with_what_was_asked() {
    for (seed, mshrs) in [1, 5, 64].into_iter().enumerate() {
        let b = trial(mshrs, seed as u64);
        // A bank with one transaction never has a second one waiting.
        let but: &[&str] = if mshrs == 1 { &["mgcc.dram.FREE.busy"] } else { &[] };
        assert_eq!(b.uncovered(but), Vec::<String>::new(), "{mshrs} MSHRs");
    }
}

#[test]
fn illegal_values_are_refused() {
    let t = Tsm { l2_mshrs: 300, ..Tsm::default() };
    assert!(dram_port(&t).is_err());
}
