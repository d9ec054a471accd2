//! A compute unit before a perfect memory: every access is right, its time is not.

mod dma;
mod errors;
mod gsi;
mod issue;
mod lsu;
mod programs;
mod rules;
mod stash;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_blocks::msg::{AmoOp, CuOp};
use weft_workload::ideal::FlatMemory;
use weft_workload::{
    Access, Addrs, AmoKind, Array, Frame, HostStep, Kernel, LoadedValues, Op, Program, VerifyError,
};

use super::*;

/// Physical addresses begin here, so that a forgotten translation is seen.
const OFFSET: u64 = 0x40_0000;

/// How the port behaves. All of it is a function of the seed and the tick, so that skipped ticks change nothing.
#[derive(Clone, Copy, Debug)]
struct Port {
    seed: u64,
    /// Answers come after 1..=latency ticks, in any order.
    latency: u64,
    /// Percent of the ticks in which nothing is taken.
    stall: u64,
    /// Data come in two parts.
    parts: bool,
}

impl Port {
    const FAST: Port = Port { seed: 0, latency: 1, stall: 0, parts: false };

    fn wild(seed: u64) -> Self {
        Port { seed, latency: 90, stall: 40, parts: seed % 2 == 1 }
    }

    fn draw(&self, a: u64, b: u64) -> u64 {
        weft_workload::data::mix(self.seed, a, b)
    }
}

/// What happened at the port.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Taken(LineAccess),
    Answered(LineAccess),
}

/// Counts what an observer is told.
#[derive(Clone, Debug, Default, PartialEq)]
struct Watch {
    loads: u64,
    stores: u64,
    amos: u64,
    barriers: Vec<(u64, u32)>,
}

impl CuObserver for Watch {
    fn load(&mut self, _: &Who, _: u64, mask: u128, _: &[u64; 16], issued: u64, done: u64) {
        assert!(mask != 0 && issued < done);
        self.loads += 1;
    }
    fn store(&mut self, _: &Who, _: u64, mask: u128, _: &[u64; 16], _: u64) {
        assert!(mask != 0);
        self.stores += 1;
    }
    fn amo(&mut self, _: &Who, access: &LineAccess, _: &[u64; 16], issued: u64, done: u64) {
        assert!(access.op == CuOp::Amo && issued < done);
        self.amos += 1;
    }
    fn barrier(&mut self, who: &Who, now: u64) {
        self.barriers.push((now, who.block));
    }
}

/// A compute unit, its memory and the run loop.
struct Bench {
    cu: Cu,
    program: Arc<dyn Program>,
    memory: FlatMemory,
    port: Port,
    skip: bool,
    now: u64,
    ticks: u64,
    /// Answers on their way: (tick, order of acceptance) to (access, bytes of this part, last part).
    answers: BTreeMap<(u64, u64), (LineAccess, u128, bool)>,
    held: Option<LineAccess>,
    taken: u64,
    events: Vec<(u64, Event)>,
    /// Of the accesses taken, in order.
    issuers: Vec<Option<Issuer>>,
    watch: Watch,
    /// Swaps the compute unit for a restored copy at this tick.
    restore_at: Option<u64>,
    /// Of all kernels.
    stalls: GsiCounts,
    /// Who serves an access, and whether as part of an earlier miss.
    served: fn(&LineAccess) -> (u8, bool),
    /// Why the port takes nothing, and ticks in which it surely does not.
    refusal: Structural,
    shut: std::ops::Range<u64>,
    /// Further ticks until an answer.
    delay: fn(&LineAccess) -> u64,
    stash: stash::Played,
}

impl Bench {
    fn new(params: &CuParams, program: Arc<dyn Program>, port: Port, skip: bool) -> Self {
        let cu = Cu::new(params.clone(), Arc::clone(&program), 0, 0).expect("legal").inspecting(true);
        let memory = FlatMemory::load(&*program);
        Self {
            cu,
            program,
            memory,
            port,
            skip,
            now: 0,
            ticks: 0,
            answers: BTreeMap::new(),
            held: None,
            taken: 0,
            events: vec![],
            issuers: vec![],
            watch: Watch::default(),
            restore_at: None,
            stalls: GsiCounts::default(),
            served: |_| (3, false),
            refusal: Structural::Other,
            shut: 0..0,
            delay: |_| 0,
            stash: stash::Played::default(),
        }
    }

    fn with_mode(mut self, mode: CuMode) -> Self {
        self.cu = self.cu.with_mode(mode);
        self
    }

    /// Runs the whole program; the error of the compute unit, if any.
    fn run(&mut self) -> Result<(), CuError> {
        for index in 0.. {
            let memory = &self.memory;
            match self.program.host_step(index, &|addr, count| memory.read(addr, count)) {
                None => break,
                Some(HostStep::Write { addr, bytes }) => self.memory.write(addr, &bytes),
                Some(HostStep::Copy { from, to, bytes }) => {
                    let copied = self.memory.read(from, bytes as usize);
                    self.memory.write(to, &copied);
                }
                Some(HostStep::Launch(kernel)) => self.kernel(&Arc::new(kernel))?,
            }
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &Arc<Kernel>) -> Result<(), CuError> {
        assert!(self.cu.params().capacity(kernel) > 0, "{} fits", kernel.name);
        self.cu.begin_kernel(self.now, 0);
        let mut next = 0;
        let mut ending = false;
        loop {
            if self.cu.kbegin_done() && next < kernel.blocks && self.cu.has_room(kernel) {
                self.cu.launch(kernel, next, u64::from(next), self.now)?;
                next += 1;
            }
            let last = self.cu.kbegin_done() && next == kernel.blocks && self.cu.idle();
            if last && !ending {
                ending = true;
                self.cu.end_kernel(self.now);
            }
            if self.cu.kend_done() {
                assert!(self.cu.idle());
                let counts = self.cu.inspected(self.now).expect("sums hold");
                self.stalls.add(&counts.unwrap_or_default());
                return Ok(());
            }
            self.tick()?;
            let waiting = next < kernel.blocks && self.cu.has_room(kernel) && self.cu.kbegin_done();
            let ended = self.cu.idle() && (self.cu.kbegin_done() || self.cu.kend_done());
            let offered = self.cu.offer(self.now).is_some() || self.stash_is_asked();
            let soon = !self.skip || waiting || ended || offered;
            let mut then = if soon { self.now + 1 } else { u64::MAX };
            then = then.min(self.cu.next_event(self.now + 1).unwrap_or(u64::MAX));
            then = then.min(self.answers.keys().next().map_or(u64::MAX, |k| k.0)).min(self.stash.next());
            assert!(then != u64::MAX, "nothing can happen any more at tick {}", self.now);
            assert!(then > self.now && self.now < 20_000_000);
            self.now = then;
        }
    }

    fn tick(&mut self) -> Result<(), CuError> {
        let now = self.now;
        self.accept();
        self.play_stash();
        while let Some(entry) = self.answers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let (access, mask, last) = entry.remove();
            self.answer(access, mask, last);
        }
        if self.restore_at == Some(now) {
            let bytes = self.cu.save().expect("saved");
            let mode = self.cu.mode;
            self.cu = Cu::new(self.cu.params().clone(), Arc::clone(&self.program), 0, 0)?
                .with_mode(mode)
                .inspecting(self.cu.inspect);
            self.cu.load(&bytes).expect("loaded");
            assert_eq!(self.cu.save().expect("saved"), bytes);
        }
        if self.skip && self.cu.next_event(now) != Some(now) {
            return Ok(());
        }
        self.ticks += 1;
        self.cu.tick(now, &|addr| addr + OFFSET, &mut self.watch)
    }

    fn accept(&mut self) {
        let now = self.now;
        for _ in 0..self.cu.params().lsu_rate {
            let Some(access) = self.cu.offer(now).cloned() else { return };
            if let Some(held) = &self.held {
                assert_eq!(held, &access, "an offered access is held");
            }
            if self.shut.contains(&now) || self.port.draw(now, 1) % 100 < self.port.stall {
                self.held = Some(access);
                self.cu.refused(now, self.refusal);
                return;
            }
            self.held = None;
            self.issuers.push(self.cu.issuer(access.id));
            self.cu.accepted(now, &mut self.watch);
            self.cu.refused(now, Structural::Bank);
            self.events.push((now, Event::Taken(access.clone())));
            if access.op == CuOp::St {
                let base = access.line * u64::from(self.cu.params().line) - OFFSET;
                for byte in (0..128).filter(|b| access.mask >> b & 1 == 1) {
                    let value = (access.data[byte / 8] >> (8 * (byte % 8))) as u8;
                    self.memory.write(base + byte as u64, &[value]);
                }
            }
            if access.op == CuOp::St && !access.want_ack {
                continue;
            }
            self.schedule(access);
        }
    }

    fn schedule(&mut self, access: LineAccess) {
        self.taken += 1;
        let at =
            self.now + 1 + (self.delay)(&access) + self.port.draw(self.now, self.taken) % self.port.latency;
        let half = access.mask & 0xffff_0000_ff00_ff00_ffff_0000_ff00_ff00;
        let split = self.port.parts && access.op == CuOp::Ld && half != 0 && half != access.mask;
        if split {
            let later = at + self.port.draw(self.now, !self.taken) % self.port.latency;
            self.answers.insert((later, self.taken), (access.clone(), access.mask & !half, true));
            self.taken += 1;
            self.answers.insert((at, self.taken), (access, half, later < at));
        } else {
            let mask = access.mask;
            self.answers.insert((at, self.taken), (access, mask, true));
        }
    }

    /// Performs a load or atomic as late as it can be, and answers it.
    fn answer(&mut self, access: LineAccess, mask: u128, last: bool) {
        let base = (access.line * u64::from(self.cu.params().line)).wrapping_sub(OFFSET);
        let with_data = matches!(access.op, CuOp::Ld | CuOp::Amo);
        let kind = if with_data { KIND_DATA } else { KIND_ACK };
        let mut data = [0xdead_beef_dead_beef; 16];
        for byte in (0..128).filter(|b| with_data && mask >> b & 1 == 1) {
            let (word, shift) = (byte / 8, 8 * (byte % 8));
            let value = u64::from(self.memory.read(base + byte as u64, 1)[0]);
            data[word] = data[word] & !(0xff << shift) | value << shift;
        }
        if access.op == CuOp::Amo {
            self.atomic(&access, base);
        }
        if last {
            self.events.push((self.now, Event::Answered(access.clone())));
        }
        let (src, merged) = (self.served)(&access);
        let reply = LineReply { id: access.id, kind, mask, data, src, merged };
        self.cu.reply(&reply, self.now, &mut self.watch);
    }

    fn atomic(&mut self, access: &LineAccess, base: u64) {
        let kinds = [
            (AmoOp::Add, AmoKind::Add),
            (AmoOp::Inc, AmoKind::Inc),
            (AmoOp::Exch, AmoKind::Exch),
            (AmoOp::Cas, AmoKind::Cas),
            (AmoOp::Max, AmoKind::Max),
        ];
        let kind = kinds.iter().find(|(op, _)| *op == access.amo).expect("an atomic of the tests").1;
        let first = access.mask.trailing_zeros();
        let size = if access.mask.count_ones() == 8 && !self.cu.mode.wide_amo { 8 } else { 4 };
        for word in (first..128).step_by(size as usize).filter(|b| access.mask >> b & 1 == 1) {
            let addr = base + u64::from(word);
            let operand = access.data[word as usize / 8] >> (8 * (word % 8));
            let new = kind.apply(size, access.sgn, self.memory.word(addr, size), operand, access.cmp);
            self.memory.set_word(addr, size, new);
        }
    }

    /// Accesses in the order in which they were taken, with their ticks; kernel boundaries left out.
    fn taken(&self) -> Vec<(u64, &LineAccess)> {
        let wanted = |a: &LineAccess| !matches!(a.op, CuOp::Kbegin | CuOp::Kend);
        let all = self.events.iter().filter_map(|(tick, event)| match event {
            Event::Taken(access) if wanted(access) => Some((*tick, access)),
            _ => None,
        });
        all.collect()
    }

    /// Tick in which the access to `line` (of the program) with operation `op` was taken, and answered.
    fn times(&self, op: CuOp, addr: u64) -> (u64, u64) {
        let line = (addr + OFFSET) / u64::from(self.cu.params().line);
        let find = |answer: bool| {
            let hit = |e: &&(u64, Event)| match &e.1 {
                Event::Taken(a) => !answer && a.op == op && a.line == line,
                Event::Answered(a) => answer && a.op == op && a.line == line,
            };
            self.events.iter().find(hit).map_or(0, |e| e.0)
        };
        (find(false), find(true))
    }
}

type Steps = Box<dyn Fn(&mut Frame, &LoadedValues) -> Vec<Op> + Send + Sync>;

/// A program of one kernel given by a function of the frame; `pc` counts its steps from 1.
struct Script {
    lanes: u32,
    blocks: u32,
    waves: u32,
    lds: u32,
    arrays: Vec<Array>,
    steps: Steps,
}

impl Script {
    /// One work-group of `waves` waves on 64 KiB of memory at address 0.
    fn of(
        lanes: u32,
        waves: u32,
        steps: impl Fn(&mut Frame, &LoadedValues) -> Vec<Op> + Send + Sync + 'static,
    ) -> Self {
        let mut layout = weft_workload::Layout::new();
        layout.add("memory", 4, 16_384, false, vec![]);
        let arrays = layout.arrays().to_vec();
        Script { lanes, blocks: 1, waves, lds: 0, arrays, steps: Box::new(steps) }
    }

    /// One wave that makes one step.
    fn once(lanes: u32, ops: Vec<Op>) -> Self {
        Self::of(lanes, 1, move |_, _| ops.clone())
    }

    fn bench(self, params: &CuParams, port: Port) -> Bench {
        Bench::new(params, Arc::new(self), port, true)
    }
}

impl Program for Script {
    fn name(&self) -> &str {
        "script"
    }
    fn lanes(&self) -> u32 {
        self.lanes
    }
    fn arrays(&self) -> &[Array] {
        &self.arrays
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "k".to_owned(),
                blocks: self.blocks,
                cpus: 0,
                waves_per_block: self.waves,
                lds_bytes: self.lds,
                args: vec![],
                co_resident: false,
            })
        })
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        frame.pc += 1;
        (self.steps)(frame, values)
    }
    fn verify(&self, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        Ok(())
    }
}

fn strided(base: u64, stride: i64) -> Addrs {
    Addrs::Strided { base, stride }
}

fn one(addr: u64) -> Access {
    Access::data(4, Addrs::Strided { base: addr, stride: 0 }, 1)
}

fn load(token: u32, addr: u64) -> Op {
    Op::Load { token, access: one(addr) }
}

fn store(addr: u64, value: u64) -> Op {
    Op::Store { access: one(addr), values: weft_workload::Values::Const(value) }
}

fn add(token: u32, access: Access, ret: bool) -> Op {
    let values = weft_workload::Values::Const(1);
    Op::Amo { token, access, kind: AmoKind::Add, signed: false, values, compare: 0, ret }
}

fn compute(latency: u32, occupancy: u32, needs: Vec<u32>, token: Option<u32>) -> Op {
    Op::Compute { unit: weft_workload::Unit::Alu, latency, occupancy, needs, token }
}
