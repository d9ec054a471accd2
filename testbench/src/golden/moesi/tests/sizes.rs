//! Small systems, whole, and walks through larger ones: nothing is wrong, and every row and race is met.

use crate::golden::moesi::explore::explore;
use crate::golden::moesi::fabric::Params;
use crate::golden::moesi::msg::Kind::{Load, Store};
use crate::golden::moesi::races::Tally;
use crate::golden::moesi::system::{Instr, System};
use crate::golden::moesi::walk::walk;

const ENDLESS: u8 = 255;

fn whole(name: &str, p: Params, tally: &mut Tally) {
    let found = explore(&System::new(p), 2_500_000, &|_| None);
    println!("{name}: {} states, {} steps, depth {}", found.states, found.steps, found.depth);
    assert_eq!(found.violation, None, "{name}");
    assert!(!found.incomplete, "{name}: not all states");
    tally.add(&found.tally);
}

fn walks(name: &str, p: Params, count: u64, tally: &mut Tally) {
    let mut steps = 0;
    for seed in 0..count {
        steps += walk(&System::new(p), seed, 20, tally).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
    println!("{name}: {count} walks, {steps} steps");
}

/// One of each room and place, and networks that keep the order of a link.
fn narrow(p: Params) -> Params {
    let rooms = Params { rsp_room: 1, inv_room: 1, req_room: 1, ..p };
    Params { ordered: true, queue: 0, homes: 1, pending: 1, mshrs: 1, ..rooms }
}

#[test]
fn all_is_right_and_met() {
    let mut tally = Tally::default();
    let one = Params { outstanding: 1, ..Params::tiny(3, 1) };
    whole(
        "2 nodes, 1 line, any number of operations, 2 at once",
        Params { ops: ENDLESS, ..Params::tiny(2, 1) },
        &mut tally,
    );
    whole(
        "3 nodes, 1 line, any number of operations, narrow",
        narrow(Params { ops: ENDLESS, ..one }),
        &mut tally,
    );
    let small = Params { ways: 1, entries: 1, outstanding: 1, ..Params::tiny(2, 2) };
    whole("3 nodes, 2 lines in 1 way, 1 entry", Params { nodes: 3, ops: 1, ..small }, &mut tally);
    let two = Params { homes_of: [0, 1, 0, 0, 0, 0, 0, 0], ops: 3, replaces: false, ..small };
    whole("2 homes in 1 way that hold each other's requests", narrow(two), &mut tally);
    let large = Params { ways: 2, entries: 2, outstanding: 3, ops: 20, ..Params::tiny(4, 3) };
    walks("4 nodes, 3 lines, 2 ways, 2 entries, 20 operations", large, 2000, &mut tally);
    walks("the same, narrow", narrow(large), 2000, &mut tally);
    let three = Params { homes_of: [0, 1, 2, 0, 0, 0, 0, 0], releases: true, ..large };
    walks("the same, three homes and releases", three, 2000, &mut tally);
    super::by_hand::flushes_of_clean_lines(&mut tally);
    let missing = tally.missing();
    assert!(missing.is_empty(), "not met: {missing:?}");
}

#[test]
fn long_larger_systems() {
    let (mut tally, small) = (Tally::default(), Params { outstanding: 1, ..Params::tiny(2, 2) });
    let one = Params { outstanding: 1, ops: ENDLESS, ..Params::tiny(3, 1) };
    whole("3 nodes, 1 line, any number of operations", one, &mut tally);
    whole("3 nodes, 1 line, 2 operations each, together", Params::tiny(3, 1), &mut tally);
    let any = Params { ways: 1, entries: 1, ops: ENDLESS, ..small };
    whole("2 nodes, 2 lines in 1 way, 1 entry, any number", any, &mut tally);
}

/// Message passing: the program is [store x, release, store y] beside [load y, wait, load x].
#[test]
fn a_release_orders_stores() {
    let p = Params {
        outstanding: 2,
        replaces: false,
        record: true,
        homes_of: [0, 1, 0, 0, 0, 0, 0, 0],
        ..Params::tiny(3, 2)
    };
    let (write, read) = (|line| Instr::Op(Store, line), |line| Instr::Op(Load, line));
    let reader = [read(1), Instr::Wait, read(0)];
    let warm = [read(0), Instr::Wait, read(1), Instr::Wait, read(0)];
    let stale = |from: usize, node: usize| {
        move |system: &System| {
            let seen = &system.programs[node].seen;
            (seen.len() == from + 2 && seen[from] == 1 && seen[from + 1] == 0)
                .then(|| "a stale read".to_string())
        }
    };
    let writer = [write(0), Instr::Release, write(1)];
    for (writes, reads) in [(1, 2), (1, 0), (2, 1), (0, 1)] {
        for (program, from) in [(&reader[..], 0), (&warm[..], 1)] {
            let mut programs: [&[Instr]; 3] = [&[]; 3];
            (programs[writes], programs[reads]) = (&writer, program);
            let found = explore(&System::with(p, &programs), 1_000_000, &stale(from, reads));
            println!("{writes} writes, {reads} reads: {} states", found.states);
            assert_eq!((found.violation, found.incomplete), (None, false));
        }
    }
    let unfenced = [write(0), write(1)];
    let programs: [&[Instr]; 3] = [&[], &unfenced, &reader];
    let found = explore(&System::with(p, &programs), 1_000_000, &stale(0, 2));
    assert!(found.violation.is_some_and(|story| story.contains("a stale read")));
}
