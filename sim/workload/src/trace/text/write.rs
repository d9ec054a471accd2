//! A trace written as text.

use super::{AMOS, CLASSES, SCOPES, SEMS, UNITS};
use crate::op::{Class, Hint, Scope, Sem, Token};
use crate::program::full_mask;
use crate::trace::op::{TraceAccess, TraceOp, TraceValue};
use crate::trace::{Trace, TraceStep};
use std::fmt::Write;

fn name_of<T: PartialEq>(of: &[(&'static str, T)], what: &T) -> &'static str {
    of.iter().find(|(_, x)| x == what).map_or("", |(name, _)| name)
}

fn write_access(out: &mut String, access: &TraceAccess, value: Option<TraceValue>, lanes: u32, compare: u64) {
    let active: Vec<u64> =
        (0..64).filter(|lane| access.mask >> lane & 1 == 1).map(|lane| access.addrs.at(lane)).collect();
    let stride = match active.as_slice() {
        [first, second, ..] => second.wrapping_sub(*first) as i64,
        _ => 0,
    };
    let even = active.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) as i64 == stride);
    let _ = write!(out, " {} ", access.size);
    let _ = match active.as_slice() {
        [base, ..] if even && stride >= 0 => write!(out, "{base:#x}+{stride}"),
        [base, ..] if even => write!(out, "{base:#x}-{}", stride.unsigned_abs()),
        list => write!(out, "[{}]", list.iter().map(|a| format!("{a:#x}")).collect::<Vec<_>>().join(",")),
    };
    let _ = match value {
        Some(TraceValue::Const(value)) => write!(out, " ={value}"),
        Some(TraceValue::Token(token)) => write!(out, " =%{token}"),
        Some(TraceValue::Unique) => write!(out, " =#"),
        None => Ok(()),
    };
    if access.mask != full_mask(lanes) {
        let _ = write!(out, " m={:x}", access.mask);
    }
    if access.class != Class::D {
        let _ = write!(out, " k={}", name_of(&CLASSES, &access.class));
    }
    if access.scope != Scope::Sys {
        let _ = write!(out, " s={}", name_of(&SCOPES, &access.scope));
    }
    if access.sem != Sem::Relaxed {
        let _ = write!(out, " a={}", name_of(&SEMS, &access.sem));
    }
    if access.remote {
        out.push_str(" r=1");
    }
    if access.hint != Hint::default() {
        let _ = write!(out, " h={}", access.hint);
    }
    if compare != 0 {
        let _ = write!(out, " c={compare}");
    }
}

fn write_tokens(tokens: &[Token]) -> String {
    tokens.iter().map(|token| format!("%{token}")).collect::<Vec<_>>().join(",")
}

/// An operation as a line.
fn write_op(out: &mut String, op: &TraceOp, lanes: u32) {
    match op {
        TraceOp::Compute { unit, latency, token, needs } => {
            let token = token.map_or(String::new(), |token| format!("%{token} "));
            let _ = write!(out, "C {token}{latency} {}", name_of(&UNITS, unit));
            if !needs.is_empty() {
                let _ = write!(out, " {}", write_tokens(needs));
            }
        }
        TraceOp::Load { token, access } | TraceOp::LdsLoad { token, access } => {
            let letter = if matches!(op, TraceOp::Load { .. }) { 'L' } else { 'X' };
            let _ = write!(out, "{letter} %{token}");
            write_access(out, access, None, lanes, 0);
        }
        TraceOp::Store { access, value } | TraceOp::LdsStore { access, value } => {
            out.push(if matches!(op, TraceOp::Store { .. }) { 'S' } else { 'Y' });
            write_access(out, access, Some(*value), lanes, 0);
        }
        TraceOp::Amo { token, access, kind, value, compare } => {
            let _ = write!(out, "A %{token} {}", name_of(&AMOS, kind));
            write_access(out, access, Some(*value), lanes, *compare);
        }
        TraceOp::Fence { sem, scope } => {
            let _ = write!(out, "F {} {}", name_of(&SEMS, sem), name_of(&SCOPES, scope));
        }
        TraceOp::Barrier => out.push('B'),
        TraceOp::Await { tokens } => {
            let _ = write!(out, "W {}", write_tokens(tokens));
        }
        TraceOp::End => out.push('E'),
    }
    out.push('\n');
}

/// A trace as text.
pub fn write(trace: &Trace) -> String {
    let mut out = format!("weft-trace 1\nlanes {}\n", trace.lanes);
    for step in &trace.steps {
        match step {
            TraceStep::Copy { addr, bytes } => {
                let _ = writeln!(out, "copy {addr:#x} {bytes}");
            }
            TraceStep::Kernel(kernel) => {
                let ([gx, gy, gz], [bx, by, bz]) = (kernel.grid, kernel.block);
                let cpus = if kernel.cpus > 0 { format!(" cpus {}", kernel.cpus) } else { String::new() };
                let _ = writeln!(
                    out,
                    "kernel {} grid {gx},{gy},{gz} block {bx},{by},{bz} lds {}{cpus}",
                    kernel.name, kernel.lds
                );
                for wave in kernel.waves.keys() {
                    let per_block = kernel.waves_per_block as usize;
                    let block = (wave / per_block) as u32;
                    let ([x, y, z], lanes) = (kernel.block_at(block), kernel.lanes_of(block, trace.lanes));
                    let _ = writeln!(out, "block {x},{y},{z}\nwave {}", wave % per_block);
                    kernel.ops(*wave).flatten().for_each(|op| write_op(&mut out, &op, lanes));
                }
            }
        }
    }
    out
}
