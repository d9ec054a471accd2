//! Every cell of the tables of the L3 and of its clients that is meant to happen is reached, and no other; so is every mark.

use weft_hmesi_bench::golden::client::table as client;
use weft_hmesi_bench::golden::cover::{Cover, MARKS};
use weft_hmesi_bench::golden::l3::table as l3;
use weft_hmesi_bench::golden::system::{Step, System, SystemParams};
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};
use weft_spandex_bench::golden::system::explore::{Reached, World};
use weft_spandex_bench::golden::system::families::{Shape, by_seed, threads};
use weft_spandex_bench::golden::system::program::{Instr, ld, st};
use weft_spandex_bench::golden::system::random::{End, run};
use weft_spandex_bench::golden::system::schedule::Schedule;

/// A system and programs by seed: up to three CPUs and two GPU L1s, up to two threads each, evictions everywhere, small buffers and blocked ports now and then.
fn system(seed: u64) -> System {
    let any = |i: u32, n: u64| {
        (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * i).wrapping_mul(0xd6e8_feb8_6659_fd93)
            >> 33)
            % n
    };
    let gpu = if any(1, 2) == 0 { Gpu } else { DeNovo };
    let kinds = [Mesi, Mesi, Mesi, gpu, if any(2, 3) == 0 { Gpu } else { gpu }];
    let first = any(3, 3) as usize;
    let kinds: Vec<Kind> = kinds[first..].to_vec();
    let shape =
        Shape { words: 2 + any(4, 3) as u8, length: 10, threads: 2, lines: 1 + any(5, 3) as u32, multi: 2 };
    let small = any(6, 3) == 0;
    let p = SystemParams {
        words: shape.words,
        banks: 1 + any(7, 2) as u8,
        evictions: [u8::MAX * any(8, 2) as u8, u8::MAX * any(9, 2) as u8, u8::MAX * any(10, 2) as u8],
        warm: any(11, 2) == 0,
        fails: 1 + any(12, 3) as u8,
        revoke_lines: any(13, 2) == 0,
        flex_rsp: any(14, 4) != 0,
        lines: if small { [1 + any(15, 2) as usize, 1 + any(16, 2) as usize] } else { [4, 4] },
        tbes: if any(17, 3) == 0 { [2, 1] } else { [4, 4] },
        stalls: 1 + any(18, 8) as usize,
        entries: if any(19, 3) == 0 { (1, 1, 1) } else { (4, 4, 2) },
        heads: any(20, 2) == 0,
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
        let end = run(&mut system, seed, 50_000);
        assert!(matches!(end, End::Done(_)), "seed {seed}: {end:?} {:?}", system.params());
        cover.add(&system.cover);
    }
    cover
}

fn difference(
    name: &str,
    reached: &[u16],
    meant: &[(usize, usize)],
    events: &[String],
    states: &[String],
) -> Vec<String> {
    let mut out = Vec::new();
    for (event, row) in reached.iter().enumerate() {
        for (state, column) in states.iter().enumerate() {
            let (is, should) = (row >> state & 1 == 1, meant.contains(&(event, state)));
            if is != should {
                let what = if is { "was" } else { "was not" };
                out.push(format!("{name}: {} in {column} {what} reached", events[event]));
            }
        }
    }
    out
}

/// The L2 drops its copy and asks again; an Inv for the old copy overtakes its GetS, one for the new copy its DataS.
fn two_invs() -> Cover {
    let p = SystemParams { words: 3, evictions: [u8::MAX; 3], ..SystemParams::tiny(&[Mesi, Mesi, Gpu, Gpu]) };
    let programs = (0..4).map(|dev| (dev, Vec::new())).collect();
    let mut s = Schedule::of(System::new(p, threads(&programs)));
    s.run(0, ld(1)).run(2, ld(2));
    assert!(s.system.step(Step::EvictL2(0, 0)));
    s.hold("gets GetS from Client(2)").run(2, Instr::Acquire).run(2, ld(2));
    s.run(0, st(0, 200)).run(1, ld(1)).hold("Client(2) gets DataS").release("gets GetS from Client(2)");
    s.run(0, st(0, 201)).run(3, ld(2));
    let cover = s.system.cover;
    s.end();
    cover
}

fn check(cover: &Cover) {
    let names = |row: &[String]| row.to_vec();
    let events: Vec<String> = l3::TABLE.iter().map(|row| format!("{:?}", row.0)).collect();
    let states: Vec<String> = (0..l3::STATES).map(|state| format!("{state}")).collect();
    let mut wrong =
        difference("L3", &cover.l3, &l3::possible().collect::<Vec<_>>(), &names(&events), &states);
    let events: Vec<String> = client::TABLE.iter().map(|row| format!("{:?}", row.0)).collect();
    let states: Vec<String> = (0..client::STATES).map(|state| format!("{state}")).collect();
    let meant: Vec<(usize, usize)> = client::possible().collect();
    wrong.extend(difference("CPU", &cover.cpu, &meant, &events, &states));
    wrong.extend(difference("L2", &cover.l2, &meant, &events, &states));
    wrong.extend((0..MARKS).filter(|mark| cover.marks >> mark & 1 == 0).map(|mark| format!("mark {mark}")));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_cell() {
    let mut cover = walks(0..3_000);
    cover.add(&two_invs());
    check(&cover);
}
#[test]
fn long_random_walks() {
    let mut cover = walks(100_000..400_000);
    cover.add(&two_invs());
    check(&cover);
}
