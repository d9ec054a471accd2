//! Results depend neither on how a simulation is cut into parts nor on the number of threads that clock them.

use std::sync::Arc;
use weft_engine::team::Team;
use weft_engine::{BackendKind, Design, Options, Part, Sim};
use weft_rtl::prelude::*;

/// Counts down from what arrives, adding it up; rests at zero until something else arrives. It is never to
/// add up an even number when it has just begun.
fn worker(kind: u32) -> Arc<Module> {
    Module::build(&format!("worker{kind}"), ModuleKind::Block, || {
        let arrives = input::<Bits>("arrives", 32);
        let seen = reg::<Bits>("seen", 32);
        let left = reg::<Bits>("left", 8);
        let sum = output_reg::<Bits>("sum", 32);
        count("work", left.get().any(), "cycles of work");
        assert_always("odd", !(left.get().eq(37) & !seen.get().bit(0)), "what takes 37 cycles is odd");
        when(left.get().any(), || {
            left.set(left.get() - 1);
            sum.set(sum.get() + seen.get() + u64::from(kind));
        })
        .elsewhen(arrives.ne(seen.get()), || {
            seen.set(arrives);
            left.set(arrives.slice(0, 6).zext(8));
        });
    })
    .expect("elaborates")
}

/// A ring of workers of three kinds; the first one also hears the outside, and one port is heard by all
/// others.
fn ring(units: usize) -> Arc<Module> {
    let kinds: Vec<Arc<Module>> = (0..3).map(worker).collect();
    Module::build("ring", ModuleKind::Fabric, || {
        let start = input::<Bits>("start", 32);
        let workers: Vec<InstanceRef> =
            (0..units).map(|i| instance(&format!("w{i}"), &kinds[i % 3])).collect();
        for (i, worker) in workers.iter().enumerate() {
            let before = if i % 23 == 0 { start } else { workers[i - 1].out_bits("sum") };
            worker.drive_bits("arrives", before);
        }
        output::<Bits>("last", 32).set(workers[units - 1].out_bits("sum"));
    })
    .expect("elaborates")
}

/// State, value of the output and failures, now and then.
fn states(mut sim: Sim, mut team: Option<Team>) -> Vec<(Vec<u8>, u64, Vec<String>)> {
    let (start, last) = (sim.input("start").expect("there"), sim.output("last").expect("there"));
    let mut most = 0;
    let seen = (0..60u64).map(|round| {
        sim.set(start, 0x2545_f491 * (round + 1) % 0xffff_fffb);
        for _ in 0..40 {
            match &mut team {
                Some(team) => sim.step_by(team),
                None => sim.step(),
            }
            most = most.max(sim.awake_units());
        }
        let failures = sim.failures().iter().map(|failure| format!("{failure:?}")).collect();
        (sim.save(), sim.get(last), failures)
    });
    let seen = seen.collect();
    assert!(most > 30, "only {most} units were ever awake: nothing was shared out");
    assert!(!sim.failures().is_empty(), "no assertion failed, so their order was not seen");
    seen
}

fn design(backend: BackendKind) -> Arc<Design> {
    Design::new(&ring(70), Options { backend, ..Options::default() }).expect("flattens")
}

#[test]
fn neither_parts_nor_threads_change_anything() {
    for backend in [BackendKind::Native, BackendKind::Interp] {
        let design = design(backend);
        let whole = states(Sim::new(&design), None);
        let scattered: Vec<u32> = (0..70).map(|unit| unit * 7 % 5).collect();
        let gaps: Vec<u32> = (0..70).map(|unit| 3 * (unit / 30)).collect();
        for part_of in [scattered, gaps, (0..70).collect()] {
            let cut = || Sim::cut(&design, &part_of);
            assert!(states(cut(), None) == whole, "{backend:?}, one thread, {part_of:?}");
            for threads in (2..=5).filter(|_| cut().parts().count() <= weft_engine::team::ITEMS) {
                let team = Team::new(threads).expect("threads");
                assert!(states(cut(), Some(team)) == whole, "{backend:?}, {threads} threads, {part_of:?}");
            }
        }
    }
}

#[test]
fn a_saved_state_fits_every_cut() {
    let design = design(BackendKind::Native);
    let run = |sim: &mut Sim, rounds: std::ops::Range<u64>| {
        let start = sim.input("start").expect("there");
        for round in rounds {
            sim.set(start, 0x2545_f491 * (round + 1) % 0xffff_fffb);
            (0..33).for_each(|_| sim.step());
        }
    };
    let mut whole = Sim::new(&design);
    run(&mut whole, 0..9);
    let saved = whole.save();
    run(&mut whole, 9..20);
    for parts in [1, 2, 9] {
        let mut sim = Sim::cut(&design, &(0..70).map(|unit| unit % parts).collect::<Vec<u32>>());
        sim.load(&saved).expect("of the same design");
        assert!(sim.save() == saved, "{parts} parts");
        run(&mut sim, 9..20);
        assert!(sim.save() == whole.save(), "{parts} parts go on");
        assert_eq!(
            sim.probes().map(|p| p.count).collect::<Vec<_>>(),
            whole.probes().map(|p| p.count).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_part_is_driven_and_read_by_itself() {
    let design = design(BackendKind::Native);
    let (mut whole, mut cut) = (Sim::new(&design), Sim::cut(&design, &vec![0; 70]));
    let (start, last) = (cut.input("start").expect("there"), cut.output("last").expect("there"));
    whole.set(whole.input("start").expect("there"), 45);
    cut.parts().for_each(|part| part.set(start, 45));
    for _ in 0..400 {
        whole.step();
        cut.parts().for_each(Part::step);
    }
    let seen: Vec<u64> = cut.parts().map(|part| part.get(last)).collect();
    assert_eq!(seen, [whole.get(whole.output("last").expect("there"))]);
    cut.settle();
    assert!(cut.save() == whole.save());
}

/// What is on its way between parts belongs to the state that is left.
#[test]
fn a_state_is_restored_without_what_was_on_its_way() {
    let design = design(BackendKind::Native);
    let mut sim = Sim::cut(&design, &(0..70).map(|unit| unit % 9).collect::<Vec<u32>>());
    sim.set(sim.input("start").expect("there"), 45);
    let (before, saved) = (sim.checkpoint(), sim.save());
    for way_back in [true, false] {
        for cycles in 1..60 {
            for _ in 0..cycles {
                sim.parts().for_each(Part::step);
            }
            match way_back {
                true => sim.restore(before.clone()),
                false => sim.load(&saved).expect("of the same design"),
            }
            sim.settle();
            assert!(sim.save() == saved, "after {cycles} cycles");
        }
    }
}

/// Parts on threads of their own, each going on as soon as it has heard the others.
#[test]
fn parts_go_on_by_themselves() {
    let design = design(BackendKind::Native);
    let ring_of = |parts: u32| (0..70).map(|unit| unit * parts / 70).collect::<Vec<u32>>();
    let star_of = |parts: u32| (0..70).map(|unit| unit * 7 % parts).collect::<Vec<u32>>();
    for part_of in [ring_of(2), ring_of(3), star_of(2), star_of(4)] {
        let (mut whole, mut cut) = (Sim::new(&design), Sim::cut(&design, &part_of));
        let start = (whole.input("start").expect("there"), cut.input("start").expect("there"));
        for round in 0..40u64 {
            let value = 0x2545_f491 * (round + 1) % 0xffff_fffb;
            whole.set(start.0, value);
            cut.set(start.1, value);
            (0..50).for_each(|_| whole.step());
            std::thread::scope(|scope| {
                for part in cut.parts() {
                    scope.spawn(move || {
                        let end = part.cycle() + 50;
                        while part.cycle() < end {
                            part.begin();
                            while part.hear().is_err() || part.may_send().is_err() {
                                std::thread::yield_now();
                            }
                            part.end();
                        }
                    });
                }
            });
            cut.settle();
            assert!(cut.save() == whole.save(), "round {round}, {part_of:?}");
            if !whole.failures().is_empty() {
                break;
            }
        }
    }
}

/// Cycles in which every unit slept can be taken back, and nothing else.
#[test]
fn time_goes_back_over_sleep_only() {
    let design = design(BackendKind::Native);
    let mut sim = Sim::cut(&design, &(0..70).map(|unit| unit % 3).collect::<Vec<u32>>());
    sim.run(400);
    assert!(sim.asleep(), "{} units are awake", sim.awake_units());
    let saved = sim.save();
    (0..7).for_each(|_| sim.step());
    assert!(sim.save() != saved);
    sim.go_back(400);
    assert!(sim.save() == saved);
    sim.set(sim.input("start").expect("there"), 45);
    sim.step();
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sim.go_back(400)));
    assert!(told.is_err(), "a unit was awake");
}
