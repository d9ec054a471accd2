//! Small recordings in which each axiom is violated by hand: it is found, and the cycle is the right one. Programs with each kind of race.

use weft_judge::{JudgeError, Model, Report, judge_records};
use weft_litmus::model::drf::Level;
use weft_recording::{Access, Fence, Head, Kind, Record, Thread};
use weft_workload::AmoKind;
use weft_workload::op::{Class, Scope, Sem};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;

/// Threads of one kernel, each on a CU of its own, two on each GPU.
struct Made {
    records: Vec<Record>,
    index: Vec<u32>,
    cycle: u64,
}

impl Made {
    fn new(threads: u32) -> Made {
        let mut made = Made { records: Vec::new(), index: Vec::new(), cycle: 100 };
        made.kernel(threads);
        made
    }

    fn kernel(&mut self, threads: u32) {
        self.records.push(Record::Kernel { name: "golden".into(), cycle: self.cycle });
        let thread = |n| Record::Thread(Thread { node: n / 2, cu: n % 2, block: n, wave: 0 });
        self.records.extend((0..threads).map(thread));
        self.index = vec![0; threads as usize];
    }

    fn boundary(&mut self) -> &mut Made {
        self.records.push(Record::Boundary { cycle: self.cycle });
        self
    }

    fn add(&mut self, thread: u32, class: Class, access: Access) -> &mut Made {
        let index = self.index[thread as usize];
        self.index[thread as usize] += 1;
        self.cycle += 10;
        let (taken, done) = (self.cycle, self.cycle + 100);
        let access = Access { thread, index, class, taken, done, ..access };
        self.records.push(Record::Access(Box::new(access)));
        self
    }

    fn read(&mut self, thread: u32, class: Class, addr: u64, value: u32) -> &mut Made {
        let sem = if class == Class::P { Sem::Acquire } else { Sem::Relaxed };
        self.add(thread, class, Access { sem, read: bytes(value), ..access(Kind::Load, addr) })
    }

    fn write(&mut self, thread: u32, class: Class, addr: u64, value: u32) -> &mut Made {
        let sem = if class == Class::P { Sem::Release } else { Sem::Relaxed };
        self.add(thread, class, Access { sem, written: bytes(value), ..access(Kind::Store, addr) })
    }

    fn add_to(&mut self, thread: u32, class: Class, addr: u64, old: u32, new: u32) -> &mut Made {
        let sem = if class == Class::P { Sem::AcquireRelease } else { Sem::Relaxed };
        let (read, written) = (bytes(old), bytes(new));
        self.add(thread, class, Access { sem, read, written, ..access(Kind::Amo(AmoKind::Add), addr) })
    }

    /// The last access is complete so many cycles after it was sent.
    fn takes(&mut self, cycles: u64) -> &mut Made {
        if let Some(Record::Access(access)) = self.records.last_mut() {
            access.done = access.taken + cycles;
        }
        self
    }

    /// The last access of GPU or CU scope.
    fn scope(&mut self, scope: Scope) -> &mut Made {
        if let Some(Record::Access(access)) = self.records.last_mut() {
            access.scope = scope;
        }
        self
    }

    fn fence(&mut self, thread: u32, sem: Sem) -> &mut Made {
        let index = self.index[thread as usize];
        self.index[thread as usize] += 1;
        let (scope, taken, done) = (Scope::Sys, self.cycle, self.cycle + 5);
        self.records.push(Record::Fence(Fence {
            thread,
            index,
            sem,
            scope,
            taken,
            done,
            awaited: Vec::new(),
        }));
        self
    }

    fn judge(&self, level: Level) -> Report {
        self.by(Model { level, scopes: false, data_coherent: true })
    }

    fn by(&self, model: Model) -> Report {
        let head = Head { line: 64, gpms: 1, ..Head::default() };
        let mut records = self.records.iter().cloned().chain([
            Record::Boundary { cycle: self.cycle + 200 },
            Record::End { cycle: self.cycle + 200, failure: None },
        ]);
        judge_records(&head, &mut || Ok::<_, JudgeError>(records.next()), model).expect("a recording")
    }
}

fn bytes(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn access(kind: Kind, addr: u64) -> Access {
    Access {
        thread: 0,
        index: 0,
        kind,
        class: Class::D,
        sem: Sem::Relaxed,
        scope: Scope::Sys,
        remote: false,
        wanted: true,
        acked: false,
        size: 4,
        addr: addr & !63,
        mask: 15 << (addr & 63),
        read: Vec::new(),
        written: Vec::new(),
        taken: 0,
        done: 0,
        data: Vec::new(),
        awaited: Vec::new(),
    }
}

/// The only violation: its axiom, and its cycle as `RELATION EVENT by WORK-GROUP`.
fn cycle(report: &Report) -> (&'static str, Vec<String>) {
    assert_eq!(report.violated.values().sum::<u64>(), 1, "{:#?}", report.violations);
    let violation = &report.violations[0];
    let step = |step: &weft_judge::Step| {
        let group = step.to.who.split(' ').nth(1).unwrap_or("?");
        format!("{} {} by {group}", step.relation, step.to.what).trim_start().to_string()
    };
    (violation.axiom, violation.steps.iter().map(step).collect())
}

#[test]
fn loads_of_data_that_are_under_way_at_once_are_in_no_order() {
    let of = |class, takes, between: bool| {
        let mut made = Made::new(2);
        made.write(0, class, X, 1).read(1, class, X, 1).takes(takes);
        if between {
            made.read(1, class, X, 1).takes(9);
        }
        made.read(1, class, X, 0);
        made.judge(Level::DrfRlx).violations
    };
    assert_eq!(of(Class::D, 11, false), []);
    assert_ne!(of(Class::D, 10, false), []);
    assert_ne!(of(Class::D, 30, true), []);
    assert_ne!(of(Class::N, 11, false), []);
}

#[test]
fn a_write_is_behind_all_loads_before_it() {
    let mut made = Made::new(2);
    made.write(1, Class::D, X, 7).read(0, Class::D, X, 9).takes(40).read(0, Class::D, X, 7).takes(5);
    made.read(0, Class::D, X, 7).takes(5).write(1, Class::D, X, 9).read(1, Class::D, X, 9);
    assert_eq!(made.judge(Level::Drf0).violations, [], "the first load is complete last");
    made.write(0, Class::D, X, 3).read(1, Class::D, X, 3).takes(9).read(1, Class::D, X, 9);
    assert_ne!(made.judge(Level::Drf0).violations, [], "9 is before 3, for the first load is");
}

#[test]
fn reads_of_one_place_in_another_order_violate_a1() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).read(1, Class::D, X, 1).takes(9).read(1, Class::D, X, 0);
    let (axiom, steps) = cycle(&made.judge(Level::Drf0));
    assert_eq!(axiom, "A1 per location");
    assert_eq!(
        steps,
        [
            "W.D [0x1000] := 1 by 0",
            "rf R.D [0x1000] = 1 by 1",
            "po R.D [0x1000] = 0 by 1",
            "fr W.D [0x1000] := 1 by 0"
        ]
    );
    // Where data are not coherent, that is no fault.
    let loose = Model { level: Level::Drf0, scopes: false, data_coherent: false };
    assert_eq!(made.by(loose).violations, []);
}

#[test]
fn a_stale_read_behind_an_acquire_violates_a2() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).write(0, Class::P, Y, 1);
    made.read(1, Class::P, Y, 1).read(1, Class::D, X, 0);
    let (axiom, steps) = cycle(&made.judge(Level::Drf0));
    assert_eq!(axiom, "A2 happens-before consistency");
    assert_eq!(steps, ["W.D [0x1000] := 1 by 0", "hb R.D [0x1000] = 0 by 1", "fr W.D [0x1000] := 1 by 0"]);
    let (from, to) = made.judge(Level::Drf0).violations[0].window();
    assert_eq!((from, to), (110, 240), "cycles of what it names");
}

#[test]
fn a_stale_read_that_several_writes_explain_violates_a2() {
    // 0 was there at the beginning and is written twice, each time overwritten before.
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 0).write(0, Class::D, X, 7).write(0, Class::P, Y, 1);
    made.read(1, Class::P, Y, 1).read(1, Class::D, X, 0);
    let report = made.judge(Level::Drf0);
    assert_eq!(report.violations[0].axiom, "A2 happens-before consistency");
    assert!(report.violations[0].text.contains("nor may it find any of 1 other writes of that value"));
}

#[test]
fn store_buffering_violates_a3() {
    let mut made = Made::new(2);
    made.write(0, Class::P, X, 1).read(0, Class::P, Y, 0);
    made.write(1, Class::P, Y, 1).read(1, Class::P, X, 0);
    let (axiom, steps) = cycle(&made.judge(Level::Drf0));
    assert_eq!(axiom, "A3 causality");
    let ring = [
        "W.P [0x1000] := 1 by 0",
        "po R.P [0x2000] = 0 by 0",
        "fr W.P [0x2000] := 1 by 1",
        "po R.P [0x1000] = 0 by 1",
        "fr W.P [0x1000] := 1 by 0",
    ];
    assert_eq!(steps, ring);
    // Relaxed accesses may do that.
    let mut relaxed = Made::new(2);
    relaxed.write(0, Class::N, X, 1).read(0, Class::N, Y, 0);
    relaxed.write(1, Class::N, Y, 1).read(1, Class::N, X, 0);
    assert_eq!(relaxed.judge(Level::DrfRlx).violations, []);
    assert_eq!(relaxed.judge(Level::Drf1).violated.len(), 1);
}

#[test]
fn writes_in_no_common_order_violate_a3_in_every_order() {
    // 2+2W, its end told by a kernel behind it: no order of the writes within the first explains both.
    let mut made = Made::new(2);
    made.write(0, Class::P, X, 1).write(0, Class::P, Y, 2);
    made.write(1, Class::P, Y, 1).write(1, Class::P, X, 2);
    assert_eq!(made.judge(Level::Drf0).violations, [], "several orders are possible");
    made.read(0, Class::P, Y, 1).read(1, Class::P, X, 1);
    let report = made.judge(Level::Drf0);
    assert_eq!(report.violations[0].axiom, "A3 causality", "{:#?}", report.violations);
}

#[test]
fn a_lost_update_violates_a4() {
    let mut made = Made::new(2);
    made.add_to(0, Class::P, X, 0, 1).add_to(1, Class::P, X, 0, 1);
    let (axiom, steps) = cycle(&made.judge(Level::Drf0));
    assert_eq!(axiom, "A4 atomicity");
    assert_eq!(
        steps,
        ["ADD.P [0x1000] 0 -> 1 by 0", "fr ADD.P [0x1000] 0 -> 1 by 1", "fr ADD.P [0x1000] 0 -> 1 by 0"]
    );
}

#[test]
fn a_store_between_the_halves_violates_a4() {
    // 5 was there, thread 1 wrote 9 and saw itself before the update of thread 0, which found 5.
    let mut made = Made::new(2);
    made.records.insert(0, Record::Memory { addr: X, bytes: bytes(5) });
    made.add_to(0, Class::P, X, 5, 6).write(1, Class::P, X, 9).read(1, Class::P, X, 6).read(
        0,
        Class::P,
        X,
        9,
    );
    let report = made.judge(Level::Drf0);
    assert_eq!(report.violated.len(), 1, "{:#?}", report.violations);
}

#[test]
fn fences_in_no_order_violate_a5() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).fence(0, Sem::AcquireRelease).read(0, Class::D, Y, 0);
    made.write(1, Class::D, Y, 1).fence(1, Sem::AcquireRelease).read(1, Class::D, X, 0);
    let (axiom, steps) = cycle(&made.judge(Level::Drf0));
    assert_eq!(axiom, "A5 fences");
    let ring = [
        "fence.ar by 0",
        "po R.D [0x2000] = 0 by 0",
        "com+ W.D [0x2000] := 1 by 1",
        "po fence.ar by 1",
        "po R.D [0x1000] = 0 by 1",
        "com+ W.D [0x1000] := 1 by 0",
        "po fence.ar by 0",
    ];
    let turned: Vec<&str> = ring[3..6].iter().chain(&ring[..4]).copied().collect();
    let same = steps == ring || steps[1..] == turned[1..];
    assert!(same, "{steps:#?}");
}

#[test]
fn fences_that_do_one_thing_only_are_in_no_order() {
    // Behind a release alone a load may find an older copy; before an acquire alone a store may be on its way.
    for (first, second) in [(Sem::Release, Sem::Release), (Sem::Acquire, Sem::AcquireRelease)] {
        let mut made = Made::new(2);
        made.write(0, Class::D, X, 1).fence(0, first).read(0, Class::D, Y, 0);
        made.write(1, Class::D, Y, 1).fence(1, second).read(1, Class::D, X, 0);
        assert_eq!(made.judge(Level::Drf0).violations, [], "{first:?} and {second:?}");
    }
}

#[test]
fn relaxed_atomics_may_go_round_in_circles() {
    // Load buffering, with fences before it that publish by these stores.
    let judged = |class| {
        let mut made = Made::new(2);
        made.fence(0, Sem::Release).read(0, class, X, 1).write(0, class, Y, 1);
        made.fence(1, Sem::Release).read(1, class, Y, 1).write(1, class, X, 1);
        made.judge(Level::DrfRlx)
    };
    let relaxed = judged(Class::N);
    assert_eq!((relaxed.violations.as_slice(), relaxed.counts.circles), (&[][..], 1));
    assert_ne!(judged(Class::P).violations, []);
}

#[test]
fn model_sc_orders_data_too() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).read(0, Class::D, Y, 0);
    made.write(1, Class::D, Y, 1).read(1, Class::D, X, 0);
    let (axiom, steps) = cycle(&made.judge(Level::Sc));
    assert_eq!((axiom, steps.len()), ("sc", 5));
    assert_eq!(made.judge(Level::Drf0).violations, []);
}

#[test]
fn a_value_from_nowhere_is_told() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).read(1, Class::D, X, 3);
    let (axiom, steps) = cycle(&made.judge(Level::Drf0));
    assert_eq!((axiom, steps), ("reads-from", vec!["R.D [0x1000] = 3 by 1".to_string()]));
}

#[test]
fn a_kernel_begins_with_what_the_one_before_has_left() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).boundary().kernel(2);
    made.read(1, Class::D, X, 1);
    assert_eq!(made.judge(Level::Drf0).violations, []);
    assert_eq!(made.judge(Level::Drf0).counts.constant, 1);
    made.read(0, Class::D, X, 0);
    let report = made.judge(Level::Drf0);
    assert!(report.violations[0].text.contains("0x1000 holds 1"), "{}", report.violations[0].text);
}

#[test]
fn an_access_under_way_at_the_end_is_not_judged() {
    let mut made = Made::new(2);
    made.read(1, Class::D, X, 3);
    let open = Access { thread: 0, written: bytes(3), ..access(Kind::Store, X) };
    made.records.push(Record::Open(Box::new(open)));
    let report = made.judge(Level::Drf0);
    assert_eq!((report.violations.len(), report.counts.open), (0, 1));
}

#[test]
fn bytes_of_a_word_are_judged_apart() {
    let mut made = Made::new(2);
    let byte =
        |at: u64| Access { size: 1, mask: 1 << at, written: vec![at as u8 + 1], ..access(Kind::Store, X) };
    made.add(0, Class::D, byte(0)).add(0, Class::D, byte(1)).write(0, Class::P, Y, 1);
    made.read(1, Class::P, Y, 1);
    let mut right = Made { records: made.records.clone(), index: made.index.clone(), ..made };
    right.read(1, Class::D, X, 0x0201);
    assert_eq!(right.judge(Level::Drf0).violations, []);
    made.read(1, Class::D, X, 0x0001);
    assert_eq!(made.judge(Level::Drf0).violations[0].axiom, "A2 happens-before consistency");
}

#[test]
fn records_of_no_run_are_told() {
    let head = Head::default();
    let mut records = vec![Record::Barrier { block: 0, cycle: 1 }].into_iter();
    let model = Model { level: Level::Drf0, scopes: false, data_coherent: true };
    let found = judge_records(&head, &mut || Ok(records.next()), model);
    assert!(found.is_err_and(|e| e.to_string().contains("outside of any kernel")));
}

#[test]
fn lanes_of_one_operation_follow_each_other() {
    let mut made = Made::new(2);
    made.add_to(0, Class::P, X, 0, 1).add_to(0, Class::P, X, 2, 3).add_to(1, Class::P, X, 1, 2);
    for record in &mut made.records {
        if let Record::Access(access) = record {
            access.index = 0;
        }
    }
    let report = made.judge(Level::Drf0);
    assert_eq!((report.violations.len(), report.counts.operations), (0, 2), "{:#?}", report.violations);
}

#[test]
fn lanes_wait_for_operations_of_several_threads() {
    // What the second lane waits for comes after what waits for the first lane.
    let mut made = Made::new(3);
    made.add_to(0, Class::P, X, 1, 2).add_to(0, Class::P, Y, 1, 2).add_to(1, Class::P, X, 0, 1);
    made.add_to(2, Class::P, X, 2, 3).add_to(2, Class::P, Y, 0, 1);
    for record in &mut made.records {
        if let Record::Access(access) = record
            && access.thread == 0
        {
            access.index = 0;
        }
    }
    let report = made.judge(Level::Drf0);
    assert_eq!(report.violations, []);
}

#[test]
fn lanes_of_two_operations_may_cross() {
    // Each operation has a lane that finds what a lane of the other one has left.
    let mut made = Made::new(2);
    made.add_to(0, Class::P, X, 0, 1).add_to(0, Class::P, Y, 1, 2);
    made.add_to(1, Class::P, Y, 0, 1).add_to(1, Class::P, X, 1, 2);
    for record in &mut made.records {
        if let Record::Access(access) = record {
            access.index = 0;
        }
    }
    let report = made.judge(Level::Drf0);
    assert_eq!(report.violations, []);
}

/// Kinds of race, and how many.
fn raced(report: &Report) -> Vec<(&'static str, u64)> {
    assert_eq!(report.violations, [], "a race is no fault of the hardware");
    report.raced.iter().map(|(kind, count)| (*kind, *count)).collect()
}

#[test]
fn a_data_race_is_told_with_its_two_accesses() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).read(1, Class::D, X, 0);
    let report = made.judge(Level::DrfRlx);
    assert_eq!(raced(&report), [("data", 1)]);
    let race = &report.races[0];
    assert_eq!(
        (race.first.what.as_str(), race.second.what.as_str()),
        ("W.D [0x1000] := 1", "R.D [0x1000] = 0")
    );
    assert!(race.second.who.starts_with("work-group 1 wave 0 (gpu0 cu1)"), "{}", race.second.who);
}

#[test]
fn a_lock_makes_order() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).write(0, Class::P, Y, 1).read(1, Class::P, Y, 1).write(1, Class::D, X, 2);
    assert_eq!(raced(&made.judge(Level::Drf0)), []);
}

#[test]
fn barriers_of_a_work_group_make_order() {
    let mut made = Made { records: Vec::new(), index: vec![0, 0], cycle: 100 };
    made.records.push(Record::Kernel { name: "golden".into(), cycle: 100 });
    made.records.extend((0..2).map(|wave| Record::Thread(Thread { node: 0, cu: 0, block: 0, wave })));
    made.write(0, Class::D, X, 1);
    made.records.push(Record::Barrier { block: 0, cycle: 300 });
    made.read(1, Class::D, X, 1);
    assert_eq!(raced(&made.judge(Level::Drf0)), []);
    made.records.retain(|record| !matches!(record, Record::Barrier { .. }));
    assert_eq!(raced(&made.judge(Level::Drf0)), [("data", 1)]);
}

#[test]
fn a_scope_that_does_not_reach_is_a_heterogeneous_race() {
    let mut made = Made::new(2);
    made.write(0, Class::D, X, 1).write(0, Class::P, Y, 1).scope(Scope::Cu);
    made.read(1, Class::P, Y, 1).scope(Scope::Cu).read(1, Class::D, X, 0);
    let scopes = Model { level: Level::Drf0, scopes: true, data_coherent: true };
    let report = made.by(scopes);
    assert_eq!((raced(&report), report.counts.mixed_scopes), (vec![("heterogeneous", 1)], 1));
    let unscoped = Model { scopes: false, ..scopes };
    assert_eq!(made.by(unscoped).violations[0].axiom, "A2 happens-before consistency");
}

#[test]
fn relaxed_classes_have_races_of_their_own() {
    let pair = |class: Class, other: Class| {
        let mut made = Made::new(2);
        made.write(0, class, X, 1).write(1, other, X, 2);
        raced(&made.judge(Level::DrfRlx))
    };
    assert_eq!(pair(Class::C, Class::C), [("commutative", 1)]);
    assert_eq!(pair(Class::S, Class::S), [("speculative", 1)]);
    assert_eq!(pair(Class::Q, Class::Q), []);
    assert_eq!(pair(Class::Q, Class::P), [("quantum", 1)]);
    assert_eq!(pair(Class::U, Class::U), []);
    let mut adds = Made::new(2);
    adds.add_to(0, Class::C, X, 0, 1).add_to(1, Class::C, X, 1, 2);
    assert_eq!(raced(&adds.judge(Level::DrfRlx)), [], "additions commute");
    let mut load = Made::new(2);
    load.read(0, Class::Q, X, 0).write(1, Class::P, X, 1);
    let report = load.judge(Level::DrfRlx);
    assert_eq!((raced(&report), report.racy()), (vec![("quantum_load", 1)], false));
    let mut quiet = Made::new(2);
    quiet.write(0, Class::N, X, 1).write(0, Class::N, Y, 1).read(1, Class::N, Y, 1).read(1, Class::N, X, 1);
    assert_eq!(raced(&quiet.judge(Level::DrfRlx)), [("non-ordering", 1)]);
    assert_eq!(raced(&quiet.judge(Level::Drf1)), [], "under drf1 they are unpaired");
}
