//! The golden bank as GPU home: lines of other GPUs that it serves to its own GPU (hmg.md section 5).

use super::model::{Answer, Asker, ByAtomic, Dirty, Model, home_event, replayed};
use super::request::{ATOM, RD, Request, WR};
use std::collections::{BTreeMap, VecDeque};
use weft_testbench::golden::l2::hier::GpuLine;
use weft_testbench::golden::l2::hier_table::{GpuDo, GpuEvent, GpuState};

/// A line at its GPU home.
pub struct Gpu {
    pub line: GpuLine,
    pub(super) copy: Vec<u8>,
    /// RdReqs sent.
    reads: usize,
    /// Atomics in the list of the last of them.
    atomics: Vec<ByAtomic>,
    keeps: bool,
    pub(super) dirty: Dirty,
}

/// A message expected on `far_out`.
#[derive(Clone, Debug)]
pub struct Passed {
    pub kind: u64,
    pub request: Request,
    pub epoch: u64,
    pub from: Asker,
    pub content: Content,
    number: usize,
}

/// The bytes that a message must carry.
#[derive(Clone, Debug)]
pub enum Content {
    /// Those of the request.
    AsAsked,
    /// An atomic's result.
    Result(Vec<u8>),
    /// Its result on the data of the read of this number, after these atomics.
    Late(usize, Vec<ByAtomic>),
}

impl Model {
    pub fn add_gpu(&mut self, line: u64, bytes: usize, keeps: bool) {
        let copy = vec![0; bytes];
        self.gpu.insert(
            line,
            Gpu {
                line: GpuLine::default(),
                copy,
                reads: 0,
                atomics: Vec::new(),
                keeps,
                dirty: Dirty::default(),
            },
        );
    }

    /// A request for a line whose GPU home is here is accepted: its answer, and whether a write is passed on (now or later).
    pub fn gpu_request(&mut self, from: Asker, request: &Request, epoch: u64) -> (Answer, bool) {
        let remote = from.node().is_some();
        let event = event_of(request, self.holds);
        let op = home_event(remote, request).dir_op(request.cacheable);
        let number = self.start_op(op, from, request.line, request.kind != RD);
        let gpu = self.gpu.get_mut(&request.line).expect("a line of another GPU");
        let step = gpu.line.step(event).expect("a legal pair");
        assert!(!step.waits, "line {:x}: {event:?} accepted in {:?}", request.line, step.row.state);
        let mut sends = Vec::new();
        if step.does(GpuDo::SendRdReq) {
            gpu.reads += 1;
            gpu.atomics.clear();
            sends.push((RD, Content::AsAsked));
        }
        let read = gpu.reads.wrapping_sub(1);
        let before = gpu.atomics.clone();
        let mut old = Vec::new();
        if step.does(GpuDo::Update) || step.does(GpuDo::Install) || step.does(GpuDo::Allocate) {
            old = request.perform(&mut gpu.copy);
        }
        let does = [GpuDo::Mark, GpuDo::Join, GpuDo::Unmark].map(|what| step.does(what));
        gpu.dirty.store(request, does[0], does[1], does[2]);
        gpu.dirty.gone += u64::from(step.does(GpuDo::PassWrReq) && request.full());
        if step.does(GpuDo::PassWrReq) {
            sends.push((WR, Content::AsAsked));
        }
        if step.does(GpuDo::PassAtomReq) {
            sends.push((ATOM, Content::AsAsked));
        }
        if step.does(GpuDo::PassResult) {
            sends.push((WR, Content::Result(gpu.copy.clone())));
        }
        let joins = step.does(GpuDo::Append);
        if joins && request.kind == ATOM {
            gpu.atomics.push(ByAtomic(request.clone()));
            sends.push((WR, Content::Late(read, before.clone())));
        }
        if !gpu.keeps && gpu.line.state() == GpuState::V {
            gpu.line = GpuLine::default();
        }
        let hit = gpu.copy.clone();
        let writes = sends.iter().any(|(kind, _)| *kind != RD);
        for (kind, content) in sends {
            self.pass(kind, content, request, epoch, from);
        }
        let answer = match (request.kind, remote) {
            (RD, _) if joins => Answer::FromHome(read, before),
            (RD, _) => Answer::Line(hit, false),
            (WR, false) => Answer::Accepted,
            (WR, true) => Answer::Written(number),
            _ if joins => Answer::OldReplayed(read, before, number),
            _ if step.does(GpuDo::PassResult) => Answer::Old(old, number, false),
            _ => Answer::OldFromHome(None),
        };
        (answer, writes)
    }

    pub(super) fn pass(&mut self, kind: u64, content: Content, request: &Request, epoch: u64, from: Asker) {
        let number = self.passed_count;
        self.passed_count += 1;
        if !matches!(content, Content::Late(..)) {
            self.passed_order.push_back(number);
        }
        let request = request.clone();
        let passed = Passed { kind, request, epoch, from, content, number };
        self.passed.entry(passed.request.line).or_default().push_back(passed);
    }

    /// The bank passes something on for this line: messages of a line leave in the order of acceptance, and so do all but the results of atomics that
    /// had waited for their line.
    pub fn take_passed(&mut self, line: u64) -> Passed {
        let next = self.passed.get_mut(&line).and_then(VecDeque::pop_front);
        let next = next.unwrap_or_else(|| panic!("nothing is to be passed on for line {line:x}"));
        if !matches!(next.content, Content::Late(..)) {
            assert_eq!(self.passed_order.pop_front(), Some(next.number), "order of what is passed on");
        }
        next
    }

    /// Reads sent for a line so far.
    pub fn gpu_reads(&self, line: u64) -> u64 {
        self.gpu[&line].reads as u64
    }

    pub(super) fn gpu_fill(&mut self, line: u64, data: &[u8]) {
        let gpu = self.gpu.get_mut(&line).expect("a line of the test");
        let step = gpu.line.step(GpuEvent::RdRsp).expect("a waiting line");
        let atomics = step.replayed.iter().filter(|e| **e == GpuEvent::AtomicGpu).count();
        assert_eq!(atomics, gpu.atomics.len());
        if step.does(GpuDo::Install) {
            gpu.copy = replayed(data, &gpu.atomics);
        }
        if !gpu.keeps {
            gpu.line = GpuLine::default();
        }
    }

    pub(super) fn gpu_compare(&mut self, tags: &BTreeMap<u64, u64>, installs: bool) -> usize {
        let mut changes = 0;
        for (line, gpu) in &mut self.gpu {
            let real = tags.get(line).copied().unwrap_or(0);
            match (gpu.line.state(), real) {
                (GpuState::V, 1) | (GpuState::D, 2) | (GpuState::W, 3) => {}
                (GpuState::V, 0) if installs => {
                    gpu.line.step(GpuEvent::Victim).expect("a victim");
                    changes += 1;
                }
                (state, 0) if !matches!(state, GpuState::V | GpuState::D | GpuState::W) => {}
                (state, real) => panic!("line {line:x} at its GPU home is {real}, {state:?} in the model"),
            }
        }
        changes
    }
}

/// What a request is to a GPU home.
pub(super) fn event_of(request: &Request, holds: bool) -> GpuEvent {
    match (request.kind, request.scope, request.full()) {
        (RD, 2, _) => GpuEvent::LoadForced,
        (RD, ..) => GpuEvent::Load,
        (WR, 0 | 1, true) if holds => GpuEvent::StoreFullHeld,
        (WR, 0 | 1, false) if holds => GpuEvent::StorePartialHeld,
        (WR, _, true) => GpuEvent::StoreFull,
        (WR, _, false) => GpuEvent::StorePartial,
        (ATOM, 2, _) => GpuEvent::AtomicSys,
        _ => GpuEvent::AtomicGpu,
    }
}
