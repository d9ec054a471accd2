//! A trace as a program that fabrics run.
//!
//! A trace holds no data: host copies bring a pattern made from addresses, and every store has a value of its own, so that memory says at the end who wrote what. The pages
//! that a trace touches are moved together, in their order; neighbours stay neighbours.

use super::op::{Memory, Reader, TraceAccess, TraceOp, TraceValue};
use super::text::of_active;
use super::{Trace, TraceError, TraceKernel, TraceStep};
use crate::op::{Access, LdsAccess, Op, Values};
use crate::program::{
    Array, Frame, HostStep, Kernel, Layout, LoadedValues, PAGE_BYTES, Program, VerifyError,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Operations that a wave is given at once.
const BATCH: usize = 64;

/// 64 well mixed bits (splitmix64).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The value of one lane of a store that has a value of its own.
fn unique(kernel: u32, wave: u64, op: u64, lane: u32) -> u64 {
    mix(mix(mix(u64::from(kernel) << 32 | wave).wrapping_add(op)).wrapping_add(u64::from(lane)))
}

/// What a host copy brings to an address: 8 bytes from one that is a multiple of 8.
fn copied(addr: u64) -> u64 {
    mix(addr ^ 0x636f_7079)
}

/// What the last kernel to write a byte wrote there.
#[derive(Default)]
struct Stores {
    kernel: u32,
    /// By atomics, too, or of values that the trace does not determine.
    unknown: bool,
    /// Of each wave, the last.
    by: Vec<(usize, u8)>,
}

/// A trace that runs.
pub struct TraceProgram {
    name: String,
    trace: Trace,
    arrays: Vec<Array>,
    /// New first byte of each page.
    pages: HashMap<u64, u64>,
}

fn lanes(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// Pages of global memory that an operation touches.
fn global(op: &TraceOp) -> Option<&TraceAccess> {
    match op {
        TraceOp::Load { access, .. } | TraceOp::Store { access, .. } | TraceOp::Amo { access, .. } => {
            Some(access)
        }
        _ => None,
    }
}

impl TraceProgram {
    /// A program from a trace.
    ///
    /// # Errors
    /// A trace that touches more pages than a machine has.
    pub fn new(name: &str, trace: Trace) -> Result<TraceProgram, TraceError> {
        let mut pages = BTreeSet::new();
        for step in &trace.steps {
            match step {
                TraceStep::Copy { addr, bytes } => {
                    let last = addr.checked_add(*bytes).filter(|_| *bytes <= 1 << 36);
                    let Some(last) = last else {
                        let problem = format!("a copy of {bytes} bytes to {addr:#x} fits no memory");
                        return Err(TraceError::File { file: name.into(), problem });
                    };
                    pages.extend(addr / PAGE_BYTES..last.div_ceil(PAGE_BYTES));
                }
                TraceStep::Kernel(kernel) => {
                    for op in kernel.all_ops() {
                        if let Some(access) = global(&op) {
                            pages.extend(lanes(access.mask).map(|lane| access.addrs.at(lane) / PAGE_BYTES));
                        }
                    }
                }
            }
        }
        let mut layout = Layout::new();
        let mut moved = HashMap::new();
        let mut list = pages.into_iter().peekable();
        while let Some(first) = list.next() {
            let mut last = first;
            while let Some(next) = list.next_if(|next| *next == last + 1) {
                last = next;
            }
            let (from, count) = (layout.end(), last - first + 1);
            layout.add(&format!("{:#x}", first * PAGE_BYTES), 4, count * PAGE_BYTES / 4, false, vec![]);
            moved.extend((0..count).map(|n| (first + n, from + n * PAGE_BYTES)));
        }
        Ok(TraceProgram { name: name.into(), trace, arrays: layout.arrays().to_vec(), pages: moved })
    }

    /// Where an address of the trace lies.
    fn place(&self, addr: u64) -> u64 {
        self.pages.get(&(addr / PAGE_BYTES)).map_or(0, |page| page + addr % PAGE_BYTES)
    }

    fn access(&self, access: &TraceAccess) -> Access {
        let addrs: Vec<u64> = lanes(access.mask).map(|lane| self.place(access.addrs.at(lane))).collect();
        let data = Access::data(access.size, of_active(&addrs, access.mask), access.mask);
        let TraceAccess { class, sem, scope, remote, hint, .. } = *access;
        Access { class, sem, scope, remote, hint: hint.bits(), ..data }
    }

    fn values(&self, value: TraceValue, mask: u64, at: (u32, u64, u64)) -> Values {
        match value {
            TraceValue::Const(value) => Values::Const(value),
            TraceValue::Token(token) => Values::Token(token),
            TraceValue::Unique => {
                let count = 64 - mask.leading_zeros();
                Values::Lanes((0..count).map(|lane| unique(at.0, at.1, at.2, lane)).collect())
            }
        }
    }

    /// An operation for the compute unit; `at` is its kernel, wave and number.
    fn op(&self, op: &TraceOp, at: (u32, u64, u64)) -> Op {
        let lds = |access: &TraceAccess| LdsAccess {
            size: access.size,
            addrs: access.addrs.clone(),
            mask: access.mask,
        };
        match op {
            TraceOp::Compute { unit, latency, token, needs } => {
                let (unit, latency, token, needs) = (*unit, *latency, *token, needs.clone());
                Op::Compute { unit, latency, occupancy: 0, needs, token }
            }
            TraceOp::Load { token, access } => Op::Load { token: *token, access: self.access(access) },
            TraceOp::Store { access, value } => {
                Op::Store { access: self.access(access), values: self.values(*value, access.mask, at) }
            }
            TraceOp::Amo { token, access, kind, value, compare } => Op::Amo {
                token: *token,
                access: self.access(access),
                kind: *kind,
                signed: false,
                values: self.values(*value, access.mask, at),
                compare: *compare,
                ret: true,
            },
            TraceOp::LdsLoad { token, access } => Op::LdsLoad { token: *token, access: lds(access) },
            TraceOp::LdsStore { access, value } => {
                Op::LdsStore { access: lds(access), values: self.values(*value, access.mask, at) }
            }
            TraceOp::Fence { sem, scope } => Op::Fence { sem: *sem, scope: *scope },
            TraceOp::Barrier => Op::Barrier,
            TraceOp::Await { tokens } => Op::Await { tokens: tokens.clone() },
            TraceOp::End => Op::End,
        }
    }

    fn kernel(&self, number: u32) -> Option<&TraceKernel> {
        self.trace.kernels().nth(number as usize)
    }

    /// Bytes that the trace determines at its end: those that the last kernel to store to them stored by plain stores only, each with the values that they may have
    /// (one of each wave that stored there last).
    fn expected(&self) -> BTreeMap<u64, Vec<u8>> {
        let mut last: HashMap<u64, Stores> = HashMap::new();
        let mut number = 0;
        for step in &self.trace.steps {
            let kernel = match step {
                TraceStep::Copy { addr, bytes } => {
                    let first = self.place(*addr);
                    last.retain(|at, _| !(first..first + bytes).contains(at));
                    continue;
                }
                TraceStep::Kernel(kernel) => kernel,
            };
            for &wave in kernel.waves.keys() {
                for (n, op) in kernel.ops(wave).flatten().enumerate() {
                    let (access, value) = match &op {
                        TraceOp::Store { access, value } => (access, Some(*value)),
                        TraceOp::Amo { access, .. } => (access, None),
                        _ => continue,
                    };
                    for lane in lanes(access.mask) {
                        let word = match value {
                            Some(TraceValue::Const(value)) => Some(value),
                            Some(TraceValue::Unique) => Some(unique(number, wave as u64, n as u64, lane)),
                            _ => None,
                        };
                        for byte in 0..u64::from(access.size) {
                            let at = last.entry(self.place(access.addrs.at(lane)) + byte).or_default();
                            if at.kernel != number {
                                *at = Stores { kernel: number, ..Stores::default() };
                            }
                            at.unknown |= word.is_none();
                            at.by.retain(|(by, _)| *by != wave);
                            at.by.push((wave, (word.unwrap_or(0) >> (8 * byte)) as u8));
                        }
                    }
                }
            }
            number += 1;
        }
        let known = last.into_iter().filter(|(_, stores)| !stores.unknown);
        known.map(|(at, stores)| (at, stores.by.into_iter().map(|(_, byte)| byte).collect())).collect()
    }
}

impl Program for TraceProgram {
    fn name(&self) -> &str {
        &self.name
    }

    fn lanes(&self) -> u32 {
        self.trace.lanes
    }

    fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let step = self.trace.steps.get(index)?;
        Some(match step {
            TraceStep::Copy { addr, bytes } => {
                let byte = |at: u64| (copied(at & !7) >> (8 * (at & 7))) as u8;
                HostStep::Write { addr: self.place(*addr), bytes: (*addr..addr + bytes).map(byte).collect() }
            }
            TraceStep::Kernel(kernel) => {
                let before = self.trace.steps[..index].iter();
                let id = before.filter(|step| matches!(step, TraceStep::Kernel(_))).count() as u32;
                HostStep::Launch(Kernel {
                    id,
                    name: kernel.name.clone(),
                    blocks: kernel.blocks(),
                    cpus: kernel.cpus,
                    waves_per_block: kernel.waves_per_block,
                    lds_bytes: kernel.lds,
                    args: vec![],
                    co_resident: false,
                })
            }
        })
    }

    /// Scalars: base and mask of the decoder, number of the next operation.
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, pc: 0, vars: vec![0; 3] }
    }

    fn step(&self, frame: &mut Frame, _: &LoadedValues) -> Vec<Op> {
        let Some(kernel) = self.kernel(frame.kernel) else { return vec![Op::End] };
        let wave = frame.block * kernel.waves_per_block + frame.wave;
        let (first, end) = kernel.waves.get(&(wave as usize)).copied().unwrap_or((0, 0));
        let mut reader = Reader::new(&kernel.code[first..end]);
        reader.at = frame.pc as usize;
        let mut memory = Memory::restore([frame.vars[0], frame.vars[1]]);
        let mut ops = Vec::new();
        while ops.len() < BATCH {
            let op = if reader.at < end - first { reader.op(&mut memory) } else { None };
            let op = op.unwrap_or(TraceOp::End);
            ops.push(self.op(&op, (frame.kernel, u64::from(wave), frame.vars[2])));
            frame.vars[2] += 1;
            if matches!(op, TraceOp::Barrier | TraceOp::Await { .. } | TraceOp::End) {
                break;
            }
        }
        if !matches!(ops.last(), Some(Op::Barrier | Op::Await { .. } | Op::End)) {
            ops.push(Op::Await { tokens: vec![] });
        }
        frame.pc = reader.at as u32;
        [frame.vars[0], frame.vars[1]] = memory.save();
        ops
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let expected = self.expected();
        let (mut wrong, mut first) = (0, None);
        for array in &self.arrays {
            let held = memory(array.addr, array.bytes() as usize);
            for (at, bytes) in expected.range(array.addr..array.addr + array.bytes()) {
                let found = held[(at - array.addr) as usize];
                if !bytes.contains(&found) {
                    wrong += 1;
                    first.get_or_insert((array.name.clone(), at - array.addr, found, bytes.clone()));
                }
            }
        }
        match first {
            None => Ok(()),
            Some((array, at, found, bytes)) => Err(VerifyError {
                program: self.name.clone(),
                array,
                index: at,
                found: format!("byte {found:#04x}"),
                expected: format!("one of {bytes:02x?}"),
                wrong,
                total: expected.len() as u64,
            }),
        }
    }
}
