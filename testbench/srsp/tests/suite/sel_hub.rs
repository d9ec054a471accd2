//! `sel_hub`: each target gets one copy of each multicast, in order per sender; PACKs reach who asked; nothing starves under back-pressure.

use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::bv::Bv;
use weft_srsp::msg::{Cast, Pack, Probe, ProbeOp};
use weft_srsp::params::Srsp;
use weft_srsp::sel_hub::{HubParams, sel_hub};
use weft_srsp_bench::bench::{Bench, Msg};

fn hub(cus: u32, queue: u32) -> HubParams {
    HubParams { srsp: Srsp { cus, addr_bits: 40, ..Srsp::default() }, queue }
}

fn bench(p: &HubParams, seed: u64) -> Bench {
    let s = &p.srsp;
    let mut b = Bench::new(&sel_hub(p).expect("legal"), seed);
    for c in 0..s.cus {
        b.source::<Cast>(&format!("cast{c}"), s);
        b.source::<Pack>(&format!("pack_in{c}"), s);
        b.sink::<Probe>(&format!("probe{c}"), s);
        b.sink::<Pack>(&format!("pack{c}"), s);
    }
    b
}

fn cast(p: &HubParams, op: u64, addr: u64, req: u64, dst: &[bool]) -> Msg {
    let s = &p.srsp;
    let bit = |i: u32| dst[i as usize];
    let mask = Bv::concat(&(0..s.cus).map(|i| Bv::from_u64(u64::from(bit(i)), 1)).collect::<Vec<_>>());
    Msg::of::<Cast>(s, &[("probe_op", op), ("probe_addr", addr), ("probe_req", req)]).with("dst", mask)
}

struct World {
    p: HubParams,
    b: Bench,
    /// Probes still to come, by sender and target, in order.
    probes: BTreeMap<(u64, u64), VecDeque<(u64, u64)>>,
    /// PACKs still to come, by sender and receiver.
    packs: BTreeMap<(u64, u64), VecDeque<u64>>,
    sent: u64,
    copies: u64,
    answers: u64,
}

impl World {
    fn send(&mut self) {
        let n = u64::from(self.p.srsp.cus);
        for c in 0..n {
            if self.b.source_mut(&format!("cast{c}")).queue.is_empty() && self.b.rng.random_bool(0.1) {
                let wide = self.b.rng.random_bool(0.6);
                let dst: Vec<bool> =
                    (0..n).map(|i| i != c && (wide || self.b.rng.random_bool(0.2))).collect();
                let (op, addr) = (self.b.rng.random_range(0..5), self.b.rng.random_range(0..1 << 40));
                let msg = cast(&self.p, op, addr, c, &dst);
                self.b.send(&format!("cast{c}"), msg);
                for to in (0..n).filter(|i| dst[*i as usize]) {
                    self.probes.entry((c, to)).or_default().push_back((op, addr));
                    self.copies += 1;
                }
                self.sent += 1;
            }
        }
    }

    /// A target answers a probe some time later.
    fn receive(&mut self) {
        let n = u64::from(self.p.srsp.cus);
        for c in 0..n {
            while let Some((_, m)) = self.b.received(&format!("probe{c}")) {
                let due = self.probes.get_mut(&(m.get("req"), c)).and_then(VecDeque::pop_front);
                assert_eq!(Some((m.get("op"), m.get("addr"))), due, "from {} to {c}", m.get("req"));
                let hit = self.b.rng.random_range(0..2);
                let fields = [("src", c), ("dst", m.get("req")), ("hit", hit)];
                self.b.send(&format!("pack_in{c}"), Msg::of::<Pack>(&self.p.srsp, &fields));
                self.packs.entry((c, m.get("req"))).or_default().push_back(hit);
            }
            while let Some((_, m)) = self.b.received(&format!("pack{c}")) {
                let due = self.packs.get_mut(&(m.get("src"), c)).and_then(VecDeque::pop_front);
                assert_eq!((m.get("dst"), Some(m.get("hit"))), (c, due));
                self.answers += 1;
            }
        }
    }
}

fn trial(cus: u32, queue: u32, seed: u64) -> Bench {
    let p = hub(cus, queue);
    let b = bench(&p, seed);
    let (probes, packs) = (BTreeMap::new(), BTreeMap::new());
    let mut w = World { p, b, probes, packs, sent: 0, copies: 0, answers: 0 };
    for cycle in 0..9_000 {
        if cycle % 100 == 0 {
            for sink in w.b.sinks.values_mut() {
                sink.chance = w.b.rng.random_range(0.05..1.0);
            }
        }
        if cycle < 3_000 {
            w.send();
        } else if cycle == 3_000 {
            w.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
        }
        w.b.step();
        w.receive();
    }
    let left = |queues: usize| assert_eq!(queues, 0, "messages that never came");
    left(w.probes.values().map(VecDeque::len).sum());
    left(w.packs.values().map(VecDeque::len).sum());
    assert_eq!(w.answers, w.copies);
    assert_eq!(w.b.counted("hub_multicasts"), w.sent);
    assert_eq!((w.b.counted("hub_copies"), w.b.counted("hub_packs")), (w.copies, w.copies));
    assert!(cus == 1 || w.copies > 300, "{} copies", w.copies);
    w.b
}

#[test]
fn every_target_gets_every_probe_once() {
    for (seed, (cus, queue)) in [(1, 4), (2, 1), (5, 4), (11, 2)].into_iter().enumerate() {
        let b = trial(cus, queue, seed as u64);
        let but: &[&str] = if cus <= 2 { &["srsp.race.hub"] } else { &[] };
        assert_eq!(b.uncovered(but), [""; 0], "{cus} CUs");
    }
}

/// One multicast per cycle while every queue has room; a PACK per cycle and L1.
#[test]
fn multicasts_follow_each_other_without_a_gap() {
    let p = hub(8, 4);
    let mut b = bench(&p, 7);
    for i in 0..40u64 {
        for c in 0..4 {
            let dst: Vec<bool> = (0..8).map(|t| t >= 4).collect();
            b.send(&format!("cast{c}"), cast(&p, ProbeOp::SelInv as u64, i, c, &dst));
        }
        for (from, to) in [(4, 0), (5, 1), (6, 2), (7, 3)] {
            let fields = [("src", from), ("dst", to), ("hit", 0)];
            b.send(&format!("pack_in{from}"), Msg::of::<Pack>(&p.srsp, &fields));
        }
    }
    let mut last = [0; 8];
    b.run(200);
    for (c, last) in last.iter_mut().enumerate() {
        let name = if c < 4 { format!("pack{c}") } else { format!("probe{c}") };
        let mut count = 0;
        while let Some((cycle, _)) = b.received(&name) {
            (*last, count) = (cycle, count + 1);
        }
        assert_eq!(count, if c < 4 { 40 } else { 160 }, "{name}");
    }
    assert!(last[..4].iter().all(|cycle| *cycle < 40 + 8), "PACKs: {last:?}");
    assert!(last[4..].iter().all(|cycle| *cycle < 160 + 8), "probes: {last:?}");
}

/// A target that takes nothing for a while holds up others, but no copy is lost or doubled.
#[test]
fn a_slow_target_gets_its_copies_in_the_end() {
    let p = hub(4, 1);
    let mut b = bench(&p, 8);
    b.sink_mut("probe3").chance = 0.0;
    for i in 0..6 {
        b.send("cast0", cast(&p, 0, i, 0, &[false, true, true, true]));
    }
    b.run(50);
    // One in each output, one in the queue, and one that is pending there but has reached the others.
    assert_eq!(b.sink_mut("probe1").got.len(), 4);
    b.sink_mut("probe3").chance = 1.0;
    b.run(50);
    for c in 1..4 {
        assert_eq!(b.sink_mut(&format!("probe{c}")).got.len(), 6);
    }
}

#[test]
fn illegal_queues_are_refused() {
    assert!(sel_hub(&hub(2, 0)).is_err() && sel_hub(&hub(2, 65)).is_err());
}
