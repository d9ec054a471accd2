//! PTX instructions.

use super::{Column, ReadError, wrong};
use crate::test::{Attr, Expr, Instr, Op};
use weft_workload::op::{AmoKind, Class, Scope, Sem};

const KNOWN: &str = "ld, st, atom, red, fence, beq, bne, goto, mov, add, sub, and, or, xor";

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

/// Reads one instruction.
pub(super) fn instr(column: &mut Column, text: &str) -> Result<(), ReadError> {
    let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let parts: Vec<&str> = name.split('.').collect();
    let (attr, rest) = attr(column, &parts[1..])?;
    match (parts[0], rest.as_slice()) {
        ("ld", []) => {
            let [dst, at] = column.operands(operands, ',')?;
            let (dst, at) = (column.reg(dst)?, Expr::Addr(column.loc(at)?));
            column.push(Instr::Load { dst, at, attr });
        }
        ("st", []) => {
            let [at, value] = column.operands(operands, ',')?;
            let (at, value) = (Expr::Addr(column.loc(at)?), column.value(value)?);
            column.push(Instr::Store { at, value, attr });
        }
        ("atom" | "red", kind) => {
            let kind = amo(column, kind)?;
            let strong = |a: Attr| if a.atomic() { a } else { Attr { class: Class::N, ..a } };
            let (dst, operands) = match (parts[0], operands.split_once(',')) {
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
            let (at, value) = (Expr::Addr(column.loc(at)?), column.value(value)?);
            column.push(Instr::Rmw { dst, at, kind, value, compare, attr: strong(attr) });
        }
        ("fence", []) if attr.sem != Sem::Relaxed => column.push(Instr::Fence { attr }),
        ("beq" | "bne", []) => {
            let [a, b, label] = column.operands(operands, ',')?;
            let (a, b) = (column.value(a)?, column.value(b)?);
            let op = if parts[0] == "beq" { Op::Eq } else { Op::Ne };
            column.branch(Expr::Bin(op, Box::new(a), Box::new(b)), label);
        }
        ("goto", []) => column.branch(Expr::Const(1), operands.trim()),
        ("mov", []) => {
            let [dst, value] = column.operands(operands, ',')?;
            let (dst, value) = (column.reg(dst)?, column.value(value)?);
            column.push(Instr::Set { dst, value });
        }
        ("add" | "sub" | "and" | "or" | "xor", []) => {
            let [dst, a, b] = column.operands(operands, ',')?;
            let (dst, a, b) = (column.reg(dst)?, column.value(a)?, column.value(b)?);
            let op = match parts[0] {
                "add" => Op::Add,
                "sub" => Op::Sub,
                "and" => Op::And,
                "or" => Op::Or,
                _ => Op::Xor,
            };
            column.push(Instr::Set { dst, value: Expr::Bin(op, Box::new(a), Box::new(b)) });
        }
        _ => return column.unknown(text, KNOWN),
    }
    Ok(())
}
