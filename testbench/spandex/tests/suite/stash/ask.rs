//! What the CUs of [`World`] ask for.

use crate::stash::golden::Kind;
use crate::stash::hand::{Area, W};
use crate::stash::system::{KINDS, LINES};
use crate::stash::world::{Open, World};
use crate::words::{bytes_of, line_at};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use weft_bench::Msg;
use weft_blocks::msg::{CuOp, CuReq};
use weft_rtl::bv::Bv;
use weft_spandex::stash::{StashMap, StashReq};

impl World {
    /// Global words of a port's loads that are not answered.
    pub fn reads(&self, port: usize) -> BTreeSet<u64> {
        let mine = self.open.iter().filter(|(at, _)| at.0 == port);
        let loads = mine.filter_map(|(_, (open, _))| match open {
            Open::Load(words) => Some(words.values().copied()),
            Open::Ack(_) => None,
        });
        loads.flatten().collect()
    }

    fn value(&mut self) -> u32 {
        self.stores += 1;
        self.stores
    }

    /// Asks a port for something.
    pub fn ask(&mut self, port: usize) {
        if self.b.source_mut(&format!("d{port}_cu_req")).queue.len() > 2 {
            return;
        }
        match KINDS[port] {
            Kind::Stash => self.ask_stash(port),
            Kind::Denovo | Kind::Gpu => self.ask_l1(port),
        }
    }

    fn ask_stash(&mut self, port: usize) {
        if self.b.rng.random_bool(0.02) && !self.changing.contains_key(&port) {
            self.remap(port);
            return;
        }
        let changing = self.changing.get(&port).map(|(index, area)| self.golden.touches(port, *index, *area));
        let reads = self.reads(port);
        let stores = self.b.rng.random_bool(0.5);
        let (golden, changing) = (&self.golden, changing.unwrap_or_default());
        let may = |(_, m, g): &(u64, u64, u64)| {
            let right = if stores {
                golden.may_store(port, *g) && !reads.contains(g)
            } else {
                golden.may_load(port, *g)
            };
            right && !changing.contains(m)
        };
        let all: Vec<(u64, u64, u64)> = golden.mapped(port).into_iter().filter(may).collect();
        if all.is_empty() {
            return;
        }
        let banks = u64::from(self.p.banks);
        // Words of one mapping, mostly side by side, now and then any.
        let start = self.b.rng.random_range(0..all.len());
        let far = self.b.rng.random_bool(0.2);
        let mut words: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for i in 0..self.b.rng.random_range(1..=8usize) {
            let at = if far { self.b.rng.random_range(0..all.len()) } else { (start + i) % all.len() };
            let (s, _, g) = all[at];
            let twice = words.values().any(|w| w.1 == g);
            if !twice {
                words.entry(s % banks).or_insert((s, g));
            }
        }
        self.pass(port, stores, &words);
    }

    /// Sends a pass over words, by bank.
    fn pass(&mut self, port: usize, stores: bool, words: &BTreeMap<u64, (u64, u64)>) {
        let (banks, rows) = (u64::from(self.p.banks), self.p.row_bits());
        let mut row = Bv::zero(self.p.banks * rows);
        let mut data = Bv::zero(32 * self.p.banks);
        for (bank, (s, g)) in words {
            (0..rows).for_each(|i| row.set_bit(*bank as u32 * rows + i, (s / banks) >> i & 1 == 1));
            if stores {
                let value = self.value();
                self.golden.store(port, *g, Some(*s), value);
                (0..32).for_each(|i| data.set_bit(32 * *bank as u32 + i, value >> i & 1 == 1));
            } else {
                self.golden.reads(port, *g, *s);
            }
        }
        let mask: u64 = words.keys().map(|b| 1 << b).sum();
        let ack = stores && self.b.rng.random_bool(0.1);
        let id = match (stores, ack) {
            (true, true) => self.id(port, Open::Ack(None)),
            (true, false) => 0,
            (false, _) => self.id(port, Open::Load(words.iter().map(|(b, w)| (*b, w.1)).collect())),
        };
        let op = if stores { CuOp::St } else { CuOp::Ld };
        let fields = [("op", op as u64), ("mask", mask), ("want_ack", u64::from(ack)), ("id", id)];
        let m = Msg::of::<StashReq>(&self.p, &fields).with("row", row).with("data", data);
        self.b.send(&format!("d{port}_cu_req"), m);
    }

    /// Another mapping, of lines that several mappings may share, or one of the mappings of now again.
    fn remap(&mut self, port: usize) {
        let rng = &mut self.b.rng;
        let words = (LINES.end - LINES.start) * W;
        let (element, gap) =
            ([1, 1, 1, 2, 3][rng.random_range(0..5usize)], [0, 0, 0, 1, 3, 8][rng.random_range(0..6usize)]);
        let stride = element + gap;
        let count = rng.random_range(1..=24 / element).min(words / stride - 1);
        let base = rng.random_range(0..=u64::from(self.p.words()) - element * count);
        let from = rng.random_range(0..=words - count * stride);
        let area = Area { base, global: LINES.start * W + from, element, stride, count };
        let index = rng.random_range(0..u64::from(self.p.maps));
        self.change(port, index, area);
    }

    /// STASH_MAP, when no load of words that it takes away is under way, behind all that was sent before.
    pub fn change(&mut self, port: usize, index: u64, area: Area) {
        let touched = self.golden.touches(port, index, area);
        let hit = self.golden.mapped(port).into_iter().filter(|w| touched.contains(&w.1)).map(|w| w.2);
        let globals: BTreeSet<u64> = hit.collect();
        let queued = self.b.source_mut(&format!("d{port}_cu_req")).queue.len();
        if queued > 0 || self.reads(port).iter().any(|g| globals.contains(g)) {
            return;
        }
        self.changing.insert(port, (index, area));
        let id = self.id(port, Open::Ack(Some((index, area))));
        let Area { base, global, element, stride, count } = area;
        let fields = [
            ("index", index),
            ("base", base),
            ("global", global),
            ("element", element),
            ("stride", stride),
            ("count", count),
            ("id", id),
        ];
        self.b.send(&format!("d{port}_map"), Msg::of::<StashMap>(&self.p, &fields));
        self.maps += 1;
    }

    fn ask_l1(&mut self, port: usize) {
        let line = self.b.rng.random_range(LINES);
        let stores = self.b.rng.random_bool(0.5);
        let reads = self.reads(port);
        let mut words = BTreeMap::new();
        for w in 0..W {
            let g = line * W + w;
            let right = if stores {
                self.golden.may_store(port, g) && !reads.contains(&g)
            } else {
                self.golden.may_load(port, g)
            };
            if right && self.b.rng.random_bool(0.4) {
                words.insert(w, g);
            }
        }
        if words.is_empty() {
            return;
        }
        let mut data = Vec::new();
        for (w, g) in words.iter().filter(|_| stores) {
            let value = self.value();
            self.golden.store(port, *g, None, value);
            data.push((*w, value));
        }
        let mask = bytes_of(words.keys().map(|w| 1 << w).sum());
        let id = if stores { 0 } else { self.id(port, Open::Load(words)) };
        self.send_l1(port, if stores { CuOp::St } else { CuOp::Ld }, (line, mask), id, line_at(data));
    }

    pub fn send_l1(&mut self, port: usize, op: CuOp, (line, mask): (u64, u64), id: u64, data: Bv) {
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("id", id),
            ("sync", 0),
            ("sem", 0),
            ("class", 0),
            ("want_ack", 0),
            ("region", 0),
            ("hint", 0),
            ("scope", 2),
        ];
        let m = Msg::of::<CuReq>(&self.s.cu(), &fields).with("data", data);
        self.b.send(&format!("d{port}_cu_req"), m);
    }
}
