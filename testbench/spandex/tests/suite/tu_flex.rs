//! `tu-flex` alone: what passes, what is asked for again, what goes to a likely owner; a random device and network with every message counted.

use crate::units::{LINE, OWN, PEER, Reads, connect, escalates, is_found, noise, response, the_rest_passes};
use crate::words::small_spandex;
use rand::Rng;
use weft_bench::{Bench, Msg, pages, random_bits};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{FlexReq, FwdOp, GuessedReq, Req, ReqOp, Rsp, RspOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_flex::{Opred, TuFlexParams, responses, tu_flex};

fn params(n_fail: u32, opred: Opred) -> TuFlexParams {
    let spandex = Spandex { sharers: 4, sb: 2, ..small_spandex() };
    TuFlexParams { n_fail, opred, entries: 4, ..TuFlexParams::published(spandex) }
}

fn unit(n_fail: u32, opred: Opred, seed: u64) -> (Bench, Spandex) {
    let p = params(n_fail, opred);
    let s = p.spandex.clone();
    let mut b = Bench::new(&tu_flex(&p).expect("legal"), seed);
    if opred == Opred::Oracle {
        b.source::<GuessedReq>("l1_req", &s);
    } else {
        b.source::<FlexReq>("l1_req", &s);
    }
    connect(&mut b, &s);
    (b, s)
}

/// A request; `owner`: who is said to own the words, where somebody says so.
fn request(s: &Spandex, op: ReqOp, tag: u64, mask: u64, owner: Option<u64>) -> Msg {
    let fields = [
        ("flex_req_op", op as u64),
        ("flex_req_line", LINE),
        ("flex_req_mask", mask),
        ("flex_req_tag", tag),
        ("flex_req_src", OWN),
        ("flex_again", 0),
        ("known", u64::from(owner.is_some())),
        ("owner", owner.unwrap_or(0)),
    ];
    Msg::of::<GuessedReq>(s, &fields)
}

/// The same where nobody does.
fn plain(s: &Spandex, op: ReqOp, tag: u64, mask: u64) -> Msg {
    let m = request(s, op, tag, mask, None);
    Msg(m.0.into_iter().filter_map(|(k, v)| Some((k.strip_prefix("flex_")?.to_string(), v))).collect())
}

#[test]
fn everything_else_passes_as_it_is() {
    let (mut b, s) = unit(1, Opred::Off, 1);
    the_rest_passes(&mut b, &s);
    let ops = [ReqOp::ReqV, ReqOp::ReqS, ReqOp::ReqWt, ReqOp::ReqO, ReqOp::ReqOData, ReqOp::ReqWtData];
    for op in ops {
        let m =
            noise::<Req>(&mut b, &s).with("op", Bv::from_u64(op as u64, 3)).with("tag", Bv::from_u64(1, 3));
        let sent = Msg(m.0.iter().map(|(k, v)| (format!("req_{k}"), v.clone())).collect());
        b.send("l1_req", sent.with("again", Bv::from_u64(0, 1)));
        assert_eq!(b.wait("req").1, m);
    }
    let ops = [RspOp::RspO, RspOp::RspOData, RspOp::RspWb, RspOp::RspWtData, RspOp::RspWt, RspOp::NackWt];
    for op in ops {
        let m = noise::<Rsp>(&mut b, &s)
            .with("op", Bv::from_u64(op as u64, 4))
            .with("tag", Bv::from_u64(1, 3))
            .with("direct", Bv::from_u64(0, 1));
        b.send("rsp", m.clone());
        assert_eq!(b.wait("l1_rsp").1, m);
    }
}

#[test]
fn failed_words_are_asked_for_again_and_serialised_at_last() {
    for n_fail in [1, 2, 7] {
        let (mut b, s) = unit(n_fail, Opred::Off, 2);
        escalates(&mut b, &s, n_fail, |mask| plain(&s, ReqOp::ReqV, 1, mask));
    }
}

/// Option 2 of ReqS reads the words of an owner, who may have lost them: they are owned instead, however often it happens.
#[test]
fn failed_words_of_a_shared_read_are_owned() {
    let (mut b, s) = unit(1, Opred::Off, 3);
    b.send("l1_req", plain(&s, ReqOp::ReqS, 2, 0xff));
    assert_eq!(b.wait("req").1.get("op"), ReqOp::ReqS as u64);
    b.send("rsp", response(&s, RspOp::RspV, 2, 0x0f, false));
    assert_eq!(b.wait("l1_rsp").1.get("op"), RspOp::RspV as u64);
    for mask in [0x30, 0xc0] {
        b.send("rsp", response(&s, RspOp::NackV, 2, mask, false));
        let m = b.wait("req").1;
        let fields = ["op", "line", "mask", "src", "dst", "tag"];
        assert_eq!(fields.map(|f| m.get(f)), [ReqOp::ReqOData as u64, LINE, mask, OWN, 4 + LINE % 2, 2]);
        b.send("rsp", response(&s, RspOp::RspOData, 2, mask, false));
        assert_eq!(b.wait("l1_rsp").1.get("op"), RspOp::RspOData as u64);
    }
    assert_eq!(b.counted("spandex.tu_flex.retry.ReqOdata"), 2);
}

/// Reads and write-throughs go to the owner that is named, if it is another device; what is refused goes to the LLC and is not counted.
#[test]
fn direct_requests() {
    let (mut b, s) = unit(1, Opred::Oracle, 4);
    let data = random_bits(&mut b.rng, 256);
    for (op, fwd) in [(ReqOp::ReqV, FwdOp::ReqV), (ReqOp::ReqWt, FwdOp::ReqWt)] {
        let m = request(&s, op, 1, 0x5a, Some(PEER))
            .with("flex_req_data", data.clone())
            .with("flex_req_flex", Bv::from_u64(1, 1));
        b.send("l1_req", m);
        let m = b.wait("fwd_out").1;
        let fields = ["op", "line", "mask", "src", "dst", "req", "tag", "flex", "for_wt", "direct"];
        let expected = [fwd as u64, LINE, 0x5a, OWN, PEER, OWN, 1, 1, 0, 1];
        assert_eq!((fields.map(|f| m.get(f)), m.wide("data")), (expected, &data));
        assert!(b.received("req").is_none());
    }
    // The read fails there, twice: nothing is serialised.
    for _ in 0..2 {
        b.send("l1_req", request(&s, ReqOp::ReqV, 1, 0x03, Some(PEER)));
        b.wait("fwd_out");
        b.send("rsp", response(&s, RspOp::NackV, 1, 0x02, true));
        let m = b.wait("req").1;
        assert_eq!((m.get("op"), m.get("mask")), (ReqOp::ReqV as u64, 0x02));
    }
    b.send("rsp", response(&s, RspOp::NackV, 1, 0x02, false));
    assert_eq!(b.wait("req").1.get("op"), ReqOp::ReqWtData as u64, "this one counts");
    // A refused write-through is the L1's, which asks the LLC: whoever is said to own it.
    b.send("rsp", response(&s, RspOp::NackWt, 4, 0x02, true));
    assert_eq!(b.wait("l1_rsp").1.get("direct"), 1);
    let again = request(&s, ReqOp::ReqWt, 4, 0x02, Some(PEER)).with("flex_again", Bv::from_u64(1, 1));
    b.send("l1_req", again);
    assert_eq!(b.wait("req").1.get("op"), ReqOp::ReqWt as u64);
    // Nobody asks himself, nor for anything else than a read or a write-through.
    for (op, owner) in [
        (ReqOp::ReqV, Some(OWN)),
        (ReqOp::ReqV, None),
        (ReqOp::ReqO, Some(PEER)),
        (ReqOp::ReqOData, Some(PEER)),
        (ReqOp::ReqS, Some(PEER)),
        (ReqOp::ReqWtData, Some(PEER)),
    ] {
        b.send("l1_req", request(&s, op, 2, 1, owner));
        assert_eq!(b.wait("req").1.get("op"), op as u64);
    }
    assert!(b.received("fwd_out").is_none());
    assert_eq!((b.counted("spandex_tu_direct"), b.counted("spandex_tu_direct_refused")), (4, 3));
}

/// Two answers of a device make it the likely owner; a refusal makes it less likely.
#[test]
fn the_table_learns_from_answers() {
    let (mut b, s) = unit(2, Opred::Table, 5);
    let mut direct = |answer: RspOp| {
        b.send("l1_req", plain(&s, ReqOp::ReqV, 0, 1));
        b.run(4);
        let sent = b.received("fwd_out").is_some();
        assert_ne!(sent, b.received("req").is_some());
        b.send("rsp", response(&s, answer, 0, 1, sent && answer == RspOp::NackV));
        b.run(6);
        // A failed read is asked for again.
        if b.received("req").is_some() {
            b.send("rsp", response(&s, RspOp::RspV, 0, 1, false).with("src", Bv::from_u64(5, 3)));
            b.run(4);
        }
        while b.received("l1_rsp").is_some() {}
        sent
    };
    use RspOp::{NackV, RspV};
    let seen = [RspV, RspV, RspV, NackV, NackV, RspV, RspV].map(&mut direct);
    assert_eq!(seen, [false, false, true, true, true, false, true]);
}

/// Reads whose words fail again and again, with every output slow, some of them sent to owners: each word is answered once, each Nack asks once.
#[test]
fn no_word_is_lost_or_asked_for_twice() {
    for (seed, n_fail, opred) in
        [(1, 1, Opred::Off), (2, 3, Opred::Table), (3, 7, Opred::Table), (4, 2, Opred::Table)]
    {
        let (mut b, s) = unit(n_fail, opred, seed);
        b.sink_mut("req").chance = 0.4;
        b.sink_mut("fwd_out").chance = 0.4;
        let (mut reads, mut sent) = (Reads::default(), 0);
        for _ in 0..20_000 {
            if let Some((tag, mask)) = reads.begins(&mut b.rng) {
                let op = if tag == 2 { ReqOp::ReqS } else { ReqOp::ReqV };
                b.send("l1_req", plain(&s, op, tag, mask));
            }
            for channel in ["req", "fwd_out"] {
                let Some((_, m)) = b.received(channel) else { continue };
                let direct = channel == "fwd_out";
                sent += u64::from(direct);
                let op = m.get("op");
                let (read, owns) = (op == ReqOp::ReqWtData as u64, op == ReqOp::ReqOData as u64);
                reads.asks(&m, |word| {
                    let sure = !direct && (read || owns);
                    let fails = !sure && b.rng.random_bool(0.5);
                    let ok = match (read && !direct, owns && !direct) {
                        (true, _) => RspOp::RspWtData,
                        (_, true) => RspOp::RspOData,
                        _ => RspOp::RspV,
                    };
                    let op = if fails { RspOp::NackV } else { ok };
                    response(&s, op, m.get("tag"), word, fails && direct)
                });
            }
            reads.respond(&mut b);
            reads.answered(&mut b, &[RspOp::RspV, RspOp::RspOData]);
            b.step();
        }
        let done = reads.done;
        assert!(done > 200 && (sent > 100) == (opred == Opred::Table), "{done} reads, {sent} direct");
        let never = ["pass", "RspWTdata", "RspS", "direct.ReqWT", "retry.READ", "NackV.last"];
        let later = ["NackV.again", "retry.ReqV", "NackV.direct", "direct.ReqV"];
        let rows = b.uncovered(&["spandex.owner_predictor"]);
        let rest = rows.into_iter().filter(|name| {
            let is = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
            !(is(&never[..4]) || (n_fail > 2 && is(&never)) || (opred == Opred::Off && is(&later)))
        });
        assert_eq!(rest.collect::<Vec<String>>(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn impossible_messages_are_found() {
    let sends: [(&str, fn(&Spandex) -> Msg); 4] = [
        ("tu_flex_responses_complete", |s| response(s, RspOp::NackV, 0, 1, false)),
        ("tu_flex_responses_complete", |s| response(s, RspOp::RspS, 1, 1, false)),
        ("tu_flex_line", |s| response(s, RspOp::NackV, 1, 1, false).with("line", Bv::from_u64(LINE + 1, 27))),
        ("tu_flex_direct", |s| response(s, RspOp::NackV, 1, 1, true)),
    ];
    for (name, send) in sends {
        let (mut b, s) = unit(1, Opred::Off, 1);
        is_found(&mut b, plain(&s, ReqOp::ReqV, 1, 1), send(&s), name);
    }
}

#[test]
fn an_idle_unit_sleeps() {
    for opred in [Opred::Off, Opred::Oracle, Opred::Table] {
        let (mut b, s) = unit(1, opred, 1);
        let oracle = opred == Opred::Oracle;
        let ask = request(&s, ReqOp::ReqV, 1, 1, None);
        b.send("l1_req", if oracle { ask } else { plain(&s, ReqOp::ReqV, 1, 1) });
        b.wait("req");
        b.falls_asleep(60);
    }
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/tu-flex.md", &responses().to_markdown());
}
