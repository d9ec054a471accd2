//! A block of hardware as a graph of states, made as far as it is asked for.
//!
//! A state is the content of all registers and memories without what is dead ([`crate::dead`]). A step is one clock cycle with given messages on its receiving channels.
//! Steps are remembered: however many states a network has, the hardware is clocked once for each state of a block and each input.

mod noise;
mod states;

use crate::dead::{Dead, Rules};
use crate::form::Form;
use crate::hash::{HashedMap, Numbered, hash_numbers};
use noise::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use weft_engine::{Design, EngineError, Options, Probes, Sim};
use weft_rtl::ir::{Module, ProbeKind};
use weft_rtl::netlist::NetOp;

/// No message.
pub const NONE: u32 = u32::MAX;

/// What a step from a state leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Another state, or the same.
    To(u32),
    /// Something that must not happen: see [`Block::wrong`].
    Wrong(u32),
}

struct Input {
    name: String,
    form: Rc<Form>,
    valid: usize,
    leaves: Vec<usize>,
    ready: Shows,
}

struct Output {
    name: String,
    form: Rc<Form>,
    valid: Shows,
    leaves: Vec<Shows>,
    ready: usize,
}

impl Output {
    /// The message that it offers.
    fn message(&self, limbs: &[u64]) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.form.words);
        for (leaf, at) in self.form.leaves.iter().zip(&self.leaves) {
            words.extend_from_slice(at.words(limbs, leaf.words()));
        }
        self.form.clean(&mut words);
        words
    }
}

/// What an output shows.
enum Shows {
    /// A register: its first limb.
    Register(usize),
    /// Always the same.
    Always(Vec<u64>),
}

impl Shows {
    /// The first so many words.
    fn words<'a>(&'a self, limbs: &'a [u64], words: usize) -> &'a [u64] {
        match self {
            Shows::Register(at) => &limbs[*at..*at + words],
            Shows::Always(value) => &value[..words],
        }
    }
    fn bit(&self, limbs: &[u64]) -> bool {
        self.words(limbs, 1)[0] & 1 == 1
    }
}

/// What a state shows.
struct Shown {
    /// One bit per receiving channel.
    ready: u32,
    /// The message that each sending channel offers.
    offers: Box<[u32]>,
}

/// A block.
pub struct Block {
    /// Its name in the network.
    pub name: String,
    /// The design, for names and widths.
    pub design: Arc<Design>,
    sim: Sim,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    rules: Rules,
    rising: Vec<(String, Vec<usize>)>,
    /// Registers and memories: the limbs that are state.
    kept: Vec<std::ops::Range<usize>>,
    states: Numbered,
    shown: Vec<Shown>,
    asked: HashedMap<u32>,
    steps: HashedMap<Step>,
    wrongs: Vec<String>,
    counters: Vec<u64>,
    /// The state being worked on, with input slots; its dead bits.
    buffer: Vec<u64>,
    dead: Vec<u64>,
    packed: Vec<u64>,
    expected: Vec<u64>,
    start: u32,
    /// The first state with what is dead.
    origin: Vec<u64>,
    /// Every step is also made from a state with noise in what is dead.
    pub noise: bool,
    /// Wrong rules are only noted in `unsound`: to find all of them in one run.
    pub lenient: bool,
    /// Rules found wrong.
    pub unsound: BTreeSet<String>,
    /// Nothing is called dead; guesses are only tried.
    pub learning: bool,
    /// Guesses found wrong, which hold no longer; the block has to forget its states then.
    pub refuted: usize,
    /// Cycles clocked.
    pub clocked: u64,
}

impl Block {
    /// Compiles a block's module, once for all blocks of it.
    ///
    /// # Errors
    /// A module that cannot be compiled.
    pub fn compile(module: &Arc<Module>) -> Result<Arc<Design>, EngineError> {
        Design::new(module, Options { probes: Probes::All, sleep: false, ..Options::default() })
    }

    /// A block alone, still without channels.
    ///
    /// # Panics
    /// When the design is no block, or a rule names something that is not there.
    pub fn new(name: &str, design: &Arc<Design>, rules: &[Dead]) -> Block {
        let design = design.clone();
        assert_eq!(design.units.len(), 1, "{} is one block", design.name);
        let sim = Sim::new(&design);
        let ty = &design.types[0];
        let (netlist, layout) = (&ty.netlist, &ty.layout);
        let rules = Rules::new(rules, netlist, layout);
        let mems = layout.mems.iter().copied().min().unwrap_or(layout.copy);
        let kept = vec![0..layout.probes, mems..layout.copy];
        Block {
            name: name.to_string(),
            rules,
            kept,
            buffer: sim.state(0).to_vec(),
            dead: vec![0; sim.state(0).len()],
            counters: vec![0; netlist.probes.len()],
            sim,
            inputs: Vec::new(),
            outputs: Vec::new(),
            rising: Vec::new(),
            states: Numbered::default(),
            shown: Vec::new(),
            asked: HashedMap::default(),
            steps: HashedMap::default(),
            wrongs: Vec::new(),
            packed: Vec::new(),
            expected: Vec::new(),
            start: 0,
            origin: Vec::new(),
            noise: true,
            lenient: false,
            unsound: BTreeSet::new(),
            learning: false,
            refuted: 0,
            clocked: 0,
            design,
        }
    }

    fn input_at(&self, name: &str) -> usize {
        let ty = &self.design.types[0];
        let number = ty.netlist.inputs.iter().position(|port| port.name == name);
        ty.layout.inputs[number.unwrap_or_else(|| panic!("{} has no input {name}", self.name))]
    }

    fn output_at(&self, name: &str) -> Shows {
        let ty = &self.design.types[0];
        let port = ty.netlist.outputs.iter().find(|port| port.name == name);
        let port = port.unwrap_or_else(|| panic!("{} has no output {name}", self.name));
        match &ty.netlist.node(port.node).op {
            NetOp::Reg(reg) => Shows::Register(ty.layout.regs[*reg as usize]),
            NetOp::Const(value) => Shows::Always(value.limbs().to_vec()),
            _ => panic!("output {name} of {} is no register", self.name),
        }
    }

    /// There is a channel of this name, whichever way it leads.
    pub fn has(&self, channel: &str) -> bool {
        let netlist = &self.design.types[0].netlist;
        let valid = format!("{channel}_valid");
        netlist.inputs.iter().chain(&netlist.outputs).any(|port| port.name == valid)
    }

    /// Drives an input that is no channel, for good.
    pub fn tie(&mut self, name: &str, value: u64) {
        let at = self.input_at(name);
        self.buffer[at] = value;
    }

    /// Adds a receiving channel; returns its number.
    pub fn input(&mut self, name: &str, form: &Rc<Form>) -> usize {
        let leaf = |leaf: &crate::form::FormLeaf| self.input_at(&joined(name, &leaf.name));
        let input = Input {
            name: name.to_string(),
            valid: self.input_at(&format!("{name}_valid")),
            leaves: form.leaves.iter().map(leaf).collect(),
            ready: self.output_at(&format!("{name}_ready")),
            form: form.clone(),
        };
        self.inputs.push(input);
        self.inputs.len() - 1
    }

    /// Adds a sending channel; returns its number. Leaves that are no ports of the channel are outputs of their own.
    pub fn output(&mut self, name: &str, form: &Rc<Form>) -> usize {
        let outputs = &self.design.types[0].netlist.outputs;
        let leaf = |leaf: &crate::form::FormLeaf| {
            let own = joined(name, &leaf.name);
            let there = outputs.iter().any(|port| port.name == own);
            self.output_at(if there { &own } else { &leaf.name })
        };
        let output = Output {
            name: name.to_string(),
            valid: self.output_at(&format!("{name}_valid")),
            leaves: form.leaves.iter().map(leaf).collect(),
            ready: self.input_at(&format!("{name}_ready")),
            form: form.clone(),
        };
        self.outputs.push(output);
        self.outputs.len() - 1
    }

    /// Demands that registers, the most significant first, never decrease as one number.
    ///
    /// # Panics
    /// When there is no such register, or one is wider than 64 bits.
    pub fn rises(&mut self, what: &str, registers: &[&str]) {
        let ty = &self.design.types[0];
        let at = |name: &&str| {
            let number = ty.netlist.regs.iter().position(|reg| reg.path == **name);
            let number = number.unwrap_or_else(|| panic!("{} has no register {name}", self.name));
            assert!(ty.netlist.regs[number].width <= 64, "{name} is too wide");
            ty.layout.regs[number]
        };
        let registers = registers.iter().map(at).collect();
        self.rising.push((what.to_string(), registers));
    }

    /// Finds the first state; called once all channels are there. That is the one after reset, at rest, in which `poke` may change memories.
    ///
    /// # Panics
    /// When the block never comes to rest.
    pub fn begin(&mut self, messages: &mut Numbered, poke: impl Fn(&mut Sim)) -> u32 {
        let state = self.remember(messages);
        let rest = self.settle(state, messages);
        self.unpack(rest);
        self.sim.put_state(0, &self.buffer);
        poke(&mut self.sim);
        self.buffer.copy_from_slice(self.sim.state(0));
        self.begin_here(messages);
        self.start
    }

    /// Begins anew, in the state of rest to which other values of some registers lead; called when the block has begun.
    ///
    /// # Panics
    /// When there is no such register, or the block never comes to rest.
    pub fn begin_with(&mut self, registers: &[(&str, u64)], messages: &mut Numbered) {
        self.unpack(self.start);
        for (path, value) in registers {
            let at = self.register_at(path);
            self.buffer[at] = *value;
        }
        self.begin_here(messages);
    }

    /// The first state is the one in which the buffer's comes to rest.
    fn begin_here(&mut self, messages: &mut Numbered) {
        let state = self.remember(messages);
        self.start = self.settle(state, messages);
        self.unpack(self.start);
        self.origin = self.buffer.clone();
    }

    /// Takes further rules that may turn out to be wrong ([`crate::guess`]); called when the block has begun. States known before mean nothing afterwards.
    ///
    /// # Panics
    /// When a rule names something that is not there.
    pub fn guess(&mut self, guesses: &[Dead], messages: &mut Numbered) {
        let ty = &self.design.types[0];
        self.rules.guess(guesses, &ty.netlist, &ty.layout);
        self.forget(messages);
    }

    fn settle(&mut self, from: u32, messages: &mut Numbered) -> u32 {
        let (mut state, nothing) = (from, vec![NONE; self.inputs.len()]);
        for _ in 0..100_000 {
            match self.step(state, &nothing, 0, messages) {
                Step::To(next) if next == state => return state,
                Step::To(next) => state = next,
                Step::Wrong(wrong) => panic!("{} fails after reset: {}", self.name, self.wrong(wrong)),
            }
        }
        panic!("{} does not come to rest after reset", self.name)
    }

    /// The state after reset.
    pub fn start(&self) -> u32 {
        self.start
    }
    /// Receiving channels.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }
    /// Sending channels.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }
    /// Name and form of a receiving channel.
    pub fn input_info(&self, channel: usize) -> (&str, &Form) {
        (&self.inputs[channel].name, &self.inputs[channel].form)
    }
    /// Name and form of a sending channel.
    pub fn output_info(&self, channel: usize) -> (&str, &Form) {
        (&self.outputs[channel].name, &self.outputs[channel].form)
    }
    /// Whether a receiving channel takes a message in a state.
    pub fn is_ready(&self, state: u32, channel: usize) -> bool {
        self.shown[state as usize].ready >> channel & 1 == 1
    }
    /// The message that a sending channel offers in a state, or [`NONE`].
    pub fn offer(&self, state: u32, channel: usize) -> u32 {
        self.shown[state as usize].offers[channel]
    }
    /// States met.
    pub fn states(&self) -> usize {
        self.states.len()
    }
    /// Steps made.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
    /// What was wrong with a step.
    pub fn wrong(&self, number: u32) -> &str {
        &self.wrongs[number as usize]
    }
    /// Observers by name with the number of distinct steps in which each was seen; of counters what they counted.
    pub fn seen(&self) -> BTreeMap<String, (ProbeKind, u64)> {
        let probes = &self.design.types[0].netlist.probes;
        let mut out = BTreeMap::new();
        for (probe, count) in probes.iter().zip(&self.counters) {
            out.entry(probe.name.clone()).or_insert((probe.kind, 0)).1 += count;
        }
        out
    }

    /// One clock cycle from a state with these messages on the receiving channels ([`NONE`]: none); `ready`: sending channels whose message is taken.
    pub fn step(&mut self, state: u32, given: &[u32], ready: u32, messages: &mut Numbered) -> Step {
        let mut key = [NONE; 18];
        key[0] = ready;
        key[1..=given.len()].copy_from_slice(given);
        let next = self.asked.len() as u32;
        let asked = *self.asked.entry(hash_numbers(&key[..=given.len()])).or_insert(next);
        let key = u128::from(state) | u128::from(asked) << 32;
        let key = key ^ u128::from((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 64;
        let key = key ^ (key >> 64);
        if let Some(step) = self.steps.get(&key) {
            return *step;
        }
        let step = self.clock(state, given, ready, messages);
        self.steps.insert(key, step);
        step
    }

    /// Forgets all states but the first, and all steps; for long random walks.
    pub fn forget(&mut self, messages: &mut Numbered) {
        self.buffer.copy_from_slice(&self.origin);
        self.states = Numbered::default();
        self.shown.clear();
        self.asked.clear();
        self.steps.clear();
        self.start = self.remember(messages);
    }

    fn clock(&mut self, state: u32, given: &[u32], ready: u32, messages: &mut Numbered) -> Step {
        self.unpack(state);
        let before: Vec<Vec<u64>> =
            self.rising.iter().map(|(_, regs)| regs.iter().map(|at| self.buffer[*at]).collect()).collect();
        let start = self.noise.then(|| self.buffer.clone());
        self.present(given, ready, messages);
        let failure = self.run();
        self.count();
        if let Some(text) = failure {
            return self.fails(text);
        }
        for (number, before) in before.iter().enumerate() {
            let (what, regs) = &self.rising[number];
            let after: Vec<u64> = regs.iter().map(|at| self.buffer[*at]).collect();
            if after < *before {
                let text = format!("{what} goes back from {before:?} to {after:?}");
                return self.fails(text);
            }
        }
        let after = start.as_ref().map(|_| self.buffer.clone());
        let next = self.remember(messages);
        match (start, after) {
            (Some(start), Some(after)) => {
                let trial = Trial { start: &start, given, ready, after: &after };
                self.confirm(&trial, next, messages)
            }
            _ => Step::To(next),
        }
    }

    fn fails(&mut self, text: String) -> Step {
        let number = self.wrongs.iter().position(|wrong| *wrong == text);
        let number = number.unwrap_or_else(|| {
            self.wrongs.push(text);
            self.wrongs.len() - 1
        });
        Step::Wrong(number as u32)
    }

    fn present(&mut self, given: &[u32], ready: u32, messages: &Numbered) {
        for (input, message) in self.inputs.iter().zip(given) {
            self.buffer[input.valid] = u64::from(*message != NONE);
            if *message == NONE {
                continue;
            }
            let words = messages.value(*message);
            for (leaf, at) in input.form.leaves.iter().zip(&input.leaves) {
                self.buffer[*at..*at + leaf.words()].copy_from_slice(&words[leaf.at..leaf.at + leaf.words()]);
            }
        }
        for (number, output) in self.outputs.iter().enumerate() {
            self.buffer[output.ready] = u64::from(ready >> number & 1);
        }
    }

    /// Clocks the buffer's state; the first assertion that fails.
    fn run(&mut self) -> Option<String> {
        self.clocked += 1;
        self.sim.put_state(0, &self.buffer);
        self.sim.step();
        self.buffer.copy_from_slice(self.sim.state(0));
        self.sim
            .failures()
            .first()
            .map(|f| format!("assertion {} does not hold: {} ({})", f.name, f.text, f.at))
    }

    /// Moves the observers' counts out of the buffer.
    fn count(&mut self) {
        let layout = &self.design.types[0].layout;
        let counts = &mut self.buffer[layout.probes..][..self.counters.len()];
        for (sum, count) in self.counters.iter_mut().zip(counts) {
            *sum += std::mem::take(count);
        }
    }
}

/// Port of a leaf of a channel.
fn joined(channel: &str, leaf: &str) -> String {
    if leaf.is_empty() { channel.to_string() } else { format!("{channel}_{leaf}") }
}

#[cfg(test)]
mod tests;
