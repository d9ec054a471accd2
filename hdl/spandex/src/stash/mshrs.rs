//! The MSHRs: reads of words of a line for one mapping, with the loads that wait for them.
//!
//! ```text
//!  busy | stale | peer | ready | line | map | place | asked | left | count --> targets (SRAM)
//! ```
//! *ready*: every word has come. *stale*: the words answer the loads that wait, and are not kept; no other load joins.

use super::maps::Run;
use super::params::{Inject, StashParams};
use crate::flags::Flags;
use crate::msg::Rsp;
use crate::params::WORD;
use weft_cache::Targets;
use weft_rtl::prelude::*;

/// A waiting load.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub(super) struct Target {
    #[width(p.banks)]
    #[field("mshr")]
    pub mask: Bits,
    #[width(12)]
    #[field("mshr")]
    pub id: Bits,
}

/// Where words come to.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub(super) struct Place {
    #[width(p.map_bits())]
    #[field("place")]
    pub map: Bits,
    #[shape(p.clone())]
    pub run: Run,
}

/// The MSHRs.
pub(super) struct Mshrs {
    p: StashParams,
    pub busy: Flags,
    stale: Flags,
    peer: Flags,
    pub ready: Flags,
    lines: Memory<Bits>,
    lines_new: LaneWriter<Bits>,
    places: Memory<Place>,
    places_new: LaneWriter<Place>,
    asked: Memory<Bits>,
    asked_new: LaneWriter<Bits>,
    left: Memory<Bits>,
    left_new: LaneWriter<Bits>,
    left_rsp: LaneWriter<Bits>,
    counts: Memory<Bits>,
    counts_slot: LaneWriter<Bits>,
    buffer: Memory<Bits>,
    buffer_rsp: RowWriter<Bits>,
    targets: Targets<Target>,
    /// Entries that become stale in this cycle, by each of the causes.
    marks: [Wire<Bits>; 3],
}

/// What reads of a line bring.
#[derive(Clone, Copy)]
pub(super) struct Coming {
    /// Words outstanding, for any mapping.
    pub reading: Bits,
    /// Words that fresh entries of the mapping bring.
    pub coming: Bits,
    /// The first entry that a load of some words may join; whether there is one, and what it brings.
    pub joins: Bool,
    pub at: Bits,
    pub brings: Bits,
}

impl Mshrs {
    pub fn new(p: &StashParams) -> Mshrs {
        let (s, n) = (&p.spandex, p.spandex.mshrs);
        let flags = |name: &str| Flags::new(&format!("mshr_{name}"), n, "mshr");
        let file = |name: &str, w: u32| regfile::<Bits>(&format!("mshr_{name}"), n, w).fields(&[("mshr", w)]);
        let lines = file("line", s.line_bits());
        let places = regfile::<Place>("mshr_place", n, p.clone());
        let [asked, left] = ["asked", "left"].map(|name| file(name, s.words()));
        let counts = file("count", bits_for(u64::from(p.targets) + 1));
        let buffer =
            regfile_lanes::<Bits>("mshr_buffer", n, s.words(), WORD).fields(&[("line_buffer", WORD)]);
        let targets = Targets::memory(n, p.target_bits(), p);
        Mshrs {
            busy: flags("busy"),
            stale: flags("stale"),
            peer: flags("peer"),
            ready: flags("ready"),
            lines_new: lines.lane_writer("new"),
            lines,
            places_new: places.lane_writer("new"),
            places,
            asked_new: asked.lane_writer("new"),
            asked,
            left_new: left.lane_writer("new"),
            left_rsp: left.lane_writer("rsp"),
            left,
            counts_slot: counts.lane_writer("slot"),
            counts,
            buffer_rsp: buffer.row_writer("rsp"),
            buffer,
            targets: Targets::new(&targets, n, p.target_bits(), "slot"),
            marks: ["acquire", "slot", "store"]
                .map(|name| wire_zero::<Bits>(&format!("mshr_mark_{name}"), n)),
            p: p.clone(),
        }
    }

    fn n(&self) -> u32 {
        self.p.spandex.mshrs
    }

    fn one(&self, entry: Bits) -> Bits {
        entry.one_hot(self.n())
    }

    fn of_line(&self, line: Bits) -> Bits {
        let same: Vec<Bool> = (0..self.n()).map(|i| self.lines.entry(i).eq(line)).collect();
        pack_bools(&same) & self.busy.get()
    }

    /// What reads of a line bring to a mapping, for a load of `words`.
    pub fn look(&self, line: Bits, map: Bits, words: Bits) -> Coming {
        let all = self.of_line(line);
        let mine: Vec<Bool> = (0..self.n()).map(|i| self.places.entry(i).map.eq(map)).collect();
        let fresh = all & pack_bools(&mine) & !self.stale.get();
        let none = lit_bv(Bv::zero(self.p.spandex.words()));
        let sum = |of: Bits, file: &Memory<Bits>| {
            (0..self.n()).fold(none, |sum, i| sum | mux(of.bit(i), file.entry(i), none))
        };
        let full = u64::from(self.p.targets);
        let open = |i: u32| {
            let brings = (self.asked.entry(i) & words).any();
            fresh.bit(i) & !self.ready.get().bit(i) & brings & self.counts.entry(i).ne(full)
        };
        let open = pack_bools(&(0..self.n()).map(open).collect::<Vec<Bool>>());
        let at = open.lowest_set();
        Coming {
            reading: sum(all, &self.left),
            coming: sum(fresh, &self.asked),
            joins: open.any(),
            at,
            brings: self.asked.read(at) & words,
        }
    }

    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }
    pub fn free_entry(&self) -> Bits {
        (!self.busy.get()).lowest_set()
    }
    pub fn line(&self, entry: Bits) -> Bits {
        self.lines.read(entry)
    }
    pub fn place(&self, entry: Bits) -> Place {
        self.places.read(entry)
    }
    pub fn is_stale(&self, entry: Bits) -> Bool {
        self.stale.get().bit_at(entry)
    }
    /// Some word came from another device.
    pub fn is_peer(&self, entry: Bits) -> Bool {
        self.peer.get().bit_at(entry)
    }
    pub fn count(&self, entry: Bits) -> Bits {
        self.counts.read(entry)
    }
    /// Words of a read, and the line that holds them.
    pub fn arrived(&self, entry: Bits) -> (Bits, Bits) {
        (self.asked.read(entry), pack(&self.buffer.read_row(entry)))
    }

    /// Chooses the target that is read in the next cycle.
    pub fn present(&self, entry: Bits, target: Bits) {
        self.targets.present(entry, target);
    }
    /// The target presented in the cycle before.
    pub fn target(&self) -> Target {
        self.targets.presented()
    }

    /// Opens a read.
    pub fn open(&self, line: Bits, place: &Place, asked: Bits, first: &Target) {
        let entry = self.free_entry();
        let one = self.one(entry);
        self.busy.raise(one);
        self.lines_new.write(entry, &line);
        self.places_new.write(entry, place);
        self.asked_new.write(entry, &asked);
        self.left_new.write(entry, &asked);
        self.counts_slot.write(entry, &lit(1, bits_for(u64::from(self.p.targets) + 1)));
        self.targets.put_first(entry, first);
    }

    /// A load joins.
    pub fn join(&self, entry: Bits, target: &Target) {
        let count = self.counts.read(entry);
        self.targets.put_behind(entry, count, target);
        self.counts_slot.write(entry, &(count + 1));
    }

    /// Words come in.
    pub fn answer(&self, m: &Rsp) {
        let entry = m.tag.slice(0, self.p.spandex.mshr_bits());
        let left = self.left.read(entry) & !m.mask;
        self.left_rsp.write(entry, &left);
        self.buffer_rsp.write_packed(entry, m.mask, m.data);
        when(left.none(), || self.ready.raise(self.one(entry)));
        let devs = u64::from(self.p.spandex.devs());
        when(m.src.zext(16).lt(devs), || self.peer.raise(self.one(entry)));
    }

    /// Words outstanding.
    pub fn left(&self, entry: Bits) -> Bits {
        self.left.read(entry)
    }

    /// An acquire.
    pub fn flash(&self, flash: Bool) {
        if self.p.inject != Inject::NoStale {
            when(flash, || self.marks[0].set(self.busy.get()));
        }
    }
    /// A word of the line will be stored here.
    pub fn stores(&self, line: Bits) {
        if self.p.inject != Inject::FillOverStore {
            self.marks[2].set(self.of_line(line));
        }
    }
    /// A mapping ends.
    pub fn ends(&self, map: Bits) {
        let mine: Vec<Bool> = (0..self.n()).map(|i| self.places.entry(i).map.eq(map)).collect();
        self.marks[1].set(pack_bools(&mine) & self.busy.get());
    }

    /// The entry has nothing left to do.
    pub fn free(&self, entry: Bits) {
        let one = self.one(entry);
        self.busy.lower(one);
        self.ready.lower(one);
        self.stale.lower(one);
        self.peer.lower(one);
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        let marks = self.marks.iter().fold(lit(0, self.n()), |all, mark| all | mark.get());
        when(marks.any(), || self.stale.raise(marks));
        [&self.busy, &self.stale, &self.peer, &self.ready].into_iter().for_each(Flags::finish);
    }
}
