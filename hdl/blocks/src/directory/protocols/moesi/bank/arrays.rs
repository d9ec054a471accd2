//! Tags, states, data and ages of a bank of `moesi-l2`: one row is presented in a cycle, and looked at and changed in the next.

use super::table::Copy;
use crate::cache::l2::L2Params;
use weft_rtl::prelude::*;

/// One way of a set.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub copy: Enum<Copy>,
}

/// The arrays.
pub(super) struct Arrays {
    p: L2Params,
    tags: SramPort<Tag>,
    data: SramPort<Bits>,
    ages: SramPort<Bits>,
    tag_writer: LaneWriter<Tag>,
    clearer: RowWriter<Tag>,
    data_writer: LaneWriter<Bits>,
    age_writer: LaneWriter<Bits>,
    /// All sets are cleared.
    pub ready: Reg<Bool>,
    init_set: Reg<Bits>,
}

/// What is found in the row that was presented in the cycle before.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub hit: Bool,
    pub way: Bits,
    /// I on a miss.
    pub copy: Enum<Copy>,
    /// Bytes of the way hit.
    pub data: Bits,
    /// Lowest invalid way that may be taken, else the oldest that may.
    pub victim: Bits,
    /// One may be taken.
    pub room: Bool,
    pub victim_copy: Enum<Copy>,
    pub victim_line: Bits,
    pub victim_data: Bits,
    ages: Bits,
}

impl Arrays {
    pub fn new(p: &L2Params) -> Arrays {
        let (bits, age) = (p.sys.data_bits(), p.ways * p.way_bits());
        let tags = sram::<Tag>("tags", p.sets, p.ways, p.clone());
        let data = sram::<Bits>("data", p.sets, p.ways, bits).fields(&[("data", bits)]);
        let ages = sram::<Bits>("ages", p.sets, 1, age).fields(&[("replacement", age)]);
        Arrays {
            tags: tags.read_port("look"),
            data: data.read_port("look"),
            ages: ages.read_port("look"),
            tag_writer: tags.lane_writer("put"),
            clearer: tags.row_writer("init"),
            data_writer: data.lane_writer("put"),
            age_writer: ages.lane_writer("put"),
            ready: reg::<Bool>("init_done", ()),
            init_set: reg::<Bits>("init_set", p.set_bits()),
            p: p.clone(),
        }
    }

    /// Chooses the row that is looked at in the next cycle.
    pub fn present(&self, set: Bits) {
        self.tags.present(set);
        self.data.present(set);
        self.ages.present(set);
    }

    /// Clears one set per cycle after reset.
    pub fn initialise(&self) {
        let set = self.init_set.get();
        when(!self.ready.get(), || {
            let empty = Tag { tag: lit(0, self.p.tag_bits()), copy: enum_lit(Copy::I) };
            self.clearer.write(set, &vec![empty; self.p.ways as usize]);
            let ages: Vec<Bits> = (0..self.p.ways).map(|w| lit(u64::from(w), self.p.way_bits())).collect();
            self.age_writer.write(set, &pack(&ages));
            self.init_set.set(set + 1);
            when(set.eq(u64::from(self.p.sets - 1)), || self.ready.set(true));
        });
    }

    /// Looks a line up in its set; `reserved`: ways that may not be taken. `bank`: the number of this bank.
    pub fn look(&self, line: Bits, set: Bits, reserved: Bits, bank: Bits) -> Found {
        let (p, row) = (&self.p, self.tags.row());
        let tag = p.tag_of(line);
        let valid: Vec<Bool> = row.iter().map(|t| !t.copy.is(Copy::I)).collect();
        let hits: Vec<Bool> = row.iter().zip(&valid).map(|(t, v)| *v & t.tag.eq(tag)).collect();
        let hits = pack_bools(&hits).named("hits");
        let way = hits.lowest_set().named("way");
        let ages = self.ages.lane(0);
        let may = !reserved;
        let empty = (!pack_bools(&valid) & may).named("empty_ways");
        let victim = mux(empty.any(), empty.lowest_set(), self.oldest(ages, may)).named("victim");
        let found = self.tags.lane_at(victim);
        Found {
            hit: hits.any().named("hit"),
            way,
            copy: mux(hits.any(), self.tags.lane_at(way).copy, enum_lit(Copy::I)).named("copy"),
            data: self.data.lane_at(way),
            victim,
            room: may.any(),
            victim_copy: found.copy,
            victim_line: p.line_from(found.tag, set, bank),
            victim_data: self.data.lane_at(victim),
            ages,
        }
    }

    /// One way of that row.
    pub fn at(&self, way: Bits) -> (Tag, Bits) {
        (self.tags.lane_at(way), self.data.lane_at(way))
    }

    fn age(&self, ages: Bits, way: u32) -> Bits {
        ages.slice(way * self.p.way_bits(), self.p.way_bits())
    }

    /// The oldest of some ways.
    fn oldest(&self, ages: Bits, of: Bits) -> Bits {
        let ways = self.p.ways;
        let is = |way: u32, age: u32| self.age(ages, way).eq(u64::from(age)) & of.bit(way);
        let some = |age: u32| any_of(&(0..ways).map(|way| is(way, age)).collect::<Vec<_>>());
        let down: Vec<Bool> = (0..ways).rev().map(some).collect();
        let age = !pack_bools(&down).lowest_set();
        let has: Vec<Bool> = (0..ways).map(|way| self.age(ages, way).eq(age)).collect();
        pack_bools(&has).lowest_set()
    }

    /// Writes state and tag of a way.
    pub fn write(&self, set: Bits, way: Bits, line: Bits, copy: Enum<Copy>) {
        self.tag_writer.write_lane(set, way, &Tag { tag: self.p.tag_of(line), copy });
    }

    /// Writes the bytes of a way.
    pub fn write_data(&self, set: Bits, way: Bits, data: Bits) {
        self.data_writer.write_lane(set, way, &data);
    }

    /// Makes a way of the row looked at the youngest.
    pub fn touch(&self, set: Bits, way: Bits, found: &Found) {
        let bits = self.p.way_bits();
        let own = found.ages.element(way, bits);
        let next: Vec<Bits> = (0..self.p.ways)
            .map(|w| {
                let age = self.age(found.ages, w);
                let older = mux(age.lt(own), age + 1, age);
                mux(way.eq(u64::from(w)), lit(0, bits), older)
            })
            .collect();
        self.age_writer.write(set, &pack(&next));
    }
}
