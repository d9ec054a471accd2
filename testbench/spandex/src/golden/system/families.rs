//! Families of small programs: litmus tests over kinds of devices, and programs by seed.

use super::super::cover::Cover;
use super::super::device::access::Hint;
use super::super::device::{AtomicHow, Kind, LoadHow, StoreHow};
use super::super::msg::{AmoOp, Mask};
use super::explore::{Explored, explore};
use super::program::{Instr, Sem, Thread, add, amo, get, ld, put, st, update};
use super::{System, SystemParams, sc};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// {device, program} of each thread.
pub type Programs = Vec<(u8, Vec<Instr>)>;

/// All kinds.
pub const KINDS: [Kind; 4] = [Kind::Gpu, Kind::DeNovo, Kind::Mesi, Kind::Flex];

/// Threads at their first instruction.
pub fn threads(programs: &Programs) -> Vec<Thread> {
    programs.iter().map(|(dev, program)| Thread::new(*dev, program.clone())).collect()
}

/// Every interleaving of a program, each end compared with the SC outcomes; nothing for a program with a data race.
pub fn check(p: SystemParams, programs: &Programs, limit: usize) -> Option<Explored<Cover>> {
    let threads = threads(programs);
    let allowed = sc::outcomes(&threads, p.words)?;
    Some(explore(&System::new(p, threads), limit, Some(&allowed)))
}

/// Message passing: data in word 0, flag in word 1; the reader has a copy of the data at first if `warm`.
pub fn message(warm: bool) -> Programs {
    let mut reader = vec![get(1), Instr::If(201), ld(0)];
    if warm {
        reader = vec![amo(AmoOp::Read, 0, 0, Sem::Unpaired), get(1), Instr::If(201), ld(0)];
    }
    let write = if warm { amo(AmoOp::Write, 0, 200, Sem::Unpaired) } else { st(0, 200) };
    vec![(0, vec![write, put(1, 201)]), (1, reader)]
}
/// Message passing with a copy of the line at the reader: it loads a word of its own first.
pub fn message_over_a_copy() -> Programs {
    vec![(0, vec![st(0, 200), put(1, 201)]), (1, vec![ld(2), get(1), Instr::If(201), ld(0)])]
}
/// Message passing there and back: word 0 is written by both in turn.
pub fn ping_pong() -> Programs {
    let there = vec![st(0, 200), put(1, 201), get(1), Instr::If(203), ld(0)];
    let back = vec![get(1), Instr::If(201), ld(0), st(0, 202), put(1, 203)];
    vec![(0, there), (1, back)]
}
/// Three devices: 0 to 1 to 2.
pub fn chain() -> Programs {
    vec![
        (0, vec![st(0, 200), put(1, 201)]),
        (1, vec![get(1), Instr::If(201), put(2, 202)]),
        (2, vec![get(2), Instr::If(202), ld(0)]),
    ]
}
/// Each updates a word atomically.
pub fn sums(devices: u8, rounds: usize) -> Programs {
    (0..devices).map(|dev| (dev, vec![add(0, 1); rounds])).collect()
}
/// Each has a word of its own and writes and reads it.
pub fn false_sharing() -> Programs {
    let own = |word: u8, value: u32| vec![st(word, value), ld(word), st(word, value + 1), ld(word)];
    vec![(0, own(0, 200)), (1, own(1, 300))]
}
/// Dekker: each writes its flag, then reads the other's.
pub fn dekker() -> Programs {
    let side = |own: u8, other: u8| {
        vec![amo(AmoOp::Write, own, 201, Sem::Both), amo(AmoOp::Read, other, 0, Sem::Both)]
    };
    vec![(0, side(0, 1)), (1, side(1, 0))]
}
/// A word is exchanged for a turn, guarded data goes along.
pub fn lock() -> Programs {
    let take = |value: u32| {
        vec![amo(AmoOp::Exch, 0, value, Sem::Both), Instr::If(100), ld(1), st(1, value + 50), put(0, 100)]
    };
    vec![(0, take(201)), (1, take(202))]
}

/// How programs by seed look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Words of the line.
    pub words: u8,
    /// Instructions of a thread, at most.
    pub length: usize,
    /// Threads of a device, at most.
    pub threads: usize,
    /// Lines.
    pub lines: u32,
    /// Loads and stores of several words, of 8.
    pub multi: u32,
}

/// A program by seed; not always free of races.
pub fn by_seed(seed: u64, kinds: &[Kind], shape: Shape) -> Programs {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut out = Programs::new();
    for dev in 0..kinds.len() {
        let count = random.random_range(1..=shape.threads);
        for _ in 0..count {
            let length = random.random_range(1..=shape.length);
            let number = 10 * (out.len() as u32 + 1);
            let mut program = Vec::new();
            while program.len() < length {
                any(&mut random, &mut program, number, kinds, shape);
            }
            out.push((dev as u8, program));
        }
    }
    out
}
/// One instruction, or a paired read with its condition.
fn any(random: &mut SmallRng, program: &mut Vec<Instr>, number: u32, kinds: &[Kind], shape: Shape) {
    let word = random.random_range(0..shape.words);
    let line = random.random_range(0..shape.lines);
    let value = 200 + number + program.len() as u32;
    let wide = (random.random_range(1..1u32 << shape.words)) as Mask;
    let many = random.random_range(0..8) < shape.multi;
    let hint = hint(random, kinds.len() as u8);
    let semantics = *[Sem::Unpaired, Sem::Both, Sem::Acq, Sem::Rel].choose(random).unwrap_or(&Sem::Both);
    let instr = match random.random_range(0..16) {
        0..4 => {
            if many {
                ld(word).over(wide)
            } else {
                ld(word)
            }
        }
        4..8 => {
            if many {
                st(word, value).over(wide)
            } else {
                st(word, value)
            }
        }
        8..10 => amo(AmoOp::Add, word, 1, semantics),
        10 => update(word, 1),
        11..13 => put(word, value),
        13 => Instr::Acquire,
        14 => amo(AmoOp::Read, word, 0, Sem::Unpaired),
        _ => {
            program.push(get(word).at(line).how(hint));
            let other = 200 + 10 * random.random_range(1..=kinds.len() as u32) + random.random_range(0..3);
            Instr::If(other)
        }
    };
    program.push(instr.at(line).how(hint));
}
fn hint(random: &mut SmallRng, devices: u8) -> Hint {
    if random.random_range(0..3) == 0 {
        return Hint::default();
    }
    Hint {
        load: [None, Some(LoadHow::V), Some(LoadHow::S), Some(LoadHow::OData)]
            .choose(random)
            .copied()
            .flatten(),
        store: [Some(StoreHow::Wt), Some(StoreHow::WtFwd), Some(StoreHow::O), Some(StoreHow::OData)]
            .choose(random)
            .copied()
            .flatten(),
        atomic: [Some(AtomicHow::WtData), Some(AtomicHow::OData)].choose(random).copied().flatten(),
        wide: random.random(),
        direct: random.random::<bool>().then(|| random.random_range(0..devices)),
    }
}
