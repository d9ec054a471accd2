//! All interleavings of small programs: litmus tests over every pair of kinds of devices, all short programs, programs by seed. The network is unordered; L1s and the LLC
//! replace lines on their own. Every end must be sequentially consistent and every state have one within reach.

use weft_spandex_bench::golden::device::Kind;
use weft_spandex_bench::golden::llc::Choice;
use weft_spandex_bench::golden::msg::AmoOp;
use weft_spandex_bench::golden::system::SystemParams;
use weft_spandex_bench::golden::system::families::{self, KINDS, Programs, Shape, by_seed, check};
use weft_spandex_bench::golden::system::program::{Instr, Sem, add, amo, get, ld, put, st, update};

const POLICIES: [Option<Choice>; 4] = [None, Some(Choice::One), Some(Choice::Two), Some(Choice::Three)];

fn pairs() -> Vec<[Kind; 2]> {
    KINDS.iter().flat_map(|a| KINDS.iter().map(move |b| [*a, *b])).collect()
}
fn triples() -> Vec<[Kind; 3]> {
    pairs().iter().flat_map(|pair| KINDS.iter().map(move |c| [pair[0], pair[1], *c])).collect()
}

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

/// Every pair of kinds; all complete.
fn litmus(name: &str, programs: &Programs, p: &SystemParams) {
    let mut tally = Tally::default();
    for kinds in pairs() {
        let p = SystemParams { words: 3, kinds: kinds.to_vec(), ..p.clone() };
        assert!(tally.add(&p, programs, 500_000), "{name}: a data race");
    }
    tally.tell(name);
    assert_eq!(tally.cut, 0, "{name}");
}
fn evicting(l1: u8, llc: u8) -> SystemParams {
    SystemParams { l1_evictions: l1, llc_evictions: llc, ..SystemParams::tiny(&[]) }
}

#[test]
fn messages() {
    for policy in POLICIES {
        let p = SystemParams { policy, ..evicting(1, 1) };
        litmus("message", &families::message(false), &p);
    }
    litmus("message over a copy", &families::message_over_a_copy(), &evicting(1, 0));
    litmus("atomic message", &families::message(true), &evicting(1, 0));
    litmus("ping-pong", &families::ping_pong(), &evicting(1, 0));
}

/// The flag is in another line, and the reader's device has a load of the data's line under way.
#[test]
fn messages_through_another_line() {
    let writer = vec![st(0, 200), put(1, 201).at(1)];
    let reader = vec![get(1).at(1), Instr::If(201), ld(0)];
    for policy in [None, Some(Choice::Two)] {
        let p = SystemParams { policy, ..evicting(0, 0) };
        litmus("beside a load", &vec![(0, vec![ld(2)]), (0, reader.clone()), (1, writer.clone())], &p);
    }
    litmus(
        "beside an update",
        &vec![(0, vec![update(1, 1), st(1, 300)]), (0, reader), (1, writer)],
        &evicting(0, 0),
    );
}

#[test]
fn sums_and_locks() {
    litmus("sums", &families::sums(2, 2), &evicting(1, 1));
    litmus("dekker", &families::dekker(), &evicting(1, 0));
    litmus("lock", &families::lock(), &evicting(1, 0));
}

#[test]
fn false_sharing() {
    litmus("false sharing", &families::false_sharing(), &evicting(0, 0));
    let both = vec![(0, vec![st(0, 200), ld(0)]), (1, vec![st(1, 300), ld(1)])];
    litmus("false sharing, evictions", &both, &evicting(2, 1));
}

#[test]
fn chains() {
    let mut tally = Tally::default();
    for kinds in triples() {
        let p = SystemParams { words: 3, ..SystemParams::tiny(&kinds) };
        assert!(tally.add(&p, &families::chain(), 500_000));
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
    for kinds in pairs() {
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
    all_short(1, &evicting(1, 0), "two and one");
}
#[test]
fn long_all_programs_of_two_and_two_instructions() {
    all_short(2, &evicting(1, 1), "two and two");
}
#[test]
fn long_all_programs_under_each_policy() {
    for policy in POLICIES {
        let p = SystemParams { policy, broadcast: policy.is_some(), revoke_lines: false, ..evicting(1, 1) };
        all_short(1, &p, "two and one");
    }
}

/// Parameters and a shape by seed: two or three devices, one or two threads each, one or two lines, every policy and mode.
fn setup(seed: u64) -> (SystemParams, Shape) {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let any = |i: u32, n: u64| (mixed.rotate_left(7 * i + 13).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 33) % n;
    let devices = if any(1, 4) == 0 { 3 } else { 2 };
    let kinds: Vec<Kind> = (0..devices).map(|i| KINDS[any(2 + i, 4) as usize]).collect();
    let threads = if devices == 2 { 1 + any(6, 2) as usize } else { 1 };
    let (words, lines) = (2 + any(7, 2) as u8, 1 + any(9, 2) as u32);
    let shape = Shape { words, length: 3 + any(8, 2) as usize, threads, lines, multi: 2 };
    let policy = [None, None, None, None, Some(Choice::One), Some(Choice::Two), Some(Choice::Three)];
    let p = SystemParams {
        words,
        l1_evictions: any(11, 3) as u8,
        llc_evictions: any(12, 2) as u8,
        policy: policy[any(10, 7) as usize],
        revoke_lines: any(13, 3) != 0,
        broadcast: any(14, 4) == 0,
        flex_rsp: any(18, 4) != 0,
        fails: 1 + any(15, 2) as u8,
        atomics_through: any(16, 4) == 0,
        warm: any(17, 2) == 0,
        tbes: if any(19, 4) == 0 { (1, 1) } else { (4, 8) },
        entries: if any(20, 4) == 0 { (1, 1, 1) } else { (8, 8, 4) },
        ..SystemParams::tiny(&kinds)
    };
    (p, shape)
}
/// By seed; `flex`: all devices but perhaps one are Flex.
fn seeds(range: std::ops::Range<u64>, limit: usize, flex: bool) {
    let mut tally = Tally::default();
    for seed in range {
        let (mut p, shape) = setup(seed);
        if flex {
            p.kinds[1..].fill(Kind::Flex);
        }
        tally.add(&p, &by_seed(seed, &p.kinds, shape), limit);
    }
    tally.tell("by seed");
    assert!(tally.cut * 5 < tally.programs, "most programs must be explored to the end");
}

#[test]
fn programs_by_seed() {
    seeds(0..400, 10_000, false);
}
#[test]
fn flex_programs_by_seed() {
    seeds(20_000..20_300, 6_000, true);
}
#[test]
fn long_flex_programs_by_seed() {
    seeds(20_000..24_000, 60_000, true);
}
#[test]
fn long_programs_by_seed_1() {
    seeds(1_000..4_000, 150_000, false);
}
#[test]
fn long_programs_by_seed_2() {
    seeds(4_000..7_000, 150_000, false);
}
#[test]
fn long_programs_by_seed_3() {
    seeds(7_000..10_000, 150_000, false);
}

/// Longer litmus tests with more evictions.
#[test]
fn long_litmus() {
    litmus("ping-pong", &families::ping_pong(), &evicting(1, 1));
    litmus("lock", &families::lock(), &evicting(1, 1));
    litmus("false sharing", &families::false_sharing(), &evicting(1, 0));
    let mut tally = Tally::default();
    for kinds in triples() {
        let p = SystemParams { words: 3, l1_evictions: 1, ..SystemParams::tiny(&kinds) };
        assert!(tally.add(&p, &families::sums(3, 1), 500_000));
        assert!(tally.add(&p, &families::chain(), 500_000));
    }
    tally.tell("three devices");
    assert_eq!(tally.cut, 0);
}
