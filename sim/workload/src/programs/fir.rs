//! FIR (Hetero-Mark): a 16-tap filter over a stream that the host feeds in blocks.
//!
//! The input buffer holds one block and is overwritten by the host between launches; the output holds the whole stream,
//! so that every sample of it is verified at the end.

use super::common::{LANES, SEED, Threads, active, arithmetic, compare, float, floats, lane_value, words};
use super::params::{Legal, ParamSpec, Params};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{Access, Op, Token, Values};
use crate::program::{
    Array, Frame, HostStep, Kernel, Layout, LoadedValues, Place, Program, VerifyError, full_mask,
};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "fir",
    about: "out[t] = sum of c[i] in[t-i] over 16 taps; the host refills the input buffer between launches and 15 samples \
            of history are carried over (Hetero-Mark FIR).",
    params: &[
        ParamSpec {
            name: "samples",
            default: "196608",
            legal: Legal::Integer { min: 16, max: 1 << 28 },
            unit: "samples",
            about: "Samples of the whole stream.",
        },
        ParamSpec {
            name: "blocks",
            default: "8",
            legal: Legal::Integer { min: 1, max: 4096 },
            unit: "launches",
            about: "Launches that the stream is cut into; at 1 the input is never refilled, as in the public port.",
        },
        ParamSpec {
            name: "group",
            default: "256",
            legal: Legal::Integer { min: 1, max: 1024 },
            unit: "threads",
            about: "Threads of a work-group, one sample each.",
        },
        LANES,
        SEED,
    ],
    published: &[("samples", "16777216")],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Fir::new(params)?)),
};

const TAPS: u64 = 16;
/// Samples carried from one launch to the next.
const HISTORY: u64 = TAPS - 1;
/// Elements from one of the two histories to the other, so that they share no line.
const HISTORY_PITCH: u64 = 64;

const IN: usize = 0;
const OUT: usize = 1;
const COEFF: usize = 2;
const PAST: usize = 3;

/// Token of the input sample of tap i is i; the others follow.
const T_PAST: Token = TAPS as Token;
const T_COEFF: Token = 2 * TAPS as Token;

/// The streamed filter. A launch reads one history and writes the other, so that no two waves race.
#[derive(Clone, Debug)]
pub struct Fir {
    threads: Threads,
    total: u64,
    chunk: u64,
    stream: Vec<f32>,
    layout: Layout,
}

impl Fir {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (total, blocks, seed) =
            (params.integer("samples"), params.integer("blocks"), params.integer("seed"));
        if total / blocks < TAPS {
            let legal = format!("at most samples / {TAPS} = {}", total / TAPS);
            return Err(params.illegal("blocks", legal));
        }
        let chunk = total.div_ceil(blocks);
        let stream = data::units(seed, 0, total as usize);
        let mut layout = Layout::new();
        let input = layout.add("in", 4, chunk, false, data::f32_bytes(&stream[..chunk as usize]));
        let output = layout.add("out", 4, total, false, vec![]);
        [input, output].into_iter().for_each(|array| layout.put(array, Place::Split));
        layout.add("coeff", 4, TAPS, true, data::f32_bytes(&data::units(seed, 1, TAPS as usize)));
        layout.add("history", 4, 2 * HISTORY_PITCH, false, vec![]);
        let threads =
            Threads { lanes: params.integer("lanes") as u32, group: params.integer("group") as u32 };
        Ok(Self { threads, total, chunk, stream, layout })
    }

    /// Samples of launch `launch`.
    fn count(&self, launch: u64) -> u64 {
        self.chunk.min(self.total - launch * self.chunk)
    }

    fn past(&self, launch: u64) -> u64 {
        self.layout.arrays()[PAST].at(launch % 2 * HISTORY_PITCH)
    }

    fn coefficient(&self, values: &LoadedValues, tap: u64) -> f32 {
        let lanes = u64::from(self.threads.lanes);
        float(values.lane(T_COEFF + (tap / lanes) as Token, (tap % lanes) as u32))
    }

    fn loads(&self, launch: u64, first: u64, mask: u64) -> Vec<Op> {
        let arrays = self.layout.arrays();
        let lanes = u64::from(self.threads.lanes);
        let mut ops = Vec::new();
        for (k, at) in (0..TAPS).step_by(lanes as usize).enumerate() {
            let some = full_mask((TAPS - at).min(lanes) as u32);
            let access = Access::read_only(4, words(arrays[COEFF].at(at)), some);
            ops.push(Op::Load { token: T_COEFF + k as Token, access });
        }
        for tap in 0..TAPS {
            let before = full_mask(tap.saturating_sub(first).min(64) as u32);
            if mask & !before != 0 {
                let base = arrays[IN].at(first).wrapping_sub(4 * tap);
                let access = Access::read_only(4, words(base), mask & !before);
                ops.push(Op::Load { token: tap as Token, access });
            }
            if mask & before != 0 {
                let base = self.past(launch) + 4 * (HISTORY + first - tap);
                ops.push(Op::Load {
                    token: T_PAST + tap as Token,
                    access: Access::read_only(4, words(base), mask & before),
                });
            }
        }
        let loaded = |op: &Op| match op {
            Op::Load { token, .. } => Some(*token),
            _ => None,
        };
        let tokens = ops.iter().filter_map(loaded).collect();
        ops.push(Op::Await { tokens });
        ops
    }
}

impl Program for Fir {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.threads.lanes
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let launch = index.div_ceil(2) as u64;
        if launch * self.chunk >= self.total {
            return None;
        }
        if index % 2 == 1 {
            let from = (launch * self.chunk) as usize;
            let bytes = data::f32_bytes(&self.stream[from..from + self.count(launch) as usize]);
            return Some(HostStep::Write { addr: self.layout.arrays()[IN].addr, bytes });
        }
        Some(HostStep::Launch(Kernel {
            id: launch as u32,
            name: "fir".to_owned(),
            blocks: self.threads.blocks(self.count(launch)),
            cpus: 0,
            waves_per_block: self.threads.waves(),
            lds_bytes: 0,
            args: vec![launch],
            co_resident: false,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, pc: 0, vars: vec![] }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let launch = u64::from(frame.kernel);
        let count = self.count(launch);
        let mask = self.threads.mask(frame.block, frame.wave, count);
        if mask == 0 {
            return vec![Op::End];
        }
        let first = self.threads.first(frame.block, frame.wave);
        if frame.pc == 0 {
            frame.pc = 1;
            return self.loads(launch, first, mask);
        }
        let mut sums = vec![0; self.threads.lanes as usize];
        for lane in active(mask) {
            let t = first + lane as u64;
            let mut sum = 0.0f32;
            for tap in 0..TAPS {
                let token = if t >= tap { tap as Token } else { T_PAST + tap as Token };
                sum += self.coefficient(values, tap) * float(values.lane(token, lane as u32));
            }
            sums[lane] = lane_value(sum);
        }
        let mut ops = Vec::new();
        arithmetic(&mut ops, TAPS);
        let out = self.layout.arrays()[OUT].at(launch * self.chunk + first);
        ops.push(Op::Store { access: Access::data(4, words(out), mask), values: Values::Lanes(sums) });
        // Nothing reads the history that the last launch would leave, and it may be shorter than a history.
        if (launch + 1) * self.chunk < self.total {
            let old = count - HISTORY;
            let late = mask & !full_mask(old.saturating_sub(first).min(64) as u32);
            if late != 0 {
                let base = self.past(launch + 1).wrapping_add(4 * first).wrapping_sub(4 * old);
                let access = Access::data(4, words(base), late);
                ops.push(Op::Store { access, values: Values::Token(0) });
            }
        }
        ops.push(Op::End);
        ops
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let coefficients = floats(&self.layout.arrays()[COEFF]);
        let filter = |t: usize| {
            let sample = |i: usize| if t >= i { self.stream[t - i] } else { 0.0 };
            coefficients.iter().enumerate().fold(0.0f32, |sum, (i, c)| sum + c * sample(i))
        };
        let expected: Vec<f32> = (0..self.total as usize).map(filter).collect();
        compare(INFO.name, &self.layout.arrays()[OUT], &expected, memory)
    }
}
