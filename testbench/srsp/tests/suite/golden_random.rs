//! Random programs under random schedules on golden systems with small caches, everything checked by happens-before.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use weft_srsp::l1::Closes;
use weft_srsp::msg::SyncOp;
use weft_srsp::params::Impl;
use weft_srsp_bench::golden::msg::{CuOp, Scope, Sem, Sync};
use weft_srsp_bench::golden::slip::Slip;
use weft_srsp_bench::golden::system::program::{atomic, remote, sync};
use weft_srsp_bench::golden::system::run::End;
use weft_srsp_bench::golden::system::{Instr, Protocol, System, SystemParams, Wave};

/// The variable that a CU uses at wg scope, and all others by remote operations; the first two share a line.
fn own(cu: u8) -> u64 {
    if cu < 2 { 8 * u64::from(cu) } else { 64 * u64::from(cu) }
}
const AT_CMP: u64 = 512;
const AT_SYS: u64 = 576;

fn random_sync(random: &mut SmallRng, p: &SystemParams, cu: u8) -> Sync {
    let remotes = p.protocol != Protocol::Scoped(Impl::Base);
    let other = random.random_range(0..p.cus);
    let (addr, scope, far) = match random.random_range(0..10) {
        0 => (AT_CMP, Scope::Cmp, false),
        1 => (AT_SYS, Scope::Sys, false),
        2..6 if remotes => (own(other), Scope::Cmp, true),
        _ => (own(cu), Scope::Wg, false),
    };
    let value = random.random_range(0..3);
    let (op, sem) = match random.random_range(0..6) {
        0 | 1 => (SyncOp::Ld, Sem::Acq),
        2 | 3 => (SyncOp::St, Sem::Rel),
        4 => (SyncOp::Cas, [Sem::Acq, Sem::Rel, Sem::AcqRel][random.random_range(0..3)]),
        _ => (SyncOp::Add, [Sem::Rlx, Sem::Acq, Sem::Rel, Sem::AcqRel][random.random_range(0..4)]),
    };
    let access = atomic(op, addr, value, random.random_range(0..3));
    match (far, sem) {
        (true, Sem::Rlx) => remote(access, Sem::AcqRel),
        (true, _) => remote(access, sem),
        _ => sync(access, sem, scope),
    }
}

/// Plain words are in lines of their own, from line 10; of DeNovo-B, which has no other way for them, also beside variables.
fn random_program(random: &mut SmallRng, p: &SystemParams, cu: u8, length: usize, tag: u64) -> Vec<Instr> {
    let mut program = Vec::new();
    for i in 0..length {
        let beside = p.protocol == Protocol::DenovoB && random.random_bool(0.2);
        let first = if beside { 32 } else { 640 };
        let addr = first + 64 * random.random_range(0..4u64) + 4 * random.random_range(0..2u64);
        program.push(match random.random_range(0..100) {
            0..30 => Instr::Ld(addr),
            30..60 => Instr::St(addr, (tag << 16) + i as u64 + 1),
            60..98 => Instr::Sync(random_sync(random, p, cu)),
            98 => Instr::Op(CuOp::Begin),
            _ => Instr::Op(CuOp::End),
        });
    }
    program
}

fn params(protocol: Protocol, random: &mut SmallRng) -> SystemParams {
    SystemParams {
        banks: 2,
        l1: (1, 4),
        l2: (1, [2, 8][random.random_range(0..2)]),
        replaces: (true, true),
        l1_sfifo: [2, 4][random.random_range(0..2)],
        l2_sfifo: [2, 4][random.random_range(0..2)],
        pa: random.random_range(1..4),
        mshrs: (random.random_range(1..4), random.random_range(1..3)),
        wbt: random.random_range(2..4),
        sq: random.random_range(1..3),
        locks: random.random_range(1..3),
        instant_memory: random.random_bool(0.3),
        hold_port: random.random_bool(0.7),
        ..SystemParams::tiny(protocol, random.random_range(2..5))
    }
}

/// A random system after its run.
fn run(protocol: Protocol, seed: u64, slip: Option<Slip>) -> (System, End) {
    let mut random = SmallRng::seed_from_u64(seed);
    let closes = Closes::WORDS[seed as usize % Closes::WORDS.len()].0;
    let p = SystemParams { slip, closes, ..params(protocol, &mut random) };
    let places: Vec<u8> = (0..p.cus).chain(0..p.cus).collect();
    let mut wave =
        |(tag, cu): (usize, &u8)| Wave::new(*cu, random_program(&mut random, &p, *cu, 25, tag as u64 + 1));
    let waves = places.iter().enumerate().map(&mut wave).collect();
    let mut system = System::new(p, waves);
    let end = system.run(seed, 200_000);
    (system, end)
}

fn runs(protocol: Protocol, seeds: std::ops::Range<u64>) {
    let mut steps = 0;
    for seed in seeds {
        let (system, end) = run(protocol, seed, None);
        match end {
            End::Done(count) => steps += count,
            end => panic!("{protocol:?}, seed {seed}: {end:?}\n{:?}\n{}", system.params(), system.summary()),
        }
    }
    println!("{protocol:?}: {steps} steps");
}

const ALL: [Protocol; 8] = [
    Protocol::Scoped(Impl::Base),
    Protocol::Scoped(Impl::Brsp),
    Protocol::Scoped(Impl::BrspToken),
    Protocol::Scoped(Impl::Srsp),
    Protocol::Scoped(Impl::SrspOpt),
    Protocol::Hlrc(false),
    Protocol::Hlrc(true),
    Protocol::DenovoB,
];

#[test]
fn random_programs_keep_every_promise() {
    for protocol in ALL {
        runs(protocol, 0..60);
    }
}

#[test]
fn long_random_programs_keep_every_promise() {
    for protocol in ALL {
        runs(protocol, 1000..4000);
    }
}

/// Random runs find decisions undone as well; those that need a narrower program are left to exploration.
#[test]
fn random_programs_find_slips() {
    let mut blind = Vec::new();
    let narrow = [
        Slip::InvBeforeFlush,
        Slip::LateLineInv,
        Slip::NoNoinst,
        Slip::MissNoFence,
        Slip::ReplayTogether,
        Slip::ReplayPastSync,
        Slip::FlushBeforeAccess,
        Slip::UncountedReg,
        Slip::StoreOvertakes,
    ];
    for slip in Slip::ALL.into_iter().filter(|slip| !narrow.contains(slip)) {
        let protocol = match slip {
            Slip::EarlyGrant => Protocol::Hlrc(false),
            Slip::EarlyUnlock | Slip::KeepsLine => Protocol::Scoped(Impl::Brsp),
            Slip::OpenLock | Slip::UnlockNoFlush => Protocol::Scoped(Impl::BrspToken),
            slip if slip.of_denovo_b() => Protocol::DenovoB,
            _ => Protocol::Scoped(Impl::Srsp),
        };
        let wrong = (0..1000).find(|seed| !matches!(run(protocol, *seed, Some(slip)).1, End::Done(_)));
        println!("{slip:?}: {wrong:?}");
        if wrong.is_none() {
            blind.push(slip);
        }
    }
    assert_eq!(blind, []);
}
