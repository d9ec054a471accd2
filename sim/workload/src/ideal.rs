//! An ideal machine: runs a program to its end on one flat memory, without time.
//!
//! It gives the values that a program computes when every access is performed at once, in one order of its waves; a
//! program without data races gives the same final memory in every order. Scoreboards and tests compare with it.

mod error;
mod local;
mod race;

pub use error::IdealError;
pub use race::{Race, RaceKind, Races, Side, Touch};

use error::Fault;
use local::Mapped;

use crate::mapping::Mapping;
use crate::op::{Access, Addrs, AmoKind, Hint, Hinted, LaneMask, LdsAccess, Op, Token, Values};
use crate::program::{Frame, HostStep, Kernel, LoadedValues, PAGE_BYTES, Program, full_mask};

/// Flat byte memory that holds a program's arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatMemory {
    bytes: Vec<u8>,
}

impl FlatMemory {
    /// Memory with the first contents of all arrays of `program`.
    pub fn load(program: &dyn Program) -> Self {
        let end = program.arrays().iter().map(|a| a.addr + a.bytes()).max().unwrap_or(0);
        let mut bytes = vec![0; end.next_multiple_of(PAGE_BYTES) as usize];
        for array in program.arrays() {
            let from = array.addr as usize;
            bytes[from..from + array.init.len()].copy_from_slice(&array.init);
        }
        Self { bytes }
    }

    /// Size in bytes.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether there is no memory at all.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// `count` bytes from `addr`; bytes beyond the end read as zero.
    pub fn read(&self, addr: u64, count: usize) -> Vec<u8> {
        let from = (addr as usize).min(self.bytes.len());
        let to = from.saturating_add(count).min(self.bytes.len());
        let mut out = self.bytes[from..to].to_vec();
        out.resize(count, 0);
        out
    }

    /// Stores bytes; those beyond the end are dropped.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let from = (addr as usize).min(self.bytes.len());
        let count = bytes.len().min(self.bytes.len() - from);
        self.bytes[from..from + count].copy_from_slice(&bytes[..count]);
    }

    /// A little-endian word of `size` bytes (1, 2, 4, 8), zero-extended.
    #[inline]
    pub fn word(&self, addr: u64, size: u8) -> u64 {
        let from = addr as usize;
        let mut word = [0; 8];
        word[..size as usize].copy_from_slice(&self.bytes[from..from + size as usize]);
        u64::from_le_bytes(word)
    }

    /// Stores the low `size` bytes (1, 2, 4, 8) of `value`, little-endian.
    #[inline]
    pub fn set_word(&mut self, addr: u64, size: u8, value: u64) {
        let from = addr as usize;
        self.bytes[from..from + size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
    }
}

/// In which order the ideal machine visits waves that could all go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By work-group, then wave.
    Forward,
    /// The other way round.
    Reverse,
    /// By a hash of this seed; work-groups in mixed order, too.
    Mixed(u64),
}

/// What an ideal run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdealStats {
    /// Kernels launched.
    pub kernels: u64,
    /// Operations executed.
    pub operations: u64,
    /// Accesses that an LSU makes of the loads: groups of lanes on one 64-byte line.
    pub load_lines: u64,
    /// The same of the stores.
    pub store_lines: u64,
    /// The same of the atomics, before splitting lanes on one word.
    pub amo_lines: u64,
    /// Scratchpad operations.
    pub lds_operations: u64,
    /// Bytes the host wrote between launches.
    pub host_bytes: u64,
    /// Bytes that copy engines copied between launches.
    pub copied_bytes: u64,
}

/// Result of [`run`].
#[derive(Clone, Debug)]
pub struct IdealRun {
    /// Memory at the end.
    pub memory: FlatMemory,
    /// What was done.
    pub stats: IdealStats,
}

/// Steps that one wave may make in one launch before the run is called endless.
const MAX_STEPS: u64 = 100_000_000;

/// Runs `program` to its end.
pub fn run(program: &dyn Program, order: Order) -> Result<IdealRun, IdealError> {
    let mut machine = IdealMachine::new(program);
    machine.run(order)?;
    Ok(IdealRun { memory: machine.memory, stats: machine.stats })
}

/// Runs `program` to its end, and says which of its accesses race in this order.
pub fn run_checked(program: &dyn Program, order: Order) -> Result<(IdealRun, Races), IdealError> {
    let mut machine = IdealMachine::new(program);
    machine.check = Some(race::RaceCheck::new(program));
    machine.run(order)?;
    let races = machine.check.map(|check| check.races).unwrap_or_default();
    Ok((IdealRun { memory: machine.memory, stats: machine.stats }, races))
}

struct Wave {
    frame: Frame,
    values: LoadedValues,
    at_barrier: bool,
    ended: bool,
    steps: u64,
}

struct Block {
    number: u32,
    /// Lanes of its waves.
    lanes: u32,
    waves: Vec<Wave>,
    lds: Vec<u8>,
    /// Its mappings.
    mapped: Vec<Mapped>,
}

/// The ideal machine between two host steps.
pub struct IdealMachine<'p> {
    program: &'p dyn Program,
    /// The memory as it now is.
    pub memory: FlatMemory,
    /// What has been done so far.
    pub stats: IdealStats,
    check: Option<race::RaceCheck>,
}

impl<'p> IdealMachine<'p> {
    /// A machine with the first contents of the program's arrays.
    pub fn new(program: &'p dyn Program) -> Self {
        Self { program, memory: FlatMemory::load(program), stats: IdealStats::default(), check: None }
    }

    /// All host steps.
    fn run(&mut self, order: Order) -> Result<(), IdealError> {
        for index in 0.. {
            match self.program.host_step(index, &|addr, count| self.memory.read(addr, count)) {
                None => break,
                Some(HostStep::Write { addr, bytes }) => {
                    self.memory.write(addr, &bytes);
                    self.stats.host_bytes += bytes.len() as u64;
                }
                Some(HostStep::Copy { from, to, bytes }) => {
                    let copied = self.memory.read(from, bytes as usize);
                    self.memory.write(to, &copied);
                    self.stats.copied_bytes += bytes;
                }
                Some(HostStep::Launch(kernel)) => self.launch(&kernel, order)?,
            }
        }
        Ok(())
    }

    /// Runs one launch to its end.
    pub fn launch(&mut self, kernel: &Kernel, order: Order) -> Result<(), IdealError> {
        self.stats.kernels += 1;
        if let Some(check) = &mut self.check {
            check.launch(kernel);
        }
        let mut blocks: Vec<u32> = (0..kernel.blocks).collect();
        arrange(&mut blocks, order, 0);
        let group = if kernel.co_resident { blocks.len().max(1) } else { 1 };
        for (round, some) in blocks.chunks(group).enumerate() {
            let mut live: Vec<Block> = some.iter().map(|&b| self.start(kernel, b)).collect();
            let mut visit = round as u64;
            while live.iter().any(|b| b.waves.iter().any(|w| !w.ended)) {
                visit += 1;
                for block in &mut live {
                    self.visit(kernel, block, order, visit)?;
                }
            }
        }
        Ok(())
    }

    fn start(&self, kernel: &Kernel, block: u32) -> Block {
        let wave = |w| Wave {
            frame: self.program.start(kernel, block, w),
            values: LoadedValues::new(),
            at_barrier: false,
            ended: false,
            steps: 0,
        };
        let cpu = kernel.on_cpu(block);
        Block {
            number: block,
            lanes: if cpu { 1 } else { self.program.lanes() },
            waves: (0..kernel.waves(block)).map(wave).collect(),
            lds: vec![0; if cpu { 0 } else { kernel.lds_bytes as usize }],
            mapped: vec![],
        }
    }

    /// Lets each wave that can go on make one step, then opens the barrier if all live waves are there.
    fn visit(
        &mut self,
        kernel: &Kernel,
        block: &mut Block,
        order: Order,
        visit: u64,
    ) -> Result<(), IdealError> {
        let mut turn: Vec<u32> = (0..block.waves.len() as u32).collect();
        arrange(&mut turn, order, visit);
        for w in turn {
            let wave = &mut block.waves[w as usize];
            if wave.ended || wave.at_barrier {
                continue;
            }
            wave.steps += 1;
            let number = block.number;
            let who = || format!("kernel {} work-group {number} wave {w}", kernel.name);
            if wave.steps > MAX_STEPS {
                return Err(IdealError::Endless { who: who(), steps: wave.steps });
            }
            let ops = self.program.step(&mut wave.frame, &wave.values);
            check_shape(&ops, who)?;
            for op in &ops {
                let op = local::global(op, &block.mapped, block.lanes).map_err(|fault| fault.at(who()))?;
                if let Op::Map { kind, map } = &*op {
                    let waves = kernel.waves(number);
                    let moved = local::map(&mut block.mapped, *kind, map, waves, block.lds.len())
                        .map_err(|fault| fault.at(who()))?;
                    self.transfer(moved, map, &mut block.lds).map_err(|fault| fault.at(who()))?;
                    if let Some(check) = &mut self.check {
                        check.mapped(number, w, moved, *kind, map);
                    }
                }
                self.execute(&op, wave, block.lanes, &mut block.lds).map_err(|fault| fault.at(who()))?;
                if let Some(check) = &mut self.check {
                    check.observe(number, w, &op);
                }
            }
        }
        let any = block.waves.iter().any(|w| w.at_barrier);
        if any && block.waves.iter().all(|w| w.ended || w.at_barrier) {
            block.waves.iter_mut().for_each(|w| w.at_barrier = false);
            if let Some(check) = &mut self.check {
                check.barrier(block.number);
            }
        }
        Ok(())
    }

    /// Copies the elements of a mapping, if they are to be copied.
    fn transfer(&mut self, moved: Option<local::Moved>, map: &Mapping, lds: &mut [u8]) -> Result<(), Fault> {
        let (Some(moved), end) = (moved, self.memory.len()) else { return Ok(()) };
        for index in 0..map.count {
            let (local, global) = (map.local_of(index) as usize, map.global_of(index));
            let size = u64::from(map.element);
            if global.saturating_add(size) > end {
                return Err(Fault::OutOfRange { addr: global, size, end });
            }
            let (local, global) = (local..local + size as usize, global as usize..(global + size) as usize);
            match moved {
                local::Moved::In => lds[local].copy_from_slice(&self.memory.bytes[global]),
                local::Moved::Out => self.memory.bytes[global].copy_from_slice(&lds[local]),
            }
        }
        Ok(())
    }

    fn execute(&mut self, op: &Op, wave: &mut Wave, lanes: u32, lds: &mut [u8]) -> Result<(), Fault> {
        check_hint(op)?;
        self.stats.operations += 1;
        match op {
            Op::Compute { .. } | Op::Fence { .. } | Op::Await { .. } => {}
            // Made into accesses of the global memory before.
            Op::Map { .. } | Op::StashLoad { .. } | Op::StashStore { .. } => {}
            Op::Barrier => wave.at_barrier = true,
            Op::End => wave.ended = true,
            Op::Load { token, access } => {
                self.stats.load_lines += lines(access);
                load(&self.memory.bytes, &Lane::of(access), lanes, *token, wave)?;
            }
            Op::Store { access, values } => {
                self.stats.store_lines += lines(access);
                store(&mut self.memory.bytes, &Lane::of(access), lanes, values, wave)?;
            }
            Op::Amo { token, access, kind, signed, values, compare, ret } => {
                self.stats.amo_lines += lines(access);
                let amo = Amo { kind: *kind, signed: *signed, values, compare: *compare };
                let old = amo.run(&mut self.memory.bytes, &Lane::of(access), lanes, wave)?;
                wave.values.set(*token, if *ret { old } else { vec![] });
            }
            Op::LdsLoad { token, access } => {
                self.stats.lds_operations += 1;
                load(lds, &Lane::of_lds(access), lanes, *token, wave)?;
            }
            Op::LdsStore { access, values } => {
                self.stats.lds_operations += 1;
                store(lds, &Lane::of_lds(access), lanes, values, wave)?;
            }
            Op::LdsAmo { token, access, kind, signed, values, compare } => {
                self.stats.lds_operations += 1;
                let amo = Amo { kind: *kind, signed: *signed, values, compare: *compare };
                let old = amo.run(lds, &Lane::of_lds(access), lanes, wave)?;
                wave.values.set(*token, old);
            }
        }
        Ok(())
    }
}

/// A step ends in Await, Barrier or End, and the latter two stand nowhere else.
fn check_shape(ops: &[Op], who: impl Fn() -> String) -> Result<(), IdealError> {
    let open = |op: Option<&Op>| IdealError::OpenStep {
        who: who(),
        found: op.map_or("nothing".to_owned(), |op| format!("{op:?}")),
    };
    let Some((last, body)) = ops.split_last() else { return Err(open(None)) };
    if !matches!(last, Op::Await { .. } | Op::Barrier | Op::End) {
        return Err(open(Some(last)));
    }
    match body.iter().find(|op| matches!(op, Op::Barrier | Op::End)) {
        Some(early) => Err(open(Some(early))),
        None => Ok(()),
    }
}

/// A hint names a request that can serve the access.
fn check_hint(op: &Op) -> Result<(), Fault> {
    let (access, on) = match op {
        Op::Load { access, .. } => (access, Hinted::load(access.class)),
        Op::Store { access, .. } => (access, Hinted::store(access.class)),
        Op::Amo { access, .. } => (access, Hinted::Atomic),
        _ => return Ok(()),
    };
    match Hint::of(access.hint) {
        Some(hint) if hint.fits(on) => Ok(()),
        _ => Err(Fault::Hint { hint: access.hint, op: on.name() }),
    }
}

/// The part of an access that global and scratchpad operations share.
struct Lane<'a> {
    size: u8,
    addrs: &'a Addrs,
    mask: LaneMask,
}

impl<'a> Lane<'a> {
    fn of(access: &'a Access) -> Self {
        Self { size: access.size, addrs: &access.addrs, mask: access.mask }
    }

    fn of_lds(access: &'a LdsAccess) -> Self {
        Self { size: access.size, addrs: &access.addrs, mask: access.mask }
    }

    /// Calls `f` with each active lane and the byte range it accesses, in lane order.
    fn each(
        &self,
        lanes: u32,
        end: usize,
        mut f: impl FnMut(usize, std::ops::Range<usize>),
    ) -> Result<(), Fault> {
        if self.mask & !full_mask(lanes) != 0 {
            return Err(Fault::Lanes { mask: self.mask, lanes });
        }
        let size = u64::from(self.size);
        for lane in active(self.mask) {
            let addr = self.addrs.at(lane);
            if !matches!(self.size, 1 | 2 | 4 | 8) || !addr.is_multiple_of(size) {
                return Err(Fault::Unaligned { addr, size });
            }
            if addr.saturating_add(size) > end as u64 {
                return Err(Fault::OutOfRange { addr, size, end: end as u64 });
            }
            f(lane as usize, addr as usize..addr as usize + self.size as usize);
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn operand(values: &Values, wave: &Wave, lane: usize) -> u64 {
    match values {
        Values::Const(v) => *v,
        Values::Lanes(list) => list.get(lane).copied().unwrap_or(0),
        Values::Token(token) => wave.values.lane(*token, lane as u32),
    }
}

fn load(bytes: &[u8], access: &Lane<'_>, lanes: u32, token: Token, wave: &mut Wave) -> Result<(), Fault> {
    let mut out = vec![0; lanes as usize];
    access.each(lanes, bytes.len(), |lane, range| out[lane] = word(&bytes[range]))?;
    wave.values.set(token, out);
    Ok(())
}

fn store(bytes: &mut [u8], access: &Lane<'_>, lanes: u32, values: &Values, wave: &Wave) -> Result<(), Fault> {
    access.each(lanes, bytes.len(), |lane, range| {
        let value = operand(values, wave, lane).to_le_bytes();
        let size = range.len();
        bytes[range].copy_from_slice(&value[..size]);
    })
}

struct Amo<'a> {
    kind: AmoKind,
    signed: bool,
    values: &'a Values,
    compare: u64,
}

impl Amo<'_> {
    fn run(&self, bytes: &mut [u8], access: &Lane<'_>, lanes: u32, wave: &Wave) -> Result<Vec<u64>, Fault> {
        let mut olds = vec![0; lanes as usize];
        access.each(lanes, bytes.len(), |lane, range| {
            let size = range.len();
            let old = word(&bytes[range.clone()]);
            let new =
                self.kind.apply(size as u8, self.signed, old, operand(self.values, wave, lane), self.compare);
            bytes[range].copy_from_slice(&new.to_le_bytes()[..size]);
            olds[lane] = old;
        })?;
        Ok(olds)
    }
}

fn active(mask: LaneMask) -> impl Iterator<Item = u32> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// Numbers of the 4-byte words that `size` bytes at `addr` lie in, each with its bytes among them.
fn word_addresses(addr: u64, size: u8) -> impl Iterator<Item = (u64, u8)> {
    let bytes = if size >= 4 { 15 } else { ((1 << size) - 1) << (addr % 4) };
    (0..u64::from(size).div_ceil(4)).map(move |i| (addr / 4 + i, bytes))
}

/// Distinct 64-byte lines that the active lanes touch.
fn lines(access: &Access) -> u64 {
    let mut lines: Vec<u64> = active(access.mask).map(|lane| access.addrs.at(lane) / 64).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len() as u64
}

fn arrange(list: &mut [u32], order: Order, round: u64) {
    match order {
        Order::Forward => {}
        Order::Reverse => list.reverse(),
        Order::Mixed(seed) => list.sort_by_key(|&i| crate::data::mix(seed, round, u64::from(i))),
    }
}
