//! The bank among random devices, above an L3 whose CPUs write versions of words.

use crate::gpu_l2::l3::{Around, L3, State, cycle, to_its_end};
use rand::Rng;
use rand::rngs::SmallRng;
use std::sync::Arc;
use weft_rtl::prelude::*;
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex_bench::bench::{Bench, Msg};
use weft_spandex_bench::devices::{Below, Geometry, Kind, Line, To, base, is_data};

/// A bank of the GPU L2 among devices.
pub type World = weft_spandex_bench::devices::World<L3>;

/// A bank with idle devices; `count` lines of it are used, in few sets.
pub fn world_of(p: &GpuL2Params, kinds: &[Kind], count: usize, seed: u64) -> World {
    let geometry = Geometry { s: p.bank.s.clone(), sets: p.bank.sets(), sharers: false };
    World::over(L3::new(p), geometry, kinds, count, seed)
}

/// Number of a CPU, after those of devices, for the scoreboard.
fn reader(w: &World, cpu: u64) -> usize {
    w.devs.len() + cpu as usize
}

impl Around for World {
    fn l3(&mut self) -> &mut L3 {
        &mut self.below
    }
    fn rng(&mut self) -> &mut SmallRng {
        &mut self.b.rng
    }
    fn now(&self) -> u64 {
        self.b.sim.cycle()
    }
    fn delay(&self) -> u64 {
        self.delay
    }
    fn any_line(&mut self) -> u64 {
        self.lines[self.b.rng.random_range(0..self.lines.len())]
    }
    fn sent(&mut self, channel: &'static str) -> Option<Msg> {
        self.b.received(channel).map(|(_, m)| m)
    }
    fn to_bank(&mut self, channel: &'static str, m: Msg) {
        self.send(To::Bank(channel), m);
    }
    fn words(&mut self, line: u64) -> &mut Vec<u32> {
        self.line_of(line)
    }
    fn wrong(&mut self, text: String) {
        self.complain(text);
    }
    fn happened(&mut self, what: &str) {
        self.count(what);
    }
    fn floor(&mut self, line: u64) -> Vec<u32> {
        self.floors(line)
    }

    fn read_by(&mut self, cpu: u64, line: u64, floor: &[u32], values: &[u32]) {
        for (word, value) in values.iter().enumerate() {
            let d = reader(self, cpu);
            self.reads(d, (line, word as u32), *value, floor[word]);
        }
    }

    fn write_by(&mut self, cpu: u64, line: u64) {
        let d = reader(self, cpu);
        let mut words = self.line_of(line).clone();
        for word in 0..self.p.s.words() {
            if !self.b.rng.random_bool(0.4) {
                continue;
            }
            let value = words[word as usize];
            if !is_data(line, word) {
                self.word(line, word).begun += 1;
                self.added(d, line, word, value);
            } else if self.word(line, word).writer.is_none() {
                let done = self.word(line, word).done;
                if value != base(line, word) + done {
                    let text = format!("CPU {cpu} owns {line:#x}.{word} = {value:#x}");
                    self.complain(format!("{text}, version {done} is complete"));
                }
                self.begin_write(d, line, word);
                self.end_write(line, word);
            } else {
                continue;
            }
            words[word as usize] = value + 1;
            self.count("CPU writes");
        }
        *self.line_of(line) = words;
    }

    fn back(&mut self, line: u64) {
        for word in 0..self.p.s.words() {
            let (versions, value) = (*self.word(line, word), self.line_of(line)[word as usize]);
            let version = value.wrapping_sub(base(line, word));
            if version < versions.done || version > versions.begun {
                self.complain(format!("{line:#x}.{word} comes back as {value:#x}, {versions:?}"));
            }
        }
    }
}

impl Below for L3 {
    const FORWARDS: bool = false;

    fn module(&self) -> Arc<Module> {
        gpu_l2(self.params()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn open(&self, b: &mut Bench) {
        crate::gpu_l2::l3::open(b, &self.params().bank.s);
    }

    fn step(w: &mut World) {
        cycle(w);
    }

    fn shuffle(w: &mut World) {
        w.below.pester = [0.002, 0.02, 0.2][w.b.rng.random_range(0..3)];
        w.reads = [0.0, 0.0, 0.9][w.b.rng.random_range(0..3)];
        w.below.log.clear();
    }

    fn calm(w: &mut World) {
        to_its_end(w);
    }

    fn quiet(&self) -> bool {
        self.idle()
    }

    fn reset(&mut self) {
        self.clear();
    }

    fn line(w: &World, line: u64) -> Option<Line> {
        let p = &w.below.params().bank;
        let index = line >> p.s.bank_select();
        let (set, tag) = ((index % u64::from(p.sets())) as u32, index / u64::from(p.sets()));
        (0..p.ways).find_map(|way| {
            let packed = w.peek("tags", set, way);
            let state = packed >> p.tag_bits() & 3;
            let found = state != 0 && packed & ((1 << p.tag_bits()) - 1) == tag;
            found.then(|| Line {
                // S here is no state of sharers below the bank.
                state: if state == 1 { PERM_S } else { state + 1 },
                dirty: state == 3,
                owned: w.peek("owned", set, way),
                sharers: 0,
                words: (0..p.s.words())
                    .map(|word| w.peek("lines", set * p.ways + way, word) as u32)
                    .collect(),
            })
        })
    }

    fn check_rest(w: &mut World, line: u64) {
        let (there, state) = (w.line(line), w.below.state(line));
        let perm = there.as_ref().map_or(0, |l| l.state);
        let agrees = match perm {
            0 => state != State::Gpu,
            PERM_S => matches!(state, State::Ss(_, true)),
            _ => state == State::Gpu,
        };
        if !agrees {
            w.complain(format!("{line:#x}: the bank has {perm}, the L3 {state:?}"));
        }
        let clean = there.filter(|l| !l.dirty && l.words != *w.line_of(line));
        if let Some(l) = clean {
            w.complain(format!("{line:#x} is clean, but not as in the L3: {l:x?}"));
        }
    }
}

/// States of [`Line`]: what the L3 has granted.
pub const PERM_S: u64 = 1;
pub const PERM_E: u64 = 3;
pub const PERM_M: u64 = 4;
