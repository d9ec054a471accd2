//! Mappings of work-groups, and the DMA engine (`cu-and-consistency.md` section 8).
//!
//! The engine asks for one line per tick, transfer after transfer, beside the load-store unit: its requests share the port to the L1 and the L1's MSHRs. A scratchpad
//! access to a mapping under transfer holds the load-store unit, and with it all waves, until the transfer is complete.
//!
//! **Decisions** where the specification is silent: every wave of a work-group executes DMA_IN and DMA_OUT, as all run the same code; the first DMA_IN begins the
//! transfer, the last DMA_OUT does, and its wave ends when it is performed, the work-group with it. A wave's mapping operation waits for its own scratchpad accesses; its
//! barriers do not wait for a transfer, its fences and END do. A transfer that overlaps another one under way in the same local memory waits for it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use weft_blocks::msg::CuOp;
use weft_workload::{Class, LocalMemory, MapKind, Mapping, Op, Scope};

use super::mem_op::{MemKind, MemOp, lanes_of};
use super::{Cu, CuError, lds};

/// A mapping of a resident work-group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mapped {
    pub kind: MapKind,
    pub map: Mapping,
    /// Waves that have executed it.
    pub waves: u32,
    /// Its transfer, while it is under way: index of the operation that began it.
    pub moving: Option<u32>,
    /// Of a stash: physical address of element 0.
    pub physical: u64,
}

/// A transfer whose lines are not all asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Transfer {
    op: u32,
    /// Its next element.
    next: u32,
}

/// State of the engine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Dma {
    queue: VecDeque<Transfer>,
}

/// What local memory a mapping needs.
fn needs(kind: MapKind) -> LocalMemory {
    match kind {
        MapKind::DmaIn | MapKind::DmaOut => LocalMemory::Dma,
        MapKind::Stash => LocalMemory::Stash,
    }
}

impl Cu {
    /// A wave needs a local memory that the compute unit has not.
    pub(super) fn no_local(&self, w: u16, needs: LocalMemory) -> CuError {
        CuError::NoLocal { who: self.name(w), needs: needs.word(), has: self.params.local.word() }
    }

    /// A wave executes a mapping; a transfer may begin.
    pub(super) fn issue_map(&mut self, w: u16, kind: MapKind, map: Mapping) -> Result<(), CuError> {
        if !self.params.local.serves(needs(kind)) {
            return Err(self.no_local(w, needs(kind)));
        }
        let slot = usize::from(self.s.waves[usize::from(w)].block);
        let end = self.s.blocks[slot].as_ref().map_or(0, |b| b.lds.len() as u64);
        if let Some(cause) = map.fault(end) {
            return Err(CuError::Mapping { who: self.name(w), cause });
        }
        let Some(block) = self.s.blocks[slot].as_mut() else { return Ok(()) };
        let place = block.maps.iter().position(|known| known.kind == kind && known.map == map);
        let place = place.unwrap_or_else(|| {
            block.maps.push(Mapped { kind, map, waves: 0, moving: None, physical: 0 });
            block.maps.len() - 1
        });
        let known = &mut block.maps[place];
        known.waves += 1;
        let begins = match kind {
            MapKind::DmaIn => known.waves == 1,
            MapKind::DmaOut => known.waves as usize == block.waves.len(),
            MapKind::Stash => known.waves == 1,
        };
        if begins {
            let op = self
                .s
                .lsu
                .enter(transfer(w, MemKind::Dma, Op::Map { kind, map }), &mut self.s.waves[usize::from(w)]);
            known.moving = Some(op);
            if kind == MapKind::Stash {
                self.map_stash(op);
            } else {
                self.s.dma.queue.push_back(Transfer { op, next: 0 });
            }
        }
        Ok(())
    }

    /// A work-group has ended: all of its waves must have executed each DMA_OUT.
    pub(super) fn unmapped(maps: &[Mapped], waves: usize) -> Option<String> {
        let part =
            maps.iter().find(|known| known.kind == MapKind::DmaOut && known.waves as usize != waves)?;
        Some(format!(
            "a DMA_OUT in {} of its {waves} waves, expected it in each before the work-group ends",
            part.waves
        ))
    }

    /// Whether the scratchpad operation at the head of the load-store unit accesses a mapping under transfer.
    pub(super) fn pending_dma(&self, index: u32) -> bool {
        let op = &self.s.lsu.ops[index as usize];
        let slot = usize::from(self.s.waves[usize::from(op.wave)].block);
        let Some(block) = &self.s.blocks[slot] else { return false };
        let mut moving = block.maps.iter().filter(|known| known.moving.is_some());
        let Some((access, _)) = lds::access_of(&op.op) else { return false };
        let size = u64::from(access.size);
        moving.any(|m| lanes_of(access.mask).any(|lane| m.map.touches(access.addrs.at(lane), size)))
    }

    /// The transfer whose line the engine asks for in this tick, if it can.
    fn next_transfer(&self) -> Option<Transfer> {
        let first = *self.s.dma.queue.front()?;
        let flights = &self.s.lsu.flights;
        if flights.engine || !flights.id_free() {
            return None;
        }
        let op = &self.s.lsu.ops[first.op as usize];
        let (Op::Map { map, .. }, slot) = (&op.op, self.s.waves[usize::from(op.wave)].block) else {
            return None;
        };
        let block = self.s.blocks[usize::from(slot)].as_ref()?;
        // All of whose lines are asked for.
        let older = |m: &&Mapped| {
            m.moving.is_some_and(|op| self.s.dma.queue.iter().all(|transfer| transfer.op != op))
        };
        let mut older = block.maps.iter().filter(older);
        (!older.any(|m| m.map.touches(map.local, map.bytes()))).then_some(first)
    }

    /// Whether the engine asks for a line in the next tick.
    pub(super) fn dma_acts(&self) -> bool {
        self.next_transfer().is_some()
    }

    /// One tick of the engine: the next line of the oldest transfer.
    pub(super) fn dma_tick(&mut self, translate: &dyn Fn(u64) -> u64) {
        let Some(Transfer { op: index, next }) = self.next_transfer() else { return };
        let lsu = &mut self.s.lsu;
        let op = &mut lsu.ops[index as usize];
        let Op::Map { kind, map } = op.op else { return };
        let slot = usize::from(self.s.waves[usize::from(op.wave)].block);
        let Some(block) = &self.s.blocks[slot] else { return };
        let out = kind == MapKind::DmaOut;
        let line = u64::from(self.params.line);
        let entry = lsu.flights.present(if out { CuOp::St } else { CuOp::Ld });
        let (base, end) = elements(&map, next, line, |offset, local| {
            entry.access.mask |= ((1u128 << map.element) - 1) << offset;
            if out {
                lds::copy_out(&block.lds, local, &mut entry.access.data, offset, map.element);
            }
        });
        entry.access.line = translate(base) / line;
        (entry.access.dma, entry.access.want_ack) = (true, out);
        (entry.op, entry.lanes, entry.left) = (Some(index), u64::from(next), entry.access.mask);
        lsu.flights.engine = true;
        op.unanswered += 1;
        self.s.counters.dma_lines += 1;
        if end < map.count {
            self.s.dma.queue[0].next = end;
        } else {
            op.todo = 0;
            self.s.dma.queue.pop_front();
        }
    }

    /// A line of a transfer to the local memory has come; `first` is its first element.
    pub(super) fn dma_deliver(&mut self, index: u32, first: u32, data: &[u64; 16]) {
        let op = &self.s.lsu.ops[index as usize];
        let Op::Map { map, .. } = op.op else { return };
        let slot = usize::from(self.s.waves[usize::from(op.wave)].block);
        let Some(block) = self.s.blocks[slot].as_mut() else { return };
        elements(&map, first, u64::from(self.params.line), |offset, local| {
            lds::copy_in(&mut block.lds, local, data, offset, map.element);
        });
    }

    /// A transfer is complete.
    pub(super) fn transferred(&mut self, index: u32, w: u16) {
        let slot = usize::from(self.s.waves[usize::from(w)].block);
        let Some(block) = self.s.blocks[slot].as_mut() else { return };
        block.maps.iter_mut().filter(|m| m.moving == Some(index)).for_each(|m| m.moving = None);
    }
}

/// An operation beside the L1's port, from its begin to its end.
pub(super) fn transfer(wave: u16, kind: MemKind, op: Op) -> MemOp {
    MemOp {
        wave,
        kind,
        op,
        class: Class::D,
        todo: 1,
        open: 1,
        unanswered: 0,
        low: u64::MAX,
        high: 0,
        values: Vec::new(),
        scope: Scope::Cu,
        number: 0,
        src: 0,
        merged: false,
        blame: 0,
    }
}

/// Calls `each` with place in the line and local address of the elements from `first` on that lie in one line; the line's address, and the first element beyond.
fn elements(map: &Mapping, first: u32, line: u64, mut each: impl FnMut(u64, u64)) -> (u64, u32) {
    let base = map.global_of(first) & !(line - 1);
    let mut index = first;
    while index < map.count && map.global_of(index) & !(line - 1) == base {
        each(map.global_of(index) - base, map.local_of(index));
        index += 1;
    }
    (base, index)
}
