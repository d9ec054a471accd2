//! Where a unit's state lives: registers, input slots and memories in one array of 64-bit limbs.

use serde::{Deserialize, Serialize};
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::{NetOp, Netlist};

/// Offsets in limbs into a unit's state: registers, counters, input slots, memories, then what native code
/// alone uses.
#[derive(Clone, Debug)]
pub struct Layout {
    /// First limb of each register. The buffered ones come first; in both parts those that are outputs lie in
    /// the order of the ports, so that a channel's message can be copied as a whole.
    pub regs: Vec<usize>,
    /// Limbs of the buffered registers: native code stores them in the copy at `copy` and moves them here at
    /// the end of the cycle.
    pub buffered: usize,
    /// First limb of the probes' counters, one limb each, right behind the registers.
    pub probes: usize,
    /// First limb of each input slot.
    pub inputs: Vec<usize>,
    /// First limb of each memory; rows are contiguous, each lane padded to whole limbs.
    pub mems: Vec<usize>,
    /// Limbs in a lane of each memory.
    pub lane_limbs: Vec<usize>,
    /// First limb of the copy of the buffered registers; everything before it is the unit's state proper.
    pub copy: usize,
    /// The limb in which the flags of a cycle are collected, and stay until the next one.
    pub flags: usize,
    /// First limb of the values that native code keeps until they are used.
    pub scratch: usize,
    /// What native code has to do.
    pub marks: Marks,
    /// Limbs in all.
    pub size: usize,
}

/// First limbs of the bits that say which pieces of a cycle native code has to run; see [`crate::native`].
#[derive(Clone, Debug)]
pub struct Marks {
    /// Words of 64 bits for one bit per piece.
    pub words: usize,
    /// For each input the bits of [`Marks::heard`] that are set when it changes.
    pub inputs: Vec<u64>,
    /// The limb in which changes of inputs are gathered.
    pub heard: usize,
    /// The same, of the present cycle.
    pub hearing: usize,
    /// Pieces of the present cycle.
    pub now: usize,
    /// Pieces of the next cycle, because something that they read has changed.
    pub next: usize,
    /// Pieces of the next cycle that asked for it themselves.
    pub again: usize,
}

/// What native code needs besides the netlist's own state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Needs {
    /// Registers that are read after the place where they are stored: their new values wait in a copy until
    /// the end of the cycle.
    pub buffered: Vec<u32>,
    /// Limbs for values that wait until they are used.
    pub scratch: usize,
    /// As [`Marks::words`].
    pub words: usize,
    /// As [`Marks::inputs`].
    pub inputs: Vec<u64>,
}

impl Layout {
    /// Lays out a netlist's state.
    pub fn new(netlist: &Netlist, needs: &Needs) -> Layout {
        let buffered = &needs.buffered;
        let mut at = 0;
        let mut take = |limbs: usize| {
            at += limbs;
            at - limbs
        };
        let mut regs = vec![usize::MAX; netlist.regs.len()];
        for reg in in_port_order(netlist, buffered.iter().copied()) {
            regs[reg as usize] = take(limbs_for(netlist.regs[reg as usize].width));
        }
        let buffered = take(0);
        for reg in in_port_order(netlist, 0..netlist.regs.len() as u32) {
            let at = &mut regs[reg as usize];
            if *at == usize::MAX {
                *at = take(limbs_for(netlist.regs[reg as usize].width));
            }
        }
        let probes = take(netlist.probes.len());
        let inputs = netlist.inputs.iter().map(|p| take(limbs_for(p.width))).collect();
        let lane_limbs: Vec<usize> = netlist.mems.iter().map(|m| limbs_for(m.lane_width)).collect();
        let mems = netlist
            .mems
            .iter()
            .zip(&lane_limbs)
            .map(|(m, l)| take(m.rows as usize * m.lanes as usize * l))
            .collect();
        let copy = take(buffered);
        let flags = take(1);
        let scratch = take(needs.scratch);
        let words = needs.words;
        let marks = Marks {
            words,
            inputs: needs.inputs.clone(),
            heard: take(1),
            hearing: take(1),
            now: take(words),
            next: take(words),
            again: take(words),
        };
        Layout { regs, buffered, probes, inputs, mems, lane_limbs, copy, flags, scratch, marks, size: at }
    }
}

impl Layout {
    /// The limb behind the input slots.
    pub fn inputs_end(&self) -> usize {
        self.mems.first().copied().unwrap_or(self.copy)
    }
}

/// Registers, those that are outputs first and in the order of the ports.
fn in_port_order(netlist: &Netlist, regs: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut rank = vec![usize::MAX; netlist.regs.len()];
    for (number, port) in netlist.outputs.iter().enumerate() {
        if let NetOp::Reg(reg) = netlist.node(port.node).op {
            rank[reg as usize] = rank[reg as usize].min(number);
        }
    }
    let mut order: Vec<u32> = regs.collect();
    order.sort_by_key(|reg| (rank[*reg as usize], *reg));
    order
}
