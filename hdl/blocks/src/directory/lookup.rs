//! The lookup of a directory slice in its stage S1, and the ages of the ways.

use super::index::*;
use super::params::{DirParams, Policy};
use super::types::{Lookup, Plan, Source, Stage2};
use weft_rtl::prelude::*;

/// The ages of the ways, a row per set, and their part of S2.
pub(super) struct Ages {
    pub port: SramPort<Bits>,
    pub writer: LaneWriter<Bits>,
    pub s2_write: Reg<Bool>,
    pub s2_ages: Reg<Bits>,
}

/// Declares the ages of more than one way.
pub(super) fn ages_of(p: &DirParams) -> Ages {
    let bits = p.ways * p.age_bits();
    let mem = sram::<Bits>("ages", p.sets(), 1, bits).fields(&[("replacement", bits)]);
    Ages {
        port: mem.read_port("s1"),
        writer: mem.lane_writer("s2"),
        s2_write: reg::<Bool>("s2_ages_write", ()),
        s2_ages: reg::<Bits>("s2_ages", bits).field("pipeline"),
    }
}

/// Ages after reset.
pub(super) fn identity_ages(p: &DirParams) -> Bits {
    let ages: Vec<Bits> = (0..p.ways).map(|w| lit(u64::from(w), p.age_bits())).collect();
    pack(&ages)
}

fn key_of(p: &DirParams, entry: Bits) -> Bits {
    entry.slice(p.slots_width(), p.tag_bits() + 1)
}

fn valid_of(p: &DirParams, entry: Bits) -> Bool {
    entry.bit(p.entry_bits() - 1)
}

/// Compares the set read in S1, seen through the write that is in S2, with the base asked for.
pub(super) fn lookup(p: &DirParams, source: Source, port: &SramPort<Bits>, s2: &Stage2) -> Lookup {
    let Source { valid, any, req, event, line } = source;
    let base = base_of(p, line);
    let set = port.addr_q();
    let key = pack(&[tag_of(p, base), lit(1, 1)]).named("s1_key");
    let lanes: Vec<Bits> = (0..p.ways).map(|w| port.lane(w)).collect();
    let mem_hits: Vec<Bool> = lanes.iter().map(|lane| key_of(p, *lane).eq(key)).collect();
    let mem_valids: Vec<Bool> = lanes.iter().map(|lane| valid_of(p, *lane)).collect();
    let mem_hits = pack_bools(&mem_hits).named("mem_hits");
    // The set that S2 is writing is forwarded: only the way written differs.
    let same_set = (s2.valid.get() & s2.set.get().eq(set)).named("same_set");
    let forward = (same_set & s2.write.get()).named("forward");
    let changed = s2.way.get().one_hot(p.ways);
    let patch = |mask: Bits, bit: Bool| mux(forward, mux(bit, mask | changed, mask & !changed), mask);
    let hits = patch(mem_hits, key_of(p, s2.entry.get()).eq(key)).named("s1_hits");
    let valids = patch(pack_bools(&mem_valids), valid_of(p, s2.entry.get())).named("s1_valids");
    let hit = hits.any().named("s1_hit");
    assert_always("one_way_per_base", !any | hits.popcount().le(1), "at most one way holds a base");
    let way = if p.ways == 1 { lit(0, 1) } else { hits.lowest_set() };
    Lookup {
        valid,
        any,
        req,
        event,
        base,
        slot: slot_of(p, line),
        set,
        hit,
        valids,
        way,
        old: lanes[0],
        same_set,
        forward,
        mem_hits,
    }
}

/// Chooses the way: the one hit, else the lowest invalid one, else the oldest.
pub(super) fn with_way(
    p: &DirParams,
    look: Lookup,
    port: &SramPort<Bits>,
    ages: Option<&Ages>,
    s2: &Stage2,
) -> Lookup {
    let way = match ages {
        None => lit(0, 1),
        Some(ages) => {
            let now = current_ages(&look, ages);
            let oldest: Vec<Bool> =
                (0..p.ways).map(|w| age_at(p, now, w).eq(u64::from(p.ways - 1))).collect();
            let free = (!look.valids).lowest_set();
            let victim = mux(look.valids.all(), pack_bools(&oldest).lowest_set(), free);
            mux(look.hit, look.way, victim)
        }
    };
    at_way(p, look, way, port, s2)
}

/// The lookup with a way chosen, and what is stored there.
pub(super) fn at_way(p: &DirParams, look: Lookup, way: Bits, port: &SramPort<Bits>, s2: &Stage2) -> Lookup {
    let way = way.named("s1_way");
    let stored = if p.ways == 1 { port.lane(0) } else { port.lane_at(way) };
    let fresh = look.forward & s2.way.get().eq(way);
    let old = mux(fresh, s2.entry.get(), stored).named("s1_old");
    Lookup { way, old, ..look }
}

/// Ages of the set that is looked up, seen through what S2 writes.
pub(super) fn current_ages(look: &Lookup, ages: &Ages) -> Bits {
    mux(look.same_set & ages.s2_write.get(), ages.s2_ages.get(), ages.port.lane(0))
}

/// Age of a way whose number is known.
pub(super) fn age_at(p: &DirParams, ages: Bits, way: u32) -> Bits {
    ages.slice(way * p.age_bits(), p.age_bits())
}

/// Age of a way.
pub(super) fn age_of(p: &DirParams, ages: Bits, way: Bits) -> Bits {
    ages.element(way, p.age_bits())
}

/// Makes the way the youngest: at insertion, and under `lru` when a remote read or write hits.
pub(super) fn touch(p: &DirParams, go: Bool, look: &Lookup, plan: &Plan, ages: &Ages, s2: &Stage2) {
    let now = current_ages(look, ages);
    let own = age_of(p, now, look.way);
    let touches = if p.policy == Policy::Lru { plan.touch } else { plan.allocate };
    let write = (go & touches & own.any()).named("make_youngest");
    ages.s2_write.set(write);
    when(write, || {
        let next: Vec<Bits> = (0..p.ways)
            .map(|w| {
                let age = age_at(p, now, w);
                let older = mux(age.lt(own), age + 1, age);
                mux(look.way.eq(u64::from(w)), lit(0, p.age_bits()), older)
            })
            .collect();
        ages.s2_ages.set(pack(&next));
    });
    let seen = (0..p.ways).map(|w| age_at(p, ages.s2_ages.get(), w).one_hot(p.ways));
    let seen: Vec<Bits> = seen.collect();
    let all = seen[1..].iter().fold(seen[0], |a, b| a | *b);
    assert_always(
        "ages_are_a_permutation",
        !(ages.s2_write.get() & s2.valid.get()) | all.all(),
        "the ages of a set are a permutation",
    );
}

/// Which way has each age, as one-hot vectors, the oldest first.
pub(super) fn ways_by_age(p: &DirParams, ages: Bits) -> Vec<Bits> {
    (0..p.ways)
        .rev()
        .map(|age| {
            let has: Vec<Bool> = (0..p.ways).map(|w| age_at(p, ages, w).eq(u64::from(age))).collect();
            pack_bools(&has)
        })
        .collect()
}
