//! The environment of a block, as a Verilog module around it: reset in the first cycle, assumptions on what its neighbours send, and what shows that
//! they let it work.
//!
//! What is assumed comes from the ports that co-simulation finds ([`Ports`]): a sender holds valid and message until the receiver is ready, enumerations
//! have one of their encodings, numbers with a bound are below it. What a block needs besides is a [`Rule`]. The same channel rule is asserted of the
//! block's own outputs, so what one block assumes its neighbours prove.

use super::rules::{Rule, Text, rules};
use crate::cosim::{Channel, Port, Ports};
use std::fmt::Write;
use weft_rtl::ir::{Module, ProbeKind};

/// Name of the module around the block.
pub(super) const TOP: &str = "weft_prove";
/// Name of the block in it.
pub(super) const DUT: &str = "dut";
/// The cover point of a run as long as the bound.
pub(super) const RUN: &str = "run_to_the_bound";
/// What stands behind the name of a channel in the cover point of a message that passes it.
pub(super) const FIRES: &str = "_fires";

/// A module around a block.
pub(super) struct Environment {
    /// Its Verilog.
    pub text: String,
    /// Channels of the block, those without `ready` last.
    pub channels: Vec<String>,
    /// Assertions in it: output channels that hold their messages.
    pub holds: usize,
    /// Rules that apply.
    pub rules: Vec<&'static Rule>,
}

/// The environment of a block; `cycles` after reset are the bound.
pub(super) fn environment(module: &Module, cycles: u32) -> Environment {
    let ports = Ports::of(module);
    let mut out =
        Environment { text: String::new(), channels: Vec::new(), holds: 0, rules: rules(module).collect() };
    let mut body = String::new();
    head(&mut out.text, module, &ports);
    let bounded = ports.inputs.iter().filter_map(legal);
    bounded.for_each(|holds| assume(&mut body, &holds));
    for channel in &ports.channels {
        let (name, valid, ready, into) = match channel {
            Channel::Into { valid, ready, message } => {
                let leaves: Vec<&Port> = message.iter().map(|at| &ports.inputs[*at]).collect();
                (
                    stem(&ports.inputs[*valid].name),
                    &ports.inputs[*valid],
                    &ports.outputs[*ready],
                    Some(leaves),
                )
            }
            Channel::OutOf { valid, ready } => {
                let valid = &ports.outputs[*valid];
                (stem(&valid.name), valid, &ports.inputs[*ready], None)
            }
        };
        let leaves = into.clone().unwrap_or_else(|| message_out(&ports, name));
        let keeps = held(&mut body, name, valid, ready, &leaves);
        match into {
            Some(_) => assume(&mut body, &keeps),
            None => {
                out.holds += 1;
                let _ = writeln!(body, "    always @* if (weft_run) {name}_holds: assert ({keeps});");
            }
        }
        let _ = writeln!(
            body,
            "    always @* if (weft_run) {name}{FIRES}: cover ({} && {});",
            valid.name, ready.name
        );
        out.channels.push(name.to_string());
    }
    let offers = ports.loose.iter().map(|at| &ports.inputs[*at].name).filter(|name| name.ends_with("_valid"));
    for valid in offers {
        let name = stem(valid);
        let _ = writeln!(body, "    always @* if (weft_run) {name}{FIRES}: cover ({valid});");
        out.channels.push(name.to_string());
    }
    ports.loose.iter().for_each(|at| constant(&mut body, &ports.inputs[*at]));
    for rule in &out.rules {
        let _ = writeln!(body, "    // {}: {}", rule.name, rule.reason);
        for Text { state, holds } in rule.texts(module) {
            for line in state.lines() {
                let _ = writeln!(body, "    {line}");
            }
            assume(&mut body, &holds);
        }
    }
    let _ = writeln!(body, "    always @* {RUN}: cover (weft_cycle == 16'd{cycles});");
    out.text.push_str(&body);
    out.text.push_str("endmodule\n");
    out
}

/// Ports, reset and the block.
fn head(out: &mut String, module: &Module, ports: &Ports) {
    let inputs = ports.inputs.iter().map(|p| format!("    input wire {}{}", range(p.width), p.name));
    let all: Vec<String> = std::iter::once("    input wire clk".to_string()).chain(inputs).collect();
    let _ = writeln!(out, "module {TOP} (\n{}\n);", all.join(",\n"));
    out.push_str(concat!(
        "    reg weft_run = 1'b0;\n",
        "    reg [15:0] weft_cycle = 16'd0;\n",
        "    always @(posedge clk) weft_run <= 1'b1;\n",
        "    always @(posedge clk) if (!(&weft_cycle)) weft_cycle <= weft_cycle + 16'd1;\n",
    ));
    for port in &ports.outputs {
        let _ = writeln!(out, "    wire {}{};", range(port.width), port.name);
    }
    let pins = ports.inputs.iter().chain(&ports.outputs).map(|p| format!(", .{0}({0})", p.name));
    let _ =
        writeln!(out, "    {} {DUT} (.clk(clk), .rst(!weft_run){});", module.name, pins.collect::<String>());
}

/// What holds of an input that may not take every value.
fn legal(port: &Port) -> Option<String> {
    if let Some(bound) = port.below {
        return Some(format!("{} < {}'d{bound}", port.name, port.width.max(64 - bound.leading_zeros())));
    }
    let all = port.width < 64 && port.legal.len() as u64 == 1 << port.width;
    if port.legal.is_empty() || all {
        return None;
    }
    let codes = port.legal.iter().map(|code| format!("{} == {}'d{code}", port.name, port.width));
    Some(codes.collect::<Vec<_>>().join(" || "))
}

/// A number that a block is told is its own (`own`, `own_gpu` ..) never changes.
fn constant(out: &mut String, port: &Port) {
    let name = &port.name;
    if name != "own" && !name.starts_with("own_") {
        return;
    }
    let _ = writeln!(out, "    reg weft_{name}_known = 1'b0;");
    let _ = writeln!(out, "    reg {}weft_{name}_was;", range(port.width));
    let _ = writeln!(
        out,
        "    always @(posedge clk) {{weft_{name}_known, weft_{name}_was}} <= {{1'b1, {name}}};"
    );
    assume(out, &format!("!weft_{name}_known || {name} == weft_{name}_was"));
}

/// Registers that keep what a channel offered in vain; the expression that it is still offered.
fn held(out: &mut String, name: &str, valid: &Port, ready: &Port, leaves: &[&Port]) -> String {
    let (valid, ready) = (&valid.name, &ready.name);
    let _ = writeln!(out, "    reg weft_{name}_waits = 1'b0;");
    let _ = writeln!(out, "    always @(posedge clk) weft_{name}_waits <= weft_run && {valid} && !{ready};");
    if leaves.is_empty() {
        return format!("!weft_{name}_waits || {valid}");
    }
    let width: u32 = leaves.iter().map(|p| p.width).sum();
    let message = leaves.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "    reg {}weft_{name}_held;", range(width));
    let _ = writeln!(out, "    always @(posedge clk) weft_{name}_held <= {{{message}}};");
    format!("!weft_{name}_waits || ({valid} && weft_{name}_held == {{{message}}})")
}

/// The leaves of an output channel's message: a leaf belongs to the channel with the longest name in front of it.
fn message_out<'p>(ports: &'p Ports, name: &str) -> Vec<&'p Port> {
    let names: Vec<&str> = ports
        .channels
        .iter()
        .filter_map(|channel| match channel {
            Channel::OutOf { valid, .. } => Some(stem(&ports.outputs[*valid].name)),
            Channel::Into { .. } => None,
        })
        .collect();
    let begins = |port: &Port, name: &str| port.name.strip_prefix(name).is_some_and(|r| r.starts_with('_'));
    let owner = |port: &Port| names.iter().copied().filter(|n| begins(port, n)).max_by_key(|n| n.len());
    let control = |port: &Port| port.name.ends_with("_valid") || port.name.ends_with("_ready");
    ports.outputs.iter().filter(|port| owner(port) == Some(name) && !control(port)).collect()
}

fn stem(valid: &str) -> &str {
    valid.strip_suffix("_valid").unwrap_or(valid)
}

fn assume(out: &mut String, holds: &str) {
    let _ = writeln!(out, "    always @* if (weft_run) assume ({holds});");
}

fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

/// Assertions of a module and of everything below it.
pub(super) fn asserted(module: &Module) -> usize {
    let own = module.probes.iter().filter(|p| p.kind == ProbeKind::Assert).count();
    own + module.instances.iter().map(|i| asserted(&i.module)).sum::<usize>()
}
