//! The ideal machine on hand-written waves: the race check sees what it is for, CPU threads have one lane, hints fit.

use weft_workload::ideal::{IdealError, IdealMachine, Order, run, run_checked};
use weft_workload::op::{Hint, Hinted};
use weft_workload::program::{Array, Frame, HostStep, Kernel, LoadedValues, Program, VerifyError};
use weft_workload::{Access, Addrs, AmoKind, Class, LdsAccess, Op, Scope, Sem, Values};

/// What one wave of a hand-written kernel does, step by step; each step ends by itself.
type Script = Vec<Vec<Op>>;

/// Work-groups with a script for each of their waves.
struct Scripted {
    arrays: Vec<Array>,
    blocks: Vec<Vec<Script>>,
    cpus: u32,
}

impl Scripted {
    fn new(cpus: u32, blocks: Vec<Vec<Script>>) -> Self {
        let mut layout = weft_workload::Layout::new();
        layout.add("x", 4, 64, false, vec![]);
        Self { arrays: layout.arrays().to_vec(), blocks, cpus }
    }

    fn races(self, order: Order) -> Vec<String> {
        let races = run_checked(&self, order).unwrap_or_else(|e| panic!("{e}")).1;
        races.list.iter().map(ToString::to_string).collect()
    }
}

impl Program for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    fn lanes(&self) -> u32 {
        2
    }
    fn arrays(&self) -> &[Array] {
        &self.arrays
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "k".to_owned(),
                blocks: self.blocks.len() as u32,
                cpus: self.cpus,
                waves_per_block: self.blocks.iter().map(Vec::len).max().unwrap_or(1) as u32,
                lds_bytes: 8,
                args: vec![],
                co_resident: true,
            })
        })
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }
    fn step(&self, frame: &mut Frame, _: &LoadedValues) -> Vec<Op> {
        let script = self.blocks[frame.block as usize].get(frame.wave as usize);
        frame.pc += 1;
        let step = script.and_then(|s| s.get(frame.pc as usize - 1)).cloned();
        step.unwrap_or_else(|| vec![Op::End])
    }
    fn verify(&self, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        Ok(())
    }
}

fn access(word: u64, class: Class, sem: Sem) -> Access {
    Access {
        class,
        sem,
        scope: Scope::Sys,
        ..Access::data(4, Addrs::Strided { base: 4 * word, stride: 0 }, 1)
    }
}

fn done() -> Op {
    Op::Await { tokens: vec![] }
}

fn load(word: u64, class: Class) -> Vec<Op> {
    vec![Op::Load { token: 0, access: access(word, class, Sem::Relaxed) }, done()]
}

fn store(word: u64, class: Class) -> Vec<Op> {
    vec![Op::Store { access: access(word, class, Sem::Relaxed), values: Values::Const(1) }, done()]
}

fn amo(word: u64, class: Class, sem: Sem, kind: AmoKind, ret: bool) -> Vec<Op> {
    let (token, signed, compare, values) = (0, false, 0, Values::Const(1));
    vec![Op::Amo { token, access: access(word, class, sem), kind, signed, values, compare, ret }, done()]
}

/// Two work-groups of one wave each.
fn two(first: Script, second: Script) -> Scripted {
    Scripted::new(0, vec![vec![first], vec![second]])
}

#[test]
fn a_flag_orders_data_only_if_it_is_paired() {
    let pass = |class| {
        two(
            vec![store(0, Class::D), store(32, class)],
            vec![vec![done()], vec![done()], load(32, class), load(0, Class::D)],
        )
    };
    assert_eq!(pass(Class::P).races(Order::Forward), [""; 0]);
    for class in [Class::U, Class::C, Class::N, Class::S, Class::Q] {
        let races = pass(class).races(Order::Forward);
        let race = "Data race in kernel k at x[0]: Store of class D by work-group 0 wave 0, Load of class D by work-group 1 wave 0";
        assert!(races.iter().any(|r| r == race), "{class:?}: {races:?}");
    }
    // The other way round the reader is first, and does not wait.
    assert_eq!(
        two(vec![load(32, Class::P), load(0, Class::D)], vec![store(0, Class::D)])
            .races(Order::Reverse)
            .len(),
        1
    );
}

#[test]
fn a_release_orders_what_is_before_it_and_an_acquire_what_is_after() {
    let add = |sem| amo(32, Class::P, sem, AmoKind::Add, true);
    let wait = || vec![done()];
    let races = |first, second, late: bool| {
        let mut writer = vec![store(0, Class::D), add(first)];
        if late {
            writer.reverse();
        }
        two(writer, vec![wait(), wait(), add(second), load(0, Class::D)]).races(Order::Forward).len()
    };
    assert_eq!(races(Sem::Relaxed, Sem::Relaxed, false), 0);
    assert_eq!(races(Sem::Release, Sem::Acquire, false), 0);
    assert_eq!(races(Sem::Acquire, Sem::Acquire, false), 1);
    assert_eq!(races(Sem::Release, Sem::Release, false), 1);
    assert_eq!(races(Sem::Relaxed, Sem::Relaxed, true), 1);
}

#[test]
fn fences_pair_through_atomics() {
    let fence = |sem| vec![Op::Fence { sem, scope: Scope::Sys }, done()];
    let races = |first, second| {
        let writer = vec![store(0, Class::D), fence(first), store(32, Class::N)];
        let reader = vec![
            vec![done()],
            vec![done()],
            vec![done()],
            load(32, Class::N),
            fence(second),
            load(0, Class::D),
        ];
        two(writer, reader).races(Order::Forward).len()
    };
    assert_eq!(races(Sem::Release, Sem::Acquire), 0);
    assert_eq!(races(Sem::AcquireRelease, Sem::AcquireRelease), 0);
    assert_eq!(races(Sem::Acquire, Sem::Acquire), 1);
    assert_eq!(races(Sem::Release, Sem::Release), 1);
}

#[test]
fn a_barrier_orders_one_work_group() {
    let meet = || vec![Op::Barrier];
    let waves = || vec![vec![store(0, Class::D), meet()], vec![meet(), load(0, Class::D)]];
    assert_eq!(Scripted::new(0, vec![waves()]).races(Order::Forward), [""; 0]);
    assert_eq!(Scripted::new(0, vec![waves(), waves()]).races(Order::Forward).len(), 3);
}

#[test]
fn commutative_updates_commute_and_nobody_looks() {
    let update = |kind, ret| vec![amo(0, Class::C, Sem::Relaxed, kind, ret)];
    let races = |a, b| two(a, b).races(Order::Forward);
    assert_eq!(races(update(AmoKind::Add, false), update(AmoKind::Sub, false)), [""; 0]);
    assert_eq!(races(update(AmoKind::Max, false), update(AmoKind::Max, false)), [""; 0]);
    let kinds = |list: Vec<String>| list.iter().filter(|r| r.starts_with("Commutative race")).count();
    assert_eq!(kinds(races(update(AmoKind::Add, false), update(AmoKind::Max, false))), 1);
    assert_eq!(kinds(races(update(AmoKind::Add, false), update(AmoKind::Add, true))), 1);
    assert_eq!(kinds(races(update(AmoKind::Add, false), vec![load(0, Class::U)])), 1);
    assert_eq!(races(update(AmoKind::Add, false), vec![load(0, Class::D)]).len(), 1);
}

#[test]
fn scratchpads_and_lanes_race_too() {
    let lds = |word| LdsAccess { size: 4, addrs: Addrs::Strided { base: word, stride: 0 }, mask: 1 };
    let put = |word| vec![vec![Op::LdsStore { access: lds(word), values: Values::Const(1) }, done()]];
    let of = |waves| Scripted::new(0, vec![waves]).races(Order::Forward);
    assert_eq!(of(vec![put(0), put(4)]), [""; 0]);
    assert_eq!(of(vec![put(0), put(0)]).len(), 1);
    let both = |stride| {
        let access = Access::data(4, Addrs::Strided { base: 0, stride }, 3);
        vec![vec![vec![Op::Store { access, values: Values::Const(1) }, done()]]]
    };
    assert_eq!(of(both(4)), [""; 0]);
    assert_eq!(of(both(0)).len(), 1);
    // Bytes of one word are different places.
    let byte = |at: u64| {
        let access = Access::data(1, Addrs::Strided { base: at, stride: 0 }, 1);
        vec![vec![Op::Store { access, values: Values::Const(1) }, done()]]
    };
    assert_eq!(two(byte(0), byte(1)).races(Order::Forward), [""; 0]);
    assert_eq!(two(byte(1), byte(1)).races(Order::Forward).len(), 1);
}

#[test]
fn a_cpu_thread_has_one_lane_and_no_scratchpad() {
    let wide = || {
        vec![vec![
            Op::Store {
                access: Access::data(4, Addrs::Strided { base: 0, stride: 4 }, 3),
                values: Values::Const(1),
            },
            done(),
        ]]
    };
    let error = |cpus, step: Script| {
        let program = Scripted::new(cpus, vec![vec![step]]);
        run(&program, Order::Forward).err()
    };
    assert_eq!(error(0, wide()), None);
    assert!(matches!(error(1, wide()), Some(IdealError::Lanes { mask: 3, lanes: 1, .. })));
    let access = LdsAccess { size: 4, addrs: Addrs::Strided { base: 0, stride: 0 }, mask: 1 };
    let local = || vec![vec![Op::LdsLoad { token: 0, access: access.clone() }, done()]];
    assert_eq!(error(0, local()), None);
    assert!(matches!(error(1, local()), Some(IdealError::OutOfRange { .. })));
    // Its work-group has one wave, whatever those on CUs have.
    let program = Scripted::new(1, vec![vec![], vec![vec![store(0, Class::D)], vec![store(1, Class::D)]]]);
    let done = run(&program, Order::Forward).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(done.stats.store_lines, 2);
}

#[test]
fn a_hint_that_cannot_serve_its_access_is_refused() {
    let kernel = |program: &Scripted| match program.host_step(0, &|_, n| vec![0; n]) {
        Some(HostStep::Launch(kernel)) => kernel,
        _ => panic!("a launch"),
    };
    for bits in 0..=u8::MAX {
        for (on, mut step) in [
            (Hinted::Load, load(0, Class::D)),
            (Hinted::Store, store(0, Class::D)),
            (Hinted::Atomic, load(0, Class::P)),
            (Hinted::Atomic, amo(0, Class::C, Sem::Relaxed, AmoKind::Add, false)),
        ] {
            if let Op::Load { access, .. } | Op::Store { access, .. } | Op::Amo { access, .. } = &mut step[0]
            {
                access.hint = bits;
            }
            let program = Scripted::new(0, vec![vec![vec![step]]]);
            let done = IdealMachine::new(&program).launch(&kernel(&program), Order::Forward);
            let legal = Hint::of(bits).is_some_and(|hint| hint.fits(on));
            assert_eq!(
                matches!(done, Err(IdealError::Hint { hint, .. }) if hint == bits),
                !legal,
                "{on:?} {bits}"
            );
        }
    }
}
