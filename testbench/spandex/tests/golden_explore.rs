//! All interleavings of small programs.

use weft_spandex_bench::golden::device::Kind;
use weft_spandex_bench::golden::system::SystemParams;
use weft_spandex_bench::golden::system::families::{self, KINDS, Programs, Shape, by_seed, check};

const LIMIT: usize = 300_000;

fn pairs() -> Vec<[Kind; 2]> {
    KINDS.iter().flat_map(|a| KINDS.iter().map(move |b| [*a, *b])).collect()
}

#[track_caller]
fn holds(p: &SystemParams, programs: &Programs, what: &str) -> usize {
    let Some(found) = check(p.clone(), programs, LIMIT) else { panic!("{what}: a data race") };
    if let Some(violation) = found.violation {
        panic!("{what} {:?} {programs:?}: {violation}", p.kinds);
    }
    found.states
}

#[test]
fn litmus() {
    let all: [(&str, Programs); 8] = [
        ("message", families::message(false)),
        ("message over a copy", families::message_over_a_copy()),
        ("atomic message", families::message(true)),
        ("ping-pong", families::ping_pong()),
        ("sums", families::sums(2, 2)),
        ("false sharing", families::false_sharing()),
        ("dekker", families::dekker()),
        ("lock", families::lock()),
    ];
    for (name, programs) in &all {
        let mut states = 0;
        for kinds in pairs() {
            let p =
                SystemParams { words: 3, l1_evictions: 1, llc_evictions: 1, ..SystemParams::tiny(&kinds) };
            states += holds(&p, programs, name);
        }
        println!("{name}: {states} states");
    }
}

#[test]
fn seeds() {
    let shape = Shape { words: 2, length: 3, threads: 1, lines: 1 };
    let (mut states, mut count) = (0, 0);
    for seed in 0..600u64 {
        let kinds = pairs()[(seed % 16) as usize];
        let programs = by_seed(seed, &kinds, shape);
        let p = SystemParams { l1_evictions: 1, llc_evictions: 1, ..SystemParams::tiny(&kinds) };
        let Some(found) = check(p, &programs, LIMIT) else { continue };
        if let Some(violation) = found.violation {
            panic!("seed {seed} {kinds:?} {programs:?}: {violation}");
        }
        states += found.states;
        count += 1;
    }
    println!("{count} programs, {states} states");
}
