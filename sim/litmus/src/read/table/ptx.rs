//! PTX instructions.

use super::{Column, ReadError, number, wrong};
use crate::test::{Attr, Barrier, Expr, Instr, Op, Proxy};
use weft_workload::op::{AmoKind, Class, Scope, Sem};

const KNOWN: &str = "ld, st, atom, red, those of textures (tld), surfaces (suld, sust, suatom, sured) and constants (cold), fence, fence.proxy, bar.cta.sync, bar.cta.arrive, beq, bne, blt, bgt, ble, bge, goto, mov, add, sub, mul, and, or, xor";

/// Order and scope from the parts of an operation's name; those that are left over.
fn attr<'a>(column: &Column, parts: &[&'a str]) -> Result<(Attr, Vec<&'a str>), ReadError> {
    let mut attr = Attr { scope: Scope::Sys, ..Attr::default() };
    let mut rest = Vec::new();
    for part in parts {
        match *part {
            "weak" => attr.class = Class::D,
            "relaxed" | "volatile" => attr.class = Class::N,
            "acquire" | "release" | "acq_rel" | "sc" => {
                attr.class = Class::P;
                attr.sc = *part == "sc";
                attr.sem = match *part {
                    "acquire" => Sem::Acquire,
                    "release" => Sem::Release,
                    _ => Sem::AcquireRelease,
                };
            }
            "cta" => attr.scope = Scope::Cu,
            "gpu" => attr.scope = Scope::Gpu,
            "sys" => attr.scope = Scope::Sys,
            // Sizes and state spaces: a litmus test has whole words of global memory only.
            "global" | "u32" | "s32" | "b32" => {}
            "cluster" => return wrong(column.line, "scope cluster is not known; use cta, gpu or sys"),
            other => rest.push(other),
        }
    }
    Ok((attr, rest))
}

fn amo(column: &Column, parts: &[&str]) -> Result<AmoKind, ReadError> {
    Ok(match parts {
        ["add"] => AmoKind::Add,
        ["sub"] => AmoKind::Sub,
        ["inc"] => AmoKind::Inc,
        ["dec"] => AmoKind::Dec,
        ["and"] => AmoKind::And,
        ["or"] => AmoKind::Or,
        ["xor"] => AmoKind::Xor,
        ["min"] => AmoKind::Min,
        ["max"] => AmoKind::Max,
        ["exch"] => AmoKind::Exch,
        ["cas"] => AmoKind::Cas,
        other => return wrong(column.line, format!("{:?} is no atomic operation", other.join("."))),
    })
}

/// What an operation does, and by which proxy.
fn operation(name: &str) -> (&str, Proxy) {
    match name {
        "tld" => ("ld", Proxy::Texture),
        "suld" => ("ld", Proxy::Surface),
        "sust" => ("st", Proxy::Surface),
        "suatom" => ("atom", Proxy::Surface),
        "sured" => ("red", Proxy::Surface),
        "cold" => ("ld", Proxy::Constant),
        other => (other, Proxy::Generic),
    }
}

/// Reads one instruction.
pub(super) fn instr(column: &mut Column, text: &str) -> Result<(), ReadError> {
    let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let parts: Vec<&str> = name.split('.').collect();
    if matches!(parts[0], "bar" | "barrier") {
        return barrier(column, text, &parts[1..], operands);
    }
    let (attr, rest) = attr(column, &parts[1..])?;
    let (kind, proxy) = operation(parts[0]);
    let attr = Attr { proxy, ..attr };
    match (kind, rest.as_slice()) {
        // Without an order it may set a register to a number, as `mov` does.
        ("ld", []) if parts.len() == 1 && proxy == Proxy::Generic && sets(column, operands) => {
            set(column, operands)?
        }
        ("ld", []) => {
            let [dst, at] = column.operands(operands, ',')?;
            let dst = column.reg(dst)?;
            let (loc, address) = column.named(at)?;
            column.push(Instr::Load { dst, at: Expr::Addr(loc), attr: Attr { address, ..attr } });
        }
        ("st", []) => {
            let [at, value] = column.operands(operands, ',')?;
            let (loc, address) = column.named(at)?;
            let value = column.value(value)?;
            column.push(Instr::Store { at: Expr::Addr(loc), value, attr: Attr { address, ..attr } });
        }
        ("atom" | "red", rest) => atomic(column, kind, rest, attr, operands)?,
        ("fence", ["proxy", proxy]) => {
            let Some(proxy) = fenced(proxy) else { return column.unknown(text, KNOWN) };
            column.push(Instr::Fence { attr: Attr { proxy, class: Class::P, ..Attr::default() } });
        }
        ("fence", []) if attr.sem != Sem::Relaxed => column.push(Instr::Fence { attr }),
        ("beq" | "bne" | "blt" | "bgt" | "ble" | "bge", []) => {
            let [a, b, label] = column.operands(operands, ',')?;
            let (a, b) = (column.value(a)?, column.value(b)?);
            let op = match kind {
                "beq" => Op::Eq,
                "bne" => Op::Ne,
                "blt" => Op::Lt,
                "bgt" => Op::Gt,
                "ble" => Op::Le,
                _ => Op::Ge,
            };
            column.branch(Expr::bin(op, a, b), label);
        }
        ("goto", []) => column.branch(Expr::Const(1), operands.trim()),
        ("mov", []) => set(column, operands)?,
        ("add" | "sub" | "mul" | "and" | "or" | "xor", []) => {
            let [dst, a, b] = column.operands(operands, ',')?;
            let (dst, a, b) = (column.reg(dst)?, column.value(a)?, column.value(b)?);
            let op = match kind {
                "add" => Op::Add,
                "sub" => Op::Sub,
                "mul" => Op::Mul,
                "and" => Op::And,
                "or" => Op::Or,
                _ => Op::Xor,
            };
            column.push(Instr::Set { dst, value: Expr::bin(op, a, b) });
        }
        _ => return column.unknown(text, KNOWN),
    }
    Ok(())
}

/// Whether what would be a place is a number or a register.
fn sets(column: &Column, operands: &str) -> bool {
    let value = operands.split_once(',').map_or("", |(_, value)| value.trim());
    let register = column.test.threads[column.thread].regs.iter().any(|reg| reg == value);
    number(value).is_some() || (register && column.test.loc(value).is_none())
}

fn set(column: &mut Column, operands: &str) -> Result<(), ReadError> {
    let [dst, value] = column.operands(operands, ',')?;
    let (dst, value) = (column.reg(dst)?, column.value(value)?);
    column.push(Instr::Set { dst, value });
    Ok(())
}

fn atomic(
    column: &mut Column,
    name: &str,
    kind: &[&str],
    attr: Attr,
    operands: &str,
) -> Result<(), ReadError> {
    let kind = amo(column, kind)?;
    let (dst, operands) = match (name, operands.split_once(',')) {
        ("atom", Some((dst, rest))) => (Some(column.reg(dst.trim())?), rest),
        _ => (None, operands),
    };
    let (at, compare, value) = if kind == AmoKind::Cas {
        let [at, compare, value] = column.operands(operands, ',')?;
        (at, column.value(compare)?, value)
    } else {
        let [at, value] = column.operands(operands, ',')?;
        (at, Expr::Const(0), value)
    };
    let (loc, address) = column.named(at)?;
    let value = column.value(value)?;
    let class = if attr.atomic() { attr.class } else { Class::N };
    let attr = Attr { class, address, ..attr };
    column.push(Instr::Rmw { dst, at: Expr::Addr(loc), kind, value, compare, attr });
    Ok(())
}

/// The proxy of a `fence.proxy`.
fn fenced(name: &str) -> Option<Proxy> {
    Some(match name {
        "texture" => Proxy::Texture,
        "surface" => Proxy::Surface,
        "constant" => Proxy::Constant,
        "alias" => Proxy::Alias,
        _ => return None,
    })
}

/// `bar.cta.sync SITE[, NUMBER[, LEAST]]`: which barrier of the program it is, its number if that is
/// computed, and how many threads it waits for.
fn barrier(column: &mut Column, text: &str, marks: &[&str], operands: &str) -> Result<(), ReadError> {
    let waits = match marks {
        ["cta", "sync"] | ["sync"] => true,
        ["cta", "arrive"] | ["arrive"] => false,
        _ => return column.unknown(text, KNOWN),
    };
    let words: Vec<&str> = operands.split(',').map(str::trim).collect();
    if marks.len() == 1 && words.len() > 1 {
        return wrong(
            column.line,
            format!(
                "{text:?} counts threads of whole warps, and a litmus test has single ones; leave out the count, or write bar.cta.sync SITE, NUMBER, LEAST"
            ),
        );
    }
    let site = words.first().and_then(|word| number(word)).and_then(|site| u32::try_from(site).ok());
    let (Some(site), true) = (site, words.len() <= 3) else {
        return wrong(
            column.line,
            format!("{text:?} is no barrier; write bar.cta.sync SITE[, NUMBER[, LEAST]]"),
        );
    };
    let number = words.get(1).map_or(Ok(Expr::Const(0)), |word| column.value(word))?;
    let least = words.get(2).map(|word| column.value(word)).transpose()?;
    let attr = Attr { class: Class::P, scope: Scope::Cu, ..Attr::default() };
    column.push(Instr::Barrier(Barrier { site, number, waits, least, attr }));
    Ok(())
}
