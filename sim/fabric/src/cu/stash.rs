//! A CU's side of its stash (`cu-and-consistency.md` section 8, block `stash` of weft-spandex): mappings, and passes of waves.
//!
//! A pass takes at most one word of each bank; as data it is a line of one word per bank. A stash access waits in the load-store unit until its mapping is ready.
//!
//! **Decisions** where the specification is silent: work-group slot `s` has entries 4s..4s+3 of the stash map and the bytes from s times its size on; a store waits for its wave's
//! unanswered stash loads; releases and acquires, of a kernel too, go to the L1 and to the stash, and are done when both have answered.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use weft_blocks::msg::CuOp;
use weft_workload::op::size_mask;
use weft_workload::{LdsAccess, LocalMemory, Mapping, Op, PAGE_BYTES, Values};

use super::dma::transfer;
use super::issue::CounterOf;
use super::mem_op::{MemKind, MemOp, lanes_of};
use super::wave::{PENDING, operand};
use super::{Cu, CuError, CuObserver, LineAccess, Structural};

/// Bytes of a word.
const WORD: u64 = 4;
/// Entries of the stash map that a work-group has.
pub(super) const MAPS: usize = 4;

/// STASH_MAP as the stash gets it; everything in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StashMapping {
    /// Entry of the stash map.
    pub index: u16,
    /// First word of the stash.
    pub base: u32,
    /// First word of the memory, physical.
    pub global: u64,
    /// Words of an element.
    pub element: u32,
    /// Words from one element to the next.
    pub stride: u64,
    /// Elements.
    pub count: u32,
    /// Transaction number.
    pub id: u16,
}

/// A word of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankWord {
    /// Bank.
    pub bank: u8,
    /// Row in it.
    pub row: u16,
    /// Physical byte address of the word that is mapped there.
    pub global: u64,
}

/// What is on its way to the stash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StashOut {
    /// Mappings not yet presented, by their operations.
    maps: VecDeque<u32>,
    /// The mapping presented.
    map: Option<StashMapping>,
    /// Passes, releases and acquires presented, oldest first, by transaction number.
    pub out: VecDeque<u16>,
}

/// The stash access of an operation and the operands that it stores.
fn access_of(op: &Op) -> Option<(&LdsAccess, Option<&Values>)> {
    match op {
        Op::StashLoad { access, .. } => Some((access, None)),
        Op::StashStore { access, values } => Some((access, Some(values))),
        _ => None,
    }
}

impl Cu {
    /// Whether it has a stash.
    pub(super) fn has_stash(&self) -> bool {
        self.params.local == LocalMemory::Stash
    }

    /// A wave executes a stash access: it waits in the load-store unit.
    pub(super) fn issue_stash(&mut self, w: u16, op: Op, now: u64) -> Result<(), CuError> {
        if !self.has_stash() {
            return Err(self.no_local(w, LocalMemory::Stash));
        }
        self.count(&CounterOf::Lds);
        let Some((access, values)) = access_of(&op) else { return Ok(()) };
        self.check_lanes(w, access.size, &access.addrs, access.mask)?;
        let slot = usize::from(self.s.waves[usize::from(w)].block);
        let maps = self.s.blocks[slot].as_ref().map_or(&[][..], |block| &block.maps);
        let mapped = |local: u64| maps.iter().any(|m| m.map.translate(local).is_some());
        let outside = lanes_of(access.mask).map(|lane| access.addrs.at(lane)).find(|local| !mapped(*local));
        let cause = match outside {
            _ if u64::from(access.size) != WORD => {
                Some(format!("{} bytes at once in its stash, expected words of 4 bytes", access.size))
            }
            Some(local) => {
                Some(format!("its stash at {local:#x}, expected an address that a STASH_MAP has mapped"))
            }
            None => None,
        };
        if let Some(cause) = cause {
            return Err(CuError::Stash { who: self.name(w), cause });
        }
        let (mask, load) = (access.mask, values.is_none());
        let values = vec![0; if load { self.lanes as usize } else { 0 }];
        let entry = MemOp { values, todo: mask, open: mask, ..transfer(w, MemKind::Stash, op) };
        let wave = &mut self.s.waves[usize::from(w)];
        match entry.token() {
            Some(token) if mask == 0 => {
                wave.values.set(token, entry.values);
                wave.set_due(token, now + 1);
            }
            token => {
                if let Some(token) = token {
                    wave.set_due(token, PENDING);
                }
                if mask != 0 {
                    self.s.lsu.push(entry, wave);
                }
            }
        }
        Ok(())
    }

    /// A mapping begins with this operation.
    pub(super) fn map_stash(&mut self, op: u32) {
        self.s.stash.maps.push_back(op);
    }

    /// Presents the next mapping.
    ///
    /// # Errors
    /// One that a stash cannot hold.
    pub(super) fn map_tick(&mut self, translate: &dyn Fn(u64) -> u64) -> Result<(), CuError> {
        if !self.map_acts() {
            return Ok(());
        }
        let Some(index) = self.s.stash.maps.pop_front() else { return Ok(()) };
        let op = &self.s.lsu.ops[index as usize];
        let (Op::Map { map, .. }, w) = (op.op.clone(), op.wave) else { return Ok(()) };
        let slot = usize::from(self.s.waves[usize::from(w)].block);
        let physical = contiguous(&map, translate)
            .ok_or_else(|| CuError::Mapping { who: self.name(w), cause: apart(&map) })?;
        let name = self.name(w);
        let Some(block) = self.s.blocks[slot].as_mut() else { return Ok(()) };
        let base = slot as u64 * block.lds.len() as u64;
        let Some(place) = block.maps.iter().position(|known| known.moving == Some(index)) else {
            return Ok(());
        };
        block.maps[place].physical = physical;
        if place >= MAPS {
            let cause = format!(
                "a stash for the {}th time, expected at most {MAPS} mappings of a work-group",
                place + 1
            );
            return Err(CuError::Mapping { who: name, cause });
        }
        let entry = self.s.lsu.flights.passing(CuOp::St);
        entry.access.want_ack = true;
        entry.op = Some(index);
        let id = entry.access.id;
        let op = &mut self.s.lsu.ops[index as usize];
        (op.todo, op.unanswered) = (0, 1);
        let words = |bytes: u64| (bytes / WORD) as u32;
        self.s.stash.map = Some(StashMapping {
            index: (slot * MAPS + place) as u16,
            base: words(base + map.local),
            global: physical / WORD,
            element: words(u64::from(map.element)),
            stride: map.stride / WORD,
            count: map.count,
            id,
        });
        Ok(())
    }

    /// Whether a mapping is presented in the next tick.
    pub(super) fn map_acts(&self) -> bool {
        self.s.stash.map.is_none() && !self.s.stash.maps.is_empty() && self.s.lsu.flights.id_free()
    }

    /// The mapping presented to the stash; unchanged until [`Cu::map_taken`].
    pub fn offer_map(&self) -> Option<&StashMapping> {
        self.s.stash.map.as_ref()
    }

    /// The stash takes the mapping in cycle `now`.
    pub fn map_taken(&mut self, now: u64) {
        self.inspect_change(now);
        if let Some(map) = self.s.stash.map.take() {
            self.s.lsu.flights.pending[usize::from(map.id)].taken = Some(now);
        }
    }

    /// The access presented to the stash, as a line of one word per bank, and the words of its pass; unchanged until [`Cu::stash_taken`].
    #[inline]
    pub fn offer_stash(&self) -> Option<(&LineAccess, &[BankWord])> {
        let id = usize::from(*self.s.stash.out.front()?);
        let entry = &self.s.lsu.flights.pending[id];
        Some((&entry.access, &entry.pass))
    }

    /// Words of a pass that the stash has taken.
    pub fn pass(&self, id: u16) -> &[BankWord] {
        self.s.lsu.flights.pending.get(usize::from(id)).map_or(&[], |entry| &entry.pass)
    }

    /// The stash takes the access in cycle `now`. A store without `want_ack` is complete by this.
    pub fn stash_taken(&mut self, now: u64, _: &mut dyn CuObserver) {
        self.inspect_change(now);
        let Some(id) = self.s.stash.out.pop_front() else { return };
        let entry = &mut self.s.lsu.flights.pending[usize::from(id)];
        entry.taken = Some(now);
        if entry.access.op == CuOp::St && !entry.access.want_ack {
            self.answered(id, self.params.pace.tick(now));
        }
    }

    /// The stash does not take the access presented in cycle `now`, or takes no other in it, because of this.
    pub fn stash_refused(&mut self, now: u64, by: Structural) {
        self.refused_at(now, by, true);
    }

    /// Whether the operation at the head of the load-store unit sends a pass.
    pub(super) fn stash_acts(&self, index: u32) -> bool {
        self.s.stash.out.is_empty() && self.s.lsu.flights.id_free() && !self.pending_map(index)
    }

    /// One tick of the stash operation at the head: the next pass.
    pub(super) fn stash_tick(&mut self, index: u32) {
        if !self.stash_acts(index) {
            return;
        }
        let lsu = &mut self.s.lsu;
        let op = &mut lsu.ops[index as usize];
        let wave = &self.s.waves[usize::from(op.wave)];
        let slot = usize::from(wave.block);
        let Some(block) = &self.s.blocks[slot] else { return };
        let Some((access, values)) = access_of(&op.op) else { return };
        let store = op.kind == MemKind::Stash && values.is_some();
        let (banks, base) = (u64::from(self.params.lds_banks), slot as u64 * block.lds.len() as u64);
        let entry = lsu.flights.passing(if store { CuOp::St } else { CuOp::Ld });
        let mut rows = [u64::MAX; 32];
        let mut lanes = 0;
        for lane in lanes_of(op.todo) {
            let local = access.addrs.at(lane);
            let word = (base + local) / WORD;
            let (bank, row) = ((word % banks) as usize, word / banks);
            if rows[bank] != u64::MAX && rows[bank] != row {
                continue;
            }
            if rows[bank] == u64::MAX {
                rows[bank] = row;
                let mut mapped = block
                    .maps
                    .iter()
                    .filter_map(|m| Some(m.physical + m.map.translate(local)? - m.map.global));
                let global = mapped.next_back().unwrap_or(0);
                entry.pass.push(BankWord { bank: bank as u8, row: row as u16, global });
                entry.access.mask |= 0xf << (4 * bank);
            }
            if let Some(values) = values {
                let value = operand(values, &wave.values, lane) & size_mask(WORD as u8);
                let shift = 32 * (bank % 2);
                let limb = &mut entry.access.data[bank / 2];
                *limb = *limb & !(size_mask(WORD as u8) << shift) | value << shift;
            }
            lanes |= 1 << lane;
        }
        (entry.op, entry.lanes, entry.left) = (Some(index), lanes, entry.access.mask);
        let id = entry.access.id;
        op.todo &= !lanes;
        op.unanswered += 1;
        if op.todo == 0 {
            lsu.queue.pop_front();
        }
        self.s.stash.out.push_back(id);
        self.s.counters.stash_passes += 1;
    }

    /// Gives the lanes of a stash load their values.
    pub(super) fn stash_deliver(&mut self, index: u32, lanes: u64, data: &[u64; 16]) {
        let banks = u64::from(self.params.lds_banks);
        let op = &mut self.s.lsu.ops[index as usize];
        let slot = usize::from(self.s.waves[usize::from(op.wave)].block);
        let base = self.s.blocks[slot].as_ref().map_or(0, |block| slot as u64 * block.lds.len() as u64);
        let Some((access, _)) = access_of(&op.op) else { return };
        for lane in lanes_of(lanes) {
            let bank = ((base + access.addrs.at(lane)) / WORD % banks) as usize;
            op.values[lane as usize] = data[bank / 2] >> (32 * (bank % 2)) & size_mask(WORD as u8);
        }
    }

    /// Whether a stash operation accesses a mapping that is not ready.
    pub(super) fn pending_map(&self, index: u32) -> bool {
        let op = &self.s.lsu.ops[index as usize];
        let slot = usize::from(self.s.waves[usize::from(op.wave)].block);
        let Some(block) = &self.s.blocks[slot] else { return false };
        let mut moving = block.maps.iter().filter(|known| known.moving.is_some());
        let Some((access, _)) = access_of(&op.op) else { return false };
        moving.any(|m| lanes_of(access.mask).any(|lane| m.map.touches(access.addrs.at(lane), WORD)))
    }
}

/// Physical address of a mapping whose pages follow one another in memory.
fn contiguous(map: &Mapping, translate: &dyn Fn(u64) -> u64) -> Option<u64> {
    let first = map.global & !(PAGE_BYTES - 1);
    let last = map.global_of(map.count - 1);
    let at = translate(first);
    let follows = |page: u64| translate(page) == at + (page - first);
    (first..=last).step_by(PAGE_BYTES as usize).all(follows).then(|| at + (map.global - first))
}

fn apart(map: &Mapping) -> String {
    format!(
        "a stash to {:#x} and on, whose pages do not follow one another in memory; expected one memory, with one GPU",
        map.global
    )
}
