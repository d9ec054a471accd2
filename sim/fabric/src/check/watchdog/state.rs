//! What a block holds while it waits: states of its machines, entries in use, lines of open misses.

use weft_engine::Sim;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::LeafType;
use weft_rtl::netlist::{NetReg, Netlist};

/// Most open misses named per block.
const NAMED: usize = 8;

/// Sets of entries in use, with the memory that holds their lines (lowest bits of each row), and what an entry is; empty: what other registers say.
const FILES: [(&str, &str, &str); 7] = [
    ("mshr_valid", "mshr_line", ""),
    ("miss_busy", "miss_info", "miss"),
    ("mshr_used", "mshrs", "miss"),
    ("pool_used", "pool", "waiting request"),
    ("home_used", "homes", "request of another node"),
    ("writeback_used", "writebacks", "return to its home"),
    ("pending_used", "pending", "transaction"),
];

/// One sentence on a unit; `None` if it holds nothing.
pub(super) fn describe(sim: &Sim, unit: usize, line: u64) -> Option<String> {
    let design = sim.design();
    let ty = &design.types[design.units[unit].ty];
    let value = |number: usize| {
        let (at, width) = (ty.layout.regs[number], ty.netlist.regs[number].width);
        Bv::from_limbs(&sim.state(unit)[at..][..limbs_for(width)], width)
    };
    let mut parts = Vec::new();
    for (number, reg) in ty.netlist.regs.iter().enumerate() {
        parts.extend(part(reg, &value(number)));
    }
    for (valid, memory, what) in FILES {
        let Some(number) = ty.netlist.regs.iter().position(|r| r.path == valid) else { continue };
        parts.extend(misses(sim, unit, &ty.netlist, (memory, what), &value(number), line));
    }
    let path = if design.units[unit].path.is_empty() { "the block" } else { &design.units[unit].path };
    (!parts.is_empty()).then(|| format!("{path}: {}", parts.join(", ")))
}

/// A register worth naming: a state that is not the one after reset, a set of entries in use, a counter of what is awaited, credits used up.
fn part(reg: &NetReg, value: &Bv) -> Option<String> {
    let name = &reg.path;
    let reset = reg.reset.as_ref().map_or(0, Bv::low_u64);
    if let LeafType::Enum(e) = &reg.ty {
        let is_state = name == "state" || name.ends_with("_state");
        let known = e.variants.iter().find(|(_, code)| *code == value.low_u64())?;
        return (is_state && value.low_u64() != reset).then(|| format!("{name} = {}", known.0));
    }
    if name.starts_with("credits_") && value.is_zero() {
        return Some(format!("no {} credit", &name["credits_".len()..]));
    }
    let is_set = reg.width > 1
        && (name.ends_with("_valid")
            || name.ends_with("_busy")
            || name.starts_with("to_")
            || name.ends_with("_left"));
    if is_set && !value.is_zero() {
        let used: u32 = value.limbs().iter().map(|l| l.count_ones()).sum();
        return Some(format!("{name}: {used} of {}", reg.width));
    }
    let counts = ["wr_out", "st_out", "unanswered", "acks"];
    let is_count = reg.width > 1 && (name.ends_with("_count") || counts.iter().any(|c| name.starts_with(c)));
    (is_count && !value.is_zero()).then(|| format!("{name} = {}", value.low_u64()))
}

/// Lines of open misses, or of what else an entry is.
fn misses(
    sim: &Sim,
    unit: usize,
    netlist: &Netlist,
    (memory, what): (&str, &str),
    valid: &Bv,
    line: u64,
) -> Option<String> {
    let path = &sim.design().units[unit].path;
    let name = if path.is_empty() { memory.to_string() } else { format!("{path}.{memory}") };
    let kind = |what: &str| {
        let full = if path.is_empty() { what.to_string() } else { format!("{path}.{what}") };
        sim.peek(&full).unwrap_or(Bv::zero(valid.width()))
    };
    let (read, atom) = (kind("mshr_read"), kind("mshr_atom"));
    // The line number fills the row, or is its lowest part, as wide as in the requests that come.
    let lane = netlist.mems.iter().find(|m| m.path == memory)?.lane_width;
    let asked = netlist.inputs.iter().find(|port| port.name.ends_with("req_line")).map(|port| port.width);
    let width = if what.is_empty() { lane } else { asked?.min(lane) };
    let open: Vec<u32> = (0..valid.width()).filter(|i| valid.bit(*i)).collect();
    let one = |i: &u32| {
        let row = sim.peek_mem(&name, *i, 0).map_or(0, |row| row.slice(0, width).low_u64());
        let kind = match (read.bit(*i), atom.bit(*i)) {
            _ if !what.is_empty() => what,
            (true, _) => "remote read",
            (_, true) => "remote atomic",
            _ => "fetch from memory",
        };
        format!("{kind} of {:#x}", row * line)
    };
    let mut names: Vec<String> = open.iter().take(NAMED).map(one).collect();
    if open.len() > NAMED {
        names.push(format!("{} more", open.len() - NAMED));
    }
    (!names.is_empty()).then(|| format!("open: {}", names.join(", ")))
}
