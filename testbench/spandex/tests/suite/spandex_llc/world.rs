//! The bank above a memory channel.

use rand::Rng;
use std::collections::BTreeSet;
use std::sync::Arc;
use weft_rtl::prelude::*;
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::msg::{MemReq, MemRsp};
use weft_spandex_bench::bench::{Bench, Msg};
use weft_spandex_bench::devices::{Below, Geometry, Kind, Line, wide, words_of};

pub use weft_spandex_bench::devices::{To, base};

/// A bank of the LLC among devices.
pub type World = weft_spandex_bench::devices::World<Memory>;

/// A bank with idle devices; `count` lines of it are used, in few sets.
pub fn world_of(p: &LlcParams, kinds: &[Kind], count: usize, seed: u64) -> World {
    let memory = Memory { p: p.clone(), held_lines: BTreeSet::new(), held_answers: Vec::new(), delay: 30 };
    World::over(
        memory,
        Geometry { s: p.bank.s.clone(), sets: p.bank.sets(), sharers: p.sharer_bits() > 0 },
        kinds,
        count,
        seed,
    )
}

/// The memory.
pub struct Memory {
    p: LlcParams,
    /// Lines that are not answered, and the answers.
    pub held_lines: BTreeSet<u64>,
    held_answers: Vec<(u64, Msg)>,
    /// Longest time.
    pub delay: u64,
}

/// Answers for a line again.
pub fn release(w: &mut World, line: u64) {
    w.below.held_lines.remove(&line);
    let (now, later): (Vec<_>, Vec<_>) =
        std::mem::take(&mut w.below.held_answers).into_iter().partition(|a| a.0 == line);
    w.below.held_answers = later;
    now.into_iter().for_each(|(_, m)| w.b.send("mem_rsp", m));
}

impl Below for Memory {
    const FORWARDS: bool = true;

    fn module(&self) -> Arc<Module> {
        spandex_llc(&self.p).unwrap_or_else(|e| panic!("{e}"))
    }

    fn open(&self, b: &mut Bench) {
        b.source::<MemRsp>("mem_rsp", &self.p.bank.s);
        b.sink::<MemReq>("mem_req", &self.p.bank.s);
    }

    fn step(w: &mut World) {
        while let Some((_, m)) = w.b.received("mem_req") {
            let line = m.get("line");
            if m.get("write") == 1 {
                *w.line_of(line) = words_of(m.wide("data"));
                w.count("memory writes");
                continue;
            }
            let data = wide(&w.line_of(line).clone());
            let answer = Msg::of::<MemRsp>(&w.p.s, &[("tbe", m.get("tbe"))]).with("data", data);
            w.count("memory reads");
            if w.below.held_lines.contains(&line) {
                w.below.held_answers.push((line, answer));
                continue;
            }
            let due = w.b.sim.cycle() + w.b.rng.random_range(0..=w.below.delay);
            w.post.push((due, To::Bank("mem_rsp"), answer));
        }
    }

    fn shuffle(w: &mut World) {
        w.below.delay = [0, 40, 200][w.b.rng.random_range(0..3)];
    }

    fn calm(_: &mut World) {}

    fn quiet(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.held_answers.clear();
    }

    fn line(w: &World, line: u64) -> Option<Line> {
        let p = &w.below.p;
        let index = line >> p.bank.s.bank_select();
        let (set, tag) = ((index % u64::from(p.bank.sets())) as u32, index / u64::from(p.bank.sets()));
        (0..p.bank.ways).find_map(|way| {
            let packed = w.peek("tags", set, way);
            let state = packed >> p.bank.tag_bits() & 3;
            let found = state != 0 && packed & ((1 << p.bank.tag_bits()) - 1) == tag;
            found.then(|| Line {
                state,
                dirty: packed >> (p.bank.tag_bits() + 2) & 1 == 1,
                owned: w.peek("owned", set, way),
                sharers: if p.sharer_bits() > 0 { w.peek("sharers", set, way) } else { 0 },
                words: (0..p.bank.s.words())
                    .map(|word| w.peek("lines", set * p.bank.ways + way, word) as u32)
                    .collect(),
            })
        })
    }

    fn check_rest(_: &mut World, _: u64) {}
}
