//! All interleavings of small programs: litmus tests over CPUs, GPU coherence and DeNovo, all short programs, programs by seed. The network is unordered; L1s, the L2 and the
//! L3 replace lines on their own. Every end must be sequentially consistent and every state have one within reach.

use weft_hmesi_bench::golden::system::{SystemParams, check};
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};
use weft_spandex_bench::golden::msg::AmoOp;
use weft_spandex_bench::golden::system::families::{self, Programs, Shape, by_seed};
use weft_spandex_bench::golden::system::program::{Instr, Sem, add, amo, get, ld, put, st, update};

const PAIRS: [[Kind; 2]; 6] =
    [[Mesi, Mesi], [Mesi, Gpu], [Mesi, DeNovo], [Gpu, Gpu], [Gpu, DeNovo], [DeNovo, DeNovo]];
const TRIPLES: [[Kind; 3]; 8] = [
    [Mesi, Mesi, Mesi],
    [Mesi, Mesi, Gpu],
    [Mesi, Mesi, DeNovo],
    [Mesi, Gpu, Gpu],
    [Mesi, Gpu, DeNovo],
    [Mesi, DeNovo, DeNovo],
    [Gpu, Gpu, DeNovo],
    [DeNovo, DeNovo, DeNovo],
];

/// What was explored.
#[derive(Default)]
struct Tally {
    programs: usize,
    states: usize,
    cut: usize,
}

impl Tally {
    /// Explores a program, unless it has a data race: then false.
    #[track_caller]
    fn add(&mut self, p: &SystemParams, programs: &Programs, limit: usize) -> bool {
        let Some(found) = check(p.clone(), programs, limit) else { return false };
        if let Some(violation) = found.violation {
            panic!("{p:?}\n{programs:?}\n{violation}");
        }
        self.programs += 1;
        self.states += found.states;
        self.cut += usize::from(found.incomplete);
        true
    }
    fn tell(&self, name: &str) {
        println!("{name}: {} programs, {} states, {} programs cut off", self.programs, self.states, self.cut);
    }
}

fn evicting(evictions: [u8; 3]) -> SystemParams {
    SystemParams { evictions, ..SystemParams::tiny(&[]) }
}
/// The threads the other way round, on the same devices.
fn turned(programs: &Programs, devices: u8) -> Programs {
    programs.iter().map(|(dev, program)| (devices - 1 - dev, program.clone())).collect()
}
/// Every pair of kinds, both ways; all complete.
fn litmus(name: &str, programs: &Programs, p: &SystemParams) {
    let mut tally = Tally::default();
    for kinds in PAIRS {
        let p = SystemParams { words: 3, kinds: kinds.to_vec(), ..p.clone() };
        assert!(tally.add(&p, programs, 500_000), "{name}: a data race");
        if kinds[0] != kinds[1] {
            tally.add(&p, &turned(programs, 2), 500_000);
        }
    }
    tally.tell(name);
    assert_eq!(tally.cut, 0, "{name}");
}

#[test]
fn messages() {
    litmus("message", &families::message(false), &evicting([1, 1, 0]));
    litmus("message", &families::message(false), &evicting([0, 1, 1]));
    litmus("message over a copy", &families::message_over_a_copy(), &evicting([1, 0, 1]));
    litmus("atomic message", &families::message(true), &evicting([1, 0, 0]));
    litmus("ping-pong", &families::ping_pong(), &evicting([1, 0, 0]));
}

/// The flag is in another line, and the reader's device has a load of the data's line under way.
#[test]
fn messages_through_another_line() {
    let writer = vec![st(0, 200), put(1, 201).at(1)];
    let reader = vec![get(1).at(1), Instr::If(201), ld(0)];
    litmus(
        "beside a load",
        &vec![(0, vec![ld(2)]), (0, reader.clone()), (1, writer.clone())],
        &evicting([0; 3]),
    );
    let programs = vec![(0, vec![update(1, 1), st(1, 300)]), (0, reader), (1, writer)];
    litmus("beside an update", &programs, &evicting([0; 3]));
}

#[test]
fn sums_and_locks() {
    litmus("sums", &families::sums(2, 2), &evicting([1, 1, 0]));
    litmus("sums", &families::sums(2, 2), &evicting([0, 0, 1]));
    litmus("dekker", &families::dekker(), &evicting([1, 0, 0]));
    litmus("lock", &families::lock(), &evicting([0, 1, 0]));
}

#[test]
fn false_sharing() {
    litmus("false sharing", &families::false_sharing(), &evicting([0, 0, 0]));
    let both = vec![(0, vec![st(0, 200), ld(0)]), (1, vec![st(1, 300), ld(1)])];
    litmus("false sharing, evictions", &both, &evicting([1, 1, 1]));
}
#[test]
fn chains() {
    let mut tally = Tally::default();
    for kinds in TRIPLES {
        let p = SystemParams { words: 3, ..SystemParams::tiny(&kinds) };
        assert!(tally.add(&p, &families::chain(), 500_000));
        assert!(tally.add(&p, &turned(&families::chain(), 3), 500_000));
    }
    tally.tell("chains");
    assert_eq!(tally.cut, 0);
}

fn alphabet(value: u32) -> [Instr; 7] {
    [
        ld(0),
        ld(1),
        st(0, value),
        st(1, value + 1),
        add(0, 1),
        amo(AmoOp::Exch, 1, value, Sem::Both),
        Instr::Acquire,
    ]
}
/// All pairs of a thread of two instructions and one of `length`.
fn all_short(length: usize, p: &SystemParams, name: &str) {
    let two = |value: u32| {
        let of = alphabet(value);
        of.into_iter().flat_map(move |a| of.into_iter().map(move |b| vec![a, b])).collect::<Vec<_>>()
    };
    let one = |value: u32| alphabet(value).into_iter().map(|a| vec![a]).collect::<Vec<_>>();
    let mut tally = Tally::default();
    for kinds in PAIRS {
        let p = SystemParams { kinds: kinds.to_vec(), ..p.clone() };
        for first in two(200) {
            for second in if length == 1 { one(300) } else { two(300) } {
                tally.add(&p, &vec![(0, first.clone()), (1, second)], 500_000);
            }
        }
    }
    tally.tell(name);
    assert_eq!(tally.cut, 0, "{name}");
}

#[test]
fn all_programs_of_two_and_one_instructions() {
    all_short(1, &evicting([1, 0, 0]), "two and one");
}
#[test]
fn long_all_programs_of_two_and_two_instructions() {
    all_short(2, &evicting([1, 1, 1]), "two and two");
}

/// Parameters and a shape by seed: two or three devices, one or two threads each, one or two lines and banks, small buffers, blocked ports.
fn setup(seed: u64) -> (SystemParams, Shape) {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let any = |i: u32, n: u64| (mixed.rotate_left(7 * i + 13).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 33) % n;
    let kinds = if any(1, 3) == 0 {
        TRIPLES[any(2, 8) as usize].to_vec()
    } else {
        PAIRS[any(3, 6) as usize].to_vec()
    };
    let threads = if kinds.len() == 2 { 1 + any(4, 2) as usize } else { 1 };
    let (words, lines) = (2 + any(5, 2) as u8, 1 + any(6, 2) as u32);
    let shape = Shape { words, length: 2 + any(7, 4) as usize / 2, threads, lines, multi: 2 };
    let small = any(8, 3) == 0;
    let p = SystemParams {
        words,
        banks: 1 + any(9, 4) as u8 / 3,
        evictions: [any(10, 2) as u8, any(11, 2) as u8, any(12, 4) as u8 / 3],
        warm: any(13, 3) != 0,
        fails: 1 + any(14, 2) as u8,
        revoke_lines: any(15, 3) != 0,
        flex_rsp: any(16, 4) != 0,
        lines: if small { [1 + any(17, 2) as usize, 1 + any(18, 2) as usize] } else { [4, 4] },
        tbes: if any(19, 3) == 0 { [2, 1 + any(20, 2) as usize] } else { [4, 4] },
        entries: if any(21, 4) == 0 { (1, 1, 1) } else { (8, 8, 4) },
        heads: any(22, 3) == 0,
        ..SystemParams::tiny(&kinds)
    };
    (p, shape)
}
fn seeds(range: std::ops::Range<u64>, limit: usize) {
    let mut tally = Tally::default();
    for seed in range {
        let (p, shape) = setup(seed);
        tally.add(&p, &by_seed(seed, &p.kinds, shape), limit);
    }
    tally.tell("by seed");
    assert!(tally.cut * 5 < tally.programs, "most programs must be explored to the end");
}

#[test]
fn programs_by_seed() {
    seeds(0..300, 20_000);
}
#[test]
fn long_programs_by_seed_1() {
    seeds(1_000..1_800, 60_000);
}
#[test]
fn long_programs_by_seed_2() {
    seeds(4_000..4_800, 60_000);
}
