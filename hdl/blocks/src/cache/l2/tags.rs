//! Tags, states and ages: one lookup per cycle, read in one cycle and written in the next.

use super::params::L2Params;
use super::types::{LineState, Tag};
use weft_rtl::prelude::*;

/// Tag array and replacement ages.
pub(super) struct Tags {
    p: L2Params,
    port: SramPort<Tag>,
    ages: SramPort<Bits>,
    writer: RowWriter<Tag>,
    age_writer: LaneWriter<Bits>,
    /// All sets are cleared.
    pub ready: Reg<Bool>,
    init_set: Reg<Bits>,
}

/// Result of a lookup, valid in the cycle after its presentation.
pub(super) struct Lookup {
    pub hit: Bool,
    /// State of the way hit, I on a miss.
    pub state: Enum<LineState>,
    /// Way hit.
    pub way: Bits,
    /// Lowest invalid way, else the oldest.
    pub victim: Bits,
    /// The victim is an invalid way that is not the oldest.
    pub skips_oldest: Bool,
    /// Ways in state D.
    pub dirty: Bits,
    ages: Vec<Bits>,
}

impl Tags {
    /// Declares the arrays.
    pub fn new(p: &L2Params) -> Tags {
        let tags = sram::<Tag>("tags", p.sets, p.ways, p.clone());
        let width = p.ways * p.way_bits();
        let ages = sram::<Bits>("ages", p.sets, 1, width).fields(&[("replacement", width)]);
        Tags {
            port: tags.read_port("look"),
            ages: ages.read_port("look"),
            writer: tags.row_writer("put"),
            age_writer: ages.lane_writer("put"),
            ready: reg::<Bool>("init_done", ()),
            init_set: reg::<Bits>("init_set", p.set_bits()),
            p: p.clone(),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.port.present(set);
        self.ages.present(set);
    }

    /// Clears one set per cycle after reset: all ways invalid, ages a permutation.
    pub fn clear(&self) {
        let set = self.init_set.get();
        when(!self.ready.get(), || {
            let empty = Tag { tag: lit(0, self.p.tag_bits()), state: enum_lit(LineState::I) };
            self.writer.write(set, &vec![empty; self.p.ways as usize]);
            let ages: Vec<Bits> = (0..self.p.ways).map(|w| lit(u64::from(w), self.p.way_bits())).collect();
            self.age_writer.write(set, &pack(&ages));
            self.init_set.set(set + 1);
            when(set.eq(u64::from(self.p.sets - 1)), || self.ready.set(true));
        });
    }

    /// Compares the set presented in the cycle before with a tag.
    pub fn look(&self, tag: Bits) -> Lookup {
        let row = self.port.row();
        let valid: Vec<Bool> = row.iter().map(|t| !t.state.is(LineState::I)).collect();
        let hits: Vec<Bool> = row.iter().zip(&valid).map(|(t, v)| *v & t.tag.eq(tag)).collect();
        let hits = pack_bools(&hits).named("s1_hits");
        let way = hits.lowest_set();
        let ages = self.ages.lane(0);
        let bits = self.p.way_bits();
        let ages: Vec<Bits> = (0..self.p.ways).map(|w| ages.slice(w * bits, bits)).collect();
        let oldest: Vec<Bool> = ages.iter().map(|a| a.all()).collect();
        let oldest = pack_bools(&oldest).lowest_set();
        let empty = !pack_bools(&valid);
        let victim = mux(empty.any(), empty.lowest_set(), oldest).named("s1_victim");
        let dirty: Vec<Bool> = row.iter().map(|t| t.state.is(LineState::D)).collect();
        let state = mux(hits.any(), self.port.lane_at(way).state, enum_lit(LineState::I));
        Lookup {
            hit: hits.any().named("s1_hit"),
            state: state.named("s1_state"),
            way: way.named("s1_way"),
            victim,
            skips_oldest: empty.any() & victim.ne(oldest),
            dirty: pack_bools(&dirty),
            ages,
        }
    }

    /// One way of the set presented in the cycle before.
    pub fn at(&self, way: Bits) -> Tag {
        self.port.lane_at(way)
    }

    /// Writes one way of a set.
    pub fn write(&self, set: Bits, way: Bits, tag: Bits, state: Enum<LineState>) {
        let one = Tag { tag, state };
        self.writer.write_masked(set, way.one_hot(self.p.ways), &vec![one; self.p.ways as usize]);
    }

    /// Makes a way the youngest of its set: those that were younger grow older by one.
    pub fn touch(&self, set: Bits, way: Bits, look: &Lookup) {
        let own = select(&look.ages, way);
        when(own.any(), || {
            let ages: Vec<Bits> = look
                .ages
                .iter()
                .enumerate()
                .map(|(w, age)| {
                    let older = mux(age.lt(own), *age + 1, *age);
                    mux(way.eq(w as u64), lit(0, self.p.way_bits()), older)
                })
                .collect();
            self.age_writer.write(set, &pack(&ages));
        });
    }
}
