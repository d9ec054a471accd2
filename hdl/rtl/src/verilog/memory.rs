//! Memories: one array of rows, written lane by lane, read through a registered address: the form that becomes block RAM.

use super::expr::Exprs;
use super::text::{literal, push_comment, push_line, range};
use crate::bv::Bv;
use crate::ir::*;

/// Declares the array.
pub(super) fn declare(out: &mut String, mem: &Mem) {
    let fields: Vec<String> = mem.fields.iter().map(|(name, bits)| format!("{name} {bits}")).collect();
    let kind = match mem.kind {
        MemKind::Sram => "SRAM",
        MemKind::RegFile => "Register file",
    };
    let lanes = match mem.lanes {
        1 => String::new(),
        n => format!("{n} lanes of "),
    };
    let text =
        format!("{kind}, {} rows of {lanes}{} bits ({}).", mem.rows, mem.lane_width(), fields.join(", "));
    push_comment(out, 4, &text);
    push_line(out, 4, &format!("reg {}{} [0:{}];", range(mem.row_width()), mem.name, mem.rows - 1));
}

/// Writes the clocked part: address registers and write ports, in the order in which a later port wins.
pub(super) fn clocked(
    out: &mut String,
    exprs: &mut Exprs,
    module: &Module,
    mem: &Mem,
    presented: &[(SigId, NodeId)],
    lane: &str,
) {
    if mem.write_ports.is_empty() && mem.read_ports.is_empty() {
        return;
    }
    let loops = mem.lanes > 1 && !mem.write_ports.is_empty();
    push_line(out, 0, "");
    if loops {
        let label = exprs.names.claim(&format!("{}_access", mem.name));
        push_line(out, 4, &format!("always @(posedge clk) begin : {label}"));
        push_line(out, 8, &format!("integer {lane};"));
    } else {
        push_line(out, 4, "always @(posedge clk) begin");
    }
    for port in &mem.read_ports {
        if let Some((target, value)) = presented.iter().find(|(t, _)| *t == port.addr_q) {
            let value = exprs.value(*value);
            push_line(out, 8, &format!("{} <= {value};", module.signal(*target).name));
        }
    }
    if !mem.write_ports.is_empty() {
        push_line(out, 8, "if (!rst) begin");
    }
    for port in &mem.write_ports {
        write_port(out, exprs, module, mem, port, lane);
    }
    if !mem.write_ports.is_empty() {
        push_line(out, 8, "end");
    }
    push_line(out, 4, "end");
}

fn write_port(
    out: &mut String,
    exprs: &mut Exprs,
    module: &Module,
    mem: &Mem,
    port: &WritePort,
    count: &str,
) {
    let enable = exprs.signal(port.en);
    let addr = exprs.signal(port.addr);
    let addr_width = module.signal(port.addr).width;
    let in_range = if u64::from(mem.rows) < 1 << addr_width {
        format!(" & ({addr} < {})", literal(&Bv::from_u64(u64::from(mem.rows), addr_width)))
    } else {
        String::new()
    };
    let width = mem.lane_width();
    if mem.lanes == 1 {
        let (chosen, data) = match port.mode {
            WriteMode::Row { mask, data } => (exprs.signal(mask), exprs.signal(data)),
            WriteMode::Lane { lane, data } => (format!("!{}", exprs.signal(lane)), exprs.signal(data)),
        };
        let line = format!("if ({enable} & {chosen}{in_range}) {}[{addr}] <= {data};", mem.name);
        return push_line(out, 12, &line);
    }
    push_line(out, 12, &format!("for ({count} = 0; {count} < {}; {count} = {count} + 1) begin", mem.lanes));
    let (chosen, data) = match port.mode {
        WriteMode::Row { mask, data } => (
            format!("{}[{count}]", exprs.signal(mask)),
            format!("{}[{count}*{width} +: {width}]", exprs.signal(data)),
        ),
        WriteMode::Lane { lane, data } => {
            let bits = module.signal(lane).width;
            let number = if bits == 1 { format!("{count}[0]") } else { format!("{count}[{}:0]", bits - 1) };
            (format!("({} == {number})", exprs.signal(lane)), exprs.signal(data))
        }
    };
    push_line(
        out,
        16,
        &format!(
            "if ({enable} & {chosen}{in_range}) {}[{addr}][{count}*{width} +: {width}] <= {data};",
            mem.name
        ),
    );
    push_line(out, 12, "end");
}
