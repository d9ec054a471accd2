//! States of a block as they are kept, and what they hold.

use super::{Block, NONE, Shown};
use crate::hash::Numbered;
use weft_rtl::bv::limbs_for;

impl Block {
    /// The number of the buffer's state.
    pub(super) fn remember(&mut self, messages: &mut Numbered) -> u32 {
        if self.learning {
            self.dead.fill(0);
            self.pack_rest();
        } else {
            self.pack();
        }
        let number = self.states.number(&self.packed);
        if number as usize == self.shown.len() {
            let mut ready = 0;
            for (i, input) in self.inputs.iter().enumerate() {
                ready |= u32::from(input.ready.bit(&self.buffer)) << i;
            }
            let offers = self.outputs.iter().map(|output| {
                if !output.valid.bit(&self.buffer) {
                    return NONE;
                }
                messages.number(&output.message(&self.buffer))
            });
            self.shown.push(Shown { ready, offers: offers.collect() });
        }
        number
    }

    /// Packs the buffer's registers and memories, without what is dead: per 64 limbs a word that says which are not zero, then those.
    pub(super) fn pack(&mut self) {
        self.rules.straighten(&mut self.buffer);
        self.rules.mark(&self.buffer, &mut self.dead);
        self.pack_rest();
    }

    pub(super) fn pack_rest(&mut self) {
        self.packed.clear();
        for range in &self.kept {
            let (mut at, end) = (range.start, range.end);
            while at < end {
                let stop = end.min(at + 64);
                let head = self.packed.len();
                self.packed.push(0);
                for i in at..stop {
                    let limb = self.buffer[i] & !self.dead[i];
                    if limb != 0 {
                        self.packed[head] |= 1 << (i - at);
                        self.packed.push(limb);
                    }
                }
                at = stop;
            }
        }
    }

    pub(super) fn unpack(&mut self, state: u32) {
        let packed = self.states.value(state);
        let mut next = 0;
        for range in &self.kept {
            let (mut at, end) = (range.start, range.end);
            while at < end {
                let stop = end.min(at + 64);
                let head = packed[next];
                next += 1;
                for i in at..stop {
                    let there = head >> (i - at) & 1 == 1;
                    self.buffer[i] = if there { packed[next] } else { 0 };
                    next += usize::from(there);
                }
                at = stop;
            }
        }
        let layout = &self.design.types[0].layout;
        self.buffer[layout.probes..][..self.counters.len()].fill(0);
    }

    /// The low 64 bits of a register in a state.
    ///
    /// # Panics
    /// When there is no such register.
    pub fn register(&mut self, state: u32, path: &str) -> u64 {
        let at = self.register_at(path);
        self.unpack(state);
        self.buffer[at]
    }

    /// The first limb of a register.
    pub(super) fn register_at(&self, path: &str) -> usize {
        let ty = &self.design.types[0];
        let number = ty.netlist.regs.iter().position(|reg| reg.path == path);
        ty.layout.regs[number.unwrap_or_else(|| panic!("{} has no register {path}", self.name))]
    }

    /// The low 64 bits of a cell of a memory in a state.
    ///
    /// # Panics
    /// When there is no such memory.
    pub fn cell(&mut self, state: u32, path: &str, cell: u32) -> u64 {
        let ty = &self.design.types[0];
        let number = ty.netlist.mems.iter().position(|mem| mem.path == path);
        let number = number.unwrap_or_else(|| panic!("{} has no memory {path}", self.name));
        let at = ty.layout.mems[number] + cell as usize * ty.layout.lane_limbs[number];
        self.unpack(state);
        self.buffer[at]
    }

    /// Values of all registers in a state: path and limbs.
    pub fn registers(&mut self, state: u32, mut visit: impl FnMut(usize, &[u64])) {
        self.unpack(state);
        let ty = &self.design.types[0];
        for (number, (reg, at)) in ty.netlist.regs.iter().zip(&ty.layout.regs).enumerate() {
            visit(number, &self.buffer[*at..*at + limbs_for(reg.width)]);
        }
    }
}
