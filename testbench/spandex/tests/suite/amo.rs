//! `amo`: every operation on a word against the host's arithmetic, at the edges and at random; a line word by word.

use crate::words::{OPS, result};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use weft_engine::{Design, Options, Sim};
use weft_rtl::prelude::*;
use weft_spandex::amo::WordAlu;
use weft_spandex::msg::WordOp;

/// What an operation makes of a word, and whether it writes.
fn expected(op: WordOp, old: u32, opnd: u32, cmp: u32, bmask: u32) -> (u32, bool) {
    let wrote = match op {
        WordOp::Read => false,
        WordOp::Merge => bmask != 0,
        WordOp::Cas => old == cmp,
        _ => true,
    };
    (result(op, old, opnd, cmp, u64::from(bmask)), wrote)
}

fn sim(words: u32) -> Sim {
    let module = Module::build(&format!("amo_alone_w{words}"), ModuleKind::Part, || {
        let alu = WordAlu {
            op: input::<Enum<WordOp>>("op", ()),
            cmp: input::<Bits>("cmp", 32),
            bmask: input::<Bits>("bmask", 4),
        };
        let (old, opnd) = (input::<Bits>("old", 32 * words), input::<Bits>("opnd", 32 * words));
        let (after, wrote) = alu.line(input::<Bits>("mask", words), old, opnd);
        output::<Bits>("updated", 32 * words).set(after);
        output::<Bits>("wrote", words).set(wrote);
    })
    .expect("sound");
    Sim::new(&Design::new(&module, Options::default()).expect("compiles"))
}

/// A word at an edge of its range, near another one, or anywhere.
fn word(rng: &mut SmallRng, near: u32) -> u32 {
    let edges = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    match rng.random_range(0..4) {
        0 => edges[rng.random_range(0..edges.len())],
        1 => near.wrapping_add(rng.random_range(0..5)).wrapping_sub(2),
        2 => near,
        _ => rng.random(),
    }
}

#[test]
fn every_operation_on_lines_of_four_words() {
    let (mut sim, mut rng) = (sim(4), SmallRng::seed_from_u64(1));
    let set = |sim: &mut Sim, name: &str, value: Bv| sim.set_bv(sim.input(name).expect("a port"), &value);
    let wide = |words: &[u32]| {
        Bv::concat(&words.iter().map(|w| Bv::from_u64(u64::from(*w), 32)).collect::<Vec<_>>())
    };
    for op in OPS {
        for _ in 0..1_000 {
            let old: Vec<u32> = (0..4).map(|_| word(&mut rng, 0)).collect();
            let opnd: Vec<u32> = old.iter().map(|o| word(&mut rng, *o)).collect();
            let cmp = word(&mut rng, old[0]);
            let (bmask, mask) = (rng.random_range(0..16), rng.random_range(0..16u32));
            set(&mut sim, "op", Bv::from_u64(op as u64, 4));
            set(&mut sim, "cmp", Bv::from_u64(u64::from(cmp), 32));
            set(&mut sim, "bmask", Bv::from_u64(u64::from(bmask), 4));
            set(&mut sim, "mask", Bv::from_u64(u64::from(mask), 4));
            set(&mut sim, "old", wide(&old));
            set(&mut sim, "opnd", wide(&opnd));
            let after = sim.get_bv(sim.output("updated").expect("a port"));
            let wrote = sim.get_bv(sim.output("wrote").expect("a port"));
            for w in 0..4 {
                let (new, writes) = expected(op, old[w], opnd[w], cmp, bmask);
                let in_mask = mask >> w & 1 == 1;
                let want = if in_mask { new } else { old[w] };
                let found = after.slice(32 * w as u32, 32).low_u64() as u32;
                let context = format!(
                    "{op:?} word {w} old {:#x} opnd {:#x} cmp {cmp:#x} bmask {bmask:#x}",
                    old[w], opnd[w]
                );
                assert_eq!((found, wrote.bit(w as u32)), (want, writes && in_mask), "{context}");
            }
        }
    }
}
