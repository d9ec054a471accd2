//! CUs that ask, memory that answers, and what is remembered of the order in which that happens.

use super::form::Forms;
use super::ops::{Issued, Memory, Op, SYSTEM, Stage, value, value_text};
use super::{Config, judge, text};
use std::rc::Rc;
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::{AmoOp, CuOp};
use weft_explore::form::Form;
use weft_explore::net::World;
use weft_rtl::value::HwEnum;

/// Numbers of the world's ports.
pub(super) struct Ports {
    cus: usize,
}

impl Ports {
    pub fn new(cus: usize) -> Ports {
        Ports { cus }
    }
    pub fn requests(&self, cu: usize) -> usize {
        cu
    }
    pub fn answers(&self, cu: usize) -> usize {
        self.cus + cu
    }
    pub fn memory(&self, node: usize) -> usize {
        2 * self.cus + node
    }
    pub fn fences(&self, cu: usize) -> usize {
        3 * self.cus + cu
    }
    pub fn fenced(&self, cu: usize) -> usize {
        4 * self.cus + cu
    }
}

/// The world of a net ([`super::build()`]).
pub struct Cus {
    config: Config,
    /// Numbers of the lines.
    lines: Vec<u64>,
    /// Scope of the fence that a release, and an acquire, of each scope needs beside what the L1 does.
    release: [Option<u8>; 3],
    acquire: [Option<u8>; 3],
    request: Rc<Form>,
    token: Rc<Form>,
    memory: Rc<Form>,
}

impl Cus {
    /// The world of a configuration; link i of the net leads from memory i to its bank.
    pub(super) fn new(config: &Config, fabric: &FabricParams, forms: &Forms) -> Cus {
        Cus {
            lines: (0..config.homes.len()).map(|line| config.line(line)).collect(),
            config: config.clone(),
            release: [0, 1, 2].map(|scope| fabric.release_fence(scope)),
            acquire: [0, 1, 2].map(|scope| fabric.acquire_fence(scope)),
            request: forms.cu_req.clone(),
            token: forms.token.clone(),
            memory: forms.mem_rsp.clone(),
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Numbers of its lines.
    pub(super) fn lines(&self) -> &[u64] {
        &self.lines
    }

    fn message(&self, op: Op, cu: usize, seq: usize) -> Vec<u64> {
        let (code, scope) = match op {
            Op::Load(_, scope) => (CuOp::Ld, scope),
            Op::Store(_) => (CuOp::St, 0),
            Op::Swap(_) => (CuOp::Amo, SYSTEM),
            Op::Release(scope) => (CuOp::Rel, scope),
            Op::Acquire(scope) => (CuOp::Acq, scope),
        };
        let amo = if matches!(op, Op::Swap(_)) { AmoOp::Exch.encoding() } else { 0 };
        self.request.message(&[
            ("op", code.encoding()),
            ("scope", scope.into()),
            ("amo", amo),
            ("line", op.line().map_or(0, |line| self.lines[line])),
            ("mask", if op.line().is_some() { 0xf } else { 0 }),
            ("data", if op.writes() { value(cu, seq).into() } else { 0 }),
            ("id", seq as u64),
        ])
    }

    fn fence(&self, scope: u8, acquire: bool, seq: usize) -> Vec<u64> {
        self.token.message(&[("seq", seq as u64), ("scope", scope.into()), ("acquire", acquire.into())])
    }

    /// The next operations that a CU may issue.
    fn next_ops(&self, own: &[Issued], cu: usize) -> Vec<Op> {
        let c = &self.config;
        let left = c.budget(cu).saturating_sub(own.len());
        let open = || own.iter().filter(|issued| issued.stage != Stage::Done);
        let waits = open().any(|issued| matches!(issued.op, Op::Release(_) | Op::Acquire(_)));
        let count = open().count();
        if left == 0 || waits {
            return Vec::new();
        }
        let unreleased = |scope: u8| {
            let later = |o: &&Issued| !matches!(o.op, Op::Release(of) if of >= scope);
            own.iter().rev().take_while(later).any(|o| o.op.writes())
        };
        let acquired = |scope: u8| own.last().is_some_and(|o| matches!(o.op, Op::Acquire(of) if of >= scope));
        let may = |op: &Op| match op {
            // One that orders nothing is left out.
            Op::Release(scope) => count == 0 && unreleased(*scope),
            Op::Acquire(scope) => count == 0 && !acquired(*scope) && left > 1,
            Op::Store(_) => true,
            Op::Load(..) | Op::Swap(_) => count < c.open,
        };
        c.alphabet(cu).iter().copied().filter(may).collect()
    }

    fn issued(&self, state: &Memory, cu: usize, op: Op, stage: Stage) -> Memory {
        let remembers = op.writes() || matches!(op, Op::Acquire(_));
        let released = if remembers { state.released(cu, self.config.gpms as usize) } else { 0 };
        let mut after = state.clone();
        after.cus[cu].push(Issued { op, stage, released, got: None });
        after
    }

    /// What a CU may ask of its L1.
    fn asks(&self, state: &Memory, cu: usize) -> Vec<(Vec<u64>, Memory)> {
        let own = &state.cus[cu];
        if let Some(seq) = own.iter().position(|issued| issued.stage == Stage::L1Next) {
            let mut after = state.clone();
            after.cus[cu][seq].stage = Stage::Asked;
            return vec![(self.message(own[seq].op, cu, seq), after)];
        }
        let ops = self.next_ops(own, cu).into_iter();
        let ops = ops.filter(|op| self.first_fenced(*op).is_none());
        ops.map(|op| {
            let stage = if matches!(op, Op::Store(_)) { Stage::Done } else { Stage::Asked };
            (self.message(op, cu, own.len()), self.issued(state, cu, op, stage))
        })
        .collect()
    }

    /// What a CU may ask of the fence unit.
    fn fences(&self, state: &Memory, cu: usize) -> Vec<(Vec<u64>, Memory)> {
        let own = &state.cus[cu];
        let next = own.iter().position(|issued| issued.stage == Stage::FenceNext);
        if let Some((seq, scope)) = next.and_then(|seq| Some((seq, self.last_fenced(own[seq].op)?))) {
            let mut after = state.clone();
            after.cus[cu][seq].stage = Stage::Fenced;
            return vec![(self.fence(scope, false, seq), after)];
        }
        let acquires = self.next_ops(own, cu).into_iter().filter_map(|op| Some((op, self.first_fenced(op)?)));
        acquires
            .map(|(op, scope)| {
                let after = self.issued(state, cu, op, Stage::Fenced);
                (self.fence(scope, true, own.len()), after)
            })
            .collect()
    }

    /// Scope of the fence that comes before what the L1 does for an operation.
    fn first_fenced(&self, op: Op) -> Option<u8> {
        if let Op::Acquire(scope) = op { self.acquire[usize::from(scope)] } else { None }
    }

    /// Scope of the fence that comes after what the L1 does for an operation.
    fn last_fenced(&self, op: Op) -> Option<u8> {
        if let Op::Release(scope) = op { self.release[usize::from(scope)] } else { None }
    }

    fn answered(&self, state: &mut Memory, cu: usize, form: &Form, m: &[u64]) -> Result<(), String> {
        let seq = form.get(m, "id") as usize;
        let Some(issued) = state.cus[cu].get(seq).filter(|issued| issued.stage == Stage::Asked).copied()
        else {
            return Err(format!("operation {seq} of CU {cu} is answered, but the L1 does not have it"));
        };
        let got = form.get(m, "data") as u32;
        let stage = match issued.op {
            op if self.last_fenced(op).is_some() => Stage::FenceNext,
            _ => Stage::Done,
        };
        let (own, gpms) = (&mut state.cus[cu][seq], self.config.gpms as usize);
        own.stage = stage;
        match issued.op {
            Op::Load(line, _) => judge::load(state, gpms, (cu, seq), line.into(), got),
            Op::Swap(line) => {
                own.got = Some(got);
                judge::swap(state, gpms, (cu, seq), line.into(), got)
            }
            _ => Ok(()),
        }
    }

    fn fenced(&self, state: &mut Memory, cu: usize, form: &Form, m: &[u64]) -> Result<(), String> {
        let seq = form.get(m, "seq") as usize;
        let Some(own) = state.cus[cu].get_mut(seq).filter(|own| own.stage == Stage::Fenced) else {
            return Err(format!(
                "the fence unit is through with operation {seq} of CU {cu}, which it does not have"
            ));
        };
        own.stage = if matches!(own.op, Op::Release(_)) { Stage::Done } else { Stage::L1Next };
        Ok(())
    }

    fn perform(
        &self,
        state: &mut Memory,
        node: usize,
        form: &Form,
        m: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let line = form.get(m, "line");
        let at = self.lines.iter().position(|own| *own == line);
        let at = at.ok_or_else(|| format!("line {line:#x} of memory is asked for, which no CU uses"))?;
        if form.get(m, "write") == 1 {
            state.lines[at] = form.get(m, "data") as u32;
            return Ok(Vec::new());
        }
        let answer = [("id", form.get(m, "id")), ("data", state.lines[at].into())];
        Ok(vec![(node, self.memory.message(&answer))])
    }
}

impl World for Cus {
    type State = Memory;

    fn start(&self) -> Memory {
        Memory { cus: vec![Vec::new(); self.config.nodes() as usize], lines: vec![0; self.lines.len()] }
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        let cus = state.cus.len();
        if port < cus { self.asks(state, port) } else { self.fences(state, port % cus) }
    }

    fn take(
        &self,
        state: &mut Memory,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let (of, cus) = (port % state.cus.len(), state.cus.len());
        match port / cus {
            1 => self.answered(state, of, form, message)?,
            2 => return self.perform(state, of, form, message),
            _ => self.fenced(state, of, form, message)?,
        }
        Ok(Vec::new())
    }

    fn finished(&self, state: &Memory) -> bool {
        state.cus.iter().enumerate().all(|(cu, own)| {
            own.iter().all(|issued| issued.stage == Stage::Done) && self.next_ops(own, cu).is_empty()
        })
    }

    fn check(&self, _: &Memory) -> Result<(), String> {
        Ok(())
    }

    fn story(&self, state: &Memory) -> Vec<String> {
        let mut lines = Vec::new();
        for (cu, own) in state.cus.iter().enumerate() {
            for (seq, issued) in own.iter().enumerate() {
                let end = match (issued.stage, issued.got) {
                    (Stage::Done, Some(got)) => format!("done, found {}", value_text(got)),
                    (Stage::Done, None) => "done".to_string(),
                    (Stage::Asked, _) => "open, at the L1".to_string(),
                    (Stage::FenceNext | Stage::Fenced, _) => "open, at the fence unit".to_string(),
                    (Stage::L1Next, _) => "open, before the L1".to_string(),
                };
                lines.push(format!("CU {cu}, operation {seq}: {}  {end}", issued.op));
            }
        }
        lines
    }

    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        text::message(&self.lines, place, form, message)
    }
}
