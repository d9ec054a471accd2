//! Tags, states and ages: one lookup per cycle, read in one cycle and written in the next.

use super::params::L2Params;
use super::types::{HeldWays, LineState, Tag};
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
    /// Set within the row presented in the cycle before.
    part: Option<Reg<Bits>>,
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
    /// Ways in state D of lines of this home.
    pub dirty: Bits,
    /// Ways with dirty bytes of lines of other homes (write-back of copies).
    pub held: Option<HeldWays>,
    ages: Vec<Bits>,
}

impl Tags {
    /// Declares the arrays.
    pub fn new(p: &L2Params) -> Tags {
        let bulk = p.bulk();
        let tags = sram::<Tag>("tags", p.sets / bulk, p.ways * bulk, p.clone());
        let width = p.ways * p.way_bits();
        let ages = sram::<Bits>("ages", p.sets, 1, width).fields(&[("replacement", width)]);
        Tags {
            port: tags.read_port("look"),
            ages: ages.read_port("look"),
            writer: tags.row_writer("put"),
            age_writer: ages.lane_writer("put"),
            ready: reg::<Bool>("init_done", ()),
            init_set: reg::<Bits>("init_set", p.set_bits()),
            part: (bulk > 1).then(|| reg::<Bits>("look_part", bits_for(u64::from(bulk)))),
            p: p.clone(),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        let (row, part) = self.place(set);
        self.port.present(row);
        if let (Some(at), Some(part)) = (&self.part, part) {
            at.set(part);
        }
        self.ages.present(set);
    }

    /// Row of a set, and the set's number within it where rows hold several.
    fn place(&self, set: Bits) -> (Bits, Option<Bits>) {
        match &self.part {
            None => (set, None),
            Some(part) => {
                let low = part.get().width();
                let row = if set.width() > low { set.slice(low, set.width() - low) } else { lit(0, 1) };
                (row.resize(bits_for(u64::from(self.p.sets / self.p.bulk()))), Some(set.slice(0, low)))
            }
        }
    }

    /// Presents a whole row, to be cleared in the next cycle.
    pub fn present_row(&self, row: Bits) {
        self.port.present(row);
    }

    /// Clears the copies of the row presented in the cycle before that `of` names, and says which those are. Dirty bytes stay.
    pub fn clear(&self, row: Bits, bank: Bits, of: impl Fn(Bits) -> Bool) -> Bits {
        let (ways, bulk) = (self.p.ways, self.p.bulk());
        let set_bits = self.p.set_bits();
        let set = |lane: u32| {
            let part = lit(u64::from(lane / ways), bits_for(u64::from(bulk)));
            if bulk == 1 { row.resize(set_bits) } else { cat(&[row, part]).resize(set_bits) }
        };
        let tags = self.port.row();
        let named = tags.iter().enumerate().map(|(lane, tag)| {
            let line = self.p.line_from(tag.tag, set(lane as u32), bank);
            let copy = match self.p.write_back {
                true if self.p.drops_all => {
                    tag.state.is(LineState::V) | (tag.state.is(LineState::D) & !self.p.homed(line))
                }
                true => tag.state.is_any(&[LineState::V, LineState::D]),
                false => tag.state.is(LineState::V),
            };
            copy & of(line)
        });
        let named = pack_bools(&named.collect::<Vec<_>>());
        let empty = Tag { tag: lit(0, self.p.tag_bits()), state: enum_lit(LineState::I) };
        if self.p.write_back {
            // Dirty bytes stay.
            let left =
                |t: &Tag| mux(t.state.is(LineState::D), enum_lit(LineState::W), enum_lit(LineState::I));
            let after: Vec<Tag> = tags.iter().map(|t| Tag { tag: t.tag, state: left(t) }).collect();
            self.writer.write_masked(row, named, &after);
        } else {
            self.writer.write_masked(row, named, &vec![empty; (ways * bulk) as usize]);
        }
        named
    }

    /// A line of this home in the row presented in the cycle before is dirty.
    pub fn row_has_dirty_of_home(&self) -> Bool {
        // A line's home is in its tag whole.
        let line =
            |tag: &Tag| self.p.line_from(tag.tag, lit(0, self.p.set_bits()), lit(0, self.p.sys.bank_bits()));
        let dirty = |tag: &Tag| tag.state.is(LineState::D) & self.p.homed(line(tag));
        any_of(&self.port.row().iter().map(dirty).collect::<Vec<_>>())
    }

    /// Clears one set per cycle after reset: all ways invalid, ages a permutation.
    pub fn initialise(&self) {
        let set = self.init_set.get();
        when(!self.ready.get(), || {
            let empty = Tag { tag: lit(0, self.p.tag_bits()), state: enum_lit(LineState::I) };
            let (row, _) = self.place(set);
            self.writer.write(row, &vec![empty; (self.p.ways * self.p.bulk()) as usize]);
            let ages: Vec<Bits> = (0..self.p.ways).map(|w| lit(u64::from(w), self.p.way_bits())).collect();
            self.age_writer.write(set, &pack(&ages));
            self.init_set.set(set + 1);
            when(set.eq(u64::from(self.p.sets - 1)), || self.ready.set(true));
        });
    }

    /// Compares the set presented in the cycle before with a tag.
    pub fn look(&self, tag: Bits) -> Lookup {
        let row = self.row();
        let valid: Vec<Bool> = row.iter().map(|t| !t.state.is(LineState::I)).collect();
        let hits: Vec<Bool> = row.iter().zip(&valid).map(|(t, v)| *v & t.tag.eq(tag)).collect();
        let hits = pack_bools(&hits).named("s1_hits");
        let way = hits.lowest_set();
        let ages = self.ages.lane(0);
        let bits = self.p.way_bits();
        let ages: Vec<Bits> = (0..self.p.ways).map(|w| ages.slice(w * bits, bits)).collect();
        let held = self.p.write_back.then(|| self.held(&row, &ages));
        let oldest = match &held {
            // A fill or a line of this home waits for no request network: dirty bytes of other homes are no victims.
            Some(held) => oldest_of(&ages, !(held.leaf | held.gpu)),
            None => pack_bools(&ages.iter().map(|a| a.all()).collect::<Vec<_>>()).lowest_set(),
        };
        let empty = !pack_bools(&valid);
        let victim = mux(empty.any(), empty.lowest_set(), oldest).named("s1_victim");
        let dirty: Vec<Bool> = row.iter().map(|t| t.state.is(LineState::D)).collect();
        let state = mux(hits.any(), self.at(way).state, enum_lit(LineState::I));
        Lookup {
            hit: hits.any().named("s1_hit"),
            state: state.named("s1_state"),
            way: way.named("s1_way"),
            victim,
            skips_oldest: empty.any() & victim.ne(oldest),
            dirty: match &held {
                Some(held) => pack_bools(&dirty) & !(held.leaf | held.gpu),
                None => pack_bools(&dirty),
            },
            held,
            ages,
        }
    }

    /// The ways of a set with dirty bytes of lines of other homes, by sort.
    fn held(&self, row: &[Tag], ages: &[Bits]) -> HeldWays {
        let p = &self.p;
        // A line's home is in its tag whole.
        let line = |t: &Tag| p.line_from(t.tag, lit(0, p.set_bits()), lit(0, p.sys.bank_bits()));
        let dirty = |t: &Tag| t.state.is_any(&[LineState::D, LineState::W]);
        let leaf: Vec<Bool> = row.iter().map(|t| dirty(t) & p.leaf(line(t))).collect();
        let gpu: Vec<Bool> = row.iter().map(|t| dirty(t) & p.gpu_homed(line(t))).collect();
        let (leaf, gpu) = (pack_bools(&leaf).named("s1_held_leaf"), pack_bools(&gpu).named("s1_held_gpu"));
        HeldWays { leaf, gpu, oldest_leaf: oldest_of(ages, leaf), oldest_gpu: oldest_of(ages, gpu) }
    }

    /// One way of the set presented in the cycle before.
    pub fn at(&self, way: Bits) -> Tag {
        match &self.part {
            None => self.port.lane_at(way),
            Some(part) => self.port.lane_at(cat(&[part.get(), way])),
        }
    }

    /// The ways of that set.
    fn row(&self) -> Vec<Tag> {
        let Some(part) = &self.part else { return self.port.row() };
        let way = |w: u32| cat(&[part.get(), lit(u64::from(w), self.p.way_bits())]);
        (0..self.p.ways).map(|w| self.port.lane_at(way(w))).collect()
    }

    /// Writes one way of a set.
    pub fn write(&self, set: Bits, way: Bits, tag: Bits, state: Enum<LineState>) {
        let one = Tag { tag, state };
        let (row, part) = self.place(set);
        let lane = part.map_or(way, |part| cat(&[part, way]));
        let lanes = self.p.ways * self.p.bulk();
        self.writer.write_masked(row, lane.one_hot(lanes), &vec![one; lanes as usize]);
    }

    /// What the cycle leaves in one way of the set presented in the cycle before.
    pub fn left(&self, set: Bits, way: Bits) -> Tag {
        let (row, part) = self.place(set);
        let lane = part.map_or(way, |part| cat(&[part, way]));
        self.writer.leaves(row, lane, &self.at(way))
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

/// The oldest of some ways of a set; ages are a permutation.
fn oldest_of(ages: &[Bits], of: Bits) -> Bits {
    let is = |way: &Bits, age: usize| way.eq(age as u64);
    let some = |age: usize| {
        any_of(&ages.iter().enumerate().map(|(w, a)| is(a, age) & of.bit(w as u32)).collect::<Vec<_>>())
    };
    // From the oldest age down.
    let down: Vec<Bool> = (0..ages.len()).rev().map(some).collect();
    let age = !pack_bools(&down).lowest_set();
    pack_bools(&ages.iter().map(|a| a.eq(age)).collect::<Vec<_>>()).lowest_set()
}
