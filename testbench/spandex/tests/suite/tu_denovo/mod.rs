//! `tu-denovo` alone: what passes, what is asked for again; a random device and network with every message counted.

use crate::units::{LINE, OWN, Reads, connect, escalates, is_found, noise, response, the_rest_passes};
use crate::words::small_spandex;
use rand::Rng;
use weft_bench::{Bench, Msg, pages};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{Req, ReqOp, Rsp, RspOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_denovo::{TuDenovoParams, responses, tu_denovo};

fn unit(n_fail: u32, seed: u64) -> (Bench, Spandex) {
    let s = Spandex { sharers: 0, sb: 2, ..small_spandex() };
    let mut b = Bench::new(&tu_denovo(&TuDenovoParams { spandex: s.clone(), n_fail }).expect("legal"), seed);
    b.source::<Req>("l1_req", &s);
    connect(&mut b, &s);
    (b, s)
}

fn request(s: &Spandex, op: ReqOp, tag: u64, mask: u64) -> Msg {
    Msg::of::<Req>(s, &[("op", op as u64), ("line", LINE), ("mask", mask), ("tag", tag), ("src", OWN)])
}

#[test]
fn everything_else_passes_as_it_is() {
    let (mut b, s) = unit(1, 1);
    the_rest_passes(&mut b, &s);
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
        escalates(&mut b, &s, n_fail, |mask| request(&s, ReqOp::ReqV, 1, mask));
        // Of another request of this MSHR the L1 gets ReqWT+data as it is.
        b.send("l1_req", request(&s, ReqOp::ReqWtData, 1, 0x01));
        b.wait("req");
        b.send("rsp", response(&s, RspOp::RspWtData, 1, 0x01, false));
        assert_eq!(b.wait("l1_rsp").1.get("op"), RspOp::RspWtData as u64);
    }
}

/// Reads whose words fail again and again, with every output slow: each word is answered once, each Nack asks once.
#[test]
fn no_word_is_lost_or_asked_for_twice() {
    for (seed, n_fail) in [(1, 1), (2, 3), (3, 7)] {
        let (mut b, s) = unit(n_fail, seed);
        b.sink_mut("req").chance = 0.4;
        let mut reads = Reads::default();
        for _ in 0..20_000 {
            if let Some((tag, mask)) = reads.begins(&mut b.rng) {
                b.send("l1_req", request(&s, ReqOp::ReqV, tag, mask));
            }
            while let Some((_, m)) = b.received("req") {
                let read = m.get("op") == ReqOp::ReqWtData as u64;
                reads.asks(&m, |word| {
                    let fails = !read && b.rng.random_bool(0.5);
                    let ok = if read { RspOp::RspWtData } else { RspOp::RspV };
                    response(&s, if fails { RspOp::NackV } else { ok }, m.get("tag"), word, false)
                });
            }
            reads.respond(&mut b);
            reads.answered(&mut b, &[RspOp::RspV]);
            b.step();
        }
        assert!(reads.done > 200, "{} reads", reads.done);
        let rows: Vec<String> = b.uncovered(&["spandex.tu_denovo.pass", "spandex.tu_denovo.RspWTdata"]);
        let never = |name: &String| n_fail > 1 || !name.ends_with(".again") && !name.ends_with("retry.ReqV");
        assert_eq!(rows.into_iter().filter(never).collect::<Vec<String>>(), Vec::<String>::new());
        assert_eq!(b.counted("tu_denovo_direct"), 0);
    }
}

#[test]
fn impossible_messages_are_found() {
    let sends: [(&str, fn(&Spandex) -> Msg); 4] = [
        ("tu_denovo_responses_complete", |s| response(s, RspOp::NackV, 0, 1, false)),
        ("tu_denovo_responses_complete", |s| response(s, RspOp::NackWt, 1, 1, false)),
        ("tu_denovo_line", |s| {
            response(s, RspOp::NackV, 1, 1, false).with("line", Bv::from_u64(LINE + 1, 27))
        }),
        ("tu_denovo_direct", |s| response(s, RspOp::NackV, 1, 1, false).with("direct", Bv::from_u64(1, 1))),
    ];
    for (name, send) in sends {
        let (mut b, s) = unit(1, 1);
        is_found(&mut b, request(&s, ReqOp::ReqV, 1, 1), send(&s), name);
    }
}

#[test]
fn an_idle_unit_sleeps() {
    let (mut b, s) = unit(1, 1);
    b.send("l1_req", request(&s, ReqOp::ReqV, 1, 1));
    b.wait("req");
    b.falls_asleep(60);
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/tu-denovo.md", &responses().to_markdown());
}
