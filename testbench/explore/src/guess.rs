//! Rules of what is dead, guessed from how a block is described, for families whose blocks are many.
//!
//! - What is named after a register that says whether something is there (`NAME_valid`, `NAME_state`, `NAME`) means nothing if that is zero.
//! - A row of a memory, or a bit of a register, means nothing unless the bit of the same number in some register is set, or a small field of the same cell of a memory
//!   of as many cells (a state) is not zero.
//! - Where a queue begins means nothing; nor do the rows that hold nothing.
//! - What a memory was asked for means nothing unless some valid bit or state says so.
//!
//! Many of these guesses are wrong. As every rule, each is tried at every step ([`crate::block`]); one that is refuted is dropped, and the exploration begins anew: random walks
//! find most of them ([`learn`]), and [`explore`] begins again where one was left.

use crate::block::NONE;
use crate::dead::{Dead, What, When, dead};
use crate::net::{Event, Net, World};
use crate::search::{self, Explored, Limits, Progress, Space, walk};
use std::collections::BTreeMap;
use weft_rtl::netlist::{NetMem, NetReg, Netlist};

/// Widest register or field that is taken for a state.
const STATE_BITS: u32 = 3;
/// Widest register whose bits are taken for the flags of rows.
const MOST_ROWS: u32 = 64;

/// Everything that may be dead in a block of this netlist. What a memory was asked for comes last: where it alone or the rows alone mean nothing, but not both, that is the
/// guess that is dropped.
pub fn guesses(netlist: &Netlist) -> Vec<Dead> {
    let mut list = named_after_others(netlist);
    list.extend(flags(netlist));
    for mem in &netlist.mems {
        list.extend(queue(netlist, mem));
        list.extend(rows(netlist, mem));
        list.extend(by_state(netlist, mem));
    }
    list.extend(asked_rows(netlist));
    list
}

fn regs(name: &str) -> What {
    What::Regs(name.into())
}

fn has(netlist: &Netlist, path: &str) -> bool {
    netlist.regs.iter().any(|reg| reg.path == path)
}

/// Ends of the names of registers that say whether something is there.
const TELLS: [&str; 4] = ["_valid", "_state", "_busy", ""];

/// A register after those with the longest name that it begins with: `NAME`, `NAME_valid`, `NAME_state`.
fn named_after_others(netlist: &Netlist) -> Vec<Dead> {
    let mut list = Vec::new();
    for reg in
        netlist.regs.iter().filter(|reg| !reg.path.ends_with("_valid") && !reg.path.ends_with("_ready"))
    {
        for end in TELLS {
            let stem = |other: &&NetReg| {
                let stem = other.path.strip_suffix(end).filter(|_| other.width <= STATE_BITS);
                stem.is_some_and(|stem| reg.path.strip_prefix(stem).is_some_and(|rest| rest.starts_with('_')))
            };
            let longest = netlist.regs.iter().filter(stem).max_by_key(|other| other.path.len());
            if let Some(other) = longest.filter(|other| other.path != reg.path) {
                list.push(dead(&[regs(&reg.path)], &[When::Some(other.path.clone())]));
                let values = if end == "_state" { 1..1 << other.width } else { 1..1 };
                let without = |value| dead(&[regs(&reg.path)], &[When::Not(other.path.clone(), vec![value])]);
                list.extend(values.map(without));
            }
        }
    }
    list
}

/// Address registers of memories.
fn asked_rows(netlist: &Netlist) -> Vec<Dead> {
    let asked = netlist.regs.iter().filter(|reg| reg.path.ends_with("_addr_q"));
    let tells = |reg: &&NetReg| {
        let named = TELLS[..3].iter().any(|end| reg.path.ends_with(end)) || reg.path.contains("turn");
        named && reg.width <= STATE_BITS && !reg.path.contains("skid")
    };
    let each = |reg: &NetReg| {
        let others = netlist.regs.iter().filter(tells);
        others.map(|other| dead(&[regs(&reg.path)], &[When::Some(other.path.clone())])).collect::<Vec<_>>()
    };
    asked.flat_map(each).collect()
}

/// Parts of the names of registers that say which rows hold something.
const TELLS_ROWS: [&str; 6] = ["valid", "busy", "used", "live", "open", "filled"];

/// Up to the first underscore.
fn family(path: &str) -> &str {
    path.split('_').next().unwrap_or(path)
}

/// Registers of a bit per row that may say which rows hold something that is called `path`.
fn rows_of<'a>(netlist: &'a Netlist, path: &'a str, width: u32) -> impl Iterator<Item = &'a NetReg> {
    let fits = move |reg: &&NetReg| reg.width == width && (2..=MOST_ROWS).contains(&width);
    let related = move |reg: &&NetReg| {
        reg.path != path
            && !reg.path.ends_with("_addr_q")
            && (family(&reg.path) == family(path) || TELLS_ROWS.iter().any(|tell| reg.path.contains(tell)))
    };
    netlist.regs.iter().filter(fits).filter(related)
}

/// Bits of a register by those of another.
fn flags(netlist: &Netlist) -> Vec<Dead> {
    let mut list = Vec::new();
    for reg in &netlist.regs {
        let related = |other: &&NetReg| {
            let tells = TELLS_ROWS.iter().any(|tell| other.path.contains(tell));
            tells && family(&other.path) == family(&reg.path)
        };
        for other in rows_of(netlist, &reg.path, reg.width).filter(related) {
            list.push(dead(&[What::Flags(reg.path.clone())], &[When::Bit(other.path.clone())]));
        }
    }
    list
}

/// Registers `NAME_head` and `NAME_count` of memory `NAME_rows` or `NAME_queue`.
fn queue(netlist: &Netlist, mem: &NetMem) -> Vec<Dead> {
    let name = mem.path.strip_suffix("_rows").or(mem.path.strip_suffix("_queue"));
    let Some(name) = name.filter(|_| mem.lanes == 1) else { return Vec::new() };
    let count = format!("{name}_count");
    if !["head", "count"].iter().all(|end| has(netlist, &format!("{name}_{end}"))) {
        return Vec::new();
    }
    let row = |row: u32| {
        let counts = (row + 1..=mem.rows).map(u64::from).collect();
        dead(&[What::Cell(mem.path.clone(), row)], &[When::Is(count.clone(), counts)])
    };
    [dead(&[What::Ring(name.into())], &[])].into_iter().chain((0..mem.rows).map(row)).collect()
}

/// Rows of a memory by the bits of registers.
fn rows(netlist: &Netlist, mem: &NetMem) -> Vec<Dead> {
    let mut list = Vec::new();
    let cells = mem.rows * mem.lanes;
    for reg in rows_of(netlist, &mem.path, cells) {
        list.push(dead(&[What::Cells(mem.path.clone())], &[When::Bit(reg.path.clone())]));
    }
    if mem.lanes == 1 {
        return list;
    }
    for reg in rows_of(netlist, &mem.path, mem.rows) {
        for cell in 0..cells {
            let row = When::At(reg.path.clone(), cell / mem.lanes);
            list.push(dead(&[What::Cell(mem.path.clone(), cell)], &[row]));
        }
        if let Some(ways) = reg.path.strip_suffix('0')
            && (0..mem.lanes).all(|lane| has(netlist, &format!("{ways}{lane}")))
        {
            list.push(dead(&[What::Cells(mem.path.clone())], &[When::Way(ways.into())]));
        }
    }
    list
}

/// Small fields of a memory: lowest bit and width.
fn fields(mem: &NetMem) -> Vec<(u32, u32)> {
    let mut at = 0;
    let each = mem.fields.iter().map(|(_, bits)| {
        at += bits;
        (at - bits, *bits)
    });
    each.filter(|(lo, bits)| *bits <= STATE_BITS && lo % 64 + bits <= 64).collect()
}

/// Cells of a memory by a small field of their own, or of another memory of the same shape.
fn by_state(netlist: &Netlist, mem: &NetMem) -> Vec<Dead> {
    let mut list = Vec::new();
    let alike = |other: &&NetMem| other.rows * other.lanes == mem.rows * mem.lanes;
    for other in netlist.mems.iter().filter(alike) {
        for (lo, bits) in fields(other) {
            let when = || When::Cell(other.path.clone(), lo, bits, Vec::new());
            if other.path != mem.path {
                list.push(dead(&[What::Cells(mem.path.clone())], &[when()]));
                continue;
            }
            let end = lo + bits;
            let parts = [(0, lo), (end, mem.lane_width - end)];
            for (from, width) in parts.into_iter().filter(|(_, width)| *width > 0) {
                list.push(dead(&[What::Bits(mem.path.clone(), from, width)], &[when()]));
            }
        }
    }
    list
}

/// A space that is a net, and perhaps more.
pub trait OfNet: Space {
    /// The net's world.
    type World: World;
    /// The net.
    fn net(&mut self) -> &mut Net<Self::World>;
    /// What may be dead in a block of this netlist; nothing that is looked at from outside may be called dead for other reasons than it is not looked at then.
    fn guesses(netlist: &Netlist) -> Vec<Dead> {
        guesses(netlist)
    }
    /// Forgets everything that was remembered for speed: states known before mean nothing afterwards.
    fn restart(&mut self) {
        self.net().restart(|_| {});
    }
}

impl<W: World> OfNet for Net<W> {
    type World = W;

    fn net(&mut self) -> &mut Net<W> {
        self
    }
}

/// Lets every block guess, and drops what random walks of at most so many actions refute; returns the guesses dropped.
pub fn learn<S: OfNet>(space: &mut S, walks: u64, actions: usize) -> usize {
    let mut known: BTreeMap<String, Vec<Dead>> = BTreeMap::new();
    let net = space.net();
    for block in &mut net.blocks {
        let design = block.design.clone();
        let guesses =
            known.entry(design.name.clone()).or_insert_with(|| S::guesses(&design.types[0].netlist));
        block.learning = true;
        block.guess(guesses, &mut net.messages);
    }
    for seed in 0..walks {
        space.restart();
        // What goes wrong will be found by the exploration.
        let _ = walk(space, seed, actions);
    }
    space.net().blocks.iter_mut().for_each(|block| block.learning = false);
    space.restart();
    space.net().refuted()
}

/// Random walks by which guesses are tried before an exploration.
const LEARNT: u64 = 150;
/// Most actions of a walk: one that does not end before does not end.
const LONGEST: usize = 20_000;

/// Visits every state of a space, with guesses that random walks have not refuted.
pub fn learn_and_explore(space: &mut impl OfNet, limits: Limits, told: &mut dyn FnMut(Progress)) -> Explored {
    learn(space, LEARNT, LONGEST);
    explore(space, limits, told)
}

/// Walks through a space in random orders, as often as is said; nothing is called dead.
pub fn walks(space: &mut impl OfNet, number: u64) -> Explored {
    let mut found = Explored::default();
    for seed in 0..number {
        space.restart();
        match walk(space, seed, LONGEST) {
            Ok(actions) => {
                found.transitions += actions;
                found.depth = found.depth.max(actions);
                found.finished += 1;
            }
            Err(violation) => {
                found.violation = Some(violation);
                break;
            }
        }
    }
    found
}

/// Kinds of noise with which the way to a violation is tried again.
const DOUBTS: u64 = 64;

/// [`search::explore`], begun anew whenever a guess is refuted; the way to a violation is tried with more
/// noise than others, for what is looked at from outside may rest on a wrong guess.
pub fn explore(space: &mut impl OfNet, limits: Limits, told: &mut dyn FnMut(Progress)) -> Explored {
    loop {
        let before = space.net().refuted();
        let found = search::explore(space, limits, told);
        if let Some(violation) = &found.violation {
            doubt(space.net(), &violation.path);
        }
        if space.net().refuted() == before {
            return found;
        }
        space.restart();
    }
}

/// Tries every step of a way again.
fn doubt<W: World>(net: &mut Net<W>, path: &[u64]) {
    let Ok(mut state) = net.start() else { return };
    for action in path {
        let mut event = Event::default();
        let next = net.act(&state, *action, &mut event);
        let block = &mut net.blocks[event.block];
        let mut given = vec![NONE; block.inputs()];
        event.taken.iter().for_each(|(channel, message)| given[*channel] = *message);
        let ready = event.sent.iter().map(|(channel, _)| 1 << channel).sum();
        block.doubt((state[event.block], &given, ready), DOUBTS, &net.messages);
        let Ok(next) = next else { return };
        state = next;
    }
}

#[cfg(test)]
mod tests;
