//! What a piece of a cycle costs: its test in every cycle, and its work in those in which something that it reads
//! has changed. Registers that are stored under one condition and inputs of one channel change together.

use weft_rtl::netlist::*;

/// Chance that a cause of change comes in a cycle.
const CHANCE: f64 = 0.06;
/// Work of the test before a piece.
const GATE: f64 = 3.0;
/// Work that entering a piece costs: the test goes the rarer way.
const ENTER: f64 = 4.0;

/// Something that changes at a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A register that is stored always.
    Reg(u32),
    /// The registers stored by this choice.
    Choice(NetId),
    /// An input outside channels, or the `valid` of a channel.
    Input(u32),
    Mem(u32),
    /// By its number.
    Hoisted(u32),
}

impl Cause {
    /// What makes a register change.
    pub fn of_reg(netlist: &Netlist, reg: u32) -> Cause {
        match &netlist.node(netlist.regs[reg as usize].next).op {
            NetOp::Mux(choice, ..) | NetOp::Case { sel: choice, .. } => Cause::Choice(*choice),
            _ => Cause::Reg(reg),
        }
    }
}

/// Work expected per cycle of a piece with so much work and so many causes.
pub fn expected(work: u32, causes: usize) -> f64 {
    let chance = 1.0 - (1.0 - CHANCE).powi(causes as i32);
    GATE + chance * (f64::from(work) + ENTER)
}

/// For each input the `valid` of its channel, or itself.
pub fn channels(netlist: &Netlist) -> Vec<u32> {
    let valids: Vec<(u32, &str)> = netlist
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(number, port)| Some((number as u32, port.name.strip_suffix("_valid")?)))
        .collect();
    let channel = |(number, port): (usize, &NetPort)| {
        let mine = |name: &str| port.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        valids.iter().rev().find(|(_, name)| mine(name)).map_or(number as u32, |(valid, _)| *valid)
    };
    netlist.inputs.iter().enumerate().map(channel).collect()
}
