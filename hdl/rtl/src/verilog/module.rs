//! A module's file, from head to `endmodule`.

use super::enums::Enums;
use super::expr::{Exprs, Function};
use super::logic::{Body, Wiring};
use super::memory;
use super::names::identifier;
use super::plan::{Plan, sources};
use super::reduce::Reduced;
use super::text::{push_comment, push_line, range, zero};
use crate::ir::*;
use std::collections::{BTreeSet, HashSet};

/// The text of a module under a name; `children` are the names of its instances' modules.
pub(super) fn text(module: &Module, name: &str, children: &[String]) -> String {
    let reduced = Reduced::of(module);
    let sources = sources(module, &reduced.body);
    let plan = Plan::of(&reduced, &sources);
    let wiring = Wiring::of(&reduced, &plan, &sources);
    let mut exprs = Exprs::new(&reduced, &plan);
    exprs.write(false);
    let mut file = File { module, reduced: &reduced, plan: &plan, wiring: &wiring, exprs: &mut exprs };
    file.write(name, children)
}

struct File<'x, 'a, 'm> {
    module: &'m Module,
    reduced: &'a Reduced<'m>,
    plan: &'a Plan,
    wiring: &'x Wiring,
    exprs: &'x mut Exprs<'a, 'm>,
}

impl File<'_, '_, '_> {
    fn write(&mut self, name: &str, children: &[String]) -> String {
        // Everything below the declarations is written first: it decides which constants and names are used.
        let mut lower = String::new();
        self.instances(&mut lower, children);
        let values = std::mem::take(&mut self.exprs.lines);
        let mut logic = String::new();
        self.wires(&mut logic);
        self.registers(&mut logic);
        self.memories(&mut logic);
        let unread = self.unread(&lower);
        let mut out = String::new();
        self.head(&mut out, name);
        self.exprs.enums.declare(&mut out, false);
        self.declarations(&mut out);
        self.functions(&mut out);
        out.push_str(&lower);
        if !values.is_empty() {
            push_line(&mut out, 0, "");
            values.iter().for_each(|line| push_line(&mut out, 4, line));
        }
        out.push_str(&logic);
        if !unread.is_empty() {
            push_line(&mut out, 0, "");
            push_comment(&mut out, 4, "Bits that this module does not read.");
            let name = self.exprs.names.claim("_unused_ok");
            push_line(&mut out, 4, &format!("wire {name} = &{{1'b0, {}}};", unread.join(", ")));
        }
        self.formal(&mut out);
        out.push_str("endmodule\n`default_nettype wire\n");
        out
    }

    fn head(&self, out: &mut String, name: &str) {
        let module = self.module;
        push_comment(out, 0, name);
        if !module.doc.is_empty() {
            push_line(out, 0, "//");
            push_comment(out, 0, &module.doc);
        }
        if !module.params.is_empty() {
            push_line(out, 0, "//");
            let params: Vec<String> = module.params.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            push_comment(out, 0, &format!("Parameters: {}.", params.join(", ")));
        }
        out.push_str("`default_nettype none\n");
        push_line(out, 0, &format!("module {name} ("));
        let groups: HashSet<SigId> = self.wiring.groups.iter().flatten().copied().collect();
        let mut ports =
            vec![("input  wire ".to_string(), "clk", ""), ("input  wire ".to_string(), "rst", "")];
        for (id, signal) in module.ports() {
            let direction = match (&signal.kind, groups.contains(&id)) {
                (SigKind::Input, _) => "input  wire ",
                (SigKind::Reg { .. }, _) | (_, true) => "output reg  ",
                _ => "output wire ",
            };
            ports.push((format!("{direction}{}", range(signal.width)), &signal.name, &signal.doc));
        }
        let widest = ports.iter().map(|p| p.0.len()).max().unwrap_or(0);
        let last = ports.len() - 1;
        for (i, (kind, port, doc)) in ports.iter().enumerate() {
            let comma = if i == last { "" } else { "," };
            let note = if doc.is_empty() { String::new() } else { format!("  // {doc}") };
            push_line(out, 4, &format!("{kind:widest$}{port}{comma}{note}"));
        }
        push_line(out, 0, ");");
    }

    fn declarations(&mut self, out: &mut String) {
        let module = self.module;
        let groups: BTreeSet<SigId> = self.wiring.groups.iter().flatten().copied().collect();
        let mut registers = Vec::new();
        let mut wires = Vec::new();
        for (i, signal) in module.signals.iter().enumerate() {
            if signal.output || signal.kind == SigKind::Input || !self.plan.signals[i] {
                continue;
            }
            let note = if signal.doc.is_empty() { String::new() } else { format!("  // {}", signal.doc) };
            let is_reg = matches!(signal.kind, SigKind::Reg { .. });
            let kind = if is_reg || groups.contains(&SigId(i as u32)) { "reg " } else { "wire" };
            let line = format!("{kind} {}{};{note}", range(signal.width), signal.name);
            if is_reg { registers.push(line) } else { wires.push(line) }
        }
        for (i, inst) in module.instances.iter().enumerate() {
            for (port, signal) in inst.module.outputs() {
                let name = self.exprs.output(InstId(i as u32), port);
                wires.push(format!("wire {}{name};", range(signal.width)));
            }
        }
        for list in [registers, wires].iter().filter(|l| !l.is_empty()) {
            push_line(out, 0, "");
            list.iter().for_each(|line| push_line(out, 4, line));
        }
        for mem in &module.mems {
            push_line(out, 0, "");
            memory::declare(out, mem);
        }
    }

    fn functions(&self, out: &mut String) {
        for (function, name) in &self.exprs.functions {
            push_line(out, 0, "");
            match function {
                Function::PopCount(from, to) => popcount(out, name, *from, *to),
                Function::LowestSet(from, to) => lowest_set(out, name, *from, *to),
            }
        }
    }

    fn instances(&mut self, out: &mut String, children: &[String]) {
        for (i, (inst, child)) in self.module.instances.iter().zip(children).enumerate() {
            push_line(out, 0, "");
            push_line(out, 4, &format!("{child} {} (", inst.name));
            let mut pins = vec![".clk(clk)".to_string(), ".rst(rst)".to_string()];
            for (port, signal) in inst.module.ports() {
                let net = match inst.inputs.iter().find(|(p, _)| *p == port) {
                    Some((_, wire)) => self.exprs.signal(*wire),
                    None => self.exprs.output(InstId(i as u32), port).to_string(),
                };
                pins.push(format!(".{}({net})", signal.name));
            }
            let last = pins.len() - 1;
            for (i, pin) in pins.iter().enumerate() {
                push_line(out, 8, &format!("{pin}{}", if i == last { "" } else { "," }));
            }
            push_line(out, 4, ");");
        }
    }

    fn wires(&mut self, out: &mut String) {
        if !self.wiring.plain.is_empty() {
            push_line(out, 0, "");
        }
        for (wire, value) in &self.wiring.plain {
            let value = self.exprs.value(*value);
            push_line(out, 4, &format!("assign {} = {value};", self.module.signal(*wire).name));
        }
        for group in &self.wiring.groups {
            push_line(out, 0, "");
            push_line(out, 4, "always @* begin");
            for wire in group {
                let signal = self.module.signal(*wire);
                if let SigKind::Wire { default: Some(value) } = signal.kind {
                    let value = self.exprs.value(value);
                    push_line(out, 8, &format!("{} = {value};", signal.name));
                }
            }
            let wanted = |s: SigId| group.contains(&s);
            let mut body = Body { exprs: self.exprs, module: self.module, sign: "=", wanted: &wanted };
            body.write(out, 8, &self.reduced.body);
            push_line(out, 4, "end");
        }
    }

    fn registers(&mut self, out: &mut String) {
        let module = self.module;
        let with_reset = |s: SigId| matches!(module.signal(s).kind, SigKind::Reg { reset: Some(_), .. });
        let registers: Vec<&Signal> =
            module.signals.iter().filter(|s| matches!(s.kind, SigKind::Reg { reset: Some(_), .. })).collect();
        if registers.is_empty() {
            return;
        }
        push_line(out, 0, "");
        push_line(out, 4, "always @(posedge clk) begin");
        push_line(out, 8, "if (rst) begin");
        for signal in registers {
            if let SigKind::Reg { reset: Some(value), .. } = &signal.kind {
                let value = self.exprs.constant(value, &signal.ty);
                push_line(out, 12, &format!("{} <= {value};", signal.name));
            }
        }
        let mut steps = String::new();
        let mut body = Body { exprs: self.exprs, module, sign: "<=", wanted: &with_reset };
        body.write(&mut steps, 12, &self.reduced.body);
        if !steps.is_empty() {
            push_line(out, 8, "end else begin");
            out.push_str(&steps);
        }
        push_line(out, 8, "end");
        push_line(out, 4, "end");
    }

    fn memories(&mut self, out: &mut String) {
        let presented: Vec<(SigId, NodeId)> = self
            .reduced
            .body
            .iter()
            .filter_map(|s| match s {
                Stmt::Assign { target, value, .. } => Some((*target, *value)),
                _ => None,
            })
            .collect();
        let lane = self.exprs.names.claim("lane");
        for mem in &self.module.mems {
            memory::clocked(out, self.exprs, self.module, mem, &presented, &lane);
        }
    }

    /// What the lint would call unused.
    fn unread(&self, lower: &str) -> Vec<String> {
        let module = self.module;
        let clocked =
            module.signals.iter().any(|s| matches!(s.kind, SigKind::Reg { .. })) || !module.mems.is_empty();
        let resets = module.signals.iter().any(|s| matches!(s.kind, SigKind::Reg { reset: Some(_), .. }));
        let writes = module.mems.iter().any(|m| !m.write_ports.is_empty());
        let mut out = Vec::new();
        if lower.is_empty() && !clocked {
            out.push("clk".to_string());
        }
        if lower.is_empty() && !resets && !writes {
            out.push("rst".to_string());
        }
        out.extend(self.exprs.unread());
        out
    }

    fn formal(&mut self, out: &mut String) {
        let module = self.module;
        let checked: Vec<&Probe> = module.probes.iter().filter(|p| p.kind != ProbeKind::Count).collect();
        if checked.is_empty() {
            return;
        }
        self.exprs.lines.clear();
        let before = self.exprs.functions.clone();
        self.exprs.write(true);
        let mut body = String::new();
        for probe in checked {
            let condition = self.exprs.value(probe.cond);
            let verb = if probe.kind == ProbeKind::Assert { "assert" } else { "cover" };
            push_comment(&mut body, 12, &probe.text);
            let label = self.exprs.names.claim(&identifier(&probe.name));
            push_line(&mut body, 12, &format!("{label}: {verb} ({condition});"));
        }
        out.push_str("\n`ifdef FORMAL\n");
        let mut constants = String::new();
        Enums::declare(&self.exprs.enums, &mut constants, true);
        out.push_str(&constants);
        let all = std::mem::replace(&mut self.exprs.functions, before.clone());
        let fresh =
            all.iter().filter(|(f, _)| !before.contains_key(f)).map(|(f, n)| (*f, n.clone())).collect();
        let kept = std::mem::replace(&mut self.exprs.functions, fresh);
        self.functions(out);
        self.exprs.functions = kept;
        self.exprs.lines.iter().for_each(|line| push_line(out, 4, line));
        push_line(out, 4, "always @(posedge clk) begin");
        push_line(out, 8, "if (!rst) begin");
        out.push_str(&body);
        push_line(out, 8, "end");
        push_line(out, 4, "end");
        out.push_str("`endif\n");
    }
}

/// A function that counts set bits.
fn popcount(out: &mut String, name: &str, from: u32, to: u32) {
    let bit = if from == 1 { "value" } else { "value[i]" };
    let one = if to == 1 { bit.to_string() } else { format!("{{{}, {bit}}}", zero(to - 1)) };
    push_comment(out, 4, "Number of set bits.");
    push_line(out, 4, &format!("function automatic {}{name};", range(to)));
    push_line(out, 8, &format!("input {}value;", range(from)));
    push_line(out, 8, "integer i;");
    push_line(out, 8, "begin");
    push_line(out, 12, &format!("{name} = {};", zero(to)));
    push_line(out, 12, &format!("for (i = 0; i < {from}; i = i + 1)"));
    push_line(out, 16, &format!("{name} = {name} + {one};"));
    push_line(out, 8, "end");
    push_line(out, 4, "endfunction");
}

/// A function that finds the lowest set bit in as many steps as its number has bits: a chain of one step per bit would be as slow in
/// hardware as in a simulator.
fn lowest_set(out: &mut String, name: &str, from: u32, to: u32) {
    push_comment(out, 4, "Number of the lowest set bit, found by halving; 0 when none is set.");
    push_line(out, 4, &format!("function automatic {}{name};", range(to)));
    push_line(out, 8, &format!("input {}value;", range(from)));
    if to == 1 {
        let number = if from == 1 { zero(1) } else { "value[1] && !value[0]".to_string() };
        push_line(out, 8, &format!("{name} = {number};"));
        push_line(out, 4, "endfunction");
        return;
    }
    let padded = 1 << to;
    let all =
        if padded == from { "value".to_string() } else { format!("{{{}, value}}", zero(padded - from)) };
    push_line(out, 8, &format!("reg {}rest;", range(padded)));
    push_line(out, 8, "begin");
    push_line(out, 12, &format!("rest = {all};"));
    push_line(out, 12, &format!("{name} = {};", zero(to)));
    push_line(out, 12, "if (|value) begin");
    for bit in (1..to).rev() {
        let half = 1 << bit;
        let (low, high) = (format!("rest[{}:0]", half - 1), format!("rest[{}:{half}]", 2 * half - 1));
        push_line(out, 16, &format!("if (!(|{low})) begin"));
        push_line(out, 20, &format!("{name}[{bit}] = 1'b1;"));
        push_line(out, 20, &format!("{low} = {high};"));
        push_line(out, 16, "end");
    }
    push_line(out, 16, &format!("{name}[0] = !rest[0];"));
    push_line(out, 12, "end");
    push_line(out, 8, "end");
    push_line(out, 4, "endfunction");
}
