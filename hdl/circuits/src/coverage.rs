//! What has occurred in circuits: operations by width, and the rest of the language by name.

use std::collections::BTreeMap;
use std::fmt;
use weft_rtl::ir::*;

/// Classes of widths in bits: the widest of each.
const CLASSES: [u32; 8] = [1, 31, 32, 63, 64, 127, 128, 200];

/// Operations, by the width of their first operand, or of their value where they have none.
const OPERATIONS: [&str; 25] = [
    "constant",
    "signal",
    "not",
    "and",
    "or",
    "xor",
    "add",
    "sub",
    "mul",
    "equal",
    "less",
    "shift left",
    "shift right",
    "mux",
    "join",
    "slice",
    "element",
    "any bit",
    "all bits",
    "parity",
    "count",
    "lowest",
    "output of a part",
    "read of a fixed lane",
    "read of a chosen lane",
];

/// What has no width, or one that does not matter.
const REST: [&str; 36] = [
    "block",
    "part",
    "fabric",
    "part in a part",
    "part placed twice",
    "wire with a default",
    "wire driven on all paths",
    "register, reset to 0",
    "register, reset to another value",
    "register of an enumeration",
    "register of a truth value",
    "output without a register",
    "receiving channel",
    "sending channel",
    "named value",
    "when",
    "otherwise",
    "switch",
    "switch on more than 64 bits",
    "arm of several values",
    "default arm",
    "three levels of choices",
    "SRAM",
    "SRAM of two read ports",
    "register file",
    "memory of one row",
    "memory of rows no power of two",
    "memory of several lanes",
    "memory of lanes over 64 bits",
    "memory of bundles",
    "port that writes rows",
    "port that writes lanes",
    "two write ports",
    "assertion",
    "cover point, with the line that it is about",
    "counter",
];

/// Counts of what has occurred in circuits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    circuits: u64,
    operations: BTreeMap<&'static str, [u64; CLASSES.len()]>,
    rest: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Adds a circuit with all of its parts.
    pub fn add(&mut self, module: &Module) {
        self.circuits += 1;
        self.module(module);
    }

    /// Adds what has occurred in other circuits.
    pub fn join(&mut self, other: &Coverage) {
        self.circuits += other.circuits;
        for (name, counts) in &other.operations {
            let sums = self.operations.entry(name).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        other.rest.iter().for_each(|(name, count)| *self.rest.entry(name).or_default() += count);
    }

    /// What has not occurred, each in a few words.
    pub fn missing(&self) -> Vec<String> {
        let rest = REST.iter().filter(|name| !self.rest.contains_key(*name)).map(ToString::to_string);
        let cells = OPERATIONS.iter().flat_map(|name| {
            let counts = self.operations.get(name).copied().unwrap_or_default();
            let none = counts.into_iter().zip(CLASSES).filter(|(count, _)| *count == 0);
            none.map(move |(_, class)| format!("{name} of at most {class} bits"))
        });
        rest.chain(cells).collect()
    }

    fn note(&mut self, what: &'static str, holds: bool) {
        if holds {
            *self.rest.entry(what).or_default() += 1;
        }
    }

    fn module(&mut self, module: &Module) {
        self.note("block", module.kind == ModuleKind::Block);
        self.note("part", module.kind == ModuleKind::Part);
        self.note("fabric", module.kind == ModuleKind::Fabric);
        self.note("part in a part", module.kind == ModuleKind::Part && !module.instances.is_empty());
        for node in &module.nodes {
            self.note("named value", node.name.is_some());
            let (name, of) = operation(&node.op);
            let width = of.map_or(node.width, |operand| module.node(operand).width);
            let class = CLASSES.iter().position(|most| width <= *most).unwrap_or(CLASSES.len() - 1);
            self.operations.entry(name).or_default()[class] += 1;
        }
        module.signals.iter().for_each(|signal| self.signal(module, signal));
        self.statements(&module.body, module, 1);
        module.mems.iter().for_each(|mem| self.memory(mem));
        for probe in &module.probes {
            self.note("assertion", probe.kind == ProbeKind::Assert);
            let about = probe.kind == ProbeKind::Cover && probe.about.is_some();
            self.note("cover point, with the line that it is about", about);
            self.note("counter", probe.kind == ProbeKind::Count);
        }
        for (at, placed) in module.instances.iter().enumerate() {
            let twice = module.instances[..at].iter().any(|other| other.module.name == placed.module.name);
            self.note("part placed twice", twice);
            self.module(&placed.module);
        }
    }

    fn signal(&mut self, module: &Module, signal: &Signal) {
        self.note("receiving channel", signal.name.ends_with("_take"));
        self.note("sending channel", signal.output && signal.name.ends_with("_valid"));
        match &signal.kind {
            SigKind::Input => {}
            SigKind::Wire { default } => {
                let block = module.kind == ModuleKind::Block;
                self.note("wire with a default", default.is_some());
                self.note("wire driven on all paths", default.is_none() && block && !signal.output);
                self.note("output without a register", signal.output && module.kind == ModuleKind::Part);
            }
            SigKind::Reg { reset, .. } => {
                let zero = reset.as_ref().is_some_and(|value| value.is_zero());
                self.note("register, reset to 0", zero);
                self.note("register, reset to another value", reset.is_some() && !zero);
                self.note("register of an enumeration", matches!(signal.ty, LeafType::Enum(_)));
                self.note("register of a truth value", signal.ty == LeafType::Bool);
            }
        }
    }

    fn statements(&mut self, body: &[Stmt], module: &Module, level: u32) {
        self.note("three levels of choices", level == 4 && !body.is_empty());
        for stmt in body {
            match stmt {
                Stmt::Assign { .. } => {}
                Stmt::If { then, els, .. } => {
                    self.note("when", true);
                    self.note("otherwise", !els.is_empty());
                    self.statements(then, module, level + 1);
                    self.statements(els, module, level + 1);
                }
                Stmt::Switch { sel, arms, default, .. } => {
                    self.note("switch", true);
                    self.note("switch on more than 64 bits", module.node(*sel).width > 64);
                    self.note("default arm", !default.is_empty());
                    for (values, arm) in arms {
                        self.note("arm of several values", values.len() > 1);
                        self.statements(arm, module, level + 1);
                    }
                    self.statements(default, module, level + 1);
                }
            }
        }
    }

    fn memory(&mut self, mem: &Mem) {
        self.note("SRAM", mem.kind == MemKind::Sram);
        self.note("SRAM of two read ports", mem.read_ports.len() > 1);
        self.note("register file", mem.kind == MemKind::RegFile);
        self.note("memory of one row", mem.rows == 1);
        self.note("memory of rows no power of two", !mem.rows.is_power_of_two());
        self.note("memory of several lanes", mem.lanes > 1);
        self.note("memory of lanes over 64 bits", mem.lane_width() > 64);
        self.note("memory of bundles", mem.leaves.len() > 1);
        self.note("two write ports", mem.write_ports.len() > 1);
        for port in &mem.write_ports {
            self.note("port that writes rows", matches!(port.mode, WriteMode::Row { .. }));
            self.note("port that writes lanes", matches!(port.mode, WriteMode::Lane { .. }));
        }
    }
}

/// An operation's name, and its first operand.
fn operation(op: &Op) -> (&'static str, Option<NodeId>) {
    match op {
        Op::Const(_) => ("constant", None),
        Op::Sig(_) => ("signal", None),
        Op::Not(a) => ("not", Some(*a)),
        Op::And(a, _) => ("and", Some(*a)),
        Op::Or(a, _) => ("or", Some(*a)),
        Op::Xor(a, _) => ("xor", Some(*a)),
        Op::Add(a, _) => ("add", Some(*a)),
        Op::Sub(a, _) => ("sub", Some(*a)),
        Op::Mul(a, _) => ("mul", Some(*a)),
        Op::Eq(a, _) => ("equal", Some(*a)),
        Op::Lt(a, _) => ("less", Some(*a)),
        Op::Shl(a, _) => ("shift left", Some(*a)),
        Op::Shr(a, _) => ("shift right", Some(*a)),
        Op::Mux(_, a, _) => ("mux", Some(*a)),
        Op::Concat(_) => ("join", None),
        Op::Slice { a, .. } => ("slice", Some(*a)),
        Op::Index { a, .. } => ("element", Some(*a)),
        Op::AnyBit(a) => ("any bit", Some(*a)),
        Op::AllBits(a) => ("all bits", Some(*a)),
        Op::Parity(a) => ("parity", Some(*a)),
        Op::PopCount(a) => ("count", Some(*a)),
        Op::LowestSet(a) => ("lowest", Some(*a)),
        Op::InstOut { .. } => ("output of a part", None),
        Op::MemRead { lane: LaneSel::Dyn(_), .. } => ("read of a chosen lane", None),
        Op::MemRead { .. } => ("read of a fixed lane", None),
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22}", format!("{} circuits", self.circuits))?;
        let mut least = 1;
        for most in CLASSES {
            let class = if least == most { most.to_string() } else { format!("{least}..{most}") };
            write!(f, "{class:>10}")?;
            least = most + 1;
        }
        writeln!(f, "  bits")?;
        for name in OPERATIONS {
            write!(f, "{name:<22}")?;
            for count in self.operations.get(name).copied().unwrap_or_default() {
                write!(f, "{count:>10}")?;
            }
            writeln!(f)?;
        }
        for name in REST {
            let count = self.rest.get(name).copied().unwrap_or_default();
            writeln!(f, "{name:<44}{count:>10}")?;
        }
        Ok(())
    }
}
