//! The link between chips: every message arrives once, whole and in its network's order, whatever the back-pressure; the wire takes its time for every byte and its latency; no virtual network waits
//! for another.

use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_rtl::area::area;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb};
use weft_spandex::net::NETS;
use weft_spandex::net::link::{LinkParams, RX, TX, connect_wire, link_rx, link_tx};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::{Bench, Msg, random_bits};

fn system() -> Spandex {
    Spandex { cpus: 2, cus: 4, sharers: 2, banks: 4, addr_bits: 32, ..Spandex::default() }
}

/// Both ends and the wire between them.
fn link(s: &Spandex, p: LinkParams) -> Arc<Module> {
    let (tx, rx) = (link_tx(s, p).expect("legal"), link_rx(s, p).expect("legal"));
    Module::build(&format!("link_{}", p.name_part()), ModuleKind::Fabric, || {
        let (tx, rx) = (instance("tx", &tx), instance("rx", &rx));
        connect_wire(&tx, &rx, s);
        pass_in::<Req>(&tx, "req", "in_req", s);
        pass_in::<Fwd>(&tx, "fwd", "in_fwd", s);
        pass_in::<Wb>(&tx, "wb", "in_wb", s);
        pass_in::<Rsp>(&tx, "rsp", "in_rsp", s);
        pass_out::<Req>(&rx, "req", "out_req", s);
        pass_out::<Fwd>(&rx, "fwd", "out_fwd", s);
        pass_out::<Wb>(&rx, "wb", "out_wb", s);
        pass_out::<Rsp>(&rx, "rsp", "out_rsp", s);
    })
    .expect("legal")
}

struct World {
    b: Bench,
    s: Spandex,
    /// By network: messages on their way, with the cycle in which each was offered.
    sent: BTreeMap<&'static str, VecDeque<(u64, Msg)>>,
    next: u64,
    /// Bytes of all messages sent.
    bytes: u64,
    /// Cycles that the last message took.
    took: u64,
}

fn world(p: LinkParams, seed: u64) -> World {
    let s = system();
    let mut b = Bench::new(&link(&s, p), seed);
    b.source::<Req>("in_req", &s);
    b.source::<Fwd>("in_fwd", &s);
    b.source::<Wb>("in_wb", &s);
    b.source::<Rsp>("in_rsp", &s);
    b.sink::<Req>("out_req", &s);
    b.sink::<Fwd>("out_fwd", &s);
    b.sink::<Wb>("out_wb", &s);
    b.sink::<Rsp>("out_rsp", &s);
    World { b, s, sent: BTreeMap::new(), next: 0, bytes: 0, took: 0 }
}

impl World {
    /// Offers a message with so many words of data; of REQ, FWD and RSP without any it is one that has none.
    fn send(&mut self, net: &'static str, words: u32) {
        let mask = (1u64 << words) - 1;
        let base = [("line", self.next & 0x3ff_ffff), ("mask", mask)];
        self.next += 1;
        let of = |op: u64| [&base[..], &[("op", op)]].concat();
        let s = &self.s;
        let msg = match net {
            "req" => Msg::of::<Req>(s, &of(if words == 0 { ReqOp::ReqV } else { ReqOp::ReqWt } as u64)),
            "fwd" => Msg::of::<Fwd>(s, &of(if words == 0 { FwdOp::ReqO } else { FwdOp::ReqWt } as u64)),
            "wb" => Msg::of::<Wb>(s, &base),
            _ => {
                let op = if words == 0 { RspOp::RspO } else { RspOp::RspV };
                Msg::of::<Rsp>(s, &[&of(op as u64)[..], &[("extra", 0)]].concat())
            }
        };
        let data = random_bits(&mut self.b.rng, s.data_bits());
        let msg = msg.with("data", data);
        self.b.send(&format!("in_{net}"), msg.clone());
        self.bytes += 16 + 16 * u64::from(words.div_ceil(4));
        let now = self.b.sim.cycle();
        self.sent.entry(net).or_default().push_back((now, msg));
    }

    /// A cycle; everything that comes is the oldest of its network.
    fn step(&mut self) {
        self.b.step();
        for net in NETS {
            while let Some((cycle, got)) = self.b.received(&format!("out_{net}")) {
                let next = self.sent.get_mut(net).and_then(VecDeque::pop_front);
                let (begun, msg) = next.unwrap_or_else(|| panic!("{net}: nothing is on its way: {got:?}"));
                for (field, value) in &msg.0 {
                    assert_eq!(got.wide(field), value, "{net}: {field}");
                }
                self.took = cycle - begun;
            }
        }
    }

    fn left(&self, net: &str) -> usize {
        self.sent.get(net).map_or(0, VecDeque::len)
    }

    /// Cycles until everything has arrived.
    fn drain(&mut self) -> u64 {
        let begun = self.b.sim.cycle();
        while NETS.iter().any(|net| self.left(net) > 0) {
            assert!(self.b.sim.cycle() - begun < 100_000, "messages are lost");
            self.step();
        }
        self.b.sim.cycle() - begun
    }

    /// Cycles of a message alone.
    fn alone(&mut self, net: &'static str, words: u32) -> u64 {
        self.send(net, words);
        self.drain();
        self.took
    }

    fn counted(&self, what: &str) -> u64 {
        NETS.iter().map(|net| self.b.counted(&format!("{what}_{net}"))).sum()
    }
}

const NARROW: LinkParams = LinkParams { bytes: 5, latency: 12, credits: 16 };
const WIDE: LinkParams = LinkParams { bytes: 48, latency: 40, credits: 128 };
const TIGHT: LinkParams = LinkParams { bytes: 16, latency: 2, credits: 1 };

#[test]
fn every_message_arrives_once_whole_and_in_order() {
    for (seed, p) in
        [NARROW, WIDE, TIGHT, LinkParams { bytes: 1, latency: 3, credits: 2 }].into_iter().enumerate()
    {
        let mut w = world(p, seed as u64);
        for round in 0..3_000 {
            if round % 100 == 0 {
                for net in NETS {
                    let (into, out) = (format!("in_{net}"), format!("out_{net}"));
                    w.b.source_mut(&into).chance = [0.1, 0.7, 1.0][w.b.rng.random_range(0..3)];
                    w.b.sink_mut(&out).chance = [0.05, 0.5, 1.0][w.b.rng.random_range(0..3)];
                }
            }
            // About what the wire can carry.
            if w.b.rng.random_bool((f64::from(p.bytes) / 48.0).min(0.9)) {
                let words = [0, 0, 1, 4, 5, 16][w.b.rng.random_range(0..6)];
                let net = NETS[w.b.rng.random_range(0..4)];
                w.send(net, if net == "wb" { words.max(1) } else { words });
            }
            w.step();
        }
        w.b.hold_nothing();
        w.drain();
        assert_eq!((w.counted("msgs"), w.counted("bytes")), (w.next, w.bytes), "{p:?}");
    }
}

#[test]
fn a_message_takes_its_bytes_and_the_latency() {
    for p in [
        NARROW,
        WIDE,
        LinkParams { latency: 2, ..NARROW },
        LinkParams { bytes: 16, latency: 140, credits: 4 },
    ] {
        let mut w = world(p, 1);
        w.alone("req", 0);
        for net in NETS {
            for (words, bytes) in [(1, 32), (4, 32), (5, 48), (16, 80)] {
                let wire = u64::from(bytes / p.bytes).max(1);
                let cycles = w.alone(net, words);
                assert_eq!(cycles, wire + u64::from(p.latency), "{p:?} {net} {words}");
            }
        }
        let wire = u64::from(16 / p.bytes).max(1);
        assert_eq!(w.alone("req", 0), wire + u64::from(p.latency), "a header alone");
    }
}

/// With credits for a round trip the wire is never idle: bytes over bytes per cycle.
#[test]
fn the_wire_carries_its_bytes_per_cycle() {
    for (bytes, credits) in [(5, 32), (16, 64), (24, 64)] {
        let mut w = world(LinkParams { bytes, latency: 20, credits }, 2);
        let first = w.alone("wb", 16);
        w.bytes = 0;
        (0..60).for_each(|_| NETS.iter().for_each(|net| w.send(net, 16)));
        let (cycles, wire) = (w.drain(), w.bytes / u64::from(bytes));
        assert!(
            cycles.abs_diff(wire + first) <= 80 / u64::from(bytes) + 1,
            "{bytes}: {cycles}, not {wire} + {first}"
        );
    }
}

/// With fewer a network has as many messages per round trip.
#[test]
fn credits_bound_what_is_under_way() {
    let p = LinkParams { bytes: 16, latency: 50, credits: 4 };
    let mut w = world(p, 3);
    (0..40).for_each(|_| w.send("req", 0));
    let cycles = w.drain();
    // Nine times there and back, then there; each way through both ends.
    let least = (2 * 9 + 1) * 50;
    assert!((least..least + 3 * 9).contains(&cycles), "{cycles} cycles, {least} at least");
    assert!(w.b.counted("no_credit_req") > 800);
}

#[test]
fn networks_share_the_wire_in_turn() {
    let mut w = world(LinkParams { bytes: 16, latency: 10, credits: 64 }, 4);
    (0..100).for_each(|_| NETS.iter().for_each(|net| w.send(net, 16)));
    (0..1_000).for_each(|_| w.step());
    // 80 bytes are 5 cycles: 200 messages in 1,000.
    for net in NETS {
        let arrived = 100 - w.left(net);
        assert!((46..=50).contains(&arrived), "{net}: {arrived}");
    }
    w.drain();
}

/// Of a network that nobody takes from, credits and the registers at both ends are used up; the others have the wire for themselves.
#[test]
fn no_network_waits_for_another() {
    let p = LinkParams { bytes: 16, latency: 10, credits: 8 };
    for blocked in NETS {
        let mut w = world(p, 5);
        w.b.sink_mut(&format!("out_{blocked}")).chance = 0.0;
        (0..40).for_each(|_| w.send(blocked, 1));
        (0..300).for_each(|_| w.step());
        let begun = w.counted("msgs");
        // The one offered at the output has left its place.
        assert_eq!(begun, u64::from(p.credits) + 1, "{blocked}");
        let others: Vec<&'static str> = NETS.into_iter().filter(|net| *net != blocked).collect();
        (0..50).for_each(|_| others.iter().for_each(|net| w.send(net, 16)));
        (0..50 * 3 * 5 + 60).for_each(|_| w.step());
        for net in others {
            assert_eq!(w.left(net), 0, "{net} while {blocked} is blocked");
        }
        assert_eq!((w.left(blocked), w.b.counted(&format!("msgs_{blocked}"))), (40, begun));
        w.b.sink_mut(&format!("out_{blocked}")).chance = 1.0;
        w.drain();
    }
}

#[test]
fn a_link_without_traffic_sleeps() {
    let mut w = world(NARROW, 6);
    w.alone("rsp", 16);
    w.b.falls_asleep(u64::from(2 * NARROW.latency));
}

/// The receiver's rows are messages side by side; both ends become Verilog.
#[test]
fn storage_and_verilog() {
    let s = system();
    let width = |leaves: Vec<Leaf>| leaves.iter().map(|leaf| u64::from(leaf.width)).sum::<u64>();
    let message = width(leaves_of::<Req>(&s, ""))
        + width(leaves_of::<Fwd>(&s, ""))
        + width(leaves_of::<Wb>(&s, ""))
        + width(leaves_of::<Rsp>(&s, ""));
    let bits = |credits: u32| area(&link_rx(&s, LinkParams { credits, ..NARROW }).expect("legal")).total_bits;
    assert_eq!(bits(64) - bits(32), 32 * message + 4 * 5, "rows, and a bit of every pointer and count");
    for module in [link_tx(&s, NARROW).expect("legal"), link_rx(&s, NARROW).expect("legal")] {
        weft_rtl::lower::flatten(&module).expect("no loops");
        assert!(emit(&module).iter().any(|file| file.text.contains(&format!("module {}", module.name))));
    }
}

#[test]
fn links_that_cannot_be_built_are_refused() {
    for (bad, words) in [
        (LinkParams { bytes: 0, ..NARROW }, "link_bytes = 0"),
        (LinkParams { bytes: 513, ..NARROW }, "link_bytes = 513"),
        (LinkParams { latency: 1, ..NARROW }, "link_latency = 1"),
        (LinkParams { credits: 0, ..NARROW }, "link_credits = 0"),
    ] {
        let error = link_tx(&system(), bad).expect_err(words).to_string();
        assert!(error.contains(words) && error.contains("legal: "), "{error}");
    }
}

/// Both ends by name are those of half a link of the full size.
#[test]
fn both_ends_are_blocks() {
    let (s, half) = (Spandex::default(), LinkParams { bytes: 10, latency: 140, credits: 64 });
    let built = [link_tx(&s, half).expect("legal"), link_rx(&s, half).expect("legal")];
    for (name, module) in [TX, RX].into_iter().zip(built) {
        let info = weft_spandex::blocks().into_iter().find(|b| b.name == name).expect("listed");
        assert_eq!(info.with(&[]).expect("legal").name, module.name);
    }
}
