//! The judge beside enumeration: every candidate execution of the library's tests, and of random programs, as a recording. What the judge says of the values that it holds must be what the model
//! in `weft-litmus` says of all executions with these values; and races must be the same.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use weft_judge::{JudgeError, Model, Report, judge_records};
use weft_litmus::execution::{Execution, for_each};
use weft_litmus::library::library;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::paths::{Bounds, Event, Kind as Half};
use weft_litmus::race::{Hrf, races_in};
use weft_litmus::read::read;
use weft_litmus::test::{Instr, Test};
use weft_recording::{Access, Fence, Head, Kind, Record, Thread};
use weft_workload::op::{Class, Sem};

/// Compute units of a node that count as cores.
const CORES: u32 = 16;

fn head() -> Head {
    Head { line: 64, gpms: 1, cores: CORES, ..Head::default() }
}

fn addr(loc: usize) -> u64 {
    0x1000 + 64 * loc as u64
}

/// An execution as a recording of one kernel.
fn records(x: &Execution) -> Vec<Record> {
    let test = x.test;
    let bytes = |value: i64| (value as u32).to_le_bytes().to_vec();
    let mut out: Vec<Record> = test
        .locs
        .iter()
        .enumerate()
        .map(|(n, loc)| Record::Memory { addr: addr(n), bytes: bytes(loc.init) })
        .collect();
    out.push(Record::Kernel { name: test.name.clone(), cycle: 0 });
    for (n, thread) in test.threads.iter().enumerate() {
        let place = thread.place;
        let cu = if place.cpu { place.cu } else { CORES + place.cu };
        out.push(Record::Thread(Thread { node: place.gpu, cu, block: n as u32, wave: 0 }));
    }
    let mut places: Vec<u32> = vec![0; x.len()];
    for thread in 0..test.threads.len() {
        let own: Vec<usize> = (0..x.len()).filter(|n| x.events[*n].thread == Some(thread)).collect();
        let mut index = 0;
        for n in &own {
            let e = &x.events[*n];
            let second = *n > 0 && x.rmw.has(n - 1, *n);
            if second {
                places[*n] = index - 1;
                continue;
            }
            (places[*n], index) = (index, index + 1);
            let write = (*n + 1 < x.len() && x.rmw.has(*n, n + 1)).then(|| &x.events[n + 1]);
            let after = |at: usize| {
                let dep = x.dep();
                own.iter().filter(|m| dep.has(**m, at)).map(|m| places[*m]).collect::<Vec<u32>>()
            };
            let mut data = after(*n);
            data.extend(write.iter().flat_map(|_| after(n + 1)));
            out.push(record(test, thread as u32, places[*n], e, write, data));
        }
        // What the condition names is used.
        let data = own.iter().filter(|n| x.used >> **n & 1 == 1).map(|n| places[*n]).collect();
        out.push(Record::Access(Box::new(Access { data, ..access(thread as u32, index, 0x8000) })));
    }
    out.push(Record::Boundary { cycle: 200 });
    out.push(Record::End { cycle: 200, failure: None });
    out
}

fn access(thread: u32, index: u32, addr: u64) -> Access {
    Access {
        thread,
        index,
        kind: Kind::Load,
        class: Class::D,
        sem: Sem::Relaxed,
        scope: Default::default(),
        remote: false,
        wanted: true,
        acked: false,
        size: 4,
        addr,
        mask: 15,
        read: vec![0; 4],
        written: Vec::new(),
        taken: 100,
        done: 100,
        data: Vec::new(),
        awaited: Vec::new(),
    }
}

fn record(test: &Test, thread: u32, index: u32, e: &Event, write: Option<&Event>, data: Vec<u32>) -> Record {
    let bytes = |value: i64| (value as u32).to_le_bytes().to_vec();
    if e.kind == Half::Fence {
        let (sem, scope) = (e.attr.sem, e.attr.scope);
        return Record::Fence(Fence { thread, index, sem, scope, taken: 100, done: 100, awaited: data });
    }
    let kind = match &test.threads[thread as usize].code[e.instr] {
        Instr::Rmw { kind, .. } => Kind::Amo(*kind),
        Instr::Store { .. } => Kind::Store,
        _ => Kind::Load,
    };
    let (mut found, mut written) = (Vec::new(), Vec::new());
    if e.kind == Half::Read {
        found = bytes(e.value);
    } else {
        written = bytes(e.value);
    }
    if let Some(write) = write {
        written = bytes(write.value);
    }
    Record::Access(Box::new(Access {
        kind,
        class: e.attr.class,
        sem: if e.attr.class == Class::P { e.attr.sem } else { Sem::Relaxed },
        scope: e.attr.scope,
        remote: e.attr.remote,
        read: found,
        written,
        data,
        ..access(thread, index, addr(e.loc))
    }))
}

fn judged(records: &[Record], drf: Drf) -> Report {
    let model = Model { level: drf.level, scopes: drf.scopes, data_coherent: drf.data_coherent };
    let mut records = records.iter().cloned();
    judge_records(&head(), &mut || Ok::<_, JudgeError>(records.next()), model).expect("a recording")
}

/// All executions that find and leave the same values.
#[derive(Default)]
struct Group {
    records: Vec<Record>,
    allowed: bool,
    /// Races of each that is sequentially consistent.
    races: Vec<BTreeSet<&'static str>>,
    executions: u32,
}

#[derive(Debug, Default)]
struct Tally {
    groups: u32,
    violations: u32,
    unsure: u32,
    raced: u32,
    races: u32,
}

fn compare(test: &Test, drf: Drf, tally: &mut Tally) {
    let mut groups: BTreeMap<Vec<(i64, usize)>, Group> = BTreeMap::new();
    for_each(test, Bounds::default(), &mut |x| {
        let key: Vec<(i64, usize)> = x.events.iter().map(|e| (e.value, e.instr)).collect();
        let group = groups.entry(key).or_insert_with(|| Group { records: records(x), ..Group::default() });
        group.executions += 1;
        group.allowed |= drf.allows(x);
        if x.po.or(&x.com()).acyclic() && x.atomic() {
            group.races.push(races_in(x, drf, Hrf::Indirect).iter().map(|f| f.race.name()).collect());
        }
    })
    .expect("small");
    for group in groups.values() {
        let report = judged(&group.records, drf);
        tally.groups += 1;
        let text = || {
            let violations: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
            let name = |r: &Record| match r {
                Record::Access(a) => Some(format!(
                    "T{} {} {:?}.{:?}.{:?} {:#x} {:?} -> {:?} after {:?}",
                    a.thread, a.index, a.kind, a.class, a.scope, a.addr, a.read, a.written, a.data
                )),
                Record::Fence(f) => {
                    Some(format!("T{} {} fence {:?} {:?}", f.thread, f.index, f.sem, f.scope))
                }
                _ => None,
            };
            let lines: Vec<String> = group.records.iter().filter_map(name).collect();
            let coherent = if drf.data_coherent { "" } else { ", data not coherent" };
            let (lines, violations) = (lines.join("\n"), violations.join("\n"));
            format!("{} under {drf}{coherent}:\n{lines}\n{violations}", test.name)
        };
        if group.allowed {
            assert!(report.violations.is_empty(), "allowed and judged wrong: {}", text());
        } else if report.counts.ambiguous == 0
            && report.counts.undecided == 0
            && report.counts.mixed_scopes == 0
        {
            assert!(!report.violations.is_empty(), "forbidden and not judged wrong: {}", text());
            tally.violations += 1;
        } else {
            tally.unsure += u32::from(report.violations.is_empty());
        }
        // Under sc no race is told: nothing depends on there being none.
        let sure = report.counts.ambiguous == 0 && drf.level != Level::Sc;
        if let ([races], 1, true) = (&group.races[..], group.executions, sure) {
            let found: BTreeSet<&str> = report.raced.keys().copied().collect();
            assert_eq!(found, *races, "races of {}", text());
            tally.raced += 1;
            tally.races += found.len() as u32;
        }
    }
}

fn models() -> Vec<Drf> {
    let mut all = Vec::new();
    for level in [Level::Sc, Level::Drf0, Level::Drf1, Level::DrfRlx] {
        all.push(Drf::flat(level));
    }
    all.push(Drf { data_coherent: false, ..Drf::flat(Level::Drf0) });
    all.push(Drf { scopes: true, ..Drf::flat(Level::Drf0) });
    all
}

#[test]
fn the_librarys_tests_are_judged_as_the_models_do() {
    let mut tally = Tally::default();
    for test in library().expect("the library reads") {
        if test.threads.iter().any(|t| t.code.iter().any(|i| matches!(i, Instr::Branch { to: 0, .. }))) {
            continue;
        }
        models().into_iter().for_each(|drf| compare(&test, drf, &mut tally));
    }
    println!("{tally:?}");
    assert!(tally.violations > 1000 && tally.raced > 1000 && tally.races > 100, "{tally:?}");
}

/// A random program of 2 or 3 threads on 2 locations, whose stores all differ.
fn program(rng: &mut SmallRng) -> String {
    let threads = rng.random_range(2..=3);
    let most = if threads == 3 { 2 } else { 3 };
    let mut text = String::from("weft-litmus 1\nlocs x y\n");
    let mut value = 0;
    for thread in 0..threads {
        let mut code = Vec::new();
        for n in 0..rng.random_range(1..=most) {
            let class = ["D", "P", "U", "C", "N", "S", "Q"][rng.random_range(0..7)];
            let (loc, scope) =
                (["x", "y"][rng.random_range(0..2)], ["", ".gpu", ".cu"][rng.random_range(0..3)]);
            let scope = if class == "D" { "" } else { scope };
            value += 1;
            code.push(match rng.random_range(0..6) {
                0 | 1 => format!("W.{class}{scope} {loc} {value}"),
                2 | 3 => format!("r{n} = R.{class}{scope} {loc}"),
                4 if class != "D" => format!("r{n} = EXCH.{class}{scope} {loc} {value}"),
                5 => ["F.ar", "F.rel", "F.acq"][rng.random_range(0..3)].to_string(),
                _ => format!("r{n} = R.{class}{scope} {loc}"),
            });
        }
        text += &format!("T{thread} @cu{} gpu{} : {}\n", thread % 2, thread / 2, code.join(" ; "));
    }
    text + "exists (x=0)\n"
}

fn random(seed: u64, count: usize) -> Tally {
    let (mut rng, mut tally) = (SmallRng::seed_from_u64(seed), Tally::default());
    for _ in 0..count {
        let text = program(&mut rng);
        let test = read(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        models().into_iter().for_each(|drf| compare(&test, drf, &mut tally));
    }
    println!("{tally:?}");
    tally
}

#[test]
fn random_programs_are_judged_as_the_models_do() {
    let tally = random(1, 60);
    assert!(tally.violations > 100 && tally.raced > 100, "{tally:?}");
}

#[test]
#[ignore = "minutes; run with --run-ignored=only"]
fn long_random_programs_are_judged_as_the_models_do() {
    random(2, 4000);
}
