//! Where a unit's state lives: registers, input slots and memories in one array of 64-bit limbs.

use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::Netlist;

/// Offsets in limbs into a unit's state.
#[derive(Clone, Debug)]
pub struct Layout {
    /// First limb of each register.
    pub regs: Vec<usize>,
    /// First limb of each input slot.
    pub inputs: Vec<usize>,
    /// First limb of each memory; rows are contiguous, each lane padded to whole limbs.
    pub mems: Vec<usize>,
    /// Limbs in a lane of each memory.
    pub lane_limbs: Vec<usize>,
    /// First limb of the probes' counters, one limb each.
    pub probes: usize,
    /// Limbs in all.
    pub size: usize,
}

impl Layout {
    /// Lays out a netlist's state: inputs and registers first, memories last.
    pub fn new(netlist: &Netlist) -> Layout {
        let mut at = 0;
        let mut take = |limbs: usize| {
            at += limbs;
            at - limbs
        };
        let inputs = netlist.inputs.iter().map(|p| take(limbs_for(p.width))).collect();
        let regs = netlist.regs.iter().map(|r| take(limbs_for(r.width))).collect();
        let probes = take(netlist.probes.len());
        let lane_limbs: Vec<usize> = netlist.mems.iter().map(|m| limbs_for(m.lane_width)).collect();
        let mems = netlist
            .mems
            .iter()
            .zip(&lane_limbs)
            .map(|(m, l)| take(m.rows as usize * m.lanes as usize * l))
            .collect();
        Layout { regs, inputs, mems, lane_limbs, probes, size: at }
    }
}
