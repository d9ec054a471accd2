//! Coherent protocols: random programs of waves that share everything; every load shows the latest write of its logical time.

use super::world::{Answer, Asked, CuWork, World, initial};
use super::{LINES, tiny};
use crate::wire::AMOS;
use rand::Rng;
use weft_mgcc::choice::Inject;
use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, TsuScale};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::checker::{Fault, LogicalTime, Promise};
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::time::Time;

/// Waves of a CU.
const WAVES: usize = 3;

struct Wave {
    seq: u32,
    open: usize,
    fencing: bool,
    left: u32,
}

struct Program {
    w: World,
    log: LogicalTime,
    /// By CU and wave.
    waves: Vec<Wave>,
}

impl Program {
    fn new(p: &TsmFabricParams, seed: u64) -> Program {
        let promise = if p.sequential() { Promise::Sc } else { Promise::Rc };
        let mut w = World::new(p, seed);
        w.pressure = true;
        let waves = (0..w.cus() * WAVES).map(|_| Wave { seq: 0, open: 0, fencing: false, left: 0 }).collect();
        Program { w, log: LogicalTime::new(promise), waves }
    }

    fn next(&mut self, cu: usize, wave: usize) {
        let sequential = self.w.p.sequential();
        let number = cu * WAVES + wave;
        let state = &self.waves[number];
        let most = if sequential { 1 } else { 4 };
        if state.left == 0 || state.fencing || state.open >= most || self.w.open[cu].len() > 10 {
            return;
        }
        let rng = &mut self.w.b.rng;
        if !rng.random_bool(0.3) {
            return;
        }
        let mut work = random_work(rng, !sequential);
        if rng.random_bool(0.1) && !sequential {
            if state.open > 0 {
                return;
            }
            work = CuWork::Fence { acquire: rng.random_bool(0.5) };
        }
        let line = LINES[rng.random_range(0..LINES.len())];
        let state = &mut self.waves[number];
        state.seq += 1;
        state.open += 1;
        state.left -= 1;
        state.fencing = matches!(work, CuWork::Fence { .. });
        self.w.ask(cu, Asked { wave, seq: state.seq, line, work, since: 0, expected: None });
    }

    fn answered(&mut self, a: &Answer) {
        let Asked { wave, seq, line, work, .. } = a.asked;
        let number = a.cu * WAVES + wave;
        let state = &mut self.waves[number];
        state.open -= 1;
        state.fencing &= !matches!(work, CuWork::Fence { .. });
        note(&mut self.log, (number as u32, seq), line, work, a);
    }

    /// A kernel of so many operations per wave, with the time handed on from the one before.
    fn kernel(&mut self, operations: u32, time: Time) -> Time {
        self.w.ask_all(CuWork::Kbegin(time));
        for (number, wave) in self.waves.iter_mut().enumerate() {
            wave.left = operations;
            self.log.floor(number as u32, wave.seq, time);
        }
        while self.waves.iter().any(|wave| wave.left + wave.open as u32 > 0) {
            for cu in 0..self.w.cus() {
                (0..WAVES).for_each(|wave| self.next(cu, wave));
            }
            self.w.step();
            while let Some(answer) = self.w.answers.pop_front() {
                self.answered(&answer);
            }
            if self.w.b.rng.random_bool(0.005) {
                let (rd, wr) = (self.w.b.rng.random_range(1..=12), self.w.b.rng.random_range(1..=6));
                self.w.b.set("rd_lease", rd);
                self.w.b.set("wr_lease", wr);
            }
        }
        ended(&mut self.w)
    }

    /// Kernels one after the other; what the checker says.
    fn run(&mut self, kernels: u32, operations: u32) -> Vec<Fault> {
        let mut time = Time::default();
        for _ in 0..kernels {
            time = self.kernel(operations, time);
        }
        self.log.check(initial)
    }
}

/// What a wave was answered is noted.
pub(super) fn note(log: &mut LogicalTime, at: (u32, u32), line: u64, work: CuWork, a: &Answer) {
    match work {
        CuWork::Load { mask, .. } => log.load(at, line, mask, a.time, a.data),
        CuWork::Store { mask, data, .. } => log.store(at, line, mask, a.time, data),
        CuWork::Atomic(atomic) => {
            let old = a.data.number(4 * atomic.word as usize, atomic.size());
            log.atomic(at, line, a.time, atomic, old);
        }
        _ => log.fence(at.0, at.1),
    }
}

/// The latest time at which a kernel has ended on a CU.
pub(super) fn ended(w: &mut World) -> Time {
    let ends = w.ask_all(CuWork::Kend);
    let times = ends.iter().map(|a| Time::unpack(a.data.words()[0], w.p.tsm.ts));
    times.max().expect("CUs")
}

/// A load, store or atomic of a random kind.
pub(super) fn random_work(rng: &mut impl Rng, sync: bool) -> CuWork {
    let any = 1u64 << rng.random_range(0..64) | rng.random::<u64>();
    match rng.random_range(0..100) {
        0..60 => CuWork::Load { mask: any, sync: sync && rng.random_bool(0.1) },
        60..88 => {
            let mask = if rng.random_bool(0.4) { u64::MAX } else { any };
            CuWork::Store { mask, data: Data::from_words(rng.random()), want_ack: true }
        }
        _ => {
            let wide = rng.random_bool(0.5);
            let word = rng.random_range(0..16u32) & if wide { 14 } else { 15 };
            let keep = if wide { u64::MAX } else { 0xffff_ffff };
            let (operand, compare) = (rng.random::<u64>() & keep, rng.random::<u64>() & keep);
            let op = AMOS[rng.random_range(0..11)];
            CuWork::Atomic(Atomic { op, signed: rng.random(), word, wide, operand, compare })
        }
    }
}

/// Programs of some seeds are coherent: overflows, evictions and misses that they have had together.
fn coherent(p: &TsmFabricParams, seeds: std::ops::Range<u64>) -> [u64; 3] {
    let mut sums = [0; 3];
    for seed in seeds {
        let mut program = Program::new(p, seed);
        let faults = program.run(3, 60);
        assert!(faults.is_empty(), "seed {seed}: {} faults, first: {}", faults.len(), faults[0]);
        let counted =
            ["rolls", "tsu_evictions_capacity", "l2_misses_cold"].map(|name| program.w.b.counted(name));
        sums.iter_mut().zip(counted).for_each(|(sum, count)| *sum += count);
    }
    sums
}

fn assert_enough([rolls, evictions, misses]: [u64; 3]) {
    let enough = rolls > 1 && evictions > 10 && misses > 50;
    assert!(enough, "{rolls} rolls, {evictions} evictions, {misses} misses");
}

fn sound(p: &TsmFabricParams, seeds: std::ops::Range<u64>) {
    assert_enough(coherent(p, seeds));
}

#[test]
fn release_consistency_holds() {
    sound(&tiny(TsmProtocol::WtCRc), 0..2);
}

#[test]
fn sequential_consistency_holds() {
    sound(&tiny(TsmProtocol::WtCSc), 10..12);
}

#[test]
fn other_sizes_are_sound() {
    let p = tiny(TsmProtocol::WtCRc);
    let tsm = Tsm { gpus: 4, cus: 1, banks: 1, lanes: 4, l2_mshrs: 3, ..p.tsm.clone() };
    let p = TsmFabricParams { tsm, l2_latency: 3, crossbar_latency: 1, link_bpc: 4, tsu_ways: 1, ..p };
    sound(&p, 20..21);
}

#[test]
fn one_gpu_is_sound() {
    let p = tiny(TsmProtocol::WtCRc);
    let tsm = Tsm { gpus: 1, cus: 3, lanes: 1, ..p.tsm.clone() };
    sound(&TsmFabricParams { tsm, crossbar_latency: 5, tsu_scale: TsuScale::Half, ..p }, 30..31);
}

#[test]
fn long_all_sizes_of_systems_are_sound() {
    // A small system overflows seldom, the TSUs of a large one evict nothing.
    let mut sums = [0; 3];
    for (i, gpus) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        for protocol in [TsmProtocol::WtCRc, TsmProtocol::WtCSc] {
            let p = tiny(protocol);
            let tsu_scale = if gpus == 1 { TsuScale::Half } else { TsuScale::Quarter };
            let p = TsmFabricParams { tsm: Tsm { gpus, ..p.tsm.clone() }, tsu_scale, ..p };
            let counted = coherent(&p, 40 + i as u64..42 + i as u64);
            sums.iter_mut().zip(counted).for_each(|(sum, count)| *sum += count);
        }
    }
    assert_enough(sums);
}

/// The checker is no decoration: slips of the published listings show on the whole fabric.
#[test]
fn slips_are_found_on_the_fabric() {
    for inject in [Inject::LitNoFloor, Inject::LitReadCts] {
        let p = TsmFabricParams { inject, ..tiny(TsmProtocol::WtCSc) };
        let found = (50..54).any(|seed| !Program::new(&p, seed).run(2, 60).is_empty());
        assert!(found, "{inject:?}");
    }
}
