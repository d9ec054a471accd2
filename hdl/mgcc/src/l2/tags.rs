//! Tags, states, stamps and ages: one lookup per cycle, read in one cycle and written in the next.

use super::params::L2Params;
use super::types::{LineState, Stamps, Tag};
use crate::choice::Inject;
use crate::time::max;
use weft_blocks::common::set_assoc::{ages_width, identity_ages, make_youngest};
use weft_rtl::prelude::*;

/// The arrays.
pub(super) struct Tags {
    p: L2Params,
    port: SramPort<Tag>,
    writer: RowWriter<Tag>,
    stamps: Option<(SramPort<Stamps>, RowWriter<Stamps>)>,
    ages: SramPort<Bits>,
    age_writer: LaneWriter<Bits>,
}

/// Result of a lookup, valid in the cycle after its presentation.
pub(super) struct Lookup {
    /// Ways that hold the tag in any state but I; at most one.
    pub matches: Bits,
    /// Some way does.
    pub hit: Bool,
    pub way: Bits,
    /// State of the way hit, I without one.
    pub state: Enum<LineState>,
    pub stamps: Option<Stamps>,
    /// The clock is within the way's lease.
    pub covered: Bool,
    /// Way to fill: the lowest invalid one, else the oldest expired one, else the oldest that may leave.
    pub victim: Bits,
    /// There is one.
    pub victim_ok: Bool,
    pub victim_tag: Tag,
    pub victim_stamps: Option<Stamps>,
    /// Of G-TSC: the greatest rts of the set's lines.
    pub greatest_rts: Option<Bits>,
    /// The victim is a block whose lease is over, taken before an older live one.
    pub victim_expired: Bool,
    /// Ways in state K.
    pub held: Bits,
    ages: Bits,
}

impl Lookup {
    /// State of the way hit is `state`.
    pub fn is(&self, state: LineState) -> Bool {
        self.hit & self.state.is(state)
    }
}

impl Tags {
    /// Declares the arrays.
    pub fn new(p: &L2Params) -> Tags {
        let tags = sram::<Tag>("tags", p.sets(), p.ways, p.clone());
        let stamps = p.coherent().then(|| {
            let stamps = sram::<Stamps>("stamps", p.sets(), p.ways, p.clone());
            (stamps.read_port("look"), stamps.row_writer("put"))
        });
        let width = ages_width(p.ways);
        let ages = sram::<Bits>("ages", p.sets(), 1, width).fields(&[("replacement", width)]);
        Tags {
            p: p.clone(),
            port: tags.read_port("look"),
            writer: tags.row_writer("put"),
            stamps,
            ages: ages.read_port("look"),
            age_writer: ages.lane_writer("put"),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.port.present(set);
        self.ages.present(set);
        if let Some((port, _)) = &self.stamps {
            port.present(set);
        }
    }

    /// What the set presented in the cycle before says about a tag at clock `now`.
    pub fn look(&self, tag: Bits, now: Option<Bits>) -> Lookup {
        let p = &self.p;
        let row = self.port.row();
        let stamps: Option<Vec<Stamps>> = self.stamps.as_ref().map(|(port, _)| port.row());
        let is = |state| pack_bools(&row.iter().map(|t: &Tag| t.state.is(state)).collect::<Vec<_>>());
        let equal: Vec<Bool> = row.iter().map(|t| t.tag.eq(tag) & !t.state.is(LineState::I)).collect();
        let matches = pack_bools(&equal).named("s1_matches");
        let (hit, way) = (matches.any().named("s1_hit"), matches.lowest_set());
        let own = select(&row, way);
        let valid = is(LineState::V);
        let ages = self.ages.lane(0);
        let expired = match (&stamps, now) {
            (Some(stamps), Some(now)) => {
                let over: Vec<Bool> = stamps.iter().map(|s| now.gt(s.rts)).collect();
                pack_bools(&over) & valid
            }
            _ => lit(0, p.ways),
        };
        let empty = is(LineState::I);
        // In a write-back bank dirty lines may leave too.
        let may = if p.back() { valid | is(LineState::K) } else { valid };
        let prefers = if p.repl_ts { expired } else { lit(0, p.ways) };
        let oldest = oldest_of(ages, may, p.ways).named("s1_oldest");
        let oldest_expired = oldest_of(ages, prefers, p.ways);
        let full = mux(prefers.any(), oldest_expired, oldest);
        let victim = mux(empty.any(), empty.lowest_set(), full).named("s1_victim");
        let own_stamps = stamps.as_ref().map(|all| select(all, way));
        let covered = match (own_stamps, now) {
            (Some(stamps), Some(now)) if p.inject != Inject::PastRts => now.le(stamps.rts),
            _ => bool_lit(true),
        };
        let greatest_rts = stamps.as_ref().filter(|_| p.gtsc()).map(|all| {
            let held = |t: &Tag| t.state.is_any(&[LineState::V, LineState::K]);
            let ends = row.iter().zip(all).map(|(t, s)| mux(held(t), s.rts, lit(0, p.tsm.ts)));
            ends.reduce(max).expect("at least one way")
        });
        Lookup {
            greatest_rts,
            matches,
            hit,
            way,
            state: mux(hit, own.state, enum_lit(LineState::I)),
            stamps: own_stamps,
            covered,
            victim,
            victim_ok: (empty | may).any(),
            victim_tag: select(&row, victim),
            victim_stamps: stamps.as_ref().map(|all| select(all, victim)),
            victim_expired: !empty.any() & prefers.any() & victim.ne(oldest),
            held: is(LineState::K),
            ages,
        }
    }

    /// A way of the set presented in the cycle before.
    pub fn at(&self, way: Bits) -> Tag {
        self.port.lane_at(way)
    }

    /// Makes the dirty way of a set clean; `drops`: it and every clean way become invalid.
    pub fn flush(&self, set: Bits, dirty: Bits, drops: Bool) {
        let row = self.port.row();
        let clean = pack_bools(&row.iter().map(|t: &Tag| t.state.is(LineState::V)).collect::<Vec<_>>());
        let left = mux(drops, enum_lit(LineState::I), enum_lit(LineState::V));
        let after: Vec<Tag> = row.iter().map(|t| Tag { tag: t.tag, state: left }).collect();
        self.writer.write_masked(set, dirty | (clean & drops.repeat(self.p.ways)), &after);
    }

    /// Writes tag and state of a way.
    pub fn write(&self, set: Bits, way: Bits, tag: Bits, state: Enum<LineState>) {
        let row = vec![Tag { tag, state }; self.p.ways as usize];
        self.writer.write_masked(set, way.one_hot(self.p.ways), &row);
    }

    /// The state in which this cycle leaves a line of the set presented in the cycle before, which is in `way` if it is anywhere.
    pub fn state_after(&self, set: Bits, way: Bits, tag: Bits) -> Enum<LineState> {
        let after = self.writer.leaves(set, way, &self.at(way));
        mux(after.tag.eq(tag), after.state, enum_lit(LineState::I))
    }

    /// Writes the stamps of a way.
    pub fn stamp(&self, set: Bits, way: Bits, stamps: Stamps) {
        if let Some((_, writer)) = &self.stamps {
            writer.write_masked(set, way.one_hot(self.p.ways), &vec![stamps; self.p.ways as usize]);
        }
    }

    /// Makes a way the youngest of its set.
    pub fn touch(&self, set: Bits, look: &Lookup, way: Bits) {
        self.age_writer.write(set, &make_youngest(look.ages, way, self.p.ways));
    }

    /// Drops the lines of the set presented in the cycle before that `drops` names by their states; `init`: all of them, and makes the ages a permutation.
    pub fn sweep(&self, set: Bits, init: Bool, drops: impl Fn(Enum<LineState>) -> Bool) {
        let p = &self.p;
        let named: Vec<Bool> = self.port.row().iter().map(|t| init | drops(t.state)).collect();
        let empty = Tag { tag: lit(0, p.tag_bits()), state: enum_lit(LineState::I) };
        self.writer.write_masked(set, pack_bools(&named), &vec![empty; p.ways as usize]);
        if let Some((_, writer)) = &self.stamps {
            // A locked line's old stamps are of another epoch; lines of G-TSC stay, from its beginning on.
            let first = lit(u64::from(p.gtsc()), p.tsm.ts);
            writer.write(set, &vec![Stamps { wts: first, rts: first }; p.ways as usize]);
        }
        when(init, || self.age_writer.write(set, &lit_bv(identity_ages(p.ways))));
    }
}

/// The oldest way of a mask.
fn oldest_of(ages: Bits, mask: Bits, ways: u32) -> Bits {
    let bits = ages.width() / ways;
    let age = |w: u32| ages.slice(w * bits, bits);
    let there = (0..ways)
        .map(|w| age(w).one_hot(ways) & mask.bit(w).repeat(ways))
        .fold(lit(0, ways), |all, one| all | one);
    let from_the_top: Vec<Bool> = (0..ways).rev().map(|a| there.bit(a)).collect();
    let greatest = lit(u64::from(ways - 1), bits) - pack_bools(&from_the_top).lowest_set();
    pack_bools(&(0..ways).map(|w| age(w).eq(greatest)).collect::<Vec<_>>()).lowest_set()
}
