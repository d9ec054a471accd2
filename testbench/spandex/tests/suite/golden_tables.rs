//! Every cell of the two tables is reached, alone and beside every other cell of its row in one message; so is every mark.

use weft_spandex_bench::golden::cover::{Cover, MARKS, Mark};
use weft_spandex_bench::golden::device::access::Hint;
use weft_spandex_bench::golden::device::table::{COLUMNS, EXTERNAL, External};
use weft_spandex_bench::golden::device::{Kind, LoadHow, StoreHow};
use weft_spandex_bench::golden::llc::Choice;
use weft_spandex_bench::golden::llc::table::{COMMIT, Request};
use weft_spandex_bench::golden::msg::{Mask, words};
use weft_spandex_bench::golden::system::explore::Reached;
use weft_spandex_bench::golden::system::families::{KINDS, Shape, by_seed, threads};
use weft_spandex_bench::golden::system::program::{Instr, add, ld, st};
use weft_spandex_bench::golden::system::random::{End, run};
use weft_spandex_bench::golden::system::schedule::Schedule;
use weft_spandex_bench::golden::system::{System, SystemParams};

/// A system and programs by seed: two to four devices of any kind, or most of them Flex with stores of several words, up to two threads each, evictions, small buffers now and then.
fn system(seed: u64) -> System {
    let any = |i: u32, n: u64| {
        (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * i).wrapping_mul(0xd6e8_feb8_6659_fd93)
            >> 33)
            % n
    };
    let half = seed.is_multiple_of(2);
    let from = if half { [Kind::Flex, Kind::Flex, Kind::DeNovo, Kind::Flex] } else { KINDS };
    let kinds: Vec<Kind> = (0..2 + any(1, 3) as u32).map(|i| from[any(2 + i, 4) as usize]).collect();
    let multi = if half { 6 } else { 2 };
    let shape =
        Shape { words: 2 + any(6, 3) as u8, length: 10, threads: 2, lines: 1 + any(7, 3) as u32, multi };
    let policy = [None, None, Some(Choice::One), Some(Choice::Two), Some(Choice::Three)][any(8, 5) as usize];
    let small = any(9, 3) == 0;
    let p = SystemParams {
        words: shape.words,
        banks: 1 + any(10, 2) as u8,
        l1_evictions: u8::MAX,
        llc_evictions: any(11, 2) as u8 * u8::MAX,
        policy,
        revoke_lines: any(12, 2) == 0,
        broadcast: any(13, 4) == 0,
        flex_rsp: any(14, 4) != 0,
        fails: 1 + any(15, 3) as u8,
        atomics_through: any(16, 4) == 0,
        warm: any(17, 2) == 0,
        size: if small { (1, 1) } else { (1, 2) },
        tbes: if small { (1, 2) } else { (4, 8) },
        entries: if small { (1, 1, 1) } else { (4, 4, 2) },
        ..SystemParams::tiny(&kinds)
    };
    let programs = by_seed(seed, &kinds, shape);
    System::new(p, threads(&programs))
}

/// Random walks to the end, races or not: no rule breaks, and nothing hangs.
fn walks(seeds: std::ops::Range<u64>) -> Cover {
    let mut cover = Cover::default();
    for seed in seeds {
        let mut system = system(seed);
        let end = run(&mut system, seed, 20_000);
        assert!(matches!(end, End::Done(_)), "seed {seed}: {end:?} {:?}", system.params());
        cover.add(&system.cover);
    }
    cover
}

/// Pairs of columns that one request cannot meet: phase 1 leaves no owned word.
fn commit_can(row: usize, a: usize, b: usize) -> bool {
    let no_owned = matches!(COMMIT[row].0, Request::S1 | Request::WtData);
    !(no_owned && (a == 1 || b == 1))
}
/// A removal is sent to an owner only.
fn external_can(row: usize, a: usize, b: usize) -> bool {
    let removes =
        matches!(EXTERNAL[row].0, External::ReqO | External::ReqOData | External::RvkO | External::ReqS);
    !(removes && (a == COLUMNS - 1 || b == COLUMNS - 1))
}

fn missing(cover: &Cover) -> Vec<String> {
    let mut out = Vec::new();
    for (row, (request, ..)) in COMMIT.iter().enumerate() {
        for (a, b) in [(0, 0), (0, 1), (1, 1)].into_iter().filter(|(a, b)| commit_can(row, *a, *b)) {
            if cover.commit[row] >> (2 * a + b) & 1 == 0 {
                out.push(format!("{request:?}: columns {a} and {b}"));
            }
        }
    }
    for (row, (message, _)) in EXTERNAL.iter().enumerate() {
        let pairs = (0..COLUMNS).flat_map(|a| (a..COLUMNS).map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| external_can(row, *a, *b)) {
            if cover.external[row] >> (COLUMNS * a + b) & 1 == 0 {
                out.push(format!("{message:?}: columns {a} and {b}"));
            }
        }
    }
    out.extend((0..MARKS).filter(|mark| cover.marks >> mark & 1 == 0).map(|mark| format!("mark {mark}")));
    out
}

/// A message of the table, and how device 1 of some kind causes it for words 0 and 1 of device 0.
fn causes() -> [(External, Kind, Instr); 9] {
    let both = |instr: Instr| instr.over(0b11);
    let load = |direct| Hint { load: Some(LoadHow::V), direct, ..Hint::default() };
    let store = |how, direct| Hint { store: Some(how), direct, ..Hint::default() };
    [
        (External::ReqV, Kind::Flex, both(ld(0)).how(load(None))),
        (External::ReqO, Kind::DeNovo, both(st(0, 300))),
        (External::ReqOData, Kind::Mesi, both(st(0, 300))),
        (External::RvkO, Kind::Gpu, add(0, 1)),
        (External::ReqS, Kind::Mesi, ld(0)),
        (External::ReqWt, Kind::Flex, both(st(0, 300)).how(store(StoreHow::WtFwd, None))),
        (External::DirectV, Kind::Flex, both(ld(0)).how(load(Some(0)))),
        (External::DirectWt, Kind::Flex, both(st(0, 300)).how(store(StoreHow::Wt, Some(0)))),
        (External::Inv, Kind::Gpu, st(2, 300)),
    ]
}

/// Takes words of device 0 to a column of the table; threads 0 to 2 run there.
fn enter(s: &mut Schedule, columns: [usize; 2]) {
    let at = |column| (0..2).filter(|word| columns[*word] == column).fold(0, |mask, word| mask | 1 << word);
    let [owned, po, pd, wb]: [Mask; 4] = std::array::from_fn(at);
    if wb != 0 {
        s.run(0, st(0, 200).over(wb)).hold("gets ReqWb").evict(0, 0);
    }
    if owned != 0 {
        s.run(0, st(0, 210).over(owned));
    }
    if po != 0 {
        s.hold("Dev(0) gets RspO ").run(0, st(0, 220).over(po));
    }
    for (thread, word) in words(pd).enumerate() {
        s.hold("Dev(0) gets RspOData").run(thread, add(word as u8, 1));
    }
}

/// Device 0 has words 0 and 1 in two columns when the message comes.
fn pair(kind: Kind, cause: &(External, Kind, Instr), columns: [usize; 2]) -> Cover {
    let (external, other, instr) = cause;
    let p = SystemParams { words: 3, policy: Some(Choice::One), ..SystemParams::tiny(&[kind, *other]) };
    let mut s = Schedule::new(p, &[0, 0, 0, 1]);
    let forwarded = matches!(external, External::ReqV | External::ReqWt);
    if forwarded && columns.contains(&(COLUMNS - 1)) {
        let forward = if *external == External::ReqV { "gets FwdReqV" } else { "gets FwdReqWt" };
        s.run(0, st(0, 200).over(0b11)).hold(forward).run(3, *instr).evict(0, 0);
        enter(&mut s, columns);
        s.release(forward);
    } else {
        enter(&mut s, columns);
        if *external == External::Inv {
            s.run(2, ld(2).how(Hint { load: Some(LoadHow::S), ..Hint::default() }));
        }
        s.run(3, *instr);
    }
    let cover = s.system.cover;
    s.end();
    cover
}

/// Every message with its words in every two states, DeNovo and Flex at the receiving end.
fn pairs() -> Cover {
    let mut all = Cover::default();
    for cause in causes() {
        let row = EXTERNAL.iter().position(|row| row.0 == cause.0).expect("it is in the table");
        for (a, b) in (0..COLUMNS).flat_map(|a| (0..COLUMNS).map(move |b| (a, b))) {
            if external_can(row, a, b) {
                let shares = cause.0 == External::Inv;
                let kinds = [Kind::Flex, Kind::DeNovo];
                for kind in kinds.into_iter().filter(|kind| *kind == Kind::Flex || !shares) {
                    let cover = pair(kind, &cause, [a, b]);
                    let met = cover.external[row] >> (COLUMNS * a + b) & 1 == 1;
                    assert!(met, "{:?} at {kind:?}: columns {a} and {b} were not met", cause.0);
                    all.add(&cover);
                }
            }
        }
    }
    all
}

#[test]
fn every_cell_and_pair_of_cells() {
    let mut cover = walks(0..8_000);
    cover.add(&pairs());
    assert_eq!(missing(&cover), Vec::<String>::new());
    assert!(cover.has(Mark::Escalation));
}

/// What cannot be is never reached.
#[test]
fn long_random_walks() {
    let mut cover = walks(100_000..400_000);
    cover.add(&pairs());
    assert_eq!(missing(&cover), Vec::<String>::new());
    for (row, (request, ..)) in COMMIT.iter().enumerate() {
        let met = |(a, b): (usize, usize)| cover.commit[row] >> (2 * a + b) & 1 == 1;
        let wrong = [(0, 1), (1, 1)].into_iter().any(|at| !commit_can(row, at.0, at.1) && met(at));
        assert!(!wrong, "{request:?}");
    }
}
