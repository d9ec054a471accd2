//! Where a unit's state lives: registers, input slots and memories in one array of 64-bit limbs.

use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::Netlist;

/// Offsets in limbs into a unit's state: registers, counters, input slots, memories, then what native code alone uses.
#[derive(Clone, Debug)]
pub struct Layout {
    /// First limb of each register. The buffered ones come first, in the order in which they were given.
    pub regs: Vec<usize>,
    /// Limbs of the buffered registers: native code stores them in the copy at `copy` and moves them here at the end of the cycle.
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
    /// The limb in which native code collects its flags.
    pub flags: usize,
    /// Limbs in all.
    pub size: usize,
}

impl Layout {
    /// Lays out a netlist's state with these registers buffered.
    pub fn new(netlist: &Netlist, buffered: &[u32]) -> Layout {
        let mut at = 0;
        let mut take = |limbs: usize| {
            at += limbs;
            at - limbs
        };
        let mut regs = vec![usize::MAX; netlist.regs.len()];
        for reg in buffered {
            regs[*reg as usize] = take(limbs_for(netlist.regs[*reg as usize].width));
        }
        let buffered = take(0);
        for (reg, at) in regs.iter_mut().enumerate().filter(|(_, at)| **at == usize::MAX) {
            *at = take(limbs_for(netlist.regs[reg].width));
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
        Layout { regs, buffered, probes, inputs, mems, lane_limbs, copy, flags, size: at }
    }
}
