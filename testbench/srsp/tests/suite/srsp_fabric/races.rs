//! Races of srsp.md section 7 in whole GPUs, at every distance in time: the same few operations again and again, each time a cycle further apart and on other lines. And a reset in the
//! middle of everything.

use crate::srsp_fabric::{World, small, world};
use weft_srsp::Shape;
use weft_srsp::bank::Bank;
use weft_srsp::fabric::{SrspFabricParams, srsp_fabric};
use weft_srsp::l1::{Inject, L1Params};
use weft_srsp::params::{Impl, Srsp};
use weft_srsp_bench::bench::Bench;
use weft_srsp_bench::bench::locks::{Ask, Below, connect};
use weft_srsp_bench::memory::Memory;

/// A GPU whose CUs do what a test says.
struct Script {
    b: Bench,
    s: Srsp,
    memory: Memory,
    next: u64,
    /// Answers: request, word, cycle.
    answers: Vec<(u64, u64, u64)>,
    open: Vec<(u64, Ask)>,
}

impl Script {
    fn new(p: &SrspFabricParams, seed: u64) -> Script {
        let s = p.srsp().clone();
        let mut b = Bench::new(&srsp_fabric(p).expect("legal"), seed);
        let mut memory = Memory::new(&s);
        connect(&mut b, &s.cu(), s.cus);
        memory.connect(&mut b);
        memory.delay = 5;
        let mut script = Script { b, memory, s, next: 0, answers: Vec::new(), open: Vec::new() };
        script.run(100);
        script
    }

    /// Sets a word of memory that no cache has.
    fn put(&mut self, addr: u64, value: u64) {
        let at = (addr % u64::from(self.s.line)) as usize;
        let line = self.memory.line(addr / u64::from(self.s.line));
        line[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
    }

    /// Sends a request: synchronising ones at work-group scope, or as remote operations.
    fn ask(&mut self, cu: usize, remote: bool, ask: Ask) -> u64 {
        let id = self.next;
        self.next = (id + 1) % 4096;
        let msg = ask.message(&self.s.cu(), id, u64::from(remote), u64::from(remote));
        self.b.send(&format!("g0_cu{cu}_req"), msg);
        if !matches!(ask, Ask::Store(..)) {
            self.open.push((id, ask));
        }
        id
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            let now = self.b.sim.cycle();
            self.memory.send(&mut self.b);
            self.b.step();
            self.memory.take(&mut self.b, now);
            for c in 0..self.s.cus {
                while let Some((cycle, m)) = self.b.received(&format!("g0_cu{c}_rsp")) {
                    let id = m.get("id");
                    let at = self.open.iter().position(|o| o.0 == id).expect("asked for");
                    let addr = match self.open.remove(at).1 {
                        Ask::Load(a) | Ask::Take(a) | Ask::Give(a) | Ask::Swap(a) | Ask::Store(a, _) => a,
                    };
                    let bit = (addr % u64::from(self.s.line)) as u32 * 8;
                    self.answers.push((id, m.wide("data").slice(bit, 32).low_u64(), cycle));
                }
            }
        }
    }

    /// Runs until everything is answered.
    fn rest(&mut self) {
        for _ in 0..4_000 {
            if self.open.is_empty() {
                return;
            }
            self.run(1);
        }
        panic!("not answered in 4 000 cycles: {:?}", self.open);
    }

    fn word(&mut self, id: u64) -> u64 {
        let at = self.answers.iter().position(|a| a.0 == id).expect("answered");
        self.answers.swap_remove(at).1
    }

    /// Asks and runs until that is answered, whatever else is under way.
    fn first(&mut self, cu: usize, ask: Ask) -> u64 {
        let id = self.ask(cu, false, ask);
        let mut cycles = 0..4_000;
        while self.open.iter().any(|open| open.0 == id) {
            assert!(cycles.next().is_some(), "{ask:?} is not answered in 4 000 cycles");
            self.run(1);
        }
        self.word(id)
    }

    /// Asks and runs until the answer.
    fn alone(&mut self, cu: usize, remote: bool, ask: Ask) -> u64 {
        let id = self.ask(cu, remote, ask);
        self.rest();
        self.word(id)
    }
}

/// Lines of the attempt numbered `n`: a variable, and data behind it.
fn lines(n: u64) -> (u64, u64) {
    (0x1_0000 + 0x100 * n, 0x1_0080 + 0x100 * n)
}

/// CU 0 and CU 1 each take what the other has released: both locks granted, both gates closed, and both L1s still serve SEL_FLUSH.
#[test]
fn each_acquires_what_the_other_owns() {
    for system in [Impl::Srsp, Impl::SrspOpt, Impl::Brsp, Impl::BrspToken] {
        let mut w = Script::new(&small(system, 3), 1);
        for n in 0..60 {
            let ((x, xs), (z, zs)) = (lines(2 * n), lines(2 * n + 1));
            [x, xs, z, zs].into_iter().for_each(|addr| w.put(addr, 0));
            for (cu, lock, data) in [(0, x, xs), (1, z, zs)] {
                assert_eq!(w.alone(cu, false, Ask::Take(lock)), 0);
                w.ask(cu, false, Ask::Store(data, n + 1));
                w.alone(cu, false, Ask::Give(lock));
            }
            let first = (n % 2) as usize;
            let locks = [(z, zs), (x, xs)];
            let a = w.ask(first, true, Ask::Take(locks[first].0));
            w.run(n / 2);
            let b = w.ask(1 - first, true, Ask::Take(locks[1 - first].0));
            w.rest();
            assert_eq!((w.word(a), w.word(b)), (0, 0), "{system:?}, attempt {n}");
            for cu in [0, 1] {
                assert_eq!(w.alone(cu, false, Ask::Load(locks[cu].1)), n + 1, "{system:?}, attempt {n}");
                w.alone(cu, true, Ask::Give(locks[cu].0));
            }
        }
        if matches!(system, Impl::Srsp | Impl::Brsp) {
            assert!(w.b.counted("srsp.race.probe_gate_closed") > 10, "{system:?}: both gates were closed");
            assert!(w.b.counted("srsp.race.remotes_apart") > 10, "{system:?}: on two lines");
        }
    }
}

/// The owner's acquire and another CU's remote acquire of a lock that the owner has released (`cold`: that nobody has used), at every distance: one of them wins and reads what was written
/// under the lock before; the other gets it after the winner's release, which may race with its attempts, and reads what the winner has written.
fn hand_over(system: Impl, distances: std::ops::Range<u64>, owner_first: bool, cold: bool) -> Script {
    let mut w = Script::new(&small(system, 3), 2);
    for n in distances {
        let (x, data) = lines(n);
        w.put(x, 0);
        w.put(data, u64::from(cold));
        if !cold {
            assert_eq!(w.alone(1, false, Ask::Load(data)), 0, "an old copy in the other L1");
            assert_eq!(w.alone(0, false, Ask::Take(x)), 0);
            w.ask(0, false, Ask::Store(data, 1));
            w.alone(0, false, Ask::Give(x));
        }
        let first = usize::from(!owner_first);
        let a = w.ask(first, first == 1, Ask::Take(x));
        w.run(n);
        // Plain stores in the window must disturb nothing.
        w.ask(0, false, Ask::Store(data + 8, n));
        let b = w.ask(1 - first, first == 0, Ask::Take(x));
        w.rest();
        let (got, text) = ((w.word(a), w.word(b)), format!("{system:?}, distance {n}"));
        let winner = match got {
            (0, 1) => first,
            (1, 0) => 1 - first,
            other => panic!("{text}: both or none: {other:?}"),
        };
        let (loser, remote) = (1 - winner, |cu: usize| cu == 1);
        assert_eq!(w.alone(winner, false, Ask::Load(data)), 1, "{text}: what the first release published");
        w.ask(winner, false, Ask::Store(data, 2));
        let give = w.ask(winner, remote(winner), Ask::Give(x));
        w.run(n);
        let tries = (0..100).take_while(|_| w.alone(loser, remote(loser), Ask::Take(x)) == 1).count();
        assert!(tries < 100, "{text}: the release is never seen");
        w.rest();
        w.word(give);
        assert_eq!(w.alone(loser, false, Ask::Load(data)), 2, "{text}: what the winner published");
        w.alone(loser, remote(loser), Ask::Give(x));
        assert_eq!(w.alone(0, false, Ask::Load(data + 8)), n, "{text}: the owner's own store");
    }
    w
}

#[test]
fn a_lock_is_handed_over_at_every_distance() {
    let names = ["srsp_l1_replays", "srsp_l1_pa_hit", "l2_lock_wait"];
    let mut counts = [0; 3];
    for (owner_first, cold) in [(true, false), (false, false), (true, true), (false, true)] {
        let w = hand_over(Impl::Srsp, 0..90, owner_first, cold);
        (0..3).for_each(|i| counts[i] += w.b.counted(names[i]));
    }
    assert!(counts.iter().all(|n| *n > 0), "{names:?}: {counts:?}");
}

#[test]
fn a_lock_is_handed_over_in_srsp_opt_and_brsp() {
    for system in [Impl::SrspOpt, Impl::Brsp, Impl::BrspToken] {
        for owner_first in [true, false] {
            hand_over(system, 0..45, owner_first, false);
        }
    }
}

/// Two remote acquires of one released lock at every distance: one wins.
#[test]
fn two_remote_operations_on_one_variable() {
    for system in [Impl::Srsp, Impl::SrspOpt, Impl::Brsp, Impl::BrspToken] {
        let mut w = Script::new(&small(system, 3), 3);
        for n in 0..50 {
            let (x, data) = lines(n);
            [x, data].into_iter().for_each(|addr| w.put(addr, 0));
            assert_eq!(w.alone(0, false, Ask::Take(x)), 0);
            w.ask(0, false, Ask::Store(data, n + 1));
            w.alone(0, false, Ask::Give(x));
            let a = w.ask(1, true, Ask::Take(x));
            w.run(n);
            let b = w.ask(2, true, Ask::Take(x));
            w.rest();
            let won = [w.word(a), w.word(b)];
            assert_eq!(won.iter().sum::<u64>(), 1, "{system:?}, distance {n}: {won:?}");
            let winner = 1 + usize::from(won[0] == 1);
            assert_eq!(w.alone(winner, false, Ask::Load(data)), n + 1);
            w.alone(winner, true, Ask::Give(x));
        }
    }
}

/// CU 0 has an old copy of data that CU 1 changes and passes on by a remote release, at every distance from
/// a remote acquire of CU 2 that flushes CU 0's many dirty lines, so that what invalidates the copy waits
/// behind it: CU 0, who then finds the flag, finds the data.
fn passed_on(system: Impl, inject: Inject) -> Result<(), String> {
    let p = small(system, 3);
    let srsp = Srsp { wbt: 2, ..p.srsp().clone() };
    let l1 = L1Params { inject, ..p.l1.clone() }.sized(|s| Shape {
        srsp: srsp.clone(),
        size: 4096,
        ways: 4,
        sfifo: 16,
        ..s
    });
    let mut w = Script::new(&SrspFabricParams { l1, l2: p.l2.clone().sized(|s| Bank { srsp, ..s }), ..p }, 4);
    for n in 0..100 {
        let ((x, data), (z, dirty)) = (lines(2 * n), lines(2 * n + 1));
        [(x, 1), (data, 1), (z, 0)].into_iter().for_each(|(addr, value)| w.put(addr, value));
        w.alone(0, false, Ask::Take(z));
        assert_eq!(w.alone(0, false, Ask::Load(data)), 1, "an old copy");
        for i in 1..9 {
            w.ask(0, false, Ask::Store(dirty + 0x8000 * i, n));
        }
        w.alone(0, false, Ask::Give(z));
        w.ask(1, false, Ask::Store(data, 2));
        w.ask(2, true, Ask::Take(z));
        w.run(10 * (n % 4));
        w.ask(1, true, Ask::Give(x));
        // Not so early that the flag's old value comes here before its line is locked.
        w.run(n);
        let mut tries = 0..100;
        while w.first(0, Ask::Take(x)) != 0 {
            assert!(tries.next().is_some(), "{system:?}, distance {n}: the release is never seen");
        }
        let found = w.first(0, Ask::Load(data));
        if found != 2 {
            return Err(format!("{system:?}, distance {n}: {found}"));
        }
        w.rest();
        w.answers.clear();
    }
    Ok(())
}

/// The lock of the line ends when the invalidations under it are collected, and not before.
#[test]
fn a_release_is_passed_on_under_its_lock() {
    for system in [Impl::Srsp, Impl::SrspOpt, Impl::Brsp, Impl::BrspToken] {
        passed_on(system, Inject::None).expect("the data");
    }
    for system in [Impl::Srsp, Impl::SrspOpt, Impl::Brsp] {
        let said = passed_on(system, Inject::EarlyUnlock).expect_err("an early unlock is not seen");
        println!("{said}");
    }
}

/// All state is cleared, no message survives: what comes after a reset takes place exactly as in a new GPU.
#[test]
fn a_reset_in_flight_leaves_nothing() {
    for system in [Impl::Base, Impl::Brsp, Impl::BrspToken, Impl::Srsp, Impl::SrspOpt] {
        let p = small(system, 3);
        let play = |mut w: World| {
            let begun = w.b.sim.cycle();
            w.run(400_000);
            w.check();
            (w.b.sim.cycle() - begun, w.below.reads, w.below.written)
        };
        let fresh = play(world(&p, 3, 6, 9));
        for cycles in [1, 130, 777, 2_000] {
            let mut w = world(&p, 3, 100, 8);
            w.run(cycles);
            assert!(w.complaint.is_some(), "in the middle of it");
            assert_eq!(
                play(w.again((3, 6), Memory::new(p.srsp()), 9)),
                fresh,
                "{system:?} reset after {cycles} cycles"
            );
        }
    }
}
