//! AArch64 instructions.

use super::{Column, ReadError};
use crate::test::{Attr, Expr, Instr, Op};
use weft_workload::op::{Class, Sem};

const KNOWN: &str = "MOV, LDR, LDAR, STR, STLR, DMB, ADD, SUB, EOR, AND, CBZ, CBNZ, B";

/// The register that a name means: W0 is the lower half of X0.
pub(in crate::read) fn wide(name: &str) -> String {
    name.strip_prefix('W').map_or_else(|| name.to_string(), |number| format!("X{number}"))
}

fn value(column: &mut Column, text: &str) -> Result<Expr, ReadError> {
    if text == "WZR" || text == "XZR" { Ok(Expr::Const(0)) } else { column.value(&wide(text)) }
}

/// Register and address of a load or store: `W0,[X1]`, or `W0,[X1,X2]` and `W0,[X1,W2,SXTW]` with an offset that must come out as 0.
fn access(column: &mut Column, operands: &str) -> Result<(String, Expr), ReadError> {
    let (reg, at) = operands.split_once(',').unwrap_or((operands, ""));
    let inside = at.trim().strip_prefix('[').and_then(|at| at.strip_suffix(']'));
    let Some(inside) = inside else { return column.unknown(operands, "REGISTER,[REGISTER]") };
    let mut parts = inside.split(',').map(str::trim).filter(|part| *part != "SXTW");
    let base = value(column, parts.next().unwrap_or(""))?;
    let at = match parts.next() {
        Some(offset) => Expr::Bin(Op::Add, Box::new(base), Box::new(value(column, offset)?)),
        None => base,
    };
    Ok((reg.trim().to_string(), at))
}

/// Reads one instruction.
pub(super) fn instr(column: &mut Column, text: &str) -> Result<(), ReadError> {
    let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let plain = Attr { class: Class::N, ..Attr::default() };
    match name {
        "MOV" => {
            let [dst, from] = column.operands(operands, ',')?;
            let (dst, value) = (column.reg(&wide(dst))?, value(column, from)?);
            column.push(Instr::Set { dst, value });
        }
        "LDR" | "LDAR" => {
            let (dst, at) = access(column, operands)?;
            let ordered = Attr { class: Class::P, sem: Sem::Acquire, ..plain };
            let dst = column.reg(&wide(&dst))?;
            column.push(Instr::Load { dst, at, attr: if name == "LDAR" { ordered } else { plain } });
        }
        "STR" | "STLR" => {
            let (from, at) = access(column, operands)?;
            let ordered = Attr { class: Class::P, sem: Sem::Release, ..plain };
            let value = value(column, &from)?;
            column.push(Instr::Store { at, value, attr: if name == "STLR" { ordered } else { plain } });
        }
        "DMB" => {
            let sem = match operands.trim() {
                "SY" | "ISH" => Sem::AcquireRelease,
                "LD" | "ISHLD" => Sem::Acquire,
                "ST" | "ISHST" => Sem::Release,
                _ => return column.unknown(text, "DMB SY, DMB LD, DMB ST"),
            };
            column.push(Instr::Fence { attr: Attr { class: Class::P, sem, ..Attr::default() } });
        }
        "ADD" | "SUB" | "EOR" | "AND" => {
            let [dst, a, b] = column.operands(operands, ',')?;
            let (dst, a, b) = (column.reg(&wide(dst))?, value(column, a)?, value(column, b)?);
            let op = match name {
                "ADD" => Op::Add,
                "SUB" => Op::Sub,
                "EOR" => Op::Xor,
                _ => Op::And,
            };
            column.push(Instr::Set { dst, value: Expr::Bin(op, Box::new(a), Box::new(b)) });
        }
        "CBZ" | "CBNZ" => {
            let [reg, label] = column.operands(operands, ',')?;
            let reg = value(column, reg)?;
            let op = if name == "CBZ" { Op::Eq } else { Op::Ne };
            column.branch(Expr::Bin(op, Box::new(reg), Box::new(Expr::Const(0))), label);
        }
        "B" => column.branch(Expr::Const(1), operands.trim()),
        _ => return column.unknown(text, KNOWN),
    }
    Ok(())
}
