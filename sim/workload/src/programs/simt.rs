//! Programs written thread by thread: rounds of memory operations with arithmetic between them.
//!
//! A [`Kernels`] says what one thread does in one round; [`Simt`] runs the threads of a wave in lockstep and turns
//! operations of equal slots in different lanes into one [`Op`]. Values loaded in a round are there in the next.

use super::common::{Element, active, compare, float};
pub use super::round::Round;
use super::{Params, WorkloadError};
use crate::op::{Op, Token};
use crate::program::{
    Array, Frame, HostStep, Kernel, Layout, LoadedValues, Place, Program, VerifyError, full_mask,
};

/// Reads bytes (address, count) of the memory.
pub type Memory<'a> = dyn Fn(u64, usize) -> Vec<u8> + 'a;

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name for people.
    pub name: &'static str,
    /// Which code the threads run.
    pub phase: u32,
    /// Threads on CPU cores, each a work-group before the others.
    pub cpus: u32,
    /// Threads on CUs; the last work-group may have fewer.
    pub threads: u64,
    /// Threads of a work-group.
    pub group: u32,
    /// Scratchpad bytes of a work-group.
    pub lds: u32,
    /// Registers of a thread that live from round to round.
    pub registers: u32,
    /// Arguments.
    pub args: Vec<u64>,
    /// Whether work-groups wait for one another.
    pub co_resident: bool,
}

impl Launch {
    /// A launch without scratchpad, registers and arguments.
    pub fn new(name: &'static str, phase: u32, threads: u64, group: u32) -> Self {
        Self { name, phase, cpus: 0, threads, group, lds: 0, registers: 0, args: vec![], co_resident: false }
    }

    /// With arguments.
    pub fn args(self, args: &[u64]) -> Self {
        Self { args: args.to_vec(), ..self }
    }

    /// With registers.
    pub fn registers(self, registers: u64) -> Self {
        Self { registers: registers as u32, ..self }
    }

    /// With a scratchpad.
    pub fn lds(self, bytes: u64) -> Self {
        Self { lds: bytes as u32, ..self }
    }

    /// With threads on CPU cores.
    pub fn cpus(self, cpus: u64) -> Self {
        Self { cpus: cpus as u32, ..self }
    }

    /// With work-groups that wait for one another.
    pub fn co_resident(self) -> Self {
        Self { co_resident: true, ..self }
    }
}

/// What a thread does after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on when its loads are answered.
    Next,
    /// Goes on when all threads of the work-group are here; those of its wave may take more rounds until they are.
    Barrier,
    /// Has finished.
    End,
}

/// One thread in one round.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    /// [`Launch::phase`].
    pub phase: u32,
    /// [`Launch::args`].
    pub args: &'a [u64],
    /// Whether it is on a CPU core.
    pub cpu: bool,
    /// Work-group among those on CUs, or CPU core.
    pub block: u64,
    /// Thread of the work-group.
    pub local: u64,
    /// Thread among those on CUs, or CPU core.
    pub id: u64,
    /// Rounds before this one.
    pub round: u64,
    lane: u32,
    values: &'a LoadedValues,
}

impl Thread<'_> {
    /// Value that the load or atomic of `slot` returned in an earlier round.
    #[inline]
    pub fn bits(&self, slot: u64) -> u64 {
        self.values.lane(slot as Token, self.lane)
    }

    /// The same of the first lane of the wave, as all its lanes see it.
    #[inline]
    pub fn first(&self, slot: u64) -> u64 {
        self.values.lane(slot as Token, 0)
    }

    /// The same as a single-precision number.
    #[inline]
    pub fn float(&self, slot: u64) -> f32 {
        float(self.bits(slot))
    }

    /// The same as a signed 32-bit number.
    #[inline]
    pub fn int(&self, slot: u64) -> i32 {
        self.bits(slot) as u32 as i32
    }

    /// The same as a 32-bit index.
    #[inline]
    pub fn index(&self, slot: u64) -> u64 {
        self.bits(slot) & 0xffff_ffff
    }
}

/// What all programs written thread by thread have.
#[derive(Clone, Debug)]
pub struct Base {
    name: &'static str,
    lanes: u32,
    layout: Layout,
}

impl Base {
    /// Name and lanes of a program, no arrays yet.
    pub fn new(name: &'static str, params: &Params) -> Self {
        Self { name, lanes: params.integer("lanes") as u32, layout: Layout::new() }
    }

    /// Name of the program.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Lanes of a wave.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Adds an array of 4-byte elements that begins with `init`; returns its number.
    pub fn add(&mut self, name: &str, length: u64, read_only: bool, init: Vec<u8>) -> usize {
        self.layout.add(name, 4, length, read_only, init)
    }

    /// Adds an array of 4-byte elements that nothing writes.
    pub fn input(&mut self, name: &str, init: Vec<u8>) -> usize {
        self.layout.add(name, 4, init.len() as u64 / 4, true, init)
    }

    /// Adds an array of 4-byte zeros.
    pub fn zeros(&mut self, name: &str, length: u64) -> usize {
        self.layout.add(name, 4, length, false, vec![])
    }

    /// Adds an array of 8-byte elements that begins with `init`; returns its number.
    pub fn add_wide(&mut self, name: &str, length: u64, init: Vec<u8>) -> usize {
        self.layout.add(name, 8, length, false, init)
    }

    /// Says which memory an array is in.
    pub fn put(&mut self, array: usize, place: Place) {
        self.layout.put(array, place);
    }

    /// Adds an array of 4-byte elements that nothing writes, for one of some GPUs.
    pub fn own(&mut self, name: &str, gpu: u64, gpus: u64, init: Vec<u8>) {
        let array = self.input(&format!("{name}{gpu}"), init);
        self.put(array, Place::Near { part: gpu as u32, of: gpus as u32 });
    }

    /// Says that all arrays whose place the fabric's policy decides are split over the GPUs, as the work-groups are.
    pub fn split(&mut self) {
        for array in 0..self.count() {
            if self.layout.arrays()[array].place == Place::Policy {
                self.layout.put(array, Place::Split);
            }
        }
    }

    /// Number of arrays.
    pub fn count(&self) -> usize {
        self.layout.arrays().len()
    }

    /// Address of an element.
    #[inline]
    pub fn at(&self, array: usize, index: u64) -> u64 {
        self.layout.arrays()[array].at(index)
    }

    /// First contents of an array.
    pub fn first<T: Element>(&self, array: usize) -> Vec<T> {
        let array = &self.layout.arrays()[array];
        let mut bytes = array.init.to_vec();
        bytes.resize(array.bytes() as usize, 0);
        bytes.chunks_exact(T::BYTES).map(T::of).collect()
    }

    /// Compares an array with what the host expects.
    pub fn check<T: Element>(
        &self,
        array: usize,
        expected: &[T],
        memory: &Memory,
    ) -> Result<(), VerifyError> {
        compare(self.name, &self.layout.arrays()[array], expected, memory)
    }

    /// Compares an array of single-precision numbers with expected ones by a rule of the program's.
    pub fn check_near(
        &self,
        array: usize,
        expected: &[f32],
        near: impl Fn(f32, f32) -> bool,
        memory: &Memory,
    ) -> Result<(), VerifyError> {
        let array = &self.layout.arrays()[array];
        let bytes = memory(array.addr, array.bytes() as usize);
        let found: Vec<f32> = bytes.chunks_exact(4).map(f32::of).collect();
        let same = |(found, want): (f32, f32)| if near(found, want) { want } else { found };
        let taken: Vec<f32> = found.into_iter().zip(expected.iter().copied()).map(same).collect();
        let taken: Vec<u8> = taken.into_iter().flat_map(f32::to_le_bytes).collect();
        compare(self.name, array, expected, &|_, _| taken.clone())
    }

    /// Compares an array of 4-byte numbers with expected ones by a rule of the program's.
    pub fn check_by(
        &self,
        array: usize,
        expected: &[u32],
        fits: impl Fn(u32, u32) -> bool,
        memory: &Memory,
    ) -> Result<(), VerifyError> {
        let array = &self.layout.arrays()[array];
        let bytes = memory(array.addr, array.bytes() as usize);
        let found = bytes.chunks_exact(4).map(u32::of);
        let same = |(found, want)| if fits(found, want) { want } else { found };
        let taken = found.zip(expected.iter().copied()).map(same);
        let taken: Vec<u8> = taken.flat_map(u32::to_le_bytes).collect();
        compare(self.name, array, expected, &|_, _| taken.clone())
    }

    /// That an element is not what it must be, with how many others.
    pub fn wrong(&self, array: usize, index: u64, found: &str, expected: &str, wrong: u64) -> VerifyError {
        let array = &self.layout.arrays()[array];
        VerifyError {
            program: self.name.to_owned(),
            array: array.name.clone(),
            index,
            found: found.to_owned(),
            expected: expected.to_owned(),
            wrong,
            total: array.length,
        }
    }

    /// A 4-byte word of the memory as it now is.
    pub fn word(&self, array: usize, index: u64, memory: &Memory) -> u32 {
        u32::of(&memory(self.at(array, index), 4))
    }
}

/// A program thread by thread.
pub trait Kernels: Send + Sync {
    /// Name, lanes and arrays.
    fn base(&self) -> &Base;

    /// Launch number `index`, or `None` when the program has ended.
    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch>;

    /// Host step number `index`, if it is no launch; launches have the other numbers.
    fn host(&self, index: usize, memory: &Memory) -> Option<HostStep> {
        let _ = (index, memory);
        None
    }

    /// What a thread does in one round. `registers` are zero before the first.
    fn round(&self, thread: &Thread, registers: &mut [u64], io: &mut Round) -> Flow;

    /// As [`Program::verify`].
    fn verify(&self, memory: &Memory) -> Result<(), VerifyError>;
}

/// [`Kernels`] as a [`Program`].
#[derive(Clone, Debug)]
pub struct Simt<K>(pub K);

impl<K: Kernels + 'static> Simt<K> {
    /// What a registry entry's constructor returns.
    pub fn boxed(kernels: K) -> Box<dyn Program> {
        Box::new(Self(kernels))
    }

    /// The same for a constructor that takes no graph.
    pub fn from_params(
        make: fn(&Params) -> Result<K, WorkloadError>,
        params: &Params,
    ) -> Result<Box<dyn Program>, WorkloadError> {
        Ok(Self::boxed(make(params)?))
    }
}

/// Variables of a frame before the arguments: lanes that have ended, lanes at the barrier, failed attempts, threads of the launch, threads of a
/// work-group, registers of a thread, CPU cores, number of arguments.
const ENDED: usize = 0;
const ARRIVED: usize = 1;
const FAILED: usize = 2;
const THREADS: usize = 3;
const GROUP: usize = 4;
const REGISTERS: usize = 5;
const CPUS: usize = 6;
const ARGS: usize = 7;
const HEAD: usize = 8;

impl<K: Kernels> Program for Simt<K> {
    fn name(&self) -> &str {
        self.0.base().name
    }

    fn lanes(&self) -> u32 {
        self.0.base().lanes
    }

    fn arrays(&self) -> &[Array] {
        self.0.base().layout.arrays()
    }

    fn host_step(&self, index: usize, memory: &Memory) -> Option<HostStep> {
        if let Some(step) = self.0.host(index, memory) {
            return Some(step);
        }
        let launch = self.0.launch(index, memory)?;
        let group = u64::from(launch.group);
        let (registers, cpus) = (u64::from(launch.registers), u64::from(launch.cpus));
        let mut args = vec![launch.threads, group, registers, cpus, launch.args.len() as u64];
        args.extend(launch.args);
        Some(HostStep::Launch(Kernel {
            id: launch.phase,
            name: launch.name.to_owned(),
            blocks: launch.cpus + launch.threads.div_ceil(group) as u32,
            cpus: launch.cpus,
            waves_per_block: launch.group.div_ceil(self.0.base().lanes),
            lds_bytes: launch.lds,
            args,
            co_resident: launch.co_resident,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let (lanes, args) = (u64::from(self.0.base().lanes), &kernel.args);
        let first = u64::from(wave) * lanes;
        let in_block = match block.checked_sub(kernel.cpus) {
            None => 1,
            Some(block) => args[1].min(args[0] - u64::from(block) * args[1]),
        };
        let here = full_mask(in_block.saturating_sub(first).min(lanes) as u32);
        let mut vars = vec![!here, 0, 0];
        vars.extend(args);
        vars.resize(vars.len() + (lanes * args[2]) as usize, 0);
        Frame { kernel: kernel.id, block, wave, pc: 0, vars }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let lanes = self.0.base().lanes;
        let split = HEAD + frame.vars[ARGS] as usize;
        let (head, registers) = frame.vars.split_at_mut(split);
        let (own, group) = (head[REGISTERS] as usize, head[GROUP]);
        let all = u64::from(frame.block);
        let (cpu, block) = (all < head[CPUS], all.checked_sub(head[CPUS]).unwrap_or(all));
        let mut io = Round::new(lanes);
        for lane in active(!(head[ENDED] | head[ARRIVED])) {
            let local = u64::from(frame.wave * lanes) + lane as u64;
            let thread = Thread {
                phase: frame.kernel,
                args: &head[HEAD..],
                cpu,
                block,
                local,
                id: if cpu { block } else { block * group + local },
                round: u64::from(frame.pc),
                lane: lane as u32,
                values,
            };
            debug_assert!(cpu || thread.id < head[THREADS]);
            io.begin(lane);
            match self.0.round(&thread, &mut registers[lane * own..(lane + 1) * own], &mut io) {
                Flow::Next => {}
                Flow::Barrier => head[ARRIVED] |= 1 << lane,
                Flow::End => head[ENDED] |= 1 << lane,
            }
        }
        frame.pc += 1;
        head[FAILED] += io.failed();
        let (mut ops, tokens) = io.finish();
        ops.push(match head[ENDED] {
            u64::MAX => Op::End,
            ended if ended | head[ARRIVED] == u64::MAX => {
                head[ARRIVED] = 0;
                Op::Barrier
            }
            _ => Op::Await { tokens },
        });
        ops
    }

    fn failed_attempts(&self, frame: &Frame) -> u64 {
        frame.vars[FAILED]
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        self.0.verify(memory)
    }
}
