//! Small random programs on the RTL, for what is too large to be explored: the system in which every slip of mgcc.md section 11 must be caught.

use super::{Asks, Config, Op, System};
use crate::checker::Promise;
use weft_explore::net::Timing;
use weft_explore::search::{Violation, walk};
use weft_mgcc::choice::{Consistency, Inject};

/// 2 GPUs x 2 CUs, 6 lines in 2 banks, banks of 2 lines, TSUs of 2 entries, stamps of 6 bits (mgcc.md section 11; an L1 has at least 4 lines).
pub fn small(consistency: Consistency, inject: Inject) -> Config {
    Config {
        gpus: 2,
        cus: 2,
        banks: 2,
        lines: (0..6).collect(),
        consistency,
        leases: (10, 5),
        self_inc: 4,
        l1_mshrs: (2, 2),
        l2_mshrs: (3, 3),
        tsu: (1, 2),
        link: 2,
        timing: Timing::Free,
        inject,
        ..Config::default()
    }
}

/// A sequence of numbers that a seed determines.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % n
    }
}

/// Programs of `length` operations for every CU: loads, stores of a word or the line, atomics, under RC also LD_SYNC and fences. Half of the time few lines are used.
pub fn programs(asks: &Asks, length: usize, seed: u64) -> Vec<Vec<Op>> {
    let mut numbers = Numbers(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let rc = asks.promise == Promise::Rc;
    let all = asks.lines.len() as u64;
    let lines = if numbers.below(2) == 0 { all } else { 2 + numbers.below(2) };
    let mut op = || {
        let line = numbers.below(lines) as u8;
        match numbers.below(100) {
            0..45 => Op::Load(line),
            45..70 => Op::Store(line, numbers.below(2) as u8),
            70..83 => Op::StoreLine(line),
            83..90 => Op::Exchange(line),
            90..95 if rc => Op::LoadSync(line),
            95..100 if rc => Op::Fence,
            _ => Op::Load(line),
        }
    };
    (0..asks.cus * asks.waves).map(|_| (0..length).map(|_| op()).collect()).collect()
}

/// Most actions of a run; one that does not end before will not end.
const LIMIT: usize = 60_000;

/// Runs the programs of a seed, in an order that the seed chooses too.
///
/// # Errors
/// What is wrong.
pub fn run(net: &mut System, length: usize, seed: u64) -> Result<usize, Violation> {
    let programs = programs(net.world().asks(), length, seed);
    net.restart(|world| world.set_programs(programs));
    walk(net, seed, LIMIT)
}
