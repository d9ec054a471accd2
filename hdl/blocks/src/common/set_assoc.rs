//! Set-associative arrays: replacement by ages, and an array of keys as a block.
//!
//! Replacement (rec.md section 4): the lowest-numbered invalid way first, else the oldest. Each way of a set has an age; the ages of a set are a
//! permutation of 0..ways-1, 0 the youngest. Inserting makes a way the youngest; under LRU so does a hit. FIFO and LRU share the hardware.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/set-assoc-array.svg")]

use weft_rtl::prelude::*;

/// What a hit does to the ages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Policy {
    /// Nothing: the way inserted first leaves first.
    Fifo,
    /// The way becomes the youngest.
    Lru,
}

/// Width of one age: log2 of the ways rounded up, at least 1.
pub fn age_bits(ways: u32) -> u32 {
    bits_for(u64::from(ways))
}

/// Width of a set's packed ages.
pub fn ages_width(ways: u32) -> u32 {
    ways * age_bits(ways)
}

/// The ages of a fresh set: way i has age i.
pub fn identity_ages(ways: u32) -> Bv {
    let ages: Vec<Bv> = (0..ways).map(|way| Bv::from_u64(u64::from(way), age_bits(ways))).collect();
    Bv::concat(&ages)
}

fn each_age(ages: Bits, ways: u32) -> Vec<Bits> {
    (0..ways).map(|way| ages.slice(way * age_bits(ways), age_bits(ways))).collect()
}

/// The way of the greatest age.
#[track_caller]
pub fn oldest_way(ages: Bits, ways: u32) -> Bits {
    let oldest: Vec<Bool> = each_age(ages, ways).iter().map(|age| age.eq(u64::from(ways - 1))).collect();
    pack_bools(&oldest).lowest_set()
}

/// The way to fill next: the lowest one whose bit in `valid` is 0, else the oldest.
#[track_caller]
pub fn victim_way(valid: Bits, ages: Bits, ways: u32) -> Bits {
    mux(valid.all(), oldest_way(ages, ways), (!valid).lowest_set())
}

/// The ages after `way` has become the youngest: its age is 0, those younger than it was are one older.
#[track_caller]
pub fn make_youngest(ages: Bits, way: Bits, ways: u32) -> Bits {
    if ways == 1 {
        return ages;
    }
    let bits = age_bits(ways);
    let was = ages.element(way, bits);
    let aged: Vec<Bits> = each_age(ages, ways)
        .into_iter()
        .enumerate()
        .map(|(i, age)| {
            let moved = mux(age.lt(was), age + 1, age);
            mux(way.eq(i as u64), lit(0, bits), moved)
        })
        .collect();
    pack(&aged)
}

/// Whether the ages are a permutation.
#[track_caller]
pub fn is_permutation(ages: Bits, ways: u32) -> Bool {
    let seen: Vec<Bits> = each_age(ages, ways).iter().map(|age| age.one_hot(ways)).collect();
    seen[1..].iter().fold(seen[0], |all, one| all | *one).all()
}

/// The ways whose key equals `key` and whose bit in `valid` is set.
#[track_caller]
pub fn match_ways(keys: &[Bits], valid: Bits, key: Bits) -> Bits {
    let equal: Vec<Bool> = keys.iter().map(|k| k.eq(key)).collect();
    pack_bools(&equal) & valid
}

/// Operations of the array block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ArrayOp {
    /// Says whether the key is there; changes nothing.
    Lookup,
    /// Looks the key up; a hit counts as a use.
    Touch,
    /// Puts the key in, or uses it if it is there.
    Insert,
    /// Takes the key out.
    Invalidate,
}

/// Parameters of the array block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayParams {
    /// Sets, a power of two, 2..65536.
    pub sets: u32,
    /// Ways, 1..128.
    pub ways: u32,
    /// Bits of a key; the low ones are the set.
    pub key_bits: u32,
    /// Replacement.
    pub policy: Policy,
}

impl ArrayParams {
    /// Bits of a key that choose the set.
    pub fn set_bits(&self) -> u32 {
        self.sets.trailing_zeros()
    }
    /// Bits of a key that are stored.
    pub fn tag_bits(&self) -> u32 {
        self.key_bits - self.set_bits()
    }
}

/// Request to the array block (channel `req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = ArrayParams)]
pub struct ArrayReq {
    /// Operation.
    pub op: Enum<ArrayOp>,
    /// Key.
    #[width(p.key_bits)]
    pub key: Bits,
}

/// Answer of the array block (channel `rsp`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = ArrayParams)]
pub struct ArrayRsp {
    /// The key was there.
    pub hit: Bool,
    /// Its way, or the way filled.
    #[width(age_bits(p.ways))]
    pub way: Bits,
    /// Another key was replaced.
    pub evicted: Bool,
    /// The key replaced.
    #[width(p.key_bits)]
    pub victim: Bits,
}

/// One way of a set in storage.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = ArrayParams)]
struct ArrayWay {
    #[width(p.tag_bits())]
    #[field("tag")]
    tag: Bits,
    #[field("valid")]
    valid: Bool,
}

/// An array of keys as a block: channel `req`, channel `rsp`; one operation per cycle, answered in order in the second cycle after it was taken. After reset
/// one set per cycle is cleared, and requests wait.
///
/// # Errors
/// A number of sets that is no power of two or lies outside 2..65536, ways outside 1..128, or a key that has no bits beside the set.
pub fn set_assoc_array(p: ArrayParams) -> Result<Arc<Module>, ElabErrors> {
    let policy = if p.policy == Policy::Lru { "lru" } else { "fifo" };
    let name = format!("set_assoc_array_s{}_w{}_k{}_{policy}", p.sets, p.ways, p.key_bits);
    Module::build(&name, ModuleKind::Block, || {
        doc("Set-associative array of keys with replacement by ages.");
        param("sets", p.sets);
        param("ways", p.ways);
        param("key_bits", p.key_bits);
        param("policy", policy);
        let bad = !p.sets.is_power_of_two() || !(2..=65536).contains(&p.sets);
        if bad || !(1..=128).contains(&p.ways) || p.key_bits <= p.set_bits() {
            elab_error(format!(
                "{p:?}; legal: sets a power of two in 2..65536, ways 1..128, key_bits above log2(sets)"
            ));
            return;
        }
        array_body(p);
    })
}

fn array_body(p: ArrayParams) {
    let req = in_channel::<ArrayReq>("req", &p);
    let rsp = out_channel::<ArrayRsp>("rsp", &p);
    let rows = sram::<ArrayWay>("ways", p.sets, p.ways, p);
    let (row_port, row_writer) = (rows.read_port("read"), rows.row_writer("write"));
    // One way has no order.
    let order = (p.ways > 1).then(|| {
        let bits = ages_width(p.ways);
        let ages = sram::<Bits>("ages", p.sets, 1, bits).fields(&[("replacement", bits)]);
        (ages.read_port("read"), ages.lane_writer("write"))
    });
    let ages = || match &order {
        Some((port, _)) => port.lane(0),
        None => lit_bv(identity_ages(1)),
    };
    let write_ages = |set: Bits, ages: Bits| {
        if let Some((_, writer)) = &order {
            writer.write(set, &ages);
        }
    };
    let cleared = reg::<Bits>("cleared", p.set_bits() + 1).doc("Sets cleared since reset.");
    let clearing = (!cleared.get().bit(p.set_bits())).named("clearing");
    let s1_valid = reg::<Bool>("s1_valid", ());
    let s1 = reg::<ArrayReq>("s1", p).field("queue");
    let stall = (s1_valid.get() & !rsp.free).named("stall");
    let accept = (req.valid & !clearing & !stall).named("accept");
    let set_of = |key: Bits| key.slice(0, p.set_bits());
    // A stalled operation presents its set again, so that the row stands while it waits.
    let presented = mux(stall, set_of(s1.get().key), set_of(req.msg.key));
    row_port.present(presented);
    if let Some((port, _)) = &order {
        port.present(presented);
    }
    when(!stall, || s1_valid.set(accept));
    when(accept, || {
        req.take();
        s1.set(req.msg);
    });
    let act = (s1_valid.get() & !stall).named("act");
    let plan = plan(p, &s1.get(), &row_port.row(), ages());
    let set = set_of(s1.get().key);
    when(clearing, || {
        cleared.set(cleared.get() + 1);
        let set = cleared.get().slice(0, p.set_bits());
        let zero = lit_bv(Bv::zero(p.ways * (p.tag_bits() + 1)));
        row_writer.write_packed(set, lit_bv(Bv::ones(p.ways)), zero);
        write_ages(set, lit_bv(identity_ages(p.ways)));
    })
    .elsewhen(act, || {
        rsp.send(&plan.answer);
        when(plan.write, || {
            let row = vec![plan.way; p.ways as usize];
            row_writer.write_masked(set, plan.answer.way.one_hot(p.ways), &row);
        });
        when(plan.touch, || write_ages(set, plan.ages));
    });
    let sound = is_permutation(ages(), p.ways);
    assert_always("ages_permutation", !act | sound, "the ages of a set are a permutation");
    assert_always("one_way_per_key", !act | plan.matches.popcount().le(1), "at most one way holds a key");
}

/// What an operation does to its set.
struct Plan {
    matches: Bits,
    answer: ArrayRsp,
    write: Bool,
    way: ArrayWay,
    touch: Bool,
    ages: Bits,
}

fn plan(p: ArrayParams, s1: &ArrayReq, row: &[ArrayWay], ages: Bits) -> Plan {
    let tags: Vec<Bits> = row.iter().map(|w| w.tag).collect();
    let valid: Vec<Bool> = row.iter().map(|w| w.valid).collect();
    let valid = pack_bools(&valid).named("s1_ways_valid");
    let tag = s1.key.slice(p.set_bits(), p.tag_bits());
    let matches = match_ways(&tags, valid, tag).named("s1_match");
    let hit = matches.any().named("s1_hit");
    let way = mux(hit, matches.lowest_set(), victim_way(valid, ages, p.ways)).named("s1_way");
    let insert = s1.op.is(ArrayOp::Insert);
    let fill = (insert & !hit).named("s1_fill");
    let used = hit & s1.op.is_any(&[ArrayOp::Insert, ArrayOp::Touch]);
    let touch = if p.policy == Policy::Lru { fill | used } else { fill };
    let old_tag = select(&tags, way);
    let victim = pack(&[s1.key.slice(0, p.set_bits()), old_tag]);
    Plan {
        matches,
        answer: ArrayRsp { hit, way, evicted: fill & valid.all(), victim },
        write: fill | (hit & s1.op.is(ArrayOp::Invalidate)),
        way: ArrayWay { tag, valid: insert },
        touch,
        ages: make_youngest(ages, way, p.ways),
    }
}
