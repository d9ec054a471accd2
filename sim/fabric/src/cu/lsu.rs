//! The load-store unit: operations in order, grouped by line, at most `lsu_rate` line accesses per tick (section 1).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use weft_blocks::msg::CuOp;
use weft_workload::op::size_mask;
use weft_workload::{Access, AmoKind, Class, Op, Scope, Sem};

use super::mem_op::{MemKind, MemOp, global, lanes_of};
use super::port::{IDS, LineAccess, amo_op};
use super::stash::BankWord;
use super::wave::{Wave, operand, paired_sem, sent_scope};
use super::{Atomics, Cu, CuMode, lds};

/// An access between the load-store unit and its answer; index = transaction number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    /// Index of the operation; `None` for kernel begin and end.
    pub op: Option<u32>,
    /// Lanes served.
    pub lanes: u64,
    pub access: LineAccess,
    /// Words of a pass.
    pub pass: Vec<BankWord>,
    /// The stash gets it.
    pub stash: bool,
    /// Bytes not answered.
    pub left: u128,
    /// Bytes of the parts answered so far.
    pub got: [u64; 16],
    /// Tick of acceptance by the L1; `None` before, and while the number is unused.
    pub taken: Option<u64>,
}

/// Accesses from the load-store unit to their answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Flights {
    pub pending: Vec<Pending>,
    pub free_ids: Vec<u16>,
    /// Accesses presented to the L1, oldest first; at most `lsu_rate` of the load-store unit, and one of the DMA engine.
    pub out: VecDeque<u16>,
    /// The DMA engine's is among them.
    pub engine: bool,
}

/// State of the load-store unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Lsu {
    /// Operations whose accesses are not all sent.
    pub queue: VecDeque<u32>,
    pub ops: Vec<MemOp>,
    pub free_ops: Vec<u32>,
    pub flights: Flights,
    /// Last tick in which the scratchpad operation at the head holds the unit, once it has begun.
    pub lds_end: Option<u64>,
    /// Issue slot that may fill the unit first.
    pub first_slot: usize,
}

impl Flights {
    /// Takes a fresh transaction number for an access that is presented to the L1 next. The caller has seen that one is
    /// free, and fills in the rest.
    pub fn present(&mut self, op: CuOp) -> &mut Pending {
        let at = self.open(op);
        self.out.push_back(at);
        &mut self.pending[usize::from(at)]
    }

    /// The same for an access to the stash.
    pub fn passing(&mut self, op: CuOp) -> &mut Pending {
        let at = usize::from(self.open(op));
        self.pending[at].stash = true;
        &mut self.pending[at]
    }

    fn open(&mut self, op: CuOp) -> u16 {
        let id = self.free_ids.pop().unwrap_or(self.pending.len() as u16);
        let at = usize::from(id);
        if at == self.pending.len() {
            let access = LineAccess::bare(op);
            let (pass, got) = (Vec::new(), [0; 16]);
            self.pending.push(Pending {
                op: None,
                lanes: 0,
                access,
                pass,
                stash: false,
                left: 0,
                got,
                taken: None,
            });
        }
        let entry = &mut self.pending[at];
        (entry.op, entry.lanes, entry.left, entry.taken) = (None, 0, 0, None);
        (entry.stash, entry.access) = (false, LineAccess { id, ..LineAccess::bare(op) });
        entry.pass.clear();
        id
    }

    /// Whether a transaction number is free.
    pub fn id_free(&self) -> bool {
        !self.free_ids.is_empty() || self.pending.len() < IDS
    }

    /// Accesses of the load-store unit presented to the L1.
    pub fn untaken(&self) -> usize {
        self.out.len() - usize::from(self.engine)
    }

    /// Transaction numbers in use.
    pub fn in_use(&self) -> usize {
        self.pending.len() - self.free_ids.len()
    }
}

impl Lsu {
    /// Adds an operation to the queue and to its wave.
    pub fn push(&mut self, op: MemOp, wave: &mut Wave) {
        let index = self.enter(op, wave);
        self.queue.push_back(index);
    }

    /// Adds an operation to its wave; its index.
    pub fn enter(&mut self, mut op: MemOp, wave: &mut Wave) -> u32 {
        op.number = wave.pushed;
        wave.pushed = wave.pushed.wrapping_add(1);
        let index = match self.free_ops.pop() {
            Some(index) => {
                self.ops[index as usize] = op;
                index
            }
            None => {
                self.ops.push(op);
                self.ops.len() as u32 - 1
            }
        };
        let op = &self.ops[index as usize];
        wave.writes += u32::from(matches!(op.kind, MemKind::Store | MemKind::Amo));
        wave.unpaired += u32::from(op.class == Class::U);
        wave.ops.push(index);
        index
    }

    /// Whether the operation at the head can make a line access.
    pub fn can_send(&self, index: u32, wave: &Wave, rate: u32, wave_mem: u32) -> bool {
        let op = &self.ops[index as usize];
        self.flights.untaken() < rate as usize
            && wave.in_flight < wave_mem
            && self.flights.id_free()
            && !op.waits_for_own_lane()
    }
}

impl MemOp {
    /// Lanes of one atomic on one word go one after the other, each after the answer of the one before.
    fn waits_for_own_lane(&self) -> bool {
        let sent = self.open & !self.todo;
        if self.kind != MemKind::Amo || sent == 0 || self.commutes() {
            return false;
        }
        let Op::Amo { access, .. } = &self.op else { return false };
        let addr = access.addrs.at(self.todo.trailing_zeros());
        lanes_of(sent).any(|lane| access.addrs.at(lane) == addr)
    }

    /// Operation at the L1 port.
    fn port_op(&self) -> CuOp {
        match self.kind {
            MemKind::Release => CuOp::Rel,
            MemKind::Acquire => CuOp::Acq,
            MemKind::Load => CuOp::Ld,
            MemKind::Store => CuOp::St,
            MemKind::Amo | MemKind::Lds | MemKind::Dma | MemKind::Stash => CuOp::Amo,
        }
    }

    /// Fills in the next line access; its lanes, and the virtual byte address of its line.
    fn next_access(&self, wave: &Wave, line: u64, mode: &CuMode, out: &mut LineAccess) -> (u64, u64) {
        let Some((access, values)) = global(&self.op) else {
            let sem = if self.kind == MemKind::Release { Sem::Release } else { Sem::Acquire };
            (out.sem, out.scope, out.want_ack) = (sem as u8, self.scope as u8, true);
            return (self.todo, 0);
        };
        self.attributes(access, mode, out);
        let base = access.addrs.at(self.todo.trailing_zeros()) & !(line - 1);
        let single = match self.kind {
            MemKind::Amo => !mode.wide_amo || out.amo == amo_op(AmoKind::Cas),
            _ => self.class != Class::D && mode.atomics == Atomics::Word,
        };
        let (keep, word) = (size_mask(access.size), (1u128 << access.size) - 1);
        let (mut lanes, mut legal) = (0, u128::MAX);
        for lane in lanes_of(self.todo) {
            let offset = access.addrs.at(lane).wrapping_sub(base);
            if offset >= line {
                continue;
            }
            let bytes = word << offset;
            if legal & bytes == 0 || (self.kind == MemKind::Amo && out.mask & bytes != 0) {
                continue;
            }
            out.mask |= bytes;
            if let Some(values) = values {
                let (at, shift) = ((offset / 8) as usize, 8 * (offset % 8));
                let value = operand(values, &wave.values, lane) & keep;
                out.data[at] = out.data[at] & !(keep << shift) | value << shift;
            }
            lanes |= 1 << lane;
            if single {
                legal = bytes;
            }
        }
        (lanes, base)
    }

    fn attributes(&self, access: &Access, mode: &CuMode, out: &mut LineAccess) {
        out.class = self.class as u8;
        out.sync = self.class == Class::P;
        // Data has no scope: it may be found in any copy.
        let scope = if self.class == Class::D { Scope::Cu } else { sent_scope(mode, access.scope) };
        out.scope = scope as u8;
        out.remote = access.remote;
        out.region = access.read_only;
        out.hint = access.hint;
        let own = match self.kind {
            MemKind::Load => Sem::Acquire,
            MemKind::Store => Sem::Release,
            _ => Sem::AcquireRelease,
        };
        if out.sync {
            out.sem = paired_sem(access, own) as u8;
        }
        // An L1 that knows atomic accesses answers every one.
        let atomic = mode.atomics != Atomics::Data && self.class != Class::D;
        let performed = out.sync || atomic || mode.model == super::Model::Sc;
        out.want_ack = self.kind == MemKind::Store && (performed || mode.acks);
        if let Op::Amo { kind, signed, compare, .. } = &self.op {
            (out.amo, out.sgn, out.cmp) = (amo_op(*kind), *signed, *compare & size_mask(access.size));
        }
    }
}

impl Cu {
    /// One tick of the load-store unit.
    pub(super) fn lsu_tick(
        &mut self,
        now: u64,
        translate: &dyn Fn(u64) -> u64,
    ) -> Result<(), super::CuError> {
        for sent in 0..self.params.lsu_rate {
            let Some(&index) = self.s.lsu.queue.front() else { break };
            if self.s.lsu.ops[index as usize].kind == MemKind::Lds {
                if sent == 0 {
                    self.lds_tick(index, now)?;
                }
                break;
            }
            if self.s.lsu.ops[index as usize].kind == MemKind::Stash {
                if sent == 0 {
                    self.stash_tick(index);
                }
                break;
            }
            let wave = &self.s.waves[usize::from(self.s.lsu.ops[index as usize].wave)];
            if !self.s.lsu.can_send(index, wave, self.params.lsu_rate, self.params.wave_mem) {
                break;
            }
            self.send(index, translate);
        }
        Ok(())
    }

    fn send(&mut self, index: u32, translate: &dyn Fn(u64) -> u64) {
        let (line, mode) = (u64::from(self.params.line), self.mode);
        let stash = self.has_stash();
        let lsu = &mut self.s.lsu;
        let op = &mut lsu.ops[index as usize];
        let wave = &mut self.s.waves[usize::from(op.wave)];
        let entry = lsu.flights.present(op.port_op());
        let (lanes, base) = op.next_access(wave, line, &mode, &mut entry.access);
        (entry.op, entry.lanes, entry.left) = (Some(index), lanes, entry.access.mask);
        if entry.left != 0 {
            entry.access.line = translate(base) / line;
        }
        op.todo &= !lanes;
        op.unanswered += 1;
        wave.in_flight += 1;
        // What orders memory is for the stash, too.
        if stash && matches!(op.kind, MemKind::Release | MemKind::Acquire) {
            let (sem, scope, op_at) = (entry.access.sem, entry.access.scope, Some(index));
            let other = lsu.flights.passing(op.port_op());
            (other.access.sem, other.access.scope, other.access.want_ack) = (sem, scope, true);
            other.op = op_at;
            self.s.stash.out.push_back(other.access.id);
            op.unanswered += 1;
            wave.in_flight += 1;
        }
        if op.todo == 0 {
            lsu.queue.pop_front();
        }
        let counters = &mut self.s.counters;
        match op.kind {
            MemKind::Load => counters.load_lines += 1,
            MemKind::Store => counters.store_lines += 1,
            MemKind::Amo => counters.amo_lines += 1,
            MemKind::Release | MemKind::Acquire | MemKind::Lds | MemKind::Dma | MemKind::Stash => {}
        }
    }

    /// One tick of the scratchpad operation at the head: contents change in its first, its place is free after its last.
    fn lds_tick(&mut self, index: u32, now: u64) -> Result<(), super::CuError> {
        if self.pending_dma(index) {
            return Ok(());
        }
        let lsu = &mut self.s.lsu;
        let end = match lsu.lds_end {
            Some(end) => end,
            None => {
                let op = &mut lsu.ops[index as usize];
                let wave = &mut self.s.waves[usize::from(op.wave)];
                let mut passes = 1;
                if let (Some((access, _)), Some(block)) =
                    (lds::access_of(&op.op), self.s.blocks[usize::from(wave.block)].as_mut())
                {
                    passes = lds::passes(access, self.params.lds_banks, matches!(op.op, Op::LdsAmo { .. }));
                    lds::perform(&mut block.lds, &op.op, &wave.values, &mut op.values);
                }
                self.s.counters.lds_passes += passes;
                let end = now + passes - 1;
                self.s.lsu.lds_end = Some(end);
                end
            }
        };
        if now < end {
            return Ok(());
        }
        self.s.lsu.lds_end = None;
        self.s.lsu.queue.pop_front();
        self.complete(index, now + 1)
    }
}
