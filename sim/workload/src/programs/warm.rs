//! A warm-up in front of a program (hmg.md section 11): a kernel that touches all its data, so that pages
//! are placed and the caches of their homes are filled before what is measured.
//!
//! Work-group `b` of `B` loads a word of each 64 bytes in the `b`-th part of every array. Since work-groups
//! are cut contiguously over the GPUs' modules, so is every array, as by an initialisation with the same
//! schedule. It stores nothing: first contents are in memory, and read-only arrays stay so.

use super::params::{Legal, ParamSpec};
use crate::mapping::LocalMemory;
use crate::op::{Access, Addrs, Op, Token};
use crate::program::{Array, Frame, HostStep, Kernel, LoadedValues, Program, VerifyError, full_mask};

/// Name of the kernel; what is measured begins behind it.
pub const WARM_UP: &str = "warm_up";

/// Parameter `warmup` of programs that may have one.
pub const WARMUP: ParamSpec = ParamSpec {
    name: "warmup",
    default: "0",
    legal: Legal::Integer { min: 0, max: 1 },
    unit: "kernels",
    about: "Kernels before the measured ones that touch all data.",
};

/// Number of the kernel, which no program uses.
const ID: u32 = u32::MAX;
/// Work-groups, a wave each: one per SM of the published system.
const BLOCKS: u64 = 512;
/// Bytes of which one word is loaded: the smallest line.
const REACH: u64 = 64;
/// Loads of a wave under way at once.
const DEPTH: usize = 8;

/// A program behind a warm-up.
pub struct Warm(pub Box<dyn Program>);

/// Loads of one operation: words of an array from the one of this number on, so many.
struct Piece<'a> {
    array: &'a Array,
    first: u64,
    count: u64,
}

impl Warm {
    /// What a work-group loads, in order.
    fn pieces(&self, block: u64) -> impl Iterator<Item = Piece<'_>> {
        let lanes = u64::from(self.0.lanes());
        self.0.arrays().iter().flat_map(move |array| {
            let words = array.bytes().div_ceil(REACH);
            let (from, to) = (block * words / BLOCKS, (block + 1) * words / BLOCKS);
            let firsts = (from..to).step_by(lanes as usize);
            firsts.map(move |first| Piece { array, first, count: lanes.min(to - first) })
        })
    }

    /// Number of the warm-up's host steps before that of the program's own first one.
    const STEPS: usize = 1;
}

impl Piece<'_> {
    fn load(&self, token: usize) -> Op {
        let addrs = Addrs::Strided { base: self.array.addr + self.first * REACH, stride: REACH as i64 };
        let size = self.array.element.min(8) as u8;
        let access = Access::data(size, addrs, full_mask(self.count as u32));
        Op::Load { token: token as Token, access }
    }
}

impl Program for Warm {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn lanes(&self) -> u32 {
        self.0.lanes()
    }

    fn local_memory(&self) -> LocalMemory {
        self.0.local_memory()
    }

    fn arrays(&self) -> &[Array] {
        self.0.arrays()
    }

    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        if let Some(own) = index.checked_sub(Self::STEPS) {
            return self.0.host_step(own, memory);
        }
        Some(HostStep::Launch(Kernel {
            id: ID,
            name: WARM_UP.into(),
            blocks: BLOCKS as u32,
            cpus: 0,
            waves_per_block: 1,
            lds_bytes: 0,
            args: vec![],
            co_resident: false,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        if kernel.id == ID {
            return Frame { kernel: ID, block, wave, pc: 0, vars: vec![] };
        }
        self.0.start(kernel, block, wave)
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        if frame.kernel != ID {
            return self.0.step(frame, values);
        }
        let pieces = self.pieces(frame.block.into()).skip(frame.pc as usize * DEPTH).take(DEPTH);
        let mut ops: Vec<Op> = pieces.enumerate().map(|(token, piece)| piece.load(token)).collect();
        frame.pc += 1;
        ops.push(match ops.len() {
            0 => Op::End,
            loads => Op::Await { tokens: (0..loads as Token).collect() },
        });
        ops
    }

    fn failed_attempts(&self, frame: &Frame) -> u64 {
        if frame.kernel == ID { 0 } else { self.0.failed_attempts(frame) }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.0.verify(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{build, workloads};
    use std::collections::{BTreeMap, BTreeSet};

    fn warm(name: &str) -> Box<dyn Program> {
        build(name, &BTreeMap::from([("warmup".to_string(), "1".to_string())]), None).expect("legal")
    }

    #[test]
    fn it_touches_every_64_bytes_of_every_array_once_in_parts_by_work_group() {
        let program = warm("rnn-fw");
        let Some(HostStep::Launch(kernel)) = program.host_step(0, &|_, _| vec![]) else {
            panic!("no launch");
        };
        assert_eq!(kernel.name, WARM_UP);
        let (mut touched, mut last) = (BTreeSet::new(), BTreeMap::new());
        for block in 0..kernel.blocks {
            let mut frame = program.start(&kernel, block, 0);
            loop {
                let ops = program.step(&mut frame, &LoadedValues::new());
                for op in &ops {
                    let Op::Load { access, .. } = op else { continue };
                    let lanes = (0..program.lanes()).filter(|lane| access.mask >> lane & 1 == 1);
                    for addr in lanes.map(|lane| access.addrs.at(lane)) {
                        assert!(touched.insert(addr), "{addr:x} again");
                        let array = program.arrays().iter().rposition(|array| array.addr <= addr);
                        let before = last.insert(array, addr);
                        assert!(before.is_none_or(|before| before < addr), "parts follow one another");
                    }
                }
                if ops.last() == Some(&Op::End) {
                    break;
                }
            }
        }
        let all = program.arrays().iter().flat_map(|a| (a.addr..a.addr + a.bytes()).step_by(64));
        assert_eq!(touched, all.collect());
        let Some(HostStep::Launch(next)) = program.host_step(1, &|_, _| vec![]) else { panic!("no launch") };
        assert_eq!(next.name, "rnn_forward");
    }

    #[test]
    fn programs_of_hmg_may_have_one_and_none_has_unasked() {
        let may: Vec<&str> =
            workloads().iter().filter(|info| info.params.contains(&WARMUP)).map(|info| info.name).collect();
        assert_eq!(may.len(), 20, "{may:?}");
        let program = build("lstm", &BTreeMap::new(), None).expect("legal");
        let first = program.host_step(0, &|_, _| vec![]);
        assert!(matches!(first, Some(HostStep::Launch(kernel)) if kernel.name == "lstm_step"));
    }
}
