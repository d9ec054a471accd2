//! The memory behind the banks of a whole system: lines, answered late and in any order.

use crate::bench::locks::Below;
use crate::bench::{Bench, Msg};
use rand::Rng;
use std::collections::BTreeMap;
use weft_rtl::bv::Bv;
use weft_spandex::msg::{MemReq, MemRsp};
use weft_spandex::params::Spandex;

/// Memory controllers of all banks.
pub struct Memory {
    s: Spandex,
    lines: BTreeMap<u64, Bv>,
    /// When, bank, answer.
    answers: Vec<(u64, u32, Msg)>,
    /// Longest time to an answer.
    pub delay: u64,
    /// Lines read so far.
    pub reads: u64,
    /// Lines written so far.
    pub written: u64,
}

impl Memory {
    /// A memory of zeros.
    pub fn new(s: &Spandex) -> Memory {
        Memory { s: s.clone(), lines: BTreeMap::new(), answers: Vec::new(), delay: 30, reads: 0, written: 0 }
    }

    /// A line.
    pub fn line(&self, line: u64) -> Bv {
        self.lines.get(&line).cloned().unwrap_or_else(|| Bv::zero(self.s.data_bits()))
    }
}

impl Below for Memory {
    fn connect(&self, b: &mut Bench) {
        for bank in 0..self.s.banks {
            b.sink::<MemReq>(&format!("mem{bank}_req"), &self.s);
            b.source::<MemRsp>(&format!("mem{bank}_rsp"), &self.s);
        }
    }

    fn send(&mut self, b: &mut Bench) {
        let now = b.sim.cycle();
        while let Some(at) = self.answers.iter().position(|a| a.0 <= now) {
            let (_, bank, msg) = self.answers.swap_remove(at);
            b.send(&format!("mem{bank}_rsp"), msg);
        }
    }

    fn take(&mut self, b: &mut Bench, now: u64) {
        for bank in 0..self.s.banks {
            while let Some((_, m)) = b.received(&format!("mem{bank}_req")) {
                let line = m.get("line");
                assert_eq!(line % u64::from(self.s.banks), u64::from(bank), "a line of another bank");
                if m.get("write") == 1 {
                    self.written += 1;
                    self.lines.insert(line, m.wide("data").clone());
                } else {
                    self.reads += 1;
                    let msg =
                        Msg::of::<MemRsp>(&self.s, &[("tbe", m.get("tbe"))]).with("data", self.line(line));
                    self.answers.push((now + b.rng.random_range(1..=self.delay), bank, msg));
                }
            }
        }
    }

    fn clear(&mut self, line: u64) {
        self.lines.remove(&line);
    }

    fn change(&mut self, b: &mut Bench) {
        self.delay = [1, 30, 200][b.rng.random_range(0..3)];
        for (name, sink) in &mut b.sinks {
            let chance = [0.2, 1.0][b.rng.random_range(0..2)];
            sink.chance = if name.starts_with("mem") { chance } else { 1.0 };
        }
    }
}
