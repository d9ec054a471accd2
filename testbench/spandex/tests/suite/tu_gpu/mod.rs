//! `tu-gpu` alone: messages one by one and at random, back-pressure, messages that cannot come. The tests of `gpu-l1` have the unit below it, too.

mod random;

use crate::words::{line_of, small_spandex};
use weft_bench::{Bench, Msg, random_bits};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{Fwd, FwdOp, GpuOp, GpuReq, GpuRsp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_gpu::{TuGpuParams, tu_gpu};

const OWN: u64 = 2;
/// Node of a bank; of another device.
const BANK: u64 = 4;
const PEER: u64 = 1;
const LINE: u64 = 0x1235;

struct Unit {
    b: Bench,
    s: Spandex,
}

impl Unit {
    fn new(n_fail: u32) -> Unit {
        let s = Spandex { sb: 2, ..small_spandex() };
        let p = TuGpuParams { n_fail, ..TuGpuParams::published(s.clone()) };
        let mut b = Bench::new(&tu_gpu(&p).expect("legal"), u64::from(n_fail));
        b.source::<GpuReq>("l1_req", &s);
        b.sink::<GpuRsp>("l1_rsp", &s);
        b.sink::<Req>("req", &s);
        b.sink::<Wb>("wb", &s);
        b.sink::<Rsp>("rsp_out", &s);
        b.sink::<Fwd>("fwd_out", &s);
        b.source::<Fwd>("fwd", &s);
        b.source::<Rsp>("rsp", &s);
        b.set("own", OWN);
        b.run(5);
        Unit { b, s }
    }

    /// A request of the L1; what goes to the bank.
    fn ask(&mut self, op: GpuOp, tag: u64, mask: u64) -> Msg {
        let fields =
            [("op", op as u64), ("line", LINE), ("mask", mask), ("tag", tag), ("amo", WordOp::Add as u64)];
        self.b.send("l1_req", Msg::of::<GpuReq>(&self.s, &fields));
        self.b.wait("req").1
    }

    fn message(&self, op: RspOp, tag: u64, mask: u64, src: u64) -> Msg {
        let fields = [
            ("op", op as u64),
            ("line", LINE),
            ("mask", mask),
            ("extra", 0),
            ("src", src),
            ("tag", tag),
            ("direct", 0),
        ];
        Msg::of::<Rsp>(&self.s, &fields)
    }

    /// A response whose words are all of one number.
    fn respond(&mut self, op: RspOp, tag: u64, mask: u64, src: u64, word: u32) {
        let m = self.message(op, tag, mask, src).with("data", line_of(&[word; 8]));
        self.b.send("rsp", m);
    }

    fn fails(&mut self, cycles: u64) -> Option<String> {
        (0..cycles).for_each(|_| self.b.advance());
        self.b.sim.failures().first().map(|f| format!("{f:?}"))
    }
}

#[test]
fn requests_are_translated() {
    let mut u = Unit::new(1);
    let m = u.ask(GpuOp::Rd, 2, 1);
    let fields = ["op", "line", "mask", "src", "dst", "tag", "flex", "fwd"];
    let read = [ReqOp::ReqV as u64, LINE, 0xff, OWN, BANK + LINE % 2, 2, 0, 0];
    assert_eq!(fields.map(|f| m.get(f)), read, "the whole line");
    let m = u.ask(GpuOp::Wt, 4, 0x14);
    assert_eq!(fields.map(|f| m.get(f)), [ReqOp::ReqWt as u64, LINE, 0x14, OWN, BANK + LINE % 2, 4, 0, 0]);
    let m = u.ask(GpuOp::At, 0, 2);
    assert_eq!(fields.map(|f| m.get(f)), [ReqOp::ReqWtData as u64, LINE, 2, OWN, BANK + LINE % 2, 0, 0, 0]);
    assert_eq!(m.get("amo"), WordOp::Add as u64);
}

/// Parts in any order, extras among them that name words of other responders.
#[test]
fn a_line_is_gathered() {
    let mut u = Unit::new(1);
    u.ask(GpuOp::Rd, 1, 0);
    u.respond(RspOp::RspV, 1, 0x0f, PEER, 7);
    let extras = u
        .message(RspOp::RspV, 1, 0x30, BANK)
        .with("data", line_of(&[8; 8]))
        .with("extra", Bv::from_u64(0xcf, 8));
    u.b.send("rsp", extras);
    u.b.run(10);
    assert!(u.b.received("l1_rsp").is_none(), "two words are outstanding");
    u.respond(RspOp::RspV, 1, 0xc0, BANK, 9);
    let sent = u.b.sim.cycle();
    let (cycle, m) = u.b.wait("l1_rsp");
    assert_eq!((m.get("op"), m.get("tag"), m.get("peer")), (GpuOp::Rd as u64, 1, 1));
    assert_eq!(m.wide("data"), &line_of(&[7, 7, 7, 7, 8, 8, 9, 9]));
    assert_eq!(cycle - sent, 2, "one cycle into the line buffer, one to the L1");
    assert_eq!(u.b.counted("spandex.race.gpu_extra_outstanding"), 1);
    // The next read of this MSHR knows nothing of it.
    u.ask(GpuOp::Rd, 1, 0);
    u.respond(RspOp::RspV, 1, 0xff, BANK, 3);
    let m = u.b.wait("l1_rsp").1;
    assert_eq!((m.wide("data"), m.get("peer")), (&line_of(&[3; 8]), 0));
}

#[test]
fn write_throughs_are_gathered() {
    let mut u = Unit::new(1);
    u.ask(GpuOp::Wt, 3, 0x0f);
    u.respond(RspOp::RspWt, 3, 0x05, PEER, 0);
    u.respond(RspOp::RspWt, 3, 0x02, BANK, 0);
    u.b.run(10);
    assert!(u.b.received("l1_rsp").is_none());
    u.respond(RspOp::RspWt, 3, 0x08, 3, 0);
    let m = u.b.wait("l1_rsp").1;
    assert_eq!((m.get("op"), m.get("tag")), (GpuOp::Wt as u64, 3));
}

#[test]
fn an_atomic_gets_its_old_words() {
    let mut u = Unit::new(1);
    u.ask(GpuOp::At, 1, 0x81);
    u.respond(RspOp::RspWtData, 1, 0x81, BANK, 6);
    let m = u.b.wait("l1_rsp").1;
    assert_eq!(
        (m.get("op"), m.wide("data").slice(0, 32).low_u64(), m.wide("data").slice(224, 32).low_u64()),
        (GpuOp::At as u64, 6, 6)
    );
}

/// Nacks: `n_fail` of them, then READ; Nacks that come before the words are asked for again join.
#[test]
fn failed_words_are_asked_for_again() {
    let mut u = Unit::new(3);
    u.ask(GpuOp::Rd, 0, 0);
    u.b.sink_mut("req").chance = 0.0;
    u.respond(RspOp::NackV, 0, 0x03, PEER, 0);
    u.respond(RspOp::NackV, 0, 0x04, 3, 0);
    u.b.run(5);
    u.respond(RspOp::RspV, 0, 0xf0, BANK, 1);
    u.b.run(5);
    u.b.sink_mut("req").chance = 1.0;
    let mut masks = vec![];
    for _ in 0..2 {
        u.b.run(3);
        while let Some((_, m)) = u.b.received("req") {
            assert_eq!(m.get("op"), ReqOp::ReqV as u64);
            masks.push(m.get("mask"));
        }
    }
    assert_eq!(masks.iter().sum::<u64>(), 7, "each failed word once: {masks:?}");
    assert!(masks.len() <= 2);
    // The third Nack of this read.
    u.respond(RspOp::NackV, 0, 0x05, PEER, 0);
    let m = u.b.wait("req").1;
    let read = [ReqOp::ReqWtData as u64, 5, WordOp::Read as u64];
    assert_eq!(["op", "mask", "amo"].map(|f| m.get(f)), read);
    u.respond(RspOp::RspWtData, 0, 0x05, BANK, 4);
    u.b.run(5);
    assert!(u.b.received("l1_rsp").is_none(), "a word is outstanding");
    // And the fourth.
    u.respond(RspOp::NackV, 0, 0x02, PEER, 0);
    assert_eq!(u.b.wait("req").1.get("op"), ReqOp::ReqWtData as u64);
    u.respond(RspOp::RspV, 0, 0x08, BANK, 2);
    u.respond(RspOp::RspWtData, 0, 0x02, BANK, 5);
    assert_eq!(u.b.wait("l1_rsp").1.wide("data"), &line_of(&[4, 5, 4, 2, 1, 1, 1, 1]));
}

/// Section 2, rule 1: responses are taken while no output moves.
#[test]
fn responses_sink_while_every_output_waits() {
    let mut u = Unit::new(1);
    for tag in 0..3 {
        u.ask(GpuOp::Rd, tag, 0);
    }
    for tag in 3..5 {
        u.ask(GpuOp::Wt, tag, 0xff);
    }
    for out in ["req", "l1_rsp", "rsp_out"] {
        u.b.sink_mut(out).chance = 0.0;
    }
    (0..4).for_each(|_| u.b.send("fwd", forward(&u.s, FwdOp::Inv)));
    u.b.run(10);
    for tag in 0..3 {
        u.respond(RspOp::NackV, tag, 0x01, PEER, 0);
        u.respond(RspOp::RspV, tag, 0xfe, BANK, tag as u32);
    }
    for tag in 3..5 {
        u.respond(RspOp::RspWt, tag, 0xf0, BANK, 0);
        u.respond(RspOp::RspWt, tag, 0x0f, PEER, 0);
    }
    u.b.run(11);
    assert!(u.b.source_mut("rsp").queue.is_empty(), "one response per cycle is taken");
    (0..60).for_each(|_| u.b.sim.step());
    assert!(u.b.sim.asleep(), "what waits for outputs changes nothing");
    for out in ["req", "l1_rsp", "rsp_out"] {
        u.b.sink_mut(out).chance = 1.0;
    }
    u.b.run(10);
    let retried: Vec<u64> = std::iter::from_fn(|| u.b.received("req")).map(|(_, m)| m.get("tag")).collect();
    assert_eq!(retried.len(), 3, "{retried:?}");
    (0..3).for_each(|tag| u.respond(RspOp::RspWtData, tag, 0x01, BANK, 9));
    u.b.run(20);
    let mut done: Vec<u64> =
        std::iter::from_fn(|| u.b.received("l1_rsp")).map(|(_, m)| m.get("tag")).collect();
    done.sort_unstable();
    assert_eq!(done, [0, 1, 2, 3, 4]);
    assert_eq!(std::iter::from_fn(|| u.b.received("rsp_out")).count(), 4);
}

fn forward(s: &Spandex, op: FwdOp) -> Msg {
    let fields = [
        ("op", op as u64),
        ("line", LINE),
        ("mask", 6),
        ("src", BANK + 1),
        ("req", 3),
        ("tag", 5),
        ("tbe", 2),
        ("direct", 1),
    ];
    Msg::of::<Fwd>(s, &fields)
}

#[test]
fn forwards_find_nothing() {
    let mut u = Unit::new(1);
    let fields = ["op", "line", "src", "dst", "tag", "direct"];
    for (op, rsp, dst, tag, direct) in [
        (FwdOp::Inv, RspOp::Ack, BANK + 1, 2, 0),
        (FwdOp::ReqV, RspOp::NackV, 3, 5, 1),
        (FwdOp::ReqWt, RspOp::NackWt, 3, 5, 1),
    ] {
        u.b.send("fwd", forward(&u.s, op));
        let m = u.b.wait("rsp_out").1;
        assert_eq!(fields.map(|f| m.get(f)), [rsp as u64, LINE, OWN, dst, tag, direct]);
        assert!(op == FwdOp::Inv || m.get("mask") == 6);
    }
}

/// Messages that cannot come fail an assertion of the hardware.
#[test]
fn impossible_messages_are_found() {
    let found = |send: &dyn Fn(&mut Unit), name: &str| {
        let mut u = Unit::new(1);
        u.ask(GpuOp::Rd, 1, 0);
        u.ask(GpuOp::Wt, 3, 3);
        send(&mut u);
        let failure = u.fails(10).unwrap_or_else(|| panic!("{name} is not found"));
        assert!(failure.contains(name), "{failure}");
    };
    found(&|u| u.respond(RspOp::RspV, 0, 1, BANK, 0), "tu_gpu_responses_complete");
    found(&|u| u.respond(RspOp::RspWt, 4, 1, BANK, 0), "tu_gpu_responses_complete");
    found(&|u| u.respond(RspOp::RspV, 6, 1, BANK, 0), "tu_gpu_responses_complete");
    found(&|u| u.respond(RspOp::NackWt, 3, 1, PEER, 0), "tu_gpu_responses_complete");
    found(&|u| u.respond(RspOp::RspO, 1, 1, PEER, 0), "tu_gpu_responses_complete");
    found(&|u| u.respond(RspOp::RspWt, 3, 4, BANK, 0), "tu_gpu_outstanding");
    found(
        &|u| {
            u.respond(RspOp::RspV, 1, 1, BANK, 0);
            u.respond(RspOp::RspV, 1, 1, BANK, 0);
        },
        "tu_gpu_outstanding",
    );
    found(
        &|u| {
            let m = u.message(RspOp::RspV, 1, 1, BANK).with("line", Bv::from_u64(LINE + 1, 27));
            u.b.send("rsp", m);
        },
        "tu_gpu_line",
    );
    found(
        &|u| {
            let m = u.message(RspOp::NackV, 1, 1, BANK).with("direct", Bv::from_u64(1, 1));
            u.b.send("rsp", m);
        },
        "tu_gpu_direct",
    );
    for op in [FwdOp::RvkO, FwdOp::ReqO, FwdOp::ReqOData, FwdOp::ReqS] {
        found(
            &|u| {
                let m = forward(&u.s, op);
                u.b.send("fwd", m);
            },
            "tu_gpu_forwards_complete",
        );
    }
    let asks = |u: &mut Unit, op: GpuOp, tag: u64| {
        let noise = random_bits(&mut u.b.rng, 256);
        let fields = [("op", op as u64), ("line", LINE), ("mask", 1), ("tag", tag)];
        let m = Msg::of::<GpuReq>(&u.s, &fields).with("data", noise);
        u.b.send("l1_req", m);
    };
    found(&|u| asks(u, GpuOp::Rd, 1), "tu_gpu_requests_complete");
    found(&|u| asks(u, GpuOp::Rd, 4), "tu_gpu_tag");
}
