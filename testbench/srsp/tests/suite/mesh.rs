//! `mesh`: every message arrives once, at its destination and in the order of its source, whatever the back-pressure; two cycles per hop.

use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::prelude::*;
use weft_srsp::mesh::{Grid, Place, mesh};
use weft_srsp_bench::bench::{Bench, Msg};

/// Widths of a message: nodes.
#[derive(Clone)]
struct Nodes(u32);

#[derive(Clone, Copy, Bundle)]
#[bundle(params = Nodes)]
struct Letter {
    #[width(bits_for(u64::from(p.0)))]
    src: Bits,
    #[width(bits_for(u64::from(p.0)))]
    dst: Bits,
    #[width(32)]
    number: Bits,
}

struct World {
    b: Bench,
    grid: Grid,
    shape: Nodes,
    /// Numbers under way from one node to another.
    sent: BTreeMap<(u64, u64), VecDeque<u64>>,
    next: u64,
    arrived: u64,
}

fn place(grid: Grid, dst: Bits) -> Place {
    let all: Vec<u32> = (0..grid.nodes()).collect();
    grid.place(&all, dst)
}

fn world(columns: u32, rows: u32, seed: u64) -> World {
    let grid = Grid { columns, rows };
    let shape = Nodes(grid.nodes());
    let name = format!("letters_{columns}x{rows}");
    let module = mesh::<Letter>(&name, grid, &shape, |m| place(grid, m.dst)).expect("legal");
    let mut b = Bench::new(&module, seed);
    for n in 0..grid.nodes() {
        b.source::<Letter>(&format!("in{n}"), &shape);
        b.sink::<Letter>(&format!("out{n}"), &shape);
    }
    World { b, grid, shape, sent: BTreeMap::new(), next: 0, arrived: 0 }
}

impl World {
    fn send(&mut self, src: u64, dst: u64) {
        let number = self.next;
        self.next += 1;
        self.sent.entry((src, dst)).or_default().push_back(number);
        let msg = Msg::of::<Letter>(&self.shape, &[("src", src), ("dst", dst), ("number", number)]);
        self.b.send(&format!("in{src}"), msg);
    }

    fn step(&mut self) {
        self.b.step();
        for n in 0..u64::from(self.grid.nodes()) {
            while let Some((_, m)) = self.b.received(&format!("out{n}")) {
                assert_eq!(m.get("dst"), n, "a message comes to the wrong node");
                let queue = self.sent.get_mut(&(m.get("src"), n)).expect("sent");
                assert_eq!(queue.pop_front(), Some(m.get("number")), "order from {} to {n}", m.get("src"));
                self.arrived += 1;
            }
        }
    }

    fn drain(&mut self) {
        self.b.hold_nothing();
        for _ in 0..20_000 {
            if self.arrived == self.next {
                return;
            }
            self.step();
        }
        panic!("{} of {} messages have arrived", self.arrived, self.next);
    }
}

#[test]
fn everything_arrives_in_order() {
    for (seed, (columns, rows)) in [(4, 3), (1, 5), (6, 1), (1, 1), (3, 4)].into_iter().enumerate() {
        let mut w = world(columns, rows, seed as u64);
        let nodes = u64::from(w.grid.nodes());
        for cycle in 0..4_000 {
            if cycle % 300 == 0 {
                let rng = &mut w.b.rng;
                for sink in w.b.sinks.values_mut() {
                    sink.chance = [0.02, 0.5, 1.0][rng.random_range(0..3)];
                }
            }
            for src in 0..nodes {
                let queued = w.b.source_mut(&format!("in{src}")).queue.len();
                if queued < 3 && w.b.rng.random_bool(0.3) {
                    // One node is wanted more often than others.
                    let any = w.b.rng.random_range(0..nodes);
                    let dst = if w.b.rng.random_bool(0.3) { nodes / 2 } else { any };
                    w.send(src, dst);
                }
            }
            w.step();
        }
        w.drain();
        assert!(w.arrived > 300, "{} messages", w.arrived);
    }
}

/// A message is offered two cycles per hop, and one, after the cycle in which it was taken.
#[test]
fn a_hop_takes_two_cycles() {
    let mut w = world(4, 3, 1);
    w.b.run(3);
    for (src, dst) in [(0, 0), (0, 1), (1, 0), (0, 3), (3, 8), (11, 0), (4, 8), (5, 6), (2, 10)] {
        let begun = w.b.sim.cycle();
        w.send(src, dst);
        let arrived = w.arrived;
        while w.arrived == arrived {
            w.step();
        }
        let hops = u64::from(w.grid.hops(src as u32, dst as u32));
        assert_eq!(w.b.sim.cycle() - 1 - begun, 2 * hops + 1, "from {src} to {dst}");
        w.b.run(2);
    }
}

/// Each port takes and gives one message per cycle, and streams on different links do not disturb each other.
#[test]
fn ports_take_a_message_in_every_cycle() {
    let mut w = world(4, 2, 2);
    w.b.run(3);
    let begun = w.b.sim.cycle();
    for _ in 0..100 {
        w.send(0, 7);
        w.send(3, 0);
        w.send(6, 5);
    }
    w.drain();
    let cycles = w.b.sim.cycle() - begun;
    assert!(cycles <= 100 + 2 * 4 + 2, "{cycles} cycles");
}

#[test]
fn illegal_sizes_are_refused() {
    for grid in [Grid { columns: 0, rows: 2 }, Grid { columns: 2, rows: 17 }] {
        let shape = Nodes(4);
        let found = mesh::<Letter>("letters_bad", grid, &shape, |m| Place { x: m.dst, y: m.dst });
        let error = found.map(|_| ()).expect_err("illegal").to_string();
        assert!(error.contains("legal: 1..16"), "{error}");
    }
}
