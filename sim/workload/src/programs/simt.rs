//! Programs written thread by thread: rounds of memory operations with arithmetic between them.
//!
//! A [`Kernels`] says what one thread does in one round; [`Simt`] runs the threads of a wave in lockstep and turns
//! operations of equal slots in different lanes into one [`Op`]. Values loaded in a round are there in the next.

use super::common::{ALU_LATENCY, Element, active, arithmetic, compare, float, lane_value};
use super::{Params, WorkloadError};
use crate::op::{Access, Addrs, AmoKind, Class, LaneMask, LdsAccess, Op, Scope, Token, Unit, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError, full_mask};

/// Reads bytes (address, count) of the memory.
pub type Memory<'a> = dyn Fn(u64, usize) -> Vec<u8> + 'a;

/// Token of a pause; slots are below it.
const PAUSE: Token = 255;

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name for people.
    pub name: &'static str,
    /// Which code the threads run.
    pub phase: u32,
    /// Threads of the whole launch; the last work-group may have fewer.
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
        Self { name, phase, threads, group, lds: 0, registers: 0, args: vec![], co_resident: false }
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
    /// Goes on when all threads of the work-group are here.
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
    /// Work-group.
    pub block: u64,
    /// Thread of the work-group.
    pub local: u64,
    /// Thread of the launch.
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

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Load { size: u8, read_only: bool },
    Store { size: u8 },
    Amo { size: u8, kind: AmoKind, class: Class, scope: Scope, ret: bool },
    FlagLoad { scope: Scope },
    FlagStore { scope: Scope },
    LdsLoad,
    LdsStore,
}

struct Lanes {
    slot: Token,
    what: What,
    mask: LaneMask,
    addrs: Vec<u64>,
    values: Vec<u64>,
}

/// Collects what the threads of a wave do in a round. Operations issue in the order in which the threads ask for them.
pub struct Round {
    lanes: usize,
    lane: usize,
    /// Where the next operation of this lane probably is.
    cursor: usize,
    list: Vec<Lanes>,
    alu: u64,
    sfu: u64,
    pause: u32,
}

impl Round {
    fn new(lanes: u32) -> Self {
        Self { lanes: lanes as usize, lane: 0, cursor: 0, list: vec![], alu: 0, sfu: 0, pause: 0 }
    }

    fn add(&mut self, slot: u64, what: What, addr: u64, value: u64) {
        let slot = slot as Token;
        let is = |l: &Lanes| l.slot == slot && l.what == what;
        let at = match self.list.get(self.cursor) {
            Some(l) if is(l) => Some(self.cursor),
            _ => self.list.iter().position(is),
        };
        let at = at.unwrap_or_else(|| {
            let none = vec![0; self.lanes];
            self.list.push(Lanes { slot, what, mask: 0, addrs: none.clone(), values: none });
            self.list.len() - 1
        });
        let lanes = &mut self.list[at];
        debug_assert!(slot < PAUSE && lanes.mask >> self.lane & 1 == 0, "slot {slot} twice in one round");
        lanes.mask |= 1 << self.lane;
        lanes.addrs[self.lane] = addr;
        lanes.values[self.lane] = value;
        self.cursor = at + 1;
    }

    /// Loads a 4-byte word that no thread writes during the kernel.
    pub fn read(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 4, read_only: true }, addr, 0);
    }

    /// Loads a 4-byte word.
    pub fn load(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 4, read_only: false }, addr, 0);
    }

    /// Loads an 8-byte word.
    pub fn load_wide(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 8, read_only: false }, addr, 0);
    }

    /// Stores a 4-byte word.
    pub fn store(&mut self, slot: u64, addr: u64, value: u64) {
        self.add(slot, What::Store { size: 4 }, addr, value);
    }

    /// Stores a single-precision number.
    pub fn put(&mut self, slot: u64, addr: u64, value: f32) {
        self.store(slot, addr, lane_value(value));
    }

    /// Stores an 8-byte word.
    pub fn store_wide(&mut self, slot: u64, addr: u64, value: u64) {
        self.add(slot, What::Store { size: 8 }, addr, value);
    }

    /// Commutative atomic without result on a word of `size` bytes.
    pub fn reduce(&mut self, slot: u64, kind: AmoKind, size: u8, addr: u64, value: u64, scope: Scope) {
        self.add(slot, What::Amo { size, kind, class: Class::C, scope, ret: false }, addr, value);
    }

    /// Paired atomic, release and acquire, on a 4-byte word; the old value is there in the next round.
    pub fn arrive(&mut self, slot: u64, kind: AmoKind, addr: u64, value: u64, scope: Scope) {
        self.add(slot, What::Amo { size: 4, kind, class: Class::P, scope, ret: true }, addr, value);
    }

    /// Loads a 4-byte flag and acquires.
    pub fn acquire(&mut self, slot: u64, addr: u64, scope: Scope) {
        self.add(slot, What::FlagLoad { scope }, addr, 0);
    }

    /// Releases and stores a 4-byte flag.
    pub fn release(&mut self, slot: u64, addr: u64, value: u64, scope: Scope) {
        self.add(slot, What::FlagStore { scope }, addr, value);
    }

    /// Loads a 4-byte word of the scratchpad.
    pub fn lds_load(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::LdsLoad, addr, 0);
    }

    /// Stores a 4-byte word in the scratchpad.
    pub fn lds_store(&mut self, slot: u64, addr: u64, value: u64) {
        self.add(slot, What::LdsStore, addr, value);
    }

    /// Takes the time of `count` dependent arithmetic instructions before this round's memory operations.
    pub fn alu(&mut self, count: u64) {
        self.alu = self.alu.max(count);
    }

    /// Takes the time of `count` divisions or roots before this round's memory operations.
    pub fn sfu(&mut self, count: u64) {
        self.sfu = self.sfu.max(count);
    }

    /// Waits so many ticks before this round's memory operations.
    pub fn pause(&mut self, ticks: u64) {
        self.pause = self.pause.max(ticks as u32);
    }

    /// The operations, and the tokens that the wave awaits.
    fn finish(self) -> (Vec<Op>, Vec<Token>) {
        let mut ops = Vec::with_capacity(self.list.len() + 4);
        let mut tokens = Vec::new();
        if self.pause > 0 {
            let (unit, latency, token) = (Unit::Mem, self.pause, Some(PAUSE));
            ops.push(Op::Compute { unit, latency, occupancy: 1, needs: vec![], token });
            ops.push(Op::Await { tokens: vec![PAUSE] });
        }
        for _ in 0..self.sfu {
            let (unit, latency, occupancy) = (Unit::Sfu, 4 * ALU_LATENCY, 4 * ALU_LATENCY);
            ops.push(Op::Compute { unit, latency, occupancy, needs: vec![], token: None });
        }
        arithmetic(&mut ops, self.alu);
        for l in self.list {
            if !matches!(l.what, What::Store { .. } | What::FlagStore { .. } | What::LdsStore) {
                tokens.push(l.slot);
            }
            ops.push(l.op());
        }
        (ops, tokens)
    }
}

impl Lanes {
    fn op(self) -> Op {
        let (token, mask) = (self.slot, self.mask);
        let addrs = strided(&self.addrs, mask).unwrap_or(Addrs::Lanes(self.addrs));
        let values = Values::Lanes(self.values);
        let paired = |scope, addrs| Access { class: Class::P, scope, ..Access::data(4, addrs, mask) };
        match self.what {
            What::Load { size, read_only } => {
                Op::Load { token, access: Access { read_only, ..Access::data(size, addrs, mask) } }
            }
            What::Store { size } => Op::Store { access: Access::data(size, addrs, mask), values },
            What::Amo { size, kind, class, scope, ret } => {
                let access = Access { class, scope, ..Access::data(size, addrs, mask) };
                Op::Amo { token, access, kind, signed: false, values, compare: 0, ret }
            }
            What::FlagLoad { scope } => Op::Load { token, access: paired(scope, addrs) },
            What::FlagStore { scope } => Op::Store { access: paired(scope, addrs), values },
            What::LdsLoad => Op::LdsLoad { token, access: LdsAccess { size: 4, addrs, mask } },
            What::LdsStore => Op::LdsStore { access: LdsAccess { size: 4, addrs, mask }, values },
        }
    }
}

/// The addresses as base and stride, if they are so.
fn strided(addrs: &[u64], mask: LaneMask) -> Option<Addrs> {
    let mut lanes = active(mask);
    let first = lanes.next()?;
    let stride = match lanes.next() {
        None => 0,
        Some(second) => {
            let (step, count) = (addrs[second].wrapping_sub(addrs[first]) as i64, (second - first) as i64);
            (step % count == 0).then_some(step / count)?
        }
    };
    let base = addrs[first].wrapping_sub((stride * first as i64) as u64);
    let all = Addrs::Strided { base, stride };
    active(mask).all(|lane| all.at(lane as u32) == addrs[lane]).then_some(all)
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

/// Variables of a frame before the arguments: lanes that have ended, threads of the launch, threads of a work-group,
/// registers of a thread, number of arguments.
const ENDED: usize = 0;
const THREADS: usize = 1;
const GROUP: usize = 2;
const REGISTERS: usize = 3;
const ARGS: usize = 4;
const HEAD: usize = 5;

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
        let launch = self.0.launch(index, memory)?;
        let group = u64::from(launch.group);
        let mut args = vec![launch.threads, group, u64::from(launch.registers), launch.args.len() as u64];
        args.extend(launch.args);
        Some(HostStep::Launch(Kernel {
            id: launch.phase,
            name: launch.name.to_owned(),
            blocks: launch.threads.div_ceil(group) as u32,
            waves_per_block: launch.group.div_ceil(self.0.base().lanes),
            lds_bytes: launch.lds,
            args,
            co_resident: launch.co_resident,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let (lanes, args) = (u64::from(self.0.base().lanes), &kernel.args);
        let first = u64::from(wave) * lanes;
        let in_block = args[1].min(args[0] - u64::from(block) * args[1]);
        let here = full_mask(in_block.saturating_sub(first).min(lanes) as u32);
        let mut vars = vec![!here];
        vars.extend(args);
        vars.resize(vars.len() + (lanes * args[2]) as usize, 0);
        Frame { kernel: kernel.id, block, wave, pc: 0, vars }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let lanes = self.0.base().lanes;
        let split = HEAD + frame.vars[ARGS] as usize;
        let (head, registers) = frame.vars.split_at_mut(split);
        let (own, group) = (head[REGISTERS] as usize, head[GROUP]);
        let mut io = Round::new(lanes);
        let mut barrier = false;
        for lane in active(!head[ENDED]) {
            let local = u64::from(frame.wave * lanes) + lane as u64;
            let thread = Thread {
                phase: frame.kernel,
                args: &head[HEAD..],
                block: u64::from(frame.block),
                local,
                id: u64::from(frame.block) * group + local,
                round: u64::from(frame.pc),
                lane: lane as u32,
                values,
            };
            debug_assert!(thread.id < head[THREADS]);
            (io.lane, io.cursor) = (lane, 0);
            match self.0.round(&thread, &mut registers[lane * own..(lane + 1) * own], &mut io) {
                Flow::Next => {}
                Flow::Barrier => barrier = true,
                Flow::End => head[ENDED] |= 1 << lane,
            }
        }
        frame.pc += 1;
        let (mut ops, tokens) = io.finish();
        ops.push(match (head[ENDED], barrier) {
            (u64::MAX, _) => Op::End,
            (_, true) => Op::Barrier,
            _ => Op::Await { tokens },
        });
        ops
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        self.0.verify(memory)
    }
}
