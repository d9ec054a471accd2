//! Tags, states, stamps, ages and data of the lines: one row is read per cycle.

use super::{Block, BlockState, L1Params};
use crate::choice::{GtscFault, Inject};
use weft_rtl::prelude::*;

/// Stamps of a line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct Stamps {
    #[width(p.tsm.ts)]
    #[field("wts")]
    pub wts: Bits,
    #[width(p.tsm.ts)]
    #[field("rts")]
    pub rts: Bits,
}

struct StampArray {
    port: SramPort<Stamps>,
    writer: LaneWriter<Stamps>,
}

/// The arrays. At most one of [`put`](Arrays::put), [`stamp`](Arrays::stamp), [`lock`](Arrays::lock), [`drop_way`](Arrays::drop_way) per cycle and write.
pub(super) struct Arrays {
    p: L1Params,
    /// State V, one register per way, one bit per set.
    valid: Vec<Reg<Bits>>,
    /// State K.
    locked: Vec<Reg<Bits>>,
    tag_port: SramPort<Bits>,
    tag_writer: LaneWriter<Bits>,
    data_port: SramPort<Bits>,
    data_writer: LaneWriter<Bits>,
    age_port: SramPort<Bits>,
    age_writer: LaneWriter<Bits>,
    stamps: Option<StampArray>,
}

/// What the presented row holds of a line.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// One-hot: the way in state V that matches.
    pub valid: Bits,
    /// One-hot: the way in state K that matches.
    pub locked: Bits,
    /// The matching way, V or K.
    pub way: Bits,
    /// State for the table of operations.
    pub block: Enum<Block>,
    /// The victim, meaningful with `room`.
    pub victim: Bits,
    /// Some way can be taken.
    pub room: Bool,
    /// The victim is a block whose lease is over.
    pub victim_expired: Bool,
}

/// State of a block that is there if it is `valid` or `locked`.
fn state_of(valid: Bool, locked: Bool) -> Enum<BlockState> {
    let state = |state: BlockState| enum_lit(state);
    mux(locked, state(BlockState::K), mux(valid, state(BlockState::V), state(BlockState::I)))
}

impl Found {
    /// State of the line's block.
    pub fn state(&self) -> Enum<BlockState> {
        state_of(self.valid.any(), self.locked.any())
    }
}

impl Arrays {
    /// Calls `use_it` with the state in which this cycle leaves a line, which is in `way` if it is anywhere.
    pub fn on_next_state(&self, line: Bits, way: Bits, use_it: impl FnOnce(Enum<BlockState>) + 'static) {
        let (set, tag) = (self.set_of(line), self.tag_of(line));
        let here = self.tag_writer.leaves(set, way, &self.tag_port.lane_at(way)).eq(tag);
        let (valid, locked) = (self.valid.clone(), self.locked.clone());
        after_cycle(move |after| {
            let at = |of: &[Reg<Bits>]| {
                let bits: Vec<Bool> = of.iter().map(|bits| after.of(bits).bit_at(set)).collect();
                here & pack_bools(&bits).bit_at(way)
            };
            use_it(state_of(at(&valid), at(&locked)));
        });
    }

    pub fn new(p: &L1Params) -> Arrays {
        let state = |name: &str| {
            (0..p.ways).map(|w| reg::<Bits>(&format!("{name}{w}"), p.sets()).field("state")).collect()
        };
        let tags = sram::<Bits>("tags", p.sets(), p.ways, p.tag_bits()).fields(&[("tag", p.tag_bits())]);
        let data = sram::<Bits>("lines", p.sets(), p.ways, p.tsm.data_bits());
        let age_bits = p.ways * p.way_bits();
        let ages = sram::<Bits>("ages", p.sets(), 1, age_bits).fields(&[("replacement", age_bits)]);
        let stamps = p.coherent().then(|| {
            let array = sram::<Stamps>("stamps", p.sets(), p.ways, p.clone());
            StampArray { port: array.read_port("look"), writer: array.lane_writer("put") }
        });
        Arrays {
            p: p.clone(),
            valid: state("valid"),
            locked: state("locked"),
            tag_port: tags.read_port("look"),
            tag_writer: tags.lane_writer("put"),
            data_port: data.read_port("look"),
            data_writer: data.lane_writer("put"),
            age_port: ages.read_port("look"),
            age_writer: ages.lane_writer("touch"),
            stamps,
        }
    }

    pub fn set_of(&self, line: Bits) -> Bits {
        line.slice(0, self.p.set_bits())
    }

    fn tag_of(&self, line: Bits) -> Bits {
        line.slice(self.p.set_bits(), self.p.tag_bits())
    }

    /// Chooses the row that is read in the next cycle.
    pub fn present(&self, line: Bits) {
        let set = self.set_of(line).named("row_next");
        self.tag_port.present(set);
        self.data_port.present(set);
        self.age_port.present(set);
        if let Some(stamps) = &self.stamps {
            stamps.port.present(set);
        }
    }

    fn ways_in(&self, state: &[Reg<Bits>], set: Bits) -> Bits {
        let bits: Vec<Bool> = state.iter().map(|s| s.get().bit_at(set)).collect();
        pack_bools(&bits)
    }

    /// One bit per way: the clock is past its lease.
    fn expired_ways(&self, now: Option<Bits>) -> Bits {
        match (&self.stamps, now) {
            (Some(stamps), Some(now)) => {
                let past: Vec<Bool> = (0..self.p.ways).map(|w| now.gt(stamps.port.lane(w).rts)).collect();
                pack_bools(&past)
            }
            _ => lit(0, self.p.ways),
        }
    }

    /// Looks a line up in its row, which was presented in the cycle before. `now`: ts of the clock; `pinned`: ways of the set that belong to lines under way.
    pub fn look_up(&self, line: Bits, now: Option<Bits>, pinned: Bits) -> Found {
        let set = self.set_of(line);
        let tag = self.tag_of(line);
        let same: Vec<Bool> = (0..self.p.ways).map(|w| self.tag_port.lane(w).eq(tag)).collect();
        let same = pack_bools(&same);
        let (valid, locked) = (self.ways_in(&self.valid, set), self.ways_in(&self.locked, set));
        let expired = (self.expired_ways(now) & valid).named("ways_expired");
        let hit = (same & valid).named("ways_hit");
        let free = !(locked | pinned);
        let empty = free & !valid;
        let stale = if self.p.repl_ts { free & expired } else { lit(0, self.p.ways) };
        let kept = mux(stale.any(), self.oldest(stale), self.oldest(free));
        let victim = mux(empty.any(), empty.lowest_set(), kept).named("victim");
        let absent = mux(free.any(), enum_lit(Block::Absent), enum_lit(Block::Crowded));
        let over = if self.p.inject == Inject::PastRts { bool_lit(false) } else { (hit & expired).any() };
        let present = mux(over, enum_lit(Block::Expired), enum_lit(Block::Live));
        Found {
            valid: hit,
            locked: same & locked,
            way: (same & (valid | locked)).lowest_set(),
            block: mux(hit.any(), present, absent).named("block"),
            victim,
            room: free.any(),
            victim_expired: empty.none() & free.any() & expired.bit_at(victim),
        }
    }

    fn ages_now(&self) -> Vec<Bits> {
        let packed = self.age_port.lane(0);
        let bits = self.p.way_bits();
        (0..self.p.ways).map(|w| packed.slice(w * bits, bits)).collect()
    }

    /// The least recently used among some ways of the row.
    fn oldest(&self, among: Bits) -> Bits {
        let ages = self.ages_now();
        let greatest: Vec<Bool> = (0..self.p.ways as usize)
            .map(|w| {
                let beaten: Vec<Bool> = (0..self.p.ways as usize)
                    .filter(|v| *v != w)
                    .map(|v| among.bit(v as u32) & ages[v].gt(ages[w]))
                    .collect();
                among.bit(w as u32) & !any_of(&beaten)
            })
            .collect();
        pack_bools(&greatest).lowest_set()
    }

    /// Makes a way the most recently used of the row.
    pub fn touch(&self, set: Bits, way: Bits) {
        let ages = self.ages_now();
        let old = select(&ages, way);
        let next: Vec<Bits> = ages
            .iter()
            .enumerate()
            .map(|(w, age)| {
                let older = mux(age.lt(old), *age + 1, *age);
                mux(way.eq(w as u64), lit(0, self.p.way_bits()), older)
            })
            .collect();
        self.age_writer.write(set, &pack(&next));
    }

    /// Writes the identity into the ages of a set.
    pub fn clear_ages(&self, set: Bits) {
        let identity: Vec<Bits> = (0..self.p.ways).map(|w| lit(u64::from(w), self.p.way_bits())).collect();
        self.age_writer.write(set, &pack(&identity));
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.data_port.lane_at(way)
    }

    /// wts of a way of the row; only with coherence.
    pub fn wts(&self, way: Bits) -> Option<Bits> {
        self.stamps.as_ref().map(|stamps| stamps.port.lane_at(way).wts)
    }

    fn set_state(&self, set: Bits, way: Bits, valid: bool, locked: bool) {
        let here = set.one_hot(self.p.sets());
        let change = |state: &Reg<Bits>, on: bool| {
            state.set(if on { state.get() | here } else { state.get() & !here });
        };
        for w in 0..self.p.ways as usize {
            when(way.eq(w as u64), || {
                change(&self.valid[w], valid);
                change(&self.locked[w], locked);
            });
        }
    }

    /// A line comes into a way: V, with its stamps.
    pub fn put(&self, line: Bits, way: Bits, data: Bits, stamps: &Stamps) {
        let set = self.set_of(line);
        self.tag_writer.write_lane(set, way, &self.tag_of(line));
        self.data_writer.write_lane(set, way, &data);
        self.touch(set, way);
        self.stamp(line, way, stamps);
    }

    /// A way gets stamps: V.
    pub fn stamp(&self, line: Bits, way: Bits, stamps: &Stamps) {
        let set = self.set_of(line);
        if let Some(array) = &self.stamps {
            array.writer.write_lane(set, way, stamps);
        }
        self.set_state(set, way, true, false);
    }

    /// A store writes a way and locks it: K.
    pub fn lock(&self, line: Bits, way: Bits, data: Bits) {
        let set = self.set_of(line);
        self.tag_writer.write_lane(set, way, &self.tag_of(line));
        self.data_writer.write_lane(set, way, &data);
        self.touch(set, way);
        let unlocked = self.p.inject == Inject::Gtsc(GtscFault::Unlocked);
        self.set_state(set, way, unlocked, !unlocked);
    }

    /// A way becomes I.
    pub fn drop_way(&self, line: Bits, way: Bits) {
        self.set_state(self.set_of(line), way, false, false);
    }

    /// Every V block of a set becomes I; locked ones stay.
    pub fn sweep(&self, set: Bits) {
        for valid in &self.valid {
            valid.set(valid.get() & !set.one_hot(self.p.sets()));
        }
    }
}
