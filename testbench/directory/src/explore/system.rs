//! A net with what must hold of its caches: no copy is older than what was released, and no two L2s own a line.

use super::judge;
use super::world::Cus;
use std::collections::HashMap;
use std::rc::Rc;
use weft_explore::dead::{Dead, What, When, dead};
use weft_explore::guess::{self, OfNet};
use weft_explore::net::{Event, Net};
use weft_explore::report::Told;
use weft_explore::search::Space;
use weft_rtl::netlist::Netlist;

/// States of a copy that answers for its line, and of one beside which there is no other (`weft_blocks::cache::owned`); in banks with owners.
const OWNED: [u64; 3] = [2, 3, 4];
const ALONE: [u64; 2] = [3, 4];

/// Memories of a bank: its tags, the state of each above it, and its lines.
const TAGS: &str = "tags";
const DATA: &str = "data";

/// What is looked at in a system's banks.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub sets: u32,
    pub ways: u32,
    pub tag_bits: u32,
    /// Lines have owners.
    pub owners: bool,
    /// A release leaves no older copy in any L2.
    pub clears: bool,
}

/// A line in a bank.
#[derive(Clone, Copy)]
struct Held {
    /// By its place in the configuration.
    line: usize,
    /// 0 would be none.
    state: u64,
    value: u32,
}

/// A system.
pub struct System {
    /// Its blocks and links.
    pub net: Net<Cus>,
    shape: Shape,
    /// The banks, and the fence units with their channel `done`, by node.
    banks: Vec<usize>,
    fences: Vec<(usize, usize)>,
    /// What the states of each bank hold.
    held: Vec<HashMap<u32, Rc<[Held]>>>,
}

impl System {
    /// A net with its banks, and its fence units with their channel `done`, by node.
    pub(super) fn new(net: Net<Cus>, shape: Shape, banks: Vec<usize>, fences: Vec<(usize, usize)>) -> System {
        let held = vec![HashMap::new(); banks.len()];
        System { net, shape, banks, fences, held }
    }

    fn held(&mut self, state: &[u32], node: usize) -> Rc<[Held]> {
        let (block, shape) = (self.banks[node], self.shape);
        let at = state[block];
        if let Some(known) = self.held[node].get(&at) {
            return known.clone();
        }
        let lines: Vec<u64> = self.net.world().lines().to_vec();
        let own = &mut self.net.blocks[block];
        let index = shape.sets.trailing_zeros();
        let mut all = Vec::new();
        for cell in 0..shape.sets * shape.ways {
            let tag = own.cell(at, TAGS, cell);
            let (state, tag) = (tag >> shape.tag_bits, tag & ((1 << shape.tag_bits) - 1));
            let number = tag << index | u64::from(cell / shape.ways);
            if let Some(line) = lines.iter().position(|line| *line == number).filter(|_| state != 0) {
                all.push(Held { line, state, value: own.cell(at, DATA, cell) as u32 });
            }
        }
        let all: Rc<[Held]> = all.into();
        self.held[node].insert(at, all.clone());
        all
    }

    /// A fence is complete: no L2 has a copy that is older than what has been released.
    fn check_copies(&mut self, state: &[u32]) -> Result<(), String> {
        let gpms = self.net.world().config().gpms as usize;
        for node in 0..self.banks.len() {
            for held in self.held(state, node).iter() {
                let name = &self.net.blocks[self.banks[node]].name;
                judge::copy(self.net.world_of(state), gpms, node, held.line, held.value)
                    .map_err(|text| format!("a fence is complete, but {name} {text}"))?;
            }
        }
        Ok(())
    }

    /// Of a line one L2 has it alone, or one answers for it.
    fn check_owners(&mut self, state: &[u32]) -> Result<(), String> {
        let mut all = Vec::new();
        for node in 0..self.banks.len() {
            all.extend(self.held(state, node).iter().map(|held| (node, *held)));
        }
        for (node, one) in &all {
            let others = || all.iter().filter(|(other, held)| other != node && held.line == one.line);
            let alone = ALONE.contains(&one.state) && others().next().is_some();
            let twice = OWNED.contains(&one.state) && others().any(|(_, held)| OWNED.contains(&held.state));
            if alone || twice {
                let names = ["I", "S", "O", "E", "M"];
                let each = all.iter().filter(|(_, held)| held.line == one.line);
                let text: Vec<String> = each
                    .map(|(node, held)| {
                        format!("node {node} in {}", names.get(held.state as usize).unwrap_or(&"?"))
                    })
                    .collect();
                return Err(format!("the L2s have one line together: {}", text.join(", ")));
            }
        }
        Ok(())
    }
}

impl OfNet for System {
    type World = Cus;

    fn net(&mut self) -> &mut Net<Cus> {
        &mut self.net
    }

    /// Copies in banks are looked at: they mean something unless their state says that there is none.
    fn guesses(netlist: &Netlist) -> Vec<Dead> {
        let mut list = guess::guesses(netlist);
        let memory = |name: &str| netlist.mems.iter().find(|mem| mem.path == name);
        let (Some(tags), Some(_)) = (memory(TAGS), memory(DATA)) else { return list };
        let looked_at = |what: &What| match what {
            What::Cells(name) | What::Cell(name, _) | What::Bits(name, ..) | What::Part(name, ..) => {
                name == TAGS || name == DATA
            }
            _ => false,
        };
        list.retain(|rule| !rule.what.iter().any(looked_at));
        let lo = tags.lane_width - tags.fields.last().map_or(0, |(_, bits)| *bits);
        let there = When::Cell(TAGS.into(), lo, tags.lane_width - lo, Vec::new());
        let stage =
            |name: &str| netlist.regs.iter().any(|reg| reg.path == name).then(|| When::Some(name.into()));
        let unless: Vec<When> =
            [there].into_iter().chain(["s1_valid", "s2_valid"].map(stage).into_iter().flatten()).collect();
        list.push(dead(&[What::Cells(DATA.into()), What::Bits(TAGS.into(), 0, lo)], &unless));
        list
    }

    fn restart(&mut self) {
        self.net.restart(|_| {});
        self.held.iter_mut().for_each(HashMap::clear);
    }
}

impl Told for System {
    fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String> {
        let next = self.net.act(state, action, event)?;
        let fenced = event.sent.iter().any(|sent| self.fences.contains(&(event.block, sent.0)));
        if fenced && self.shape.clears {
            self.check_copies(&next)?;
        }
        let changed = self.banks.contains(&event.block) && state[event.block] != next[event.block];
        if changed && self.shape.owners {
            self.check_owners(&next)?;
        }
        Ok(next)
    }

    fn tell(&self, event: &Event) -> Vec<String> {
        self.net.tell(event)
    }

    fn story(&self, state: &[u32]) -> Vec<String> {
        self.net.story(state)
    }
}

impl Space for System {
    fn start(&mut self) -> Result<Box<[u32]>, String> {
        self.net.start()
    }

    fn actions(&mut self, state: &[u32], out: &mut Vec<u64>) {
        self.net.actions(state, out);
    }

    fn next(&mut self, state: &[u32], action: u64) -> Result<Box<[u32]>, String> {
        self.act(state, action, &mut Event::default())
    }

    fn finished(&self, state: &[u32]) -> bool {
        self.net.finished(state)
    }
}
