//! The tables together: one home with directory and EVB, several requesters, values, and networks with the promised
//! order only. After every step the scoreboard invariants of section 7 must hold.

use crate::golden::dir_table::DirOp;
use crate::golden::directory::Directory;
use crate::golden::evb::Evb;
use crate::golden::l2::ReqLine;
use crate::golden::l2::table::{ReqDo, ReqEvent, ReqState};
use crate::golden::params::{DirKind, DirParams, Policy};
use crate::golden::{Inv, gpus_of, only};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const LINES: u64 = 12;
type Data = [u64; 2];

#[derive(Clone, Copy, Debug)]
enum Req {
    Read,
    Write { word: Option<usize>, value: u64 },
    Atomic,
}

struct System {
    params: DirParams,
    dir: Directory,
    evb: Evb,
    home: BTreeMap<u64, Data>,
    lines: BTreeMap<(u32, u64), (ReqLine, Data)>,
    req: BTreeMap<(u32, u64), VecDeque<Req>>,
    inv: BTreeMap<u32, VecDeque<Inv>>,
    rsp: Vec<(u32, u64, Data)>,
    stamp: u64,
    rows: BTreeSet<&'static str>,
    stalls: u32,
}

impl System {
    fn new(params: DirParams) -> Self {
        System {
            params,
            dir: Directory::new(params).unwrap(),
            evb: Evb::new(params),
            home: BTreeMap::new(),
            lines: BTreeMap::new(),
            req: BTreeMap::new(),
            inv: BTreeMap::new(),
            rsp: Vec::new(),
            stamp: 0,
            rows: BTreeSet::new(),
            stalls: 0,
        }
    }

    fn value(&self, line: u64) -> Data {
        self.home.get(&line).copied().unwrap_or_default()
    }

    /// One directory operation; false if the EVB makes it stall.
    fn directory(&mut self, op: DirOp, src: u32, line: u64) -> bool {
        let mut trial = self.dir.clone();
        let out = trial.op(op, src, line);
        if self.evb.stall(op, line, out.eviction.is_some()).is_some() {
            self.stalls += 1;
            return false;
        }
        self.dir = trial;
        self.rows.insert(out.row.id);
        if let Some(eviction) = out.eviction {
            assert!(self.evb.push(&eviction.victim));
        }
        out.write_inv.into_iter().for_each(|i| self.send_inv(i));
        true
    }

    fn send_inv(&mut self, inv: Inv) {
        for gpu in gpus_of(inv.dest) {
            self.inv.entry(gpu).or_default().push_back(Inv { dest: only(gpu), ..inv });
        }
    }

    fn cpu(&mut self, gpu: u32, line: u64, event: ReqEvent, word: usize) {
        self.stamp += 1;
        let stamp = self.stamp;
        let (model, data) = self.lines.entry((gpu, line)).or_default();
        if event == ReqEvent::Victim && model.state() != ReqState::V {
            return;
        }
        let step = model.step(event).unwrap();
        self.rows.insert(step.row.id);
        let word = (event == ReqEvent::StorePartial).then_some(word);
        if step.does(ReqDo::Install) || step.does(ReqDo::Update) {
            write(data, word, stamp);
        }
        let queue = self.req.entry((gpu, line)).or_default();
        if step.does(ReqDo::SendRdReq) {
            queue.push_back(Req::Read);
        }
        if step.does(ReqDo::SendWrReq) {
            queue.push_back(Req::Write { word, value: stamp });
        }
        if step.does(ReqDo::SendAtomReq) {
            queue.push_back(Req::Atomic);
        }
    }

    fn at_home(&mut self, gpu: u32, line: u64) {
        let Some(request) = self.req.get(&(gpu, line)).and_then(|q| q.front().copied()) else { return };
        let op = match request {
            Req::Read => DirOp::RdRem,
            Req::Write { .. } => DirOp::WrRem,
            Req::Atomic => DirOp::AtomRem,
        };
        if !self.directory(op, gpu, line) {
            return;
        }
        self.req.entry((gpu, line)).or_default().pop_front();
        let mut data = self.value(line);
        match request {
            Req::Read => self.rsp.push((gpu, line, data)),
            Req::Write { word, value } => write(&mut data, word, value),
            Req::Atomic => data[0] += 1 << 40,
        }
        self.home.insert(line, data);
    }

    fn local_write(&mut self, line: u64) {
        if self.directory(DirOp::WrLoc, 0, line) {
            self.stamp += 1;
            self.home.insert(line, [self.stamp; 2]);
        }
    }

    fn expand(&mut self) {
        if let Some(inv) = self.evb.offers().first().copied() {
            self.send_inv(inv);
            assert!(self.evb.accepted(inv));
        }
    }

    fn deliver_inv(&mut self, gpu: u32) {
        let Some(inv) = self.inv.entry(gpu).or_default().pop_front() else { return };
        for line in inv.lines() {
            let step = self.lines.entry((gpu, line)).or_default().0.step(ReqEvent::Inv).unwrap();
            self.rows.insert(step.row.id);
        }
    }

    fn deliver_rsp(&mut self, pick: usize) {
        if self.rsp.is_empty() {
            return;
        }
        let (gpu, line, fill) = self.rsp.remove(pick % self.rsp.len());
        let (model, data) = self.lines.entry((gpu, line)).or_default();
        let step = model.step(ReqEvent::RdRsp).unwrap();
        self.rows.insert(step.row.id);
        if step.does(ReqDo::Install) {
            *data = fill;
        }
    }

    fn step(&mut self, action: usize, gpu: u32, line: u64, pick: usize) {
        match action {
            0 | 1 => self.cpu(gpu, line, ReqEvent::Load, 0),
            2 => self.cpu(gpu, line, ReqEvent::StoreFull, 0),
            3 => self.cpu(gpu, line, ReqEvent::StorePartial, pick % 2),
            4 => self.cpu(gpu, line, ReqEvent::Atomic, 0),
            5 => self.cpu(gpu, line, ReqEvent::Victim, 0),
            6 => self.local_write(line),
            7..=9 => self.at_home(gpu, line),
            10 => self.expand(),
            11 => self.deliver_inv(gpu),
            _ => self.deliver_rsp(pick),
        }
    }

    /// Section 7: each valid copy is tracked, or an Inv for it or its owner's write is on its way; and it has the home's
    /// data, or an Inv or its owner's write is on its way.
    fn check(&self) -> Result<(), TestCaseError> {
        for ((gpu, line), (model, data)) in &self.lines {
            if model.state() != ReqState::V {
                continue;
            }
            let hits = |i: &Inv| i.dest & only(*gpu) != 0 && i.lines().contains(line);
            let inv_way = self.inv.get(gpu).is_some_and(|q| q.iter().any(hits));
            let inv = inv_way || self.evb_pending().iter().any(hits);
            let writes = |q: &VecDeque<Req>| q.iter().any(|r| matches!(r, Req::Write { .. }));
            let own = self.req.get(&(*gpu, *line)).is_some_and(writes);
            let tracked = self.dir.sharers_of(*line) & only(*gpu) != 0;
            prop_assert!(tracked || inv || own, "GPU {} holds untracked line {:#x}", gpu, line);
            let fresh = *data == self.value(*line);
            prop_assert!(fresh || inv || own, "GPU {} holds stale line {:#x}", gpu, line);
        }
        Ok(())
    }

    fn evb_pending(&self) -> Vec<Inv> {
        let mut evb = self.evb.clone();
        let mut all = Vec::new();
        while let Some(inv) = evb.offers().first().copied() {
            all.push(inv);
            evb.accepted(inv);
        }
        all
    }

    fn settle(&mut self) {
        for _ in 0..4000 {
            self.expand();
            self.deliver_rsp(0);
            for gpu in 0..self.params.gpus {
                self.deliver_inv(gpu);
                (0..LINES).for_each(|l| self.at_home(gpu, l));
            }
        }
    }
}

fn write(data: &mut Data, word: Option<usize>, value: u64) {
    match word {
        Some(w) => data[w] = value,
        None => *data = [value; 2],
    }
}

fn params(kind: DirKind, evb_depth: u32) -> DirParams {
    let base = DirParams::new(kind);
    DirParams {
        gpus: 4,
        banks: 1,
        ways: 2,
        entries: 2,
        range: 256,
        il: 256,
        policy: Policy::Lru,
        evb_depth,
        ..base
    }
}

fn any_kind() -> impl Strategy<Value = DirKind> {
    prop_oneof![Just(DirKind::Rec), Just(DirKind::Perline), Just(DirKind::Group4), Just(DirKind::Ideal)]
}

proptest! {
    /// Random interleavings keep the invariants, and when everything has arrived every copy equals the home's data.
    #[test]
    fn scoreboard_invariants_hold(
        kind in any_kind(),
        depth in 1u32..=3,
        steps in proptest::collection::vec((0usize..14, 1u32..4, 0..LINES, any::<usize>()), 1..400),
    ) {
        let mut system = System::new(params(kind, depth));
        for (action, gpu, line, pick) in steps {
            system.step(action, gpu, line, pick);
            system.check()?;
        }
        system.settle();
        system.check()?;
        prop_assert!(system.rsp.is_empty() && system.evb.is_empty() && system.req.values().all(VecDeque::is_empty));
        for ((gpu, line), (model, data)) in &system.lines {
            prop_assert!(!model.pending(), "GPU {} waits for line {:#x} for ever", gpu, line);
            prop_assert!(model.state() != ReqState::V || *data == system.value(*line));
        }
    }
}

/// A long fixed run reaches every legal row of the requester side and of the directories, and stalls in the EVB.
#[test]
fn a_long_run_hits_every_row() {
    use crate::golden::dir_table::table;
    use crate::golden::l2::table::{Legality, REQUESTER};
    let mut random = 1u64;
    let mut next = |n: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % n
    };
    for kind in [DirKind::Rec, DirKind::Perline, DirKind::Group4, DirKind::Ideal] {
        let mut system = System::new(params(kind, 1));
        for _ in 0..40_000 {
            let (action, gpu, line) = (next(14) as usize, 1 + next(3) as u32, next(LINES));
            system.step(action, gpu, line, next(1 << 20) as usize);
            system.check().unwrap();
        }
        let requester = REQUESTER.iter().filter(|r| r.legality == Legality::Legal).map(|r| r.id);
        for id in requester.chain(table(kind).iter().map(|r| r.id)) {
            assert!(system.rows.contains(id), "{kind:?}: {id} was never hit");
        }
        assert_eq!(system.stalls > 0, kind != DirKind::Ideal);
    }
}
